"""Whether scripts can run on this host, as far as a server can tell before it starts the sandbox.

What is missing is what a trial of the walls shows; where the trial itself fails, walls that the kernel certainly
lacks. A wall that stands here may still fail its test when the sandbox starts; that decides.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from winnow.sandbox.walls.tiers import NAMESPACE_WALLS, TIERS

from .runner_table import MANDATORY_WALLS

_SECCOMP = "/proc/sys/kernel/seccomp"
_MAX_USER_NAMESPACES = "/proc/sys/user/max_user_namespaces"
_UNPRIVILEGED_USER_NAMESPACES = "/proc/sys/kernel/unprivileged_userns_clone"  # of some distributions


def looks_possible(runner: str, accepted: Collection[str] = ()) -> bool:
    """Whether this runner can start here; ``accepted``: walls that may be missing, or a tier."""
    return _CHECKS[runner](frozenset(accepted))


def _check_kernel(accepted: frozenset[str]) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    from winnow.sandbox.walls.trial import TRIED_WALLS, find_refused_walls

    refused = find_refused_walls()
    missing = refused if refused is not None else _read_missing_walls()
    lacks = accepted.union(*(TIERS[name].lacks for name in accepted & TIERS.keys()))
    # An opt-in that names a wall that stands is refused, too.
    named_in_vain = accepted & TRIED_WALLS - missing if refused is not None else frozenset()
    return missing <= lacks and not missing & MANDATORY_WALLS and not named_in_vain


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


_CHECKS: Mapping[str, Callable[[frozenset[str]], bool]] = MappingProxyType(
    {
        "auto": _check_kernel,
        "monty": lambda accepted: find_spec("pydantic_monty") is not None,
    }
)
