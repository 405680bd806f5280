"""The table of runners, the protocols they implement, and the choice of one by name.

A runner starts locked children, each for one script; parent/sandbox.py and parent/execution.py use it through the
protocols below. ``auto`` is the boundary this project stands for: CPython behind kernel walls. Any other runner is
weaker, so an operator must choose it by name: nothing falls back to it.
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
    """The child closed its end of the channel."""


# Not every system has all of these signals.
_FAULTS = frozenset(
    getattr(signal, name, None) for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS")
)


@dataclass(frozen=True, slots=True)
class ChildDeath:
    """How a child ended: the signal that killed it or 0, and what it used."""

    signal: int
    cpu_ms: float
    memory_peak_bytes: int
    hit_group_limit: bool = False  # the kernel killed it because all scripts together held too much memory

    @property
    def is_fault(self) -> bool:
        """Whether its own action killed it: a native fault, or a system call that the kernel filter forbids."""
        return self.signal in _FAULTS


class RunnerChild(Protocol):
    """One child: it is born locked, serves one script, and is killed."""

    memory_poll_seconds: float

    @property
    def death(self) -> Awaitable[ChildDeath]:
        """Resolves when the child has been reaped."""

    def limit_frames(self, longest: int) -> None:
        """Refuse longer frames from now on."""

    async def send(self, data: bytes) -> None:
        """Send a packed frame. ChildGone when the child has closed its end."""

    async def receive(self) -> bytes:
        """Receive the body of the next frame. ChildGone at the end, ProtocolError when the frame is too long."""

    def resident_bytes(self) -> int:
        """Resident memory of all its processes now; 0 where it is unknown."""

    def read_usage(self) -> ChildDeath | None:
        """What it has used so far; None where it is unknown, or the child is dead already."""

    def send_sigkill(self) -> None:
        """Kill it and keep its descriptors: the conversation sees the end of the channel."""

    def kill(self) -> None:
        """Kill it and close its descriptors. Idempotent; `death` follows."""


class Runner(Protocol):
    """Starts children."""

    walls: tuple[WallReport, ...]
    breaches: tuple[str, ...]  # what still works behind all walls together
    spares: deque[Any]  # idle children, kept ready
    starting: int  # spares being started
    scripts_served: int
    is_gone: bool
    on_fault: Callable[[Any], None]

    async def spawn(self, limits: Limits) -> RunnerChild:
        """Start a locked child. SandboxUnavailable when that fails."""

    async def close_when_idle(self) -> None:
        """Let running scripts end, then close."""

    async def close(self) -> None:
        """End it and every child. Idempotent."""


async def _start_kernel(limits: Limits, layers: Layers, children: int) -> Runner:
    if not sys.platform.startswith("linux"):
        name = _SYSTEM_NAMES.get(sys.platform, sys.platform)
        raise SandboxUnavailable(f"scripts are not available on {name} with kernel walls: {_INSTEAD}")
    from .fork_server import ForkServer

    return await ForkServer.start(limits, layers, children)


async def _start_monty(limits: Limits, layers: Layers, children: int) -> Runner:
    from . import monty

    return await monty.start(limits)


_INSTEAD = (
    "run winnow on Linux (a virtual machine, WSL or a container), or choose the smaller language with "
    "--sandbox monty"
)
_SYSTEM_NAMES: Mapping[str, str] = MappingProxyType({"darwin": "macOS", "win32": "Windows"})

# No opt-in accepts that one of these is missing.
MANDATORY_WALLS = frozenset({"seccomp"})

RUNNERS: Mapping[str, Callable[[Limits, Layers, int], Awaitable[Runner]]] = MappingProxyType(
    {"auto": _start_kernel, "monty": _start_monty}
)

# The walls that a container's usual profile rules out; the other walls protect the same assets without them.
CONTAINER_WALLS = frozenset(
    ("user_namespace", "network_namespace", "ipc_namespace", "host_name_namespace", "pid_namespace", "empty_root")
)
_TIERS: Mapping[str, str] = MappingProxyType({"auto": "full", "monty": "language"})


def tier_of(name: str, walls: tuple[WallReport, ...]) -> str:
    """The tier that a runner's walls reach on this host; "none" where too few stand to start."""
    missing = {wall.name for wall in walls if not wall.stands and not wall.reinforces}
    if not missing:
        return _TIERS[name]
    return "container" if name == "auto" and missing <= CONTAINER_WALLS else "none"


async def start_runner(name: str, limits: Limits, layers: Layers, children: int) -> Runner:
    """Start the runner of this name, for at most ``children`` at once.

    SandboxUnavailable where it cannot start; the message says what to do instead.
    """
    return await RUNNERS[name](limits, layers, children)


def failed_start_reports(name: str, reason: str) -> tuple[WallReport, ...]:
    """Reports for a runner that did not start: none of its walls stands."""
    if name == "auto" and sys.platform.startswith("linux"):
        from sandbox.walls.wall_table import ALL_WALLS

        return tuple(WallReport(wall.name, wall.protects, False, reason, wall.advice) for wall in ALL_WALLS)
    advice = _INSTEAD if name == "auto" else "follow the message, or set `sandbox` to auto"
    return (WallReport(name, "scripts on this host", False, reason, advice),)
