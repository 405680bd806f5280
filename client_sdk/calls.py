"""Search, fetch and rerank. The docstrings of the functions are the reference for authors of scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .awaitable import Rows, Text
from .rows import PLACE_FIELDS, Pages, Results, Row, to_row
from .transport import SDKError, call, call_each, error_of

Filters = Mapping[str, Any]
Scope = Mapping[str, Any]


# The allowed values of these parameters; where a function has others, under its name.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "response_mode": ("ids_only", "ids", "metadata", "preview", "full"),
    "level": ("auto", "ids", "metadata", "preview", "full"),
    "format": ("text", "bullets"),
    "direction": ("out", "in", "both"),
    "style": (
        "text",
        "table",
        "json",
        "pandoc",
        "apa",
        "chicago",
        "harvard",
        "ieee",
        "mla",
        "vancouver",
        "bibtex",
        "csl-json",
        "markdown",
    ),
    "match": ("all", "any"),
    "syntax": ("fields", "plain"),
    "missing": ("raise", "skip"),
    "errors": ("raise", "keep"),
    "mode": ("semantic", "lexical", "hybrid"),
    "integration_status": ("probation", "integrated", "contested"),
    "claims.related.direction": ("similar", "contradicts", "all"),
}


def request_page(method: str, params: Mapping[str, Any], missing: str | None = None) -> Results:
    """The page that a call returns; it can request the next one. ``missing``: see ``refuse_missing``."""
    page = Results(
        call(method, params), lambda cursor: request_page(method, {**params, "cursor": cursor}, missing)
    )
    refuse_missing(page.get("missing_ids"), missing)
    return page


def request_known(method: str, params: Mapping[str, Any], ids: str, missing: str) -> Results:
    """A page about the ids in the parameter ``ids``; with missing="skip" it may have no rows."""
    try:
        return request_page(method, params, missing)
    except SDKError as error:
        if missing != "skip" or error.type != _NOT_FOUND:
            raise
        return Results({"results": [], "missing_ids": [*params.get(ids, ())]})


def refuse_missing(ids: Any, missing: str | None) -> None:
    """Raise SDKError where ids are unknown, unless ``missing`` is "skip"; None: unknown ids are no error."""
    if missing not in (None, *CHOICES["missing"]):
        raise SDKError("INVALID_REQUEST", f'missing: "raise" or "skip", not {missing!r}')
    if missing == "raise" and ids:
        more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
        named = ", ".join(repr(str(identity)[:_ID_CHARS]) for identity in ids[:_NAMED])
        raise SDKError(_NOT_FOUND, f"unknown ids: {named}{more}", _SKIP)


_NOT_FOUND, _NAMED, _ID_CHARS = "NOT_FOUND", 5, 64
_SKIP = 'missing="skip" leaves out what is not there; page.missing_ids names it'


def _drop_none(**params: Any) -> dict[str, Any]:
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
    syntax: str = "fields",
    missing: str = "raise",
    cursor: str | None = None,
) -> Results:
    """Search by meaning and words; the best rows first.

        rows = semantic_search("how are retries configured", top_k=20, min_score=0.3)
        for row in rows:
            print(row.id, row.title, row.score)

    top_k: how many rows, 1 to 100. response_mode: "ids_only" < "metadata" (title, score, source) < "preview"
    (plus the best sentence) < "full" (plus the whole text); use the smallest that suffices. min_score: 0 to 1.
    filters: {"path": "guides/*", "where": {"stage": "beta"}, "doc_tag": ..., "tags": ...}. filter_ids: only these,
    query optional; unknown ones raise, unless missing="skip". include_relationships: with "preview" or "full",
    row.relationships has what it mentions, where there is a graph. cursor: `page.next_cursor` of the page before.
    """
    narrowed = filters is not None or vendor_filter is not None  # which leave out ids that are known, too
    return request_page(
        "semantic_search",
        _drop_none(
            query=query,
            top_k=top_k,
            response_mode=response_mode,
            vendor_filter=vendor_filter,
            min_score=min_score,
            include_relationships=include_relationships,
            filter_ids=None if filter_ids is None else _ids_of(filter_ids),
            filters=filters,
            scope=scope,
            syntax=None if syntax == "fields" else syntax,
            cursor=cursor,
        ),
        "skip" if narrowed and missing == "raise" else missing,
    )


def hybrid_search(
    query: str,
    bm25_weight: float = 0.5,
    vector_weight: float = 0.5,
    top_k: int = 10,
    filters: Filters | None = None,
    *,
    response_mode: str = "metadata",
    min_score: float = 0.0,
    scope: Scope | None = None,
    syntax: str = "fields",
    cursor: str | None = None,
) -> Results:
    """Search with your own weights for words and for meaning; the best rows first.

        rows = hybrid_search("error E1042", bm25_weight=0.8, vector_weight=0.2)
        print([(row.title, row.score) for row in rows])

    bm25_weight, vector_weight: 0 to 1 each, not both 0; only their proportion matters. More words for names, codes
    and numbers; more meaning for questions in other words than the documents'. The rest as in semantic_search,
    whose weights are the best on average. syntax: in both, "plain" reads tag:x in a query as words.
    """
    weights = {"bm25_weight": bm25_weight, "vector_weight": vector_weight}
    more = {"response_mode": response_mode, "min_score": min_score, "scope": scope, "cursor": cursor}
    narrowed = {"filters": filters, "syntax": None if syntax == "fields" else syntax}
    return request_page("hybrid_search", _drop_none(query=query, **weights, top_k=top_k, **narrowed, **more))


# Fields of a row of grep beside its matches. The text is left out: a script that returns rows would return it.
GREP_FIELDS = ("id", "document_id", "title", "section", "file", "type", "score")


def grep(
    query: str,
    pattern: str | re.Pattern[str],
    *,
    top_k: int = 10,
    min_score: float = 0.0,
    filters: Filters | None = None,
    scope: Scope | None = None,
) -> Results:
    r"""Search, and keep the rows whose text matches a regular expression; the best rows first.

        for row in grep("default number of retries", r"retries: (\d+)"):
            print(row.match, row.title)
        rows = grep("environment variables", r"\b[A-Z_]{4,}\b", top_k=50)
        print({name for row in rows for name in row.matches})

    pattern: searched for in each row's whole text and its section. row.match: the first match, or its group;
    row.matches: all, each once; with several groups they are tuples. Rows have no text: use fetch(row). The text
    of each row searched is taken in, once in a run. The rest as in semantic_search.
    """
    compiled = re.compile(pattern)
    page = semantic_search(
        query, top_k=top_k, response_mode="full", min_score=min_score, filters=filters, scope=scope
    )
    kept = []
    for row in page:
        texts = compiled.findall(f"{row['content']}\n{row['section']}")
        matches = [*dict.fromkeys(filter(None, texts))]
        if matches:
            known = {name: row[name] for name in GREP_FIELDS}
            known |= {name: row[name] for name in PLACE_FIELDS if name in row}
            kept.append({**known, "match": matches[0], "matches": matches})
    return Results({"results": kept, "warnings": page["warnings"]})


def rerank(
    query: str,
    rows: Iterable[Any],
    top_k: int = 5,
    threshold: float = 0.0,
    *,
    missing: str = "raise",
    scope: Scope | None = None,
) -> Results:
    """The best `top_k` rows of any calls, sorted by how well they answer one question.

        found = [row for page in search_many(["retry policy", "timeouts"]) for row in page]
        for row in rerank("how many retries are there", found, top_k=3):
            print(row.rerank_score, row.title)

    rows: rows, ids, or pages, up to 100; duplicates count once. They are returned unchanged, with
    row.rerank_score: 0 to 1, relative to the best of them. threshold: omit rows that score below. Unknown ids
    raise; missing="skip" lists them in `page.missing_ids`. `page["reranked_by"]`: "cross-encoder", or the model
    over "sentences", or "words" alone without a model.
    """
    given: dict[Any, Row] = {}
    for row in [rows] if isinstance(rows, (str, Mapping)) else rows:
        known = row if isinstance(row, Mapping) else {"id": row}
        given.setdefault(known["id"], Row(known))
    if not given:
        return Results({"results": []})
    params = _drop_none(query=query, ids=[*given], top_k=top_k, threshold=threshold, scope=scope)
    reply = call("rerank", params)
    refuse_missing(reply["missing_ids"], missing)
    best = [Row({**given[hit["id"]], "rerank_score": hit["rerank_score"]}) for hit in reply["results"]]
    return Results({**reply, "results": best})


def fetch(
    ids: Any,
    level: str = "full",
    max_tokens: int | None = None,
    *,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The passages with these ids, in that order; for a document, all its passages.

        row = fetch(kb.search("retry policy")[0].id)[0]
        rows = fetch(semantic_search("timeouts"), max_tokens=2000)
        texts = [row.content for row in fetch(row.document_id).all()]

    ids: one, a list, or rows. Documents come in pages of 25 full rows. level: "ids", "metadata", "preview",
    "full", or "auto" (4,000 tokens). max_tokens: lower the level until all rows fit (`page.mode`). Unknown ids
    raise; missing="skip" lists them in `page.missing_ids`.
    """
    passage_ids = _ids_of(ids)
    if not passage_ids:  # a script filtered out all rows: not an error
        return Results({"results": [], "mode": level, "missing_ids": []})
    how = {"level": level, "max_tokens": max_tokens, "missing": None if missing == "raise" else missing}
    return request_page("fetch", _drop_none(ids=passage_ids, **how, scope=scope, cursor=cursor))


