"""Finds passages by id: in the caller's session, within the scope of the call."""

from __future__ import annotations

from collections.abc import Sequence

from winnow.server.contracts.base import Scope
from winnow.server.errors import WinnowError
from winnow.server.ids import is_chunk_id
from winnow.server.operations.base import RequestContext
from winnow.server.operations.ranking.scope import check_passage_scope, filters_of
from winnow.server.runtime.sessions.passage_store import StoredPassage


def require_passage(context: RequestContext, passage_id: str, scope: Scope | None) -> StoredPassage:
    """The passage with this id in the session, or with this chunk id.

    Raises:
        WinnowError: NOT_FOUND if the session does not have it, SCOPE_VIOLATION if it is out of scope.
    """
    stored = find_passage(context, passage_id, scope)
    if stored is None:
        raise passage_not_found([passage_id])
    return stored


def find_passage(context: RequestContext, passage_id: str, scope: Scope | None) -> StoredPassage | None:
    """Like ``require_passage``, but None if the session does not have it."""
    stored = context.session.get(passage_id)
    if stored is not None:
        check_passage_scope(context, scope, stored.project, stored.passage.document)
        return stored
    filters = filters_of(context, scope)
    if not is_chunk_id(passage_id):
        return None
    passage = context.index.catalogue.passages([passage_id], filters.project).get(passage_id)
    if passage is None or not context.index.admits(filters, passage.document):
        return None
    return context.session.keep(passage, filters.project)


def passage_not_found(passage_ids: Sequence[str]) -> WinnowError:
    """The error for unknown passage ids, whatever the reason."""
    named = ", ".join(repr(passage_id) for passage_id in passage_ids[:3])
    return WinnowError(
        "NOT_FOUND",
        f"no passage {named} in this session; passage ids are kept for a while and in one session only: search "
        "again, or give a section_id, which lasts",
    )
