"""The check of the host before the sandbox is started."""

from __future__ import annotations

import sys

import pytest

from winnow.sandbox import looks_possible
from winnow.sandbox.runners.runner_table import RUNNERS


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_runner_is_looked_at(runner: str) -> None:
    assert looks_possible(runner) in (True, False)


@pytest.mark.walls
@pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
def test_a_host_with_every_wall_looks_possible() -> None:
    assert looks_possible("auto") is True


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_another_system_looks_impossible(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert looks_possible("auto") is False
