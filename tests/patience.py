"""How tests wait: for events, with a limit that only a fault reaches; processes that they start end with them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

# Seconds. A machine with eight times as much to do as it has processors is still far below.
LIMIT = 600.0
_LOOK_SECONDS = 0.02


def until(is_so: Callable[[], object], every: float = _LOOK_SECONDS) -> None:
    """Return once it is so; looks every so many seconds."""
    end = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < end, "the event never came"
        time.sleep(every)


def still_there(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those that were still there when all had had time to end; now they are ended."""
    alive = list(psutil.wait_procs(processes, timeout=LIMIT)[1])
    for each in alive:
        _kill(each)
    return alive


def family(pid: int) -> list[psutil.Process]:
    """The processes below this one."""
    with suppress(psutil.NoSuchProcess):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that does not outlive the block, nor does what it started."""
    process = subprocess.Popen([str(part) for part in command], **options)
    try:
        yield process
    finally:
        below = family(process.pid)
        if process.poll() is None:
            process.kill()
        process.wait()
        for each in below:
            _kill(each)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
