"""The heartbeat of an engine: the supervisor kills an engine that hangs, and only then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from winnow.server.engine import heartbeat

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="engines are shared on Linux only"),
    pytest.mark.as_root,
]

SILENT_SECONDS = 1.5
BEATING = """
import os, sys, time
for _ in range(25):
    os.write(int(sys.argv[1]), b".")
    time.sleep(0.1)
sys.exit(7)
"""
COMPUTING = """
import sys, time
end = time.monotonic() + 2.5
while time.monotonic() < end:
    sum(range(10_000))
sys.exit(7)
"""


def ending(program: str, silent_seconds: float = SILENT_SECONDS) -> tuple[int, float]:
    """The exit of a supervised child with this program, and the seconds it took."""
    heard, told = os.pipe()
    began = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", program, str(told)], pass_fds=[told]) as child:
        os.close(told)
        status = heartbeat.wait_for_end(child.pid, heard, silent_seconds)
        child.returncode = os.waitstatus_to_exitcode(status)
    os.close(heard)
    return child.returncode, time.monotonic() - began


def test_one_that_is_silent_and_does_nothing_is_killed() -> None:
    code, seconds = ending("import time; time.sleep(60)")
    assert (code, seconds < 30) == (-signal.SIGKILL, True)


@pytest.mark.parametrize("program", [BEATING, COMPUTING], ids=["beats", "computes"])
def test_one_that_beats_or_computes_is_left_to_its_work(program: str) -> None:
    assert ending(program)[0] == 7


def test_one_that_dies_is_heard_of_at_once() -> None:
    code, seconds = ending("import sys; sys.exit(3)", silent_seconds=3_600)
    assert (code, seconds < 60) == (3, True)
