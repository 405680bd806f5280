"""Imports that a child behind walls attempts, and the modules among them that this installation has.

A child cannot open the files of modules, so the modules of its readers are imported before the walls stand. A
library that imports a module at first use does not find it then, and some libraries continue without it and return
less. The child therefore reports every module that it looked for, and its parent refuses the answer if one of them
is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# The name of the report among the facts of an answer.
LATE_IMPORTS = "late_imports"
_MOST_NAMES, _NAME_CHARS = 100, 200


class LateImports:
    """A finder of modules that finds nothing and records the names of the modules that were looked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def watch(self) -> None:
        """Become the first finder of this process."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Keep the name of a module that is not imported yet."""
        if len(self.names) < _MOST_NAMES and name not in self.names:
            self.names.append(name[:_NAME_CHARS])
        return None


def find_installed(names: Any) -> str:
    """The first of these modules that is installed, or "". No module is imported, because a child may name any."""
    listed = names[:_MOST_NAMES] if isinstance(names, list) else []
    return next((name for name in listed if isinstance(name, str) and _is_installed(name)), "")


def _is_installed(name: str) -> bool:
    folders: Sequence[str] | None = None
    parts = name[:_NAME_CHARS].split(".")
    if not all(part.isidentifier() for part in parts):
        return False
    for count in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:count]), folders)
        if spec is None:
            return False
        folders = spec.submodule_search_locations
        if folders is None:
            return count == len(parts)
    return True
