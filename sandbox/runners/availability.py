"""Whether scripts could run on this host, as far as a look tells, before anything is started.

Only what is certain counts: a file or a number of the kernel that says that a wall is not to be had. Whatever else
is missing shows when the walls are raised, which decides.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from .runner_table import MANDATORY, OF_CONTAINERS

_SECCOMP = "/proc/sys/kernel/seccomp"
_NAMESPACES = "/proc/sys/user/max_user_namespaces"
_NAMESPACES_OF_USERS = "/proc/sys/kernel/unprivileged_userns_clone"  # of some distributions


def looks_possible(engine: str, accepted: Collection[str] = ()) -> bool:
    """Whether nothing speaks against this engine here; ``accepted``: walls that may be missing."""
    return _LOOKS[engine](frozenset(accepted))


def _kernel(accepted: frozenset[str]) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    missing = _missing()
    return missing <= accepted and not missing & MANDATORY


def _missing() -> frozenset[str]:
    """The walls that this kernel certainly does not give."""
    from sandbox.walls import kernel, seccomp

    missing = set()
    if not seccomp.supported() or not os.path.exists(_SECCOMP):
        missing.add("seccomp")
    if kernel.landlock_version() == 0:
        missing.add("landlock")
    if _number(_NAMESPACES) == 0 or (os.geteuid() != 0 and _number(_NAMESPACES_OF_USERS) == 0):
        missing |= OF_CONTAINERS
    return frozenset(missing)


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


_LOOKS: Mapping[str, Callable[[frozenset[str]], bool]] = MappingProxyType(
    {
        "auto": _kernel,
        "monty": lambda accepted: find_spec("pydantic_monty") is not None,
    }
)
