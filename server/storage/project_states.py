"""The states of a project that is not in use: deleted, being removed, being renamed or being imported.

A project in such a state is hidden from every search, list and ingest. Its rows and vectors stay until ``winnow
project purge``, so that a deletion can be undone, and a kill at any moment leaves the project whole or gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from winnow.server.errors import WinnowError

# "" is a project in use.
ProjectState = Literal["", "deleted", "removing", "renaming", "importing"]

_WHY: Mapping[ProjectState, str] = MappingProxyType(
    {
        "deleted": "was deleted; bring it back with: winnow project restore {name}, or free its space and its "
        "name with: winnow project purge",
        "removing": "is being removed; complete that with: winnow project purge",
        "renaming": "is the target of a renaming that was interrupted; complete it with the same winnow project "
        "rename, or give it up with: winnow project purge",
        "importing": "is being imported; complete it with the same winnow project import, or give it up with: "
        "winnow project delete {name}",
    }
)


@dataclass(frozen=True, slots=True)
class HiddenProject:
    """A project that is not in use. ``successor`` is the name that it was given by a renaming, or ""."""

    name: str
    state: ProjectState
    successor: str
    documents: int


def check_state(name: str, state: ProjectState, expected: ProjectState = "") -> None:
    """Raise ``WinnowError("INVALID_PROJECT")`` with what to do if the project is in another state."""
    if state != expected:
        why = _WHY[state].format(name=name) if state else "is in use"
        raise WinnowError("INVALID_PROJECT", f"project {name!r} {why}", details={"project": name})
