"""Functions that do more than call one operation. Their docstrings are the reference for authors of scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from . import shaping
from .awaitable import Rows, Text
from .requests import CHOICES, Filters, Scope, refuse_missing, request_page
from .rows import PLACE_FIELDS, Pages, Results, Row, to_row
from .search_calls import semantic_search
from .transport import SDKError, call, call_each, error_of


def _drop_none(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


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
    of each searched row counts as passage text, once in a run. The rest as in semantic_search.
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
    row.rerank_score: 0 to 1, relative to the best row. threshold: omit rows with a lower score. Unknown ids
    raise; missing="skip" lists them in `page.missing_ids`. `page["reranked_by"]` is the method: "cross-encoder",
    "sentences" (the embedding model compares sentences), or "words" (without a model).
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


# Names of a row's id, the most exact first.
_IDS = ("id", "passage_id", "section_id", "document_id")
_EMPTY: Mapping[str, Any] = {"citations": [], "entries": [], "citekeys": [], "uncited": [], "places": []}


def cite(rows: Any, style: str | None = None, *, scope: Scope | None = None) -> Text | Row:
    """Citations of rows, with their pages, and entries of the works that they are from.

        rows = kb.retrieve_evidence("how are retries configured")
        cited = cite(rows, style="pandoc")
        print(list(zip(cited.citations, [row.quote for row in rows])), cited.citekeys)

    rows: rows of any call. style: "pandoc" ([@ohm1827, p. 45]), "apa", "chicago", "harvard", "ieee", "mla",
    "vancouver", "bibtex", "csl-json" or "markdown"; None: the style of the project. cited.citations: one for each
    row, "" where its document has no citekey. cited.entries: one for each work, for a list of references.
    cited.citekeys: all keys that a text made from these rows may use. cited.uncited: files without a citekey.
    cited.places: one for each row, "ohm.pdf, p. 33 (file page 45)". For a single row without a style, cite returns
    a line of title, section, place and id.
    """
    if style is None and (isinstance(rows, Mapping) or not isinstance(rows, Iterable)):
        return shaping.cite(rows)
    given = [rows] if isinstance(rows, (Mapping, str)) else [*rows]
    if not given:
        return to_row({"style": style or "pandoc", **_EMPTY})
    params = {"rows": [_place_of(row) for row in given], "style": style, "scope": scope}
    return to_row(call("kb.cite", {name: value for name, value in params.items() if value is not None}))


def _place_of(row: Any) -> dict[str, Any]:
    """The id of a row, and its pages where it has some."""
    if not isinstance(row, Mapping):
        return {"id": row}
    identity = next((row[name] for name in _IDS if name in row), None) or shaping._field(row, "id")
    span = row.get("page_span")
    return {"id": identity} if span is None else {"id": identity, "page_span": [*span]}
