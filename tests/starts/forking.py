"""A fork whose child belongs to the parent of the process that forks."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT, _CLONE_CHILD_CLEARTID, _CLONE_CHILD_SETTID = 0x8000, 0x20_0000, 0x100_0000
_PR_GET_TID_ADDRESS = 40
HIGH = 512  # above the numbers that the standard streams and what is passed on have

IS_POSSIBLE = sys.platform == "linux" and os.uname().machine in _SYS_CLONE


def fork_for_parent() -> int:
    """Fork as a child of this process's parent; 0 in the child. For a process of one thread.

    As ``os.fork``, without the handlers of C libraries, which repair what other threads held. The C library
    keeps the number of its thread at an address that the system writes in the child.
    """
    address = ctypes.c_void_p()
    _libc().prctl(_PR_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0)
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _clone(_CLONE_PARENT | _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID | signal.SIGCHLD, address)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return pid


def arrange_descriptors(numbers: Sequence[int], descriptors: Sequence[int]) -> None:
    """Give the descriptors these numbers, and close all others."""
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, HIGH) for each in descriptors]
    for number, each in zip(numbers, high, strict=True):
        os.dup2(each, number)
    kept = {*numbers}
    for number in range(max(numbers)):
        if number not in kept:
            with suppress(OSError):
                os.close(number)
    os.closerange(max(numbers) + 1, max(high) + 1)


def take_place(folder: bytes, *, has_own_session: bool, group: int) -> None:
    """Enter the session, the process group (a negative one for none) and the folder of a start."""
    if has_own_session:
        os.setsid()
    if group >= 0:
        os.setpgid(0, group)
    os.chdir(folder)


def _clone(flags: int, thread_address: ctypes.c_void_p) -> int:
    machine = os.uname().machine
    none = ctypes.c_long(0)
    last = (thread_address, none) if machine == "x86_64" else (none, thread_address)
    clone = _libc().syscall
    clone.restype = ctypes.c_long
    return int(clone(ctypes.c_long(_SYS_CLONE[machine]), ctypes.c_long(flags), none, none, *last))


def _libc() -> ctypes.PyDLL:
    """The C library, called as the interpreter calls it: no other thread runs in between."""
    return ctypes.PyDLL(None)
