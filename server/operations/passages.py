"""Passage ids to passages: of the caller's own session, within the scope of the call."""

from __future__ import annotations

from collections.abc import Sequence

from server.contracts.base import Scope
from server.errors import WinnowError
from server.ids import is_chunk_id
from server.operations.base import RequestContext
from server.operations.ranking.scope import check_passage_scope, filters_of
from server.sessions.passage_store import StoredPassage


def require_passage(context: RequestContext, passage_id: str, scope: Scope | None) -> StoredPassage:
    """The passage that a session was shown under this id; a chunk's id is as good.

    Raises:
        WinnowError: NOT_FOUND where this session does not hold it, SCOPE_VIOLATION where it is out of scope.
    """
    stored = find_passage(context, passage_id, scope)
    if stored is None:
        raise passage_not_found([passage_id])
    return stored


def find_passage(context: RequestContext, passage_id: str, scope: Scope | None) -> StoredPassage | None:
    """The same, or None for an id that this session does not know."""
    stored = context.session.get(passage_id)
    if stored is not None:
        check_passage_scope(context, scope, stored.project, stored.passage.document)
        return stored
    filters = filters_of(context, scope)
    if not is_chunk_id(passage_id):
        return None
    known = context.index.catalogue.passages([passage_id], filters.project).get(passage_id)
    if known is None or not context.index.admits(filters, known.document):
        return None
    return context.session.keep(known, filters.project)


def passage_not_found(passage_ids: Sequence[str]) -> WinnowError:
    """What is said of ids that lead nowhere, for whatever reason."""
    named = ", ".join(repr(one) for one in passage_ids[:3])
    return WinnowError(
        "NOT_FOUND",
        f"no passage {named} in this session; passage ids are kept for a while and in one session only: search "
        "again, or give a section_id, which lasts",
    )
