"""What a look at the host says of the sandbox, before anything is started."""

from __future__ import annotations

import sys

import pytest

from sandbox import looks_possible
from sandbox.runners.runner_table import RUNNERS


@pytest.mark.parametrize("engine", RUNNERS)
def test_every_engine_is_looked_at(engine: str) -> None:
    assert looks_possible(engine) in (True, False)


@pytest.mark.walls
@pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
def test_a_host_with_every_wall_looks_possible() -> None:
    assert looks_possible("auto") is True


@pytest.mark.skipif(sys.platform == "darwin", reason="this is the system it is for")
def test_another_system_s_sandbox_does_not() -> None:
    assert looks_possible("seatbelt") is False
