"""``fetch`` of scripts: passages by id, and whole documents as their passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow.server.contracts.base import MAX_TOP_K, Mode
from winnow.server.contracts.search import Fetch, SemanticSearch
from winnow.server.errors import WinnowError
from winnow.server.models import Filters
from winnow.server.operations.answers.paging import Cursor, fingerprint, resume
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.declaration import Operation, Script
from winnow.server.operations.ranking.candidates import BY_ID, fetch_by_id, generation_of
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.operations.search import semantic_search
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.text.printable import one_line

_LEVELS: tuple[Mode, ...] = ("ids_only", "metadata", "preview", "full")
# The bound of level "auto" if the request has none: about five full passages.
_AUTO_TOKENS = 4_000
_TOO_FEW = "even their ids take {} tokens, more than max_tokens"
# The page size for full texts if the ids include a document: half of the full texts that a run may read.
PAGE_OF_TEXTS = 25
_NAMED, _ID_CHARS = 5, 64


@dataclass(frozen=True, slots=True)
class _FetchPlan:
    """The passages to fetch in order, the page size, and the ids that are neither a passage nor a document."""

    ids: tuple[str, ...]
    page_size: int
    missing: tuple[str, ...]


def fetch(context: RequestContext, request: Fetch) -> Answer:
    """Passages by id, in the given order; a document's id is replaced by its passages, in reading order.

    With ``max_tokens``, a page is at the highest level at which all of its rows fit.

    Raises:
        WinnowError: NOT_FOUND if an id is unknown within scope and ``missing`` is "raise".
    """
    cursor = resume(request.cursor, request)
    filters = filters_of(context, request.scope)
    plan = _plan_fetch(context, request, filters)
    if plan.missing and request.missing == "raise":
        raise _not_found_error(plan.missing)
    ids = plan.ids[cursor.offset : cursor.offset + plan.page_size]
    if not ids:
        return _empty_answer(request, plan)
    answer = _fetch_at_level(context, request, ids)
    generation = generation_of(context, filters)
    end = cursor.offset + answer.rows
    after = Cursor(end, fingerprint(request), generation, BY_ID).encode() if end < len(plan.ids) else None
    return replace(
        answer,
        payload=_add_paging(answer.payload, plan, after),
        warnings=(*cursor.moved(generation, BY_ID), *answer.warnings),
        rendered=None,
    )


def _plan_fetch(context: RequestContext, request: Fetch, filters: Filters) -> _FetchPlan:
    unknown = frozenset(fetch_by_id(context, request.ids, filters, None, 0.0).missing or ())
    passages_of = dict(_find_documents(context, [id for id in request.ids if id in unknown], filters))
    missing = tuple(id for id in dict.fromkeys(request.ids) if id in unknown and id not in passages_of)
    ids: list[str] = []
    remaining = dict(passages_of)
    for id in request.ids:  # a document that is named twice is included once
        ids += remaining.pop(id, ()) if id in passages_of else () if id in unknown else (id,)
    has_texts = request.level in ("full", "auto")
    return _FetchPlan(tuple(ids), PAGE_OF_TEXTS if passages_of and has_texts else MAX_TOP_K, missing)


def _find_documents(
    context: RequestContext, ids: Sequence[str], filters: Filters
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The passages of each id that is a document in scope. Documents out of scope are not read."""
    if not ids:
        return
    admitted = context.index.admitted(filters)
    for id in dict.fromkeys(ids):
        check_deadline()
        chunks = context.index.catalogue.chunks(id, filters.project) if admitted is None or id in admitted else []
        if chunks:
            yield id, tuple(chunk.id for chunk in chunks)


def _fetch_at_level(context: RequestContext, request: Fetch, ids: Sequence[str]) -> Answer:
    """The passages at the level asked for, or at the highest lower level at which they fit."""
    bound = request.max_tokens or (_AUTO_TOKENS if request.level == "auto" else None)
    highest = _LEVELS.index(_highest_level(request))
    for level in reversed(_LEVELS[: highest + 1]):
        search = SemanticSearch(filter_ids=[*ids], response_mode=level, scope=request.scope)
        answer = semantic_search(context, search)
        if bound is None or (answer.tokens <= bound and not answer.payload["partial"]):
            return answer
    return replace(answer, warnings=(*answer.warnings, _TOO_FEW.format(answer.tokens)))


def _highest_level(request: Fetch) -> Mode:
    match request.level:
        case "auto":
            return "full"
        case "ids":
            return "ids_only"
        case level:
            return level


def _add_paging(payload: dict[str, Any], plan: _FetchPlan, after: str | None) -> dict[str, Any]:
    """Add the missing ids of the whole request, and replace the paging fields by those of this page."""
    whole = {name: value for name, value in payload.items() if name != "next_cursor"}
    whole["missing_ids"] = list(plan.missing)
    if after is None:
        return {**whole, "partial": False, "limit_reason": "none"}
    reason = payload["limit_reason"] if payload["partial"] else "page_size"
    return {**whole, "partial": True, "limit_reason": reason, "next_cursor": after}


def _empty_answer(request: Fetch, plan: _FetchPlan) -> Answer:
    mode = _highest_level(request)
    payload: dict[str, Any] = {"mode": mode, "count": 0, "ids" if mode == "ids_only" else "results": []}
    payload |= {"estimated_tokens": 0, "search_mode": BY_ID, "fusion": "none"}
    return Answer(_add_paging({**payload, "partial": False, "limit_reason": "none"}, plan, None), mode, 0, 0)


def _not_found_error(missing: Sequence[str]) -> WinnowError:
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    named = ", ".join(repr(one_line(id, _ID_CHARS)) for id in missing[:_NAMED])
    return WinnowError(
        "NOT_FOUND",
        f"no passage and no document in reach has the id {named}{more}; ids come from rows; "
        'missing="skip" leaves out what is not there',
    )


_FETCH_DOC = """\
The passages with these ids, in that order; for a document, all its passages.

    row = fetch(kb.search("retry policy")[0].id)[0]
    rows = fetch(semantic_search("timeouts"), max_tokens=2000)
    texts = [row.content for row in fetch(row.document_id).all()]

ids: one, a list, or rows. Documents come in pages of 25 full rows. level: "ids", "metadata", "preview",
"full", or "auto" (4,000 tokens). max_tokens: lower the level until all rows fit (`page.mode`). Unknown ids
raise; missing="skip" lists them in `page.missing_ids`.
"""
FETCH = Operation(
    "fetch",
    Fetch,
    fetch,
    script=Script(
        "ids level max_tokens * missing scope cursor",
        _FETCH_DOC,
    ),
)
