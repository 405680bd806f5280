"""The table of runners (see runner.py), and the choice of one by name.

``auto`` is the boundary this project stands for: CPython behind kernel walls. Any other runner is
weaker, so an operator must choose it by name: nothing falls back to it.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from winnow.sandbox.protocol.limits import Layers, Limits
from winnow.sandbox.protocol.outcome import SandboxUnavailable, WallReport
from winnow.sandbox.walls.tiers import NO_TIER, find_tier

from .runner import Runner


async def _start_kernel(limits: Limits, layers: Layers, children: int) -> Runner:
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable(describe_other_system())
    from .fork_server import ForkServer

    return await ForkServer.start(limits, layers, children)


def describe_other_system() -> str:
    """Why no script runs behind kernel walls on a system other than Linux."""
    name = _SYSTEM_NAMES.get(sys.platform, sys.platform)
    return f"scripts are not available on {name} with kernel walls: {_INSTEAD}"


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


def tier_of(name: str, walls: tuple[WallReport, ...]) -> str:
    """The tier that a runner's walls reach on this host; "none" where too few stand to start."""
    missing = {wall.name for wall in walls if not wall.stands and not wall.reinforces}
    if name != "auto":
        return "none" if missing else "language"
    tier = find_tier(missing)
    return tier.name if tier else NO_TIER


async def start_runner(name: str, limits: Limits, layers: Layers, children: int) -> Runner:
    """Start the runner of this name, for at most ``children`` at once.

    SandboxUnavailable where it cannot start; the message says what to do instead.
    """
    return await RUNNERS[name](limits, layers, children)


def failed_start_reports(name: str, reason: str) -> tuple[WallReport, ...]:
    """Reports for a runner that did not start: none of its walls stands."""
    if name == "auto" and sys.platform.startswith("linux"):
        from winnow.sandbox.walls.wall_table import ALL_WALLS

        return tuple(WallReport(wall.name, wall.protects, False, reason, wall.advice) for wall in ALL_WALLS)
    advice = _INSTEAD if name == "auto" else "follow the message, or set `sandbox` to auto"
    return (WallReport(name, "scripts on this host", False, reason, advice),)
