"""The table of operations over notebooks of claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from server.contracts.claims.arguments import (
    ClaimSearch,
    EntryClaims,
    FindFriction,
    ListTopics,
    NotebookStatus,
    ReadEntry,
    RecentChanges,
    RelatedEntries,
    ReviseEntry,
    WriteEntry,
)
from server.operations.base import Answer, RequestContext
from server.operations.claims.reading import (
    entry_claims,
    find_friction,
    list_topics,
    notebook_status,
    read_entry,
    recent_changes,
    related_entries,
)
from server.operations.claims.search import search_claims
from server.operations.claims.writing import revise_entry, write_entry

# No script reaches these.
WRITING = frozenset({"claims.write", "claims.revise"})
OF_CLAIMS: Mapping[str, tuple[type[BaseModel], Callable[[RequestContext, Any], Answer]]] = MappingProxyType(
    {
        "claims.search": (ClaimSearch, search_claims),
        "claims.related": (RelatedEntries, related_entries),
        "claims.claims": (EntryClaims, entry_claims),
        "claims.read": (ReadEntry, read_entry),
        "claims.topics": (ListTopics, list_topics),
        "claims.friction": (FindFriction, find_friction),
        "claims.recent": (RecentChanges, recent_changes),
        "claims.status": (NotebookStatus, notebook_status),
        "claims.write": (WriteEntry, write_entry),
        "claims.revise": (ReviseEntry, revise_entry),
    }
)
