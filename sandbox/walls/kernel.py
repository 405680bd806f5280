"""System calls that the standard library lacks, through ctypes. One function for each call; no policy here.

Only the fork server and its children import this, before they lock themselves.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Sequence

MACHINE = platform.machine()

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS = 38, 39
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPSET = {"x86_64": 126, "aarch64": 91}
# The same number on every architecture, as for all calls added since Linux 5.1.
_CLOSE_RANGE, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 436, 444, 445, 446
_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1
_LANDLOCK_PATH, _LANDLOCK_PORT = 1, 2
_LANDLOCK_VERSION = 1

_LINUX_CAPABILITY_VERSION_3 = 0x20080522
_M_ARENA_MAX = -8

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _check(result: int, name: str) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return int(result)


def _syscall(number: int, name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    # A plain int would be passed as 32 bits.
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *wide), name)


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _check(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Join the namespace behind a descriptor."""
    _check(_libc.setns(descriptor, kind), "setns")


def prctl(option: int, first: int = 0, second: int = 0) -> int:
    """Control this process; returns the kernel's result."""
    long = ctypes.c_ulong
    return _check(_libc.prctl(option, long(first), long(second), long(0), long(0)), f"prctl({option})")


def mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None) -> None:
    """Mount, remount, or change the propagation of a mount."""
    _check(_libc.mount(source, target, kind, ctypes.c_ulong(flags), data), "mount")


def make_read_only(target: bytes) -> None:
    """Make a mount and all those below it read-only, in this process's mount namespace."""
    attributes = struct.pack("<4Q", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    _syscall(_MOUNT_SETATTR, "mount_setattr", _AT_FDCWD, target, _AT_RECURSIVE, attributes, len(attributes))


def pivot_root_here() -> None:
    """Make the working directory the root, and unmount the old root."""
    _syscall(_PIVOT_ROOT[MACHINE], "pivot_root", b".", b".")
    _check(_libc.umount2(b".", MNT_DETACH), "umount2")
    os.chdir("/")


def close_from(first: int, last: int = 0x7FFFFFFF) -> None:
    """Close every descriptor from ``first`` to ``last``."""
    if first <= last:
        _syscall(_CLOSE_RANGE, "close_range", first, last, 0)


def clear_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets."""
    header = struct.pack("Ii", _LINUX_CAPABILITY_VERSION_3, 0)
    _syscall(_CAPSET[MACHINE], "capset", header, bytes(24))


def landlock_version() -> int:
    """The version of the kernel's Landlock ABI; 0 where there is none."""
    try:
        return _syscall(_LANDLOCK_CREATE, "landlock_create_ruleset", None, 0, _LANDLOCK_VERSION)
    except OSError:
        return 0


def create_landlock_ruleset(fields: Sequence[int]) -> int:
    """The descriptor of a new ruleset that handles ``fields`` (files, network, scope) and allows nothing."""
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    return _syscall(_LANDLOCK_CREATE, "landlock_create_ruleset", attributes, len(attributes), 0)


def allow_landlock_path(ruleset: int, rights: int, descriptor: int) -> None:
    """Add these rights over the file or folder behind a descriptor, and over all below it."""
    rule = struct.pack("<Qi", rights, descriptor)
    _syscall(_LANDLOCK_ADD, "landlock_add_rule", ruleset, _LANDLOCK_PATH, rule, 0)


def allow_landlock_port(ruleset: int, rights: int, port: int) -> None:
    """Add these rights over a TCP port. From version 4 on."""
    rule = struct.pack("<QQ", rights, port)
    _syscall(_LANDLOCK_ADD, "landlock_add_rule", ruleset, _LANDLOCK_PORT, rule, 0)


def landlock_restrict(ruleset: int) -> None:
    """Restrict this thread to a ruleset, permanently."""
    _syscall(_LANDLOCK_RESTRICT, "landlock_restrict_self", ruleset, 0)


def seccomp(program: bytes) -> None:
    """Filter every further system call of this thread through a BPF program."""
    buffer = ctypes.create_string_buffer(program, len(program))
    record = _Program(len(program) // 8, ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(record))


def use_one_malloc_arena() -> None:
    """Keep glibc from reserving address space per thread. Other C libraries need nothing."""
    mallopt = getattr(_libc, "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
