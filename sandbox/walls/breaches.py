"""Attempts at what the walls forbid: each returns whether it worked, or whether what a wall sets is not set.

Most are the self-test of one wall; `CANARIES` are tried behind all walls together.
"""

from __future__ import annotations

import mmap
import os
import resource
import socket
from collections.abc import Callable

from winnow.sandbox.protocol.limits import MIB

from . import kernel
from .profiles import RPC
from .wall_resources import WallResources


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, MemoryError, OverflowError):
        return False
    return True


def is_root(resources: WallResources) -> bool:
    return 0 in os.getresuid()


def same_namespace(name: str) -> Callable[[WallResources], bool]:
    return lambda resources: os.readlink(f"/proc/self/ns/{name}") == resources.host_namespaces[name]


def reaches_network(resources: WallResources) -> bool:
    def connect() -> None:
        # A datagram socket sends nothing when it connects; loopback is simply not there behind the wall.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("127.0.0.1", 9))

    return _works(connect)


def sees_files(resources: WallResources) -> bool:
    return bool(os.listdir("/"))


def sees_parent(resources: WallResources) -> bool:
    return os.getppid() != 0


def in_old_session(resources: WallResources) -> bool:
    return os.getsid(0) != os.getpid()


def holds_descriptors(resources: WallResources) -> bool:
    first = resources.profile.last_descriptor + 1
    others = (number for number in range(first, 1024) if number != resources.ruleset)
    return any(_works(lambda number=number: os.fstat(number)) for number in others)  # type: ignore[misc]


def names_host(resources: WallResources) -> bool:
    return _works(lambda: socket.sethostname("breached"))


def outlives_parent(resources: WallResources) -> bool:
    return False  # PR_SET_PDEATHSIG raises when it fails; the tests kill a server to check it


def may_gain(resources: WallResources) -> bool:
    return kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) == 0


def may_be_traced(resources: WallResources) -> bool:
    return kernel.prctl(kernel.PR_GET_DUMPABLE) != 0


def opens_directory(resources: WallResources) -> bool:
    return _works(lambda: os.open("/", os.O_RDONLY | os.O_DIRECTORY))


def takes_memory(resources: WallResources) -> bool:
    # Mapped, never touched: costs nothing.
    return _works(lambda: mmap.mmap(-1, resources.limits.memory_bytes + 256 * MIB, flags=mmap.MAP_PRIVATE | 0x20))


def keeps_cpu(resources: WallResources) -> bool:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    return hard == resource.RLIM_INFINITY or hard > resources.limits.cpu_seconds


def writes_files(resources: WallResources) -> bool:
    return resource.getrlimit(resource.RLIMIT_FSIZE) != (0, 0)


def forks(resources: WallResources) -> bool:
    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return _works(fork)


def opens_descriptor(resources: WallResources) -> bool:
    return _works(lambda: os.dup(RPC))


def reaches_kernel(resources: WallResources) -> bool:
    # Neither Landlock nor a namespace forbids stat.
    return _works(lambda: os.stat("/"))


def executes_memory(resources: WallResources) -> bool:
    return _works(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC))


def opens_unix_socket(resources: WallResources) -> bool:
    return _works(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))


def leaves_walls(resources: WallResources) -> bool:
    return _works(lambda: kernel.unshare(kernel.CLONE_NEWUSER))


def signals_parent(resources: WallResources) -> bool:
    return _works(lambda: os.kill(os.getppid() or 1, 0))


# Actions tried behind all walls together, each in a child of its own; none may work.
CANARIES: dict[str, Callable[[WallResources], bool]] = {
    "open a directory": opens_directory,
    "stat a directory": reaches_kernel,
    "open a datagram socket": reaches_network,
    "open a unix socket": opens_unix_socket,
    "fork": forks,
    "signal a process": signals_parent,
    "map executable memory": executes_memory,
    "make a namespace": leaves_walls,
    "open a descriptor": opens_descriptor,
}
