"""The check of the host before the sandbox is started."""

from __future__ import annotations

import sys

import psutil
import pytest

from winnow.sandbox import looks_possible
from winnow.sandbox.runners.runner_table import RUNNERS
from winnow.sandbox.walls.trial import find_refused_walls


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_runner_is_looked_at(runner: str) -> None:
    assert looks_possible(runner) in (True, False)


@pytest.mark.walls
@pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
def test_a_host_with_every_wall_looks_possible() -> None:
    assert looks_possible("auto") is True


@pytest.mark.walls
@pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
def test_a_trial_of_the_walls_is_made_once_and_leaves_no_process() -> None:
    find_refused_walls.cache_clear()
    before = psutil.Process().children()
    looks_possible("auto")
    looks_possible("auto", ("container",))
    assert psutil.Process().children() == before
    assert (find_refused_walls(), find_refused_walls.cache_info().misses) == (frozenset(), 1)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_another_system_looks_impossible(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert looks_possible("auto") is False
