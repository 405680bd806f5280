"""``fetch`` of scripts: passages by id, and whole documents as their passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server.contracts.base import MAX_TOP_K, Mode
from server.contracts.search import Fetch, SemanticSearch
from server.errors import WinnowError
from server.models import Filters
from server.operations.base import Answer, RequestContext
from server.operations.paging import Cursor, fingerprint, resume
from server.operations.ranking.candidates import BY_ID, fetch_by_id, generation_of
from server.operations.ranking.scope import filters_of
from server.operations.search import semantic_search
from server.runtime.deadlines import check_deadline
from server.text.printable import one_line

_LEVELS: tuple[Mode, ...] = ("ids_only", "metadata", "preview", "full")
# What "auto" fetches where no bound is given: about five passages whole.
_AUTO_TOKENS = 4_000
_TOO_FEW = "even their ids take {} tokens, more than max_tokens"
# Rows of one page, where a document is among the ids and whole texts are asked for: half of what a run may take.
PAGE_OF_TEXTS = 25
_NAMED, _ID_CHARS = 5, 64


@dataclass(frozen=True, slots=True)
class _FetchPlan:
    """What ids stand for: passages in order, how many of them make a page; and those that stand for nothing."""

    ids: tuple[str, ...]
    page_size: int
    missing: tuple[str, ...]


def fetch(context: RequestContext, request: Fetch) -> Answer:
    """Passages by id, in the given order; a document stands for all of its passages, in reading order.

    With ``max_tokens``, a page is at the highest level at which all of its rows fit.

    Raises:
        WinnowError: NOT_FOUND where an id leads nowhere within scope and ``missing`` is "raise".
    """
    at = resume(request.cursor, request)
    filters = filters_of(context, request.scope)
    wanted = _plan_fetch(context, request, filters)
    if wanted.missing and request.missing == "raise":
        raise _not_found_error(wanted.missing)
    some = wanted.ids[at.offset : at.offset + wanted.page_size]
    if not some:
        return _empty_answer(request, wanted)
    found = _fetch_at_level(context, request, some)
    generation = generation_of(context, filters)
    end = at.offset + found.rows
    after = Cursor(end, fingerprint(request), generation, BY_ID).encode() if end < len(wanted.ids) else None
    return replace(
        found,
        payload=_add_paging(found.payload, wanted, after),
        warnings=(*at.moved(generation, BY_ID), *found.warnings),
        counted=None,
    )


def _plan_fetch(context: RequestContext, request: Fetch, filters: Filters) -> _FetchPlan:
    unknown = frozenset(fetch_by_id(context, request.ids, filters, None, 0.0).missing or ())
    passages_of = dict(_find_documents(context, [one for one in request.ids if one in unknown], filters))
    missing = tuple(one for one in dict.fromkeys(request.ids) if one in unknown and one not in passages_of)
    ids: list[str] = []
    left = dict(passages_of)
    for one in request.ids:  # a document that is named twice is there once
        ids += left.pop(one, ()) if one in passages_of else () if one in unknown else (one,)
    has_texts = request.level in ("full", "auto")
    return _FetchPlan(tuple(ids), PAGE_OF_TEXTS if passages_of and has_texts else MAX_TOP_K, missing)


def _find_documents(
    context: RequestContext, ids: Sequence[str], filters: Filters
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The passages of each of these that is a document in scope. Of one out of scope nothing is read."""
    if not ids:
        return
    admitted = context.index.admitted(filters)
    for one in dict.fromkeys(ids):
        check_deadline()
        chunks = (
            context.index.catalogue.chunks(one, filters.project) if admitted is None or one in admitted else []
        )
        if chunks:
            yield one, tuple(chunk.id for chunk in chunks)


def _fetch_at_level(context: RequestContext, request: Fetch, ids: Sequence[str]) -> Answer:
    """These passages at the level asked for, or at the highest one below it at which they fit."""
    bound = request.max_tokens or (_AUTO_TOKENS if request.level == "auto" else None)
    highest = _LEVELS.index(_highest_level(request))
    for level in reversed(_LEVELS[: highest + 1]):
        search = SemanticSearch(filter_ids=[*ids], response_mode=level, scope=request.scope)
        found = semantic_search(context, search)
        if bound is None or (found.tokens <= bound and not found.payload["partial"]):
            return found
    return replace(found, warnings=(*found.warnings, _TOO_FEW.format(found.tokens)))


def _highest_level(request: Fetch) -> Mode:
    match request.level:
        case "auto":
            return "full"
        case "ids":
            return "ids_only"
        case level:
            return level


def _add_paging(payload: dict[str, Any], wanted: _FetchPlan, after: str | None) -> dict[str, Any]:
    """The payload with what is missing of all ids, and with the end of this page of all passages."""
    whole = {name: value for name, value in payload.items() if name != "next_cursor"}
    whole["missing_ids"] = list(wanted.missing)
    if after is None:
        return {**whole, "partial": False, "limit_reason": "none"}
    reason = payload["limit_reason"] if payload["partial"] else "page_size"
    return {**whole, "partial": True, "limit_reason": reason, "next_cursor": after}


def _empty_answer(request: Fetch, wanted: _FetchPlan) -> Answer:
    mode = _highest_level(request)
    payload: dict[str, Any] = {"mode": mode, "count": 0, "ids" if mode == "ids_only" else "results": []}
    payload |= {"estimated_tokens": 0, "search_mode": BY_ID, "fusion": "none"}
    return Answer(_add_paging({**payload, "partial": False, "limit_reason": "none"}, wanted, None), mode, 0, 0)


def _not_found_error(missing: Sequence[str]) -> WinnowError:
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    named = ", ".join(repr(one_line(one, _ID_CHARS)) for one in missing[:_NAMED])
    return WinnowError(
        "NOT_FOUND",
        f"no passage and no document in reach has the id {named}{more}; ids come from rows; "
        'missing="skip" leaves out what is not there',
    )
