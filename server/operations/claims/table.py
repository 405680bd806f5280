"""The table of operations over notebooks of claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from winnow.server.contracts.claims.arguments import (
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
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.claims import reading, search, writing

# No script reaches these.
WRITING = frozenset({"claims.write", "claims.revise"})
_Handler = Callable[[RequestContext, Any], Answer]


def _where_kept(here: _Handler) -> _Handler:
    """The handler of an operation: ``here``, or the one of the same name over another server."""

    def handle(context: RequestContext, request: Any) -> Answer:
        if not context.index.claims.is_elsewhere:
            return here(context, request)
        from winnow.server.operations.claims import elsewhere  # it brings an HTTP library

        there: _Handler = getattr(elsewhere, here.__name__)
        return there(context, request)

    return handle


OF_CLAIMS: Mapping[str, tuple[type[BaseModel], _Handler]] = MappingProxyType(
    {
        "claims.search": (ClaimSearch, _where_kept(search.search_claims)),
        "claims.related": (RelatedEntries, _where_kept(reading.related_entries)),
        "claims.claims": (EntryClaims, _where_kept(reading.entry_claims)),
        "claims.read": (ReadEntry, _where_kept(reading.read_entry)),
        "claims.topics": (ListTopics, _where_kept(reading.list_topics)),
        "claims.friction": (FindFriction, _where_kept(reading.find_friction)),
        "claims.recent": (RecentChanges, _where_kept(reading.recent_changes)),
        "claims.status": (NotebookStatus, _where_kept(reading.notebook_status)),
        "claims.write": (WriteEntry, _where_kept(writing.write_entry)),
        "claims.revise": (ReviseEntry, _where_kept(writing.revise_entry)),
    }
)
