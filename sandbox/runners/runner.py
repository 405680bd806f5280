"""The parent's view of a runner and its children: two protocols, and the end of a child.

A runner starts locked children, each for one script; parent/sandbox.py and parent/execution.py use it by these
protocols. runner_table.py has the runners by name.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.protocol.outcome import WallReport


class ChildGone(Exception):
    """The child closed its end of the channel."""


# Not every system has all of these signals.
_FAULTS = frozenset(
    getattr(signal, name, None) for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS")
)
_WARNING = getattr(signal, "SIGUSR1", None)
_KILL = getattr(signal, "SIGKILL", None)
_CPU_GRAIN_MS, _KILLED_SHARE = 200, 0.5


@dataclass(frozen=True, slots=True)
class ChildDeath:
    """The death of a child: the signal that killed it or 0, and what it used."""

    signal: int
    cpu_ms: float
    memory_peak_bytes: int
    hit_group_limit: bool = False  # the kernel killed it because all scripts together held too much memory

    @property
    def is_fault(self) -> bool:
        """Whether its own action killed it: a native fault, or a system call that the kernel filter forbids."""
        return self.signal in _FAULTS

    def is_by_cpu_limit(self, cpu_seconds: int) -> bool:
        """Whether it has used its processor time up.

        The kernel counts the limit in whole ticks and reports what was used exactly: of a process that shares its
        processor the two may be far apart. Where nothing else explains that it was killed, half of the limit is
        enough.
        """
        share = self.cpu_ms / (cpu_seconds * 1000)
        return self.cpu_ms >= cpu_seconds * 1000 - _CPU_GRAIN_MS or (
            self.signal == _KILL and share >= _KILLED_SHARE
        )

    @property
    def is_by_warning(self) -> bool:
        """Whether `RunnerChild.warn` killed it: on a loaded machine it may come before the child handles it."""
        return self.signal == _WARNING


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
        """The usage so far; None where it is unknown, or the child is dead already."""

    def warn(self) -> None:
        """Signal that its time is nearly up, where its system and its interpreter have such a signal."""

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
