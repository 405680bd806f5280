"""A sign of life: an engine that hangs without dying would keep its store, and its clients, for ever.

The engine writes a byte a second to a pipe, from the loop that answers clients; its keeper reads there. The index
holds the interpreter while it opens many vectors from a cold disk, or builds where no other process can, and then
no byte comes for minutes. So silence alone kills nobody: an engine hangs that is silent and used no processor
time either.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from server.runtime.logs import log

_EVERY_SECONDS = 1.0
_SILENT_SECONDS = 60.0
_LOOKS = 6  # at a silent engine, before it is given up


async def beat(pipe: int) -> None:
    """Write to the pipe until cancelled; a keeper that is gone is no reason to stop working."""
    os.set_blocking(pipe, False)
    while True:
        with suppress(OSError):
            os.write(pipe, b".")
        await asyncio.sleep(_EVERY_SECONDS)


def ended(engine: int, pipe: int, silent_seconds: float = _SILENT_SECONDS) -> int:
    """Wait until this child has ended, and end it where it hangs; its wait status.

    ``pipe``: the end to read from, of which the child alone has the other one.
    """
    spent, in_vain = -1.0, 0
    while in_vain < _LOOKS:  # counted, not timed: a machine that slept was silent, too
        if select.select([pipe], [], [], silent_seconds / _LOOKS)[0]:
            in_vain = 0
            if not os.read(pipe, 4096):
                break
        else:
            before, spent = spent, _processor_ticks(engine)
            in_vain = in_vain + 1 if spent == before else 0
    else:
        log("engine hangs and is killed", level=logging.CRITICAL, pid=engine, silent_seconds=silent_seconds)
        os.kill(engine, signal.SIGKILL)
    return os.waitpid(engine, 0)[1]


def _processor_ticks(process: int) -> float:
    """Processor time of a process; where the kernel does not say, what is equal to nothing, itself included."""
    try:
        _, _, fields = Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")
    except OSError:
        return float("nan")
    user, system = fields.split()[11:13]  # utime and stime: the name before them may hold blanks
    return float(user) + float(system)
