"""The operations over notebooks of claims, in this store or on another server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from winnow.server.operations.base import Answer, Operation, RequestContext
from winnow.server.operations.claims import reading, search, writing

_Handler = Callable[[RequestContext, Any], Answer]


def _where_kept(here: _Handler) -> _Handler:
    """The handler of an operation: ``here``, or the one of the same name over another server."""

    def handle(context: RequestContext, request: Any) -> Answer:
        if not context.index.claims.is_remote:
            return here(context, request)
        from winnow.server.operations.claims import remote_notebook  # it brings an HTTP library

        there: _Handler = getattr(remote_notebook, here.__name__)
        return there(context, request)

    return handle


CLAIMS_SEARCH = Operation("claims.search", ClaimSearch, _where_kept(search.search_claims))
CLAIMS_RELATED = Operation("claims.related", RelatedEntries, _where_kept(reading.related_entries))
CLAIMS_CLAIMS = Operation("claims.claims", EntryClaims, _where_kept(reading.entry_claims))
CLAIMS_READ = Operation("claims.read", ReadEntry, _where_kept(reading.read_entry))
CLAIMS_TOPICS = Operation("claims.topics", ListTopics, _where_kept(reading.list_topics))
CLAIMS_FRICTION = Operation("claims.friction", FindFriction, _where_kept(reading.find_friction))
CLAIMS_RECENT = Operation("claims.recent", RecentChanges, _where_kept(reading.recent_changes))
CLAIMS_STATUS = Operation("claims.status", NotebookStatus, _where_kept(reading.notebook_status))
CLAIMS_WRITE = Operation("claims.write", WriteEntry, _where_kept(writing.write_entry), in_scripts=False)
CLAIMS_REVISE = Operation("claims.revise", ReviseEntry, _where_kept(writing.revise_entry), in_scripts=False)
OF_CLAIMS = (
    CLAIMS_SEARCH,
    CLAIMS_RELATED,
    CLAIMS_CLAIMS,
    CLAIMS_READ,
    CLAIMS_TOPICS,
    CLAIMS_FRICTION,
    CLAIMS_RECENT,
    CLAIMS_STATUS,
    CLAIMS_WRITE,
    CLAIMS_REVISE,
)