def read_result(execution_id: str) -> Any:
    """The result of an earlier script of this session that was too large to return.

        try:
            rows = read_result("0123456789abcdef")
        except SDKError as error:
            rows = []
            print(error.message)

    execution_id: from that script's error. Returns what the script returned, as plain data.
    """
    return _to_awaitable(json.loads(call("read_result", {"execution_id": execution_id})["text"]))


def _to_awaitable(value: Any) -> Any:
    if isinstance(value, list):
        return Rows(map(to_row, value) if all(isinstance(row, dict) for row in value) else value)
    return to_row(value) if isinstance(value, dict) else Text(value) if isinstance(value, str) else value


def search_many(
    queries: Iterable[str],
    *,
    top_k: int = 10,
    response_mode: str = "metadata",
    min_score: float = 0.0,
    filters: Filters | None = None,
    scope: Scope | None = None,
    errors: str = "raise",
) -> Pages:
    """Search for several questions at once: a page for each, in order, in one round trip.

        questions = ["retry policy", "backup encryption", "audit log"]
        for question, rows in zip(questions, search_many(questions, top_k=3)):
            print(question, [row.title for row in rows])

    Parameters as in semantic_search. Each question counts as one SDK call. A question that is refused (too short,
    say) raises. errors="keep": it gives an empty page whose `page.error` says why (None on the others).
    """
    if isinstance(queries, str):
        raise TypeError("search_many takes a list of questions; for one, use semantic_search(query)")
    params = _drop_none(
        top_k=top_k, response_mode=response_mode, min_score=min_score, filters=filters, scope=scope
    )
    if errors not in CHOICES["errors"]:
        raise SDKError("INVALID_REQUEST", f'errors: "raise" or "keep", not {errors!r}')
    queries = [*queries]
    replies = call_each("semantic_search", params, [{"query": query} for query in queries])
    pages = Pages(
        _page_of(reply, {**params, "query": query}) for query, reply in zip(queries, replies, strict=True)
    )
    refused = next((number for number, page in enumerate(pages) if page.error is not None), None)
    if refused is not None and errors != "keep":
        raise _refusal_of(pages[refused].error, refused, queries)
    return pages


def _refusal_of(error: SDKError | None, number: int, queries: list[Any]) -> SDKError:
    """The refusal of one of several questions, which names the question."""
    assert error is not None
    place = f"question {number + 1} of {len(queries)}, {str(queries[number])[:_QUESTION_CHARS]!r}"
    hint = error.hint or 'errors="keep" returns the other pages, and an empty one with page.error for this'
    return SDKError(error.type, f"{place}: {error.message}", hint, limit=error.limit)


_QUESTION_CHARS = 60


def _page_of(reply: Mapping[str, Any], params: Mapping[str, Any]) -> Results:
    error = error_of(reply)
    if error is not None:
        return Results.refused(error)
    return Results(reply["ok"], lambda cursor: request_page("semantic_search", {**params, "cursor": cursor}))


def _ids_of(ids: Any) -> list[Any]:
    if isinstance(ids, (str, Mapping)):
        ids = [ids]
    return [item["id"] if isinstance(item, Mapping) else item for item in ids]
