"""Waiting for events, with a limit that only a fault reaches, and processes that end with their test."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

# Seconds. A machine with a load of eight times its processors stays far below.
LIMIT = 600.0
_LOOK_SECONDS = 0.02


def until(is_so: Callable[[], object], every: float = _LOOK_SECONDS) -> None:
    """Wait until the condition holds; checks it every ``every`` seconds."""
    end = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < end, "the event never came"
        time.sleep(every)


def still_there(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """The processes that did not end within the limit; they are killed."""
    alive = list(psutil.wait_procs(processes, timeout=LIMIT)[1])
    for each in alive:
        _kill(each)
    return alive


def family(pid: int) -> list[psutil.Process]:
    """All descendants of the process."""
    with suppress(psutil.NoSuchProcess):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()


@contextmanager
def start_process(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process; it and its descendants are killed at the end of the block."""
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
