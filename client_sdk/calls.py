"""Rows and documents as a script asks for them. The docstrings are what the author of a script reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .rows import Pages, Results
from .transport import call, call_each, error_in

Filters = Mapping[str, Any]
Scope = Mapping[str, Any]


# The values that these parameters take.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "response_mode": ("ids_only", "ids", "metadata", "preview", "full"),
    "level": ("ids", "metadata", "preview", "full"),
    "format": ("text", "bullets"),
    "direction": ("out", "in", "both"),
}


def _present(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def semantic_search(
    query: str | None = None,
    *,
    top_k: int = 10,
    response_mode: str = "metadata",
    vendor_filter: str | None = None,
    min_score: float = 0.0,
    include_relationships: bool = False,
    filter_ids: Iterable[str] | None = None,
    filters: Filters | None = None,
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """Search by meaning and words together; the best rows first.

        rows = semantic_search("how are retries configured", top_k=20, min_score=0.3)
        for row in rows:
            print(row.id, row.title, row.score)

    top_k: how many rows, 1 to 100. response_mode: "ids_only" < "metadata" (title, score, source) < "preview"
    (and the best sentence) < "full" (and the whole text); take the smallest that answers. min_score: 0 to 1.
    filters: {"doc_tag": ..., "path_prefix": ..., "updated_after": "2026-01-31"}. filter_ids: these documents
    only, query optional. include_relationships: with "preview" or "full", row.relationships has what it speaks of,
    where there is a graph. cursor: `page.next_cursor` of the page before.
    """
    return Results(
        call(
            "semantic_search",
            _present(
                query=query,
                top_k=top_k,
                response_mode=response_mode,
                vendor_filter=vendor_filter,
                min_score=min_score,
                include_relationships=include_relationships,
                filter_ids=None if filter_ids is None else _ids(filter_ids),
                filters=filters,
                scope=scope,
                cursor=cursor,
            ),
        )
    )


def fetch(ids: Any, level: str = "full", *, scope: Scope | None = None) -> Results:
    """The documents with these ids, in the order given.

        best = kb.search("retry policy")[0]
        text = fetch(best.id)[0].content
        rows = fetch([row.id for row in semantic_search("timeouts")[:5]], level="preview")

    ids: one id, a list of ids, or rows. level: "ids", "metadata", "preview" or "full". Ids that are not there
    are in `page.missing_ids`.
    """
    return Results(call("fetch", _present(ids=_ids(ids), level=level, scope=scope)))


def search_many(
    queries: Iterable[str],
    *,
    top_k: int = 10,
    response_mode: str = "metadata",
    min_score: float = 0.0,
    filters: Filters | None = None,
    scope: Scope | None = None,
) -> Pages:
    """Several questions at once: a page for each, in the order asked, in one round trip.

        questions = ["retry policy", "backup encryption", "audit log"]
        for question, rows in zip(questions, search_many(questions, top_k=3)):
            print(question, [row.title for row in rows], rows.error)

    Parameters as in semantic_search. Each question counts as one SDK call. A question that is refused (too short,
    say) gives an empty page whose `error` says why, and the others keep their rows; where all are refused, the
    first one's SDKError is raised.
    """
    if isinstance(queries, str):
        raise TypeError("search_many takes a list of questions; for one, use semantic_search(query)")
    params = _present(top_k=top_k, response_mode=response_mode, min_score=min_score, filters=filters, scope=scope)
    replies = call_each("semantic_search", params, [{"query": query} for query in queries])
    pages = Pages(_page(reply) for reply in replies)
    errors = [page.error for page in pages if page.error is not None]
    if errors and len(errors) == len(pages):
        raise errors[0]
    return pages


def _page(reply: Mapping[str, Any]) -> Results:
    error = error_in(reply)
    return Results(reply["ok"]) if error is None else Results.refused(error)


def _ids(ids: Any) -> list[Any]:
    if isinstance(ids, (str, Mapping)):
        ids = [ids]
    return [item["id"] if isinstance(item, Mapping) else item for item in ids]
