"""Profiles of the walls of a child: for scripts, for readers of files, for programs of the operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

RPC = 3  # the one descriptor on which a child speaks with its parent
DOCUMENT = 4  # in a reader: the file that it reads, opened read-only by its parent


@dataclass(frozen=True, slots=True)
class Profile:
    """The permissions of one kind of child.

    ``last_descriptor``: those up to it are kept, and no further one can be opened. ``readable`` and ``writable``
    are descriptors of `read` and `write`. ``reads_file``: it has a file at `DOCUMENT`, in which it may seek, and
    native libraries, whose locks ask the kernel. ``executes``: it is a program of the operator, which may make any
    system call but those of `seccomp.DENIED_TO_PROGRAMS`; ``is_online``: that program may use the network.
    """

    name: str
    last_descriptor: int
    readable: tuple[int, ...]
    writable: tuple[int, ...]
    reads_file: bool = False
    executes: bool = False
    is_online: bool = False


SCRIPT = Profile("script", last_descriptor=RPC, readable=(RPC,), writable=(RPC,))
# Libraries print to the standard streams, which are /dev/null; Rust ends a program that cannot.
READER = Profile(
    "reader",
    last_descriptor=DOCUMENT,
    readable=(RPC, DOCUMENT),
    writable=(1, 2, RPC),
    reads_file=True,
)
PROGRAM = Profile("program", last_descriptor=2, readable=(), writable=(), executes=True)
ONLINE_PROGRAM = Profile("online program", 2, (), (), executes=True, is_online=True)
PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in (SCRIPT, READER)})
