"""Whether scripts can probably run on this host, from what can be read without starting anything.

Only certain evidence counts: a kernel file or number that rules a wall out. Everything else shows when the walls
are raised; that decides.
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
    """Whether nothing rules this runner out here; ``accepted``: walls that may be missing, or a tier."""
    return _CHECKS[runner](frozenset(accepted))


def _check_kernel(accepted: frozenset[str]) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    missing = _missing_walls()
    lacks = accepted.union(*(TIERS[name].lacks for name in accepted & TIERS.keys()))
    return missing <= lacks and not missing & MANDATORY_WALLS


def _missing_walls() -> frozenset[str]:
    """The walls that this kernel certainly does not offer."""
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
