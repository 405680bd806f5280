"""Whether scripts can run on this host, as far as a server can tell before it starts the sandbox.

What is missing is what a trial of the walls shows; where the trial itself fails, walls that the kernel certainly
lacks. A wall that stands here may still fail its test when the sandbox starts; that decides.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType

from winnow.sandbox.walls.tiers import NAMESPACE_WALLS, TIERS, describe_mismatch, find_tier, is_accepted

from .runner_table import MANDATORY_WALLS, describe_other_system

_SECCOMP = "/proc/sys/kernel/seccomp"
_MAX_USER_NAMESPACES = "/proc/sys/user/max_user_namespaces"
_UNPRIVILEGED_USER_NAMESPACES = "/proc/sys/kernel/unprivileged_userns_clone"  # of some distributions


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a runner cannot start here; ``missing`` are walls that an operator may accept as missing."""

    reason: str
    missing: frozenset[str] = frozenset()


def find_obstacle(runner: str, accepted: Collection[str] = ()) -> Obstacle | None:
    """The obstacle to a start of this runner here, if any; ``accepted``: walls that may be missing, or a tier."""
    return _CHECKS[runner](frozenset(accepted))


def looks_possible(runner: str, accepted: Collection[str] = ()) -> bool:
    """Whether this runner can start here; ``accepted``: walls that may be missing, or a tier."""
    return find_obstacle(runner, accepted) is None


def tier_name_of(missing: Collection[str]) -> str:
    """The tier of a host where these walls are missing; "" where too few stand."""
    tier = find_tier(missing)
    return tier.name if tier else ""


def _check_kernel(accepted: frozenset[str]) -> Obstacle | None:
    if not sys.platform.startswith("linux"):
        return Obstacle(describe_other_system())
    from winnow.sandbox.walls.trial import TRIED_WALLS, find_refused_walls

    refused = find_refused_walls()
    missing = refused if refused is not None else _read_missing_walls()
    if mandatory := missing & MANDATORY_WALLS:
        return Obstacle(f"no sandbox without {', '.join(mandatory)}")
    return _compare(missing, accepted, TRIED_WALLS if refused is not None else missing)


def _compare(missing: frozenset[str], accepted: frozenset[str], tried: frozenset[str]) -> Obstacle | None:
    """The obstacle of an opt-in that does not fit these missing walls."""
    # What was not tried is taken to be missing where it is named.
    lacks = missing | (accepted - TIERS.keys() - tried)
    if is_accepted(lacks, accepted):
        return None
    if accepted:
        return Obstacle(describe_mismatch(lacks, accepted), missing)
    return Obstacle(f"walls are missing: {', '.join(sorted(missing))}", missing)


def _read_missing_walls() -> frozenset[str]:
    """The walls that this kernel certainly does not offer, from its files and numbers."""
    from winnow.sandbox.walls import kernel, seccomp

    missing = set()
    if not seccomp.is_supported() or not os.path.exists(_SECCOMP):
        missing.add("seccomp")
    if kernel.landlock_version() == 0:
        missing.add("landlock")
    if _read_number(_MAX_USER_NAMESPACES) == 0 or (
        os.geteuid() != 0 and _read_number(_UNPRIVILEGED_USER_NAMESPACES) == 0
    ):
        missing |= NAMESPACE_WALLS
    return frozenset(missing)


def _read_number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _check_monty(accepted: frozenset[str]) -> Obstacle | None:
    from .monty import CLAIMS, NOT_INSTALLED

    if not find_spec("pydantic_monty"):
        return Obstacle(NOT_INSTALLED)
    if not sys.platform.startswith("linux"):
        return None
    from winnow.sandbox.walls.trial import TRIED_WALLS, find_refused_walls

    own = frozenset(claim.name for claim in CLAIMS if not claim.reinforces)
    refused = find_refused_walls()
    return _compare(own & (refused or frozenset()), accepted, TRIED_WALLS if refused is not None else frozenset())


_CHECKS: Mapping[str, Callable[[frozenset[str]], Obstacle | None]] = MappingProxyType(
    {"auto": _check_kernel, "monty": _check_monty}
)
