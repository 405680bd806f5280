"""Waits for processes that were forked for this one, and are children of another: by their handles.

The system tells a parent alone how a process has ended, so the exit code of these is 0.
"""

from __future__ import annotations

import os
import select
import subprocess
from contextlib import suppress
from typing import Any

_handles: dict[int, int] = {}


def adopt(pid: int) -> None:
    """Let ``subprocess.Popen`` wait for this process as if it were a child of this one."""
    with suppress(ProcessLookupError):  # it has ended already
        _handles[pid] = os.pidfd_open(pid)
    if not hasattr(_popen, "waits_for_adopted"):
        _popen.waits_for_adopted = True
        _popen._internal_poll = _polling(_popen._internal_poll)
        _popen._try_wait = _waiting(_popen._try_wait)


_popen: Any = subprocess.Popen


def _polling(poll: Any) -> Any:
    def internal_poll(process: Any, *arguments: Any, **named: Any) -> int | None:
        if process.returncode is None and not _has_ended(process.pid, 0):
            return None
        code: int | None = poll(process, *arguments, **named)
        return code

    return internal_poll


def _waiting(wait: Any) -> Any:
    def try_wait(process: Any, flags: int) -> tuple[int, int]:
        if not _has_ended(process.pid, 0 if flags & os.WNOHANG else None):
            return 0, 0
        ended: tuple[int, int] = wait(process, flags)
        return ended

    return try_wait


def _has_ended(pid: int, milliseconds: int | None) -> bool:
    """Whether an adopted process has ended, or does so in this time (None: until it does); True for any other."""
    if (handle := _handles.get(pid)) is None:
        return True
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if not poll.poll(milliseconds):
        return False
    os.close(_handles.pop(pid))
    return True
