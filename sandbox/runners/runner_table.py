"""What a script may run on, and how one of them is chosen. No engine's own code is here.

An engine starts locked children, each for one script; the keeper (runner.py) and the conversation (execution.py)
know it by the protocols below. ``auto`` is the boundary this project stands for: CPython behind kernel walls.
The others are weaker or unproven, so each has a name that an operator must say: nothing falls back to them.
"""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from sandbox.protocol.limits import Layers, Limits
from sandbox.protocol.outcome import SandboxUnavailable, WallReport


class ChildGone(Exception):
    """The child closed its end."""


# Not every system has them all.
_FAULTS = frozenset(
    getattr(signal, name, None) for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS")
)


@dataclass(frozen=True, slots=True)
class ChildDeath:
    """How a child ended: the signal that killed it or 0, and what it used."""

    signal: int
    cpu_ms: float
    memory_peak_bytes: int
    starved: bool = False  # the kernel killed it because all scripts together held too much memory

    @property
    def fault(self) -> bool:
        """Killed for what it did itself: a native fault, or a call the kernel filter forbids."""
        return self.signal in _FAULTS


class RunnerChild(Protocol):
    """One child: it is born locked, serves one script, and is killed."""

    look_seconds: float  # between two looks at its memory

    @property
    def death(self) -> Awaitable[ChildDeath]:
        """Set when it is dead and buried."""

    def expect(self, longest: int) -> None:
        """From now on no frame longer than this is taken."""

    async def send(self, data: bytes) -> None:
        """Send a packed frame. ChildGone when nobody is there."""

    async def receive(self) -> bytes:
        """The body of the next frame. ChildGone at its end, ProtocolError when it is announced too long."""

    def resident_bytes(self) -> int:
        """Its resident memory now, with all its processes; 0 where nothing tells."""

    def measure(self) -> ChildDeath | None:
        """What it has used so far; None where nothing tells, or it is dead already."""

    def strike(self) -> None:
        """SIGKILL only; whoever converses with it sees its end."""

    def kill(self) -> None:
        """SIGKILL, and let go of every descriptor. Idempotent; `death` follows."""


class Runner(Protocol):
    """What starts children."""

    walls: tuple[WallReport, ...]
    breaches: tuple[str, ...]  # what still works behind all walls together
    spares: deque[Any]
    coming: int
    served: int
    gone: bool
    on_fault: Callable[[Any], None]

    async def spawn(self, limits: Limits) -> RunnerChild:
        """A new locked child. SandboxUnavailable when there is none to be had."""

    async def close_when_idle(self) -> None:
        """Let running scripts end, then close."""

    async def close(self) -> None:
        """End it and every child. Idempotent."""


async def _kernel(limits: Limits, layers: Layers, children: int) -> Runner:
    if not sys.platform.startswith("linux"):
        name = _SYSTEM_NAMES.get(sys.platform, sys.platform)
        raise SandboxUnavailable(f"scripts are not available on {name} with kernel walls: {_INSTEAD}")
    from .fork_server import ForkServer

    return await ForkServer.start(limits, layers, children)


async def _monty(limits: Limits, layers: Layers, children: int) -> Runner:
    from . import monty

    return await monty.start(limits)


_INSTEAD = (
    "run winnow on Linux (a virtual machine, WSL or a container), or choose the smaller language with "
    "--sandbox monty"
)
_SYSTEM_NAMES: Mapping[str, str] = MappingProxyType({"darwin": "macOS", "win32": "Windows"})

# No opt-in goes without these.
MANDATORY = frozenset({"seccomp"})

RUNNERS: Mapping[str, Callable[[Limits, Layers, int], Awaitable[Runner]]] = MappingProxyType(
    {"auto": _kernel, "monty": _monty}
)

# What a container's usual profile takes away, and with it nothing that the other walls do not hold as well.
OF_CONTAINERS = frozenset(
    ("user_namespace", "network_namespace", "ipc_namespace", "host_name_namespace", "pid_namespace", "empty_root")
)
_TIERS: Mapping[str, str] = MappingProxyType({"auto": "full", "monty": "language"})


def tier(name: str, found: tuple[WallReport, ...]) -> str:
    """How far an engine's walls go on this host, in one word; "none" where they do not go far enough to start."""
    missing = {wall.name for wall in found if not wall.stands and not wall.reinforces}
    if not missing:
        return _TIERS[name]
    return "container" if name == "auto" and missing <= OF_CONTAINERS else "none"


async def start(name: str, limits: Limits, layers: Layers, children: int) -> Runner:
    """Start the engine of this name, for so many children at once.

    SandboxUnavailable where it cannot be, and what to do instead.
    """
    return await RUNNERS[name](limits, layers, children)


def unraised(name: str, why: str) -> tuple[WallReport, ...]:
    """The walls of an engine that did not start, none of which stands."""
    if name == "auto" and sys.platform.startswith("linux"):
        from sandbox.walls.wall_table import ALL_WALLS

        return tuple(WallReport(wall.name, wall.protects, False, why, wall.advice) for wall in ALL_WALLS)
    advice = "do what it says, or leave the setting `sandbox` at auto" if name != "auto" else _INSTEAD
    return (WallReport(name, "scripts on this host", False, why, advice),)
