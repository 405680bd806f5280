"""One script in CPython behind the walls of macOS. Untrusted source is parsed only behind all of them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from sandbox.protocol.limits import Limits

from . import process, script
from .channel import DescriptorChannel

RPC = 3
_SYSTEM = "/usr/lib/libSystem.B.dylib"
# Everything is imported by then, and speaking on a descriptor that is open already asks nobody.
PROFILE = "(version 1)\n(deny default)\n"


@dataclass(frozen=True, slots=True)
class Wall:
    """One wall: how it is raised, and the things it must stop."""

    name: str
    put_up: Callable[[Limits], None]
    attempts: Mapping[str, Callable[[Limits], object]]


def main(
    descriptor: int, limits: Mapping[str, Any], fence: bool, raised: Sequence[str], trial: bool = False
) -> NoReturn:
    """Raise the walls named, say which stand, serve one script, and wait to be killed."""
    bounds = Limits(**limits)
    process.warm_up(fence=fence)
    if descriptor != RPC:
        os.dup2(descriptor, RPC)
        os.close(descriptor)
    channel = DescriptorChannel(socket.socket(fileno=RPC))
    channel.watch()
    refusals = {wall.name: _refusal(wall, bounds) for wall in WALLS if wall.name in raised}
    standing = [name for name, refusal in refusals.items() if not refusal]
    found = {wall.name: [refusals.get(wall.name, ""), _through(wall, bounds)] for wall in WALLS} if trial else {}
    channel.send({"ready": {"raised": standing, "workers": [], "found": found}})
    speaker: Any = channel
    channel.send_body(script.run(channel.receive(), speaker, fence=fence))
    channel.receive()  # never comes: the keeper measures us, and kills
    os._exit(0)


def _refusal(wall: Wall, limits: Limits) -> str:
    """Raise it; why that did not go, or nothing."""
    try:
        wall.put_up(limits)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _through(wall: Wall, limits: Limits) -> list[str]:
    """What of that which it forbids works."""
    return [name for name, attempt in wall.attempts.items() if _works(attempt, limits)]


def _works(attempt: Callable[[Limits], object], limits: Limits) -> bool:
    try:
        return attempt(limits) is not False
    except (OSError, MemoryError):
        return False


# --- the walls, in the order in which they are raised ----------------------------------------------------------


def _ordinary_user(limits: Limits) -> None:
    if os.geteuid() == 0:
        raise OSError("the server runs as root")


def _descriptors(limits: Limits) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(RPC + 1, 4096)


def _cap(*kinds: int, value: int) -> None:
    for kind in kinds:
        resource.setrlimit(kind, (value, value))


def _seatbelt(limits: Limits) -> None:
    """Hand the profile to the system, which keeps it for the rest of this process's life."""
    try:
        system = ctypes.CDLL(_SYSTEM)
    except OSError:
        raise OSError("this system has no Seatbelt") from None
    complaint = ctypes.c_char_p()
    if system.sandbox_init(PROFILE.encode(), ctypes.c_uint64(0), ctypes.byref(complaint)) != 0:
        raise OSError((complaint.value or b"the profile was refused").decode(errors="replace"))


def _holds_others(limits: Limits) -> bool:
    for number in range(RPC + 1, 256):
        with contextlib.suppress(OSError):
            os.fstat(number)
            return True
    return False


def _forks(limits: Limits) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _connects(limits: Limits) -> None:
    # A datagram socket sends nothing when it connects.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("127.0.0.1", 9))


def _above(kind: int, value: int) -> bool:
    return resource.getrlimit(kind)[1] not in range(value + 1)


WALLS = (
    Wall("ordinary_user", _ordinary_user, {"be root": lambda limits: os.geteuid() == 0}),
    Wall("descriptors", _descriptors, {"hold a descriptor": _holds_others}),
    Wall("cpu_limit", lambda limits: _cap(resource.RLIMIT_CPU, value=limits.cpu_seconds),
         {"compute on": lambda limits: _above(resource.RLIMIT_CPU, limits.cpu_seconds)}),
    Wall("file_limits", lambda limits: _cap(resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, value=0),
         {"write": lambda limits: _above(resource.RLIMIT_FSIZE, 0)}),
    Wall("process_limit", lambda limits: _cap(resource.RLIMIT_NPROC, value=0), {"fork": _forks}),
    Wall("descriptor_limit", lambda limits: _cap(resource.RLIMIT_NOFILE, value=RPC + 1),
         {"open a descriptor": lambda limits: os.close(os.dup(RPC))}),
    # Last: it may forbid raising the others.
    Wall("seatbelt", _seatbelt, {
        "list a directory": lambda limits: os.listdir("/"),
        "stat a directory": lambda limits: os.stat("/"),
        "connect a socket": _connects,
        "fork": _forks,
        "signal its parent": lambda limits: os.kill(os.getppid(), 0),
        "read a host name": lambda limits: bool(os.uname().nodename),
    }),
)  # fmt: skip
