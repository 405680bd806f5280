"""Heartbeats of the engine: its supervisor kills an engine that hangs, which would hold the store for ever.

The engine writes a byte a second to a pipe, from the event loop that answers clients; its supervisor reads the
pipe. The index holds the interpreter lock while it opens many vectors from a cold disk or rebuilds itself, and
then no byte comes for minutes. So an engine is considered hung only if it is silent and uses no processor time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from winnow.server.runtime.logs import log

_EVERY_SECONDS = 1.0
_SILENT_SECONDS = 60.0
_CHECKS = 6  # of a silent engine before it is killed


async def send_heartbeats(pipe: int) -> None:
    """Write to the pipe until cancelled. The engine goes on without a supervisor, so a broken pipe is ignored."""
    os.set_blocking(pipe, False)
    while True:
        with suppress(OSError):
            os.write(pipe, b".")
        await asyncio.sleep(_EVERY_SECONDS)


def wait_for_end(engine: int, pipe: int, silent_seconds: float = _SILENT_SECONDS) -> int:
    """Wait until the child ``engine`` has ended, and kill it if it hangs. Returns its wait status.

    ``pipe``: the read end; the child alone must have the write end.
    """
    ticks, stalled = -1.0, 0
    while stalled < _CHECKS:  # counted, not timed: a machine that was suspended was silent, too
        if select.select([pipe], [], [], silent_seconds / _CHECKS)[0]:
            stalled = 0
            if not os.read(pipe, 4096):
                break
        else:
            before, ticks = ticks, _processor_ticks(engine)
            stalled = stalled + 1 if ticks == before else 0
    else:
        log("engine hangs and is killed", level=logging.CRITICAL, pid=engine, silent_seconds=silent_seconds)
        os.kill(engine, signal.SIGKILL)
    return os.waitpid(engine, 0)[1]


def _processor_ticks(process: int) -> float:
    """Processor time of a process; NaN, which equals nothing, if the kernel does not tell."""
    try:
        _, _, fields = Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")
    except OSError:
        return float("nan")
    user, system = fields.split()[11:13]  # utime and stime; the name before them may contain blanks
    return float(user) + float(system)
