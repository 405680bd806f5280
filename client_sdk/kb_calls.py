"""The functions of ``kb``: search, quotes and excerpts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .calls import Filters, Scope, request_known
from .rows import Results, Row, to_row
from .transport import call

_TOP_K = 5
# Parameters that the wire takes within ``options``, and their defaults.
_OPTION_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"kb.search": MappingProxyType({"max_per_doc": 1}), "kb.read_excerpt": MappingProxyType({"format": "text"})}
)


def search(
    query: str,
    *,
    top_k: int = _TOP_K,
    max_per_doc: int = 1,
    filters: Filters | None = None,
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """Candidates for a question, each with a preview: its best sentence.

        for row in kb.search("how are retries configured"):
            print(row.title, row.preview, row.file)

    top_k: how many rows, 1 to 100. max_per_doc: how many of one document. filters: as in semantic_search. cursor:
    `page.next_cursor` of the previous page. To read a row: kb.read_excerpt(row), fetch(row.id).
    """
    given = {"query": query, "top_k": top_k, "max_per_doc": max_per_doc, "filters": filters, "scope": scope}
    return _request_page("kb.search", {**given, "cursor": cursor})


def retrieve_evidence(
    question: str,
    *,
    top_k: int = _TOP_K,
    max_quotes: int = 6,
    max_quote_tokens: int = 80,
    include_context_tokens: int = 20,
    filters: Filters | None = None,
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The sentences that answer a question, each with its source.

        page = kb.retrieve_evidence("how are retries configured")
        print(page.verdict, page.missing_terms, [(row.quote, row.title) for row in page])

    page.verdict: "answered", "partly" or "not_found", by page.confidence. top_k: passages to quote from, 1 to 20.
    max_quotes: 1 to 20. max_quote_tokens: 8 to 200, with include_context_tokens on each side of the sentence.
    row.confidence: the share of the question's words in the quote.
    """
    given = {"question": question, "top_k": top_k, "max_quotes": max_quotes, "max_quote_tokens": max_quote_tokens}
    more = {"include_context_tokens": include_context_tokens, "filters": filters, "scope": scope, "cursor": cursor}
    return _request_page("kb.retrieve_evidence", {**given, **more})


def extract_evidence(
    question: str,
    passage_ids: Any,
    *,
    max_quotes: int = 6,
    max_quote_tokens: int = 80,
    include_context_tokens: int = 20,
    missing: str = "raise",
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """The sentences of these passages that answer a question.

        rows = [row for row in kb.search("retry policy", top_k=20) if row.type == "markdown"]
        if rows:
            quotes = kb.extract_evidence("how many retries are there", rows)
            print([(row.quote, row.passage_id) for row in quotes])

    passage_ids: ids, rows or a page, up to 50. Unknown ids raise; missing="skip" lists them in
    `page.missing_ids`. The rest as in kb.retrieve_evidence.
    """
    given = {"question": question, "passage_ids": passage_ids, "max_quotes": max_quotes, "scope": scope}
    more = {"max_quote_tokens": max_quote_tokens, "include_context_tokens": include_context_tokens}
    return _request_page("kb.extract_evidence", {**given, **more, "missing": missing, "cursor": cursor})


def read_excerpt(
    passage_id: Any,
    max_tokens: int = 300,
    start_char: int = 0,
    *,
    format: str = "text",
    scope: Scope | None = None,
) -> Row:
    """Up to `max_tokens` of a passage, from its beginning or from `start_char`.

        part = kb.read_excerpt(kb.search("retry policy")[0])
        print(part.excerpt, part.title)
        while part.truncated:
            part = kb.read_excerpt(part, start_char=part.next_start_char)
            print(part.excerpt)

    passage_id: an id or a row. max_tokens: 8 to 800. format: "text", or "bullets" with a line for each sentence.
    An excerpt ends with its passage; a `start_char` beyond continues in the document.
    """
    given = {"passage_id": passage_id, "max_tokens": max_tokens, "start_char": start_char}
    return to_row(_request("kb.read_excerpt", {**given, "format": format, "scope": scope}))


def expand_excerpt(
    passage_id: Any, before_tokens: int = 150, after_tokens: int = 150, *, scope: Scope | None = None
) -> Row:
    """A passage with the text before and after it in its document.

        quote = kb.retrieve_evidence("how are retries configured")[0]
        print(kb.expand_excerpt(quote, before_tokens=80, after_tokens=80).excerpt)

    passage_id: an id or a row. At most 800 tokens in all; if the document changed since, the passage alone.
    """
    given = {"passage_id": passage_id, "before_tokens": before_tokens, "after_tokens": after_tokens}
    return to_row(_request("kb.expand_excerpt", {**given, "scope": scope}))


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "search": search,
        "retrieve_evidence": retrieve_evidence,
        "extract_evidence": extract_evidence,
        "read_excerpt": read_excerpt,
        "expand_excerpt": expand_excerpt,
    }
)
_EXCERPTS = ("read_excerpt", "expand_excerpt")  # these return one row, the others a page
for _name, _function in FUNCTIONS.items():
    _function.__qualname__ = f"kb.{_name}"  # the name in Python's own messages


def call_by_name(name: str, arguments: Mapping[str, Any]) -> Any:
    """Call one of these functions with arguments as the tool or as the function takes them."""
    if name in _EXCERPTS:
        return to_row(_request(f"kb.{name}", arguments))
    return _request_page(f"kb.{name}", arguments)


def _request_page(method: str, given: Mapping[str, Any]) -> Results:
    given, missing = {**given}, given.get("missing", "raise")
    given.pop("missing", None)
    return request_known(method, _build_params(method, given), "passage_ids", missing)


def _request(method: str, given: Mapping[str, Any]) -> Any:
    return call(method, _build_params(method, given))


def _build_params(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: value for name, value in given.items() if value is not None}
    if method == "kb.search":  # one page with all rows: they cost a script no tokens
        params.setdefault("page_size", params.get("top_k", _TOP_K))
    if "passage_id" in params:
        params["passage_id"] = _passage_id(params["passage_id"])
    if "passage_ids" in params:
        params["passage_ids"] = _passage_ids(params["passage_ids"])
    defaults = _OPTION_DEFAULTS.get(method, {})
    chosen = {name: params.pop(name) for name in defaults if name in params}
    changed = {name: value for name, value in chosen.items() if value != defaults[name]}
    if changed:
        params["options"] = {**changed, **params.get("options", {})}
    return params


def _passage_ids(passages: Any) -> list[Any]:
    return [_passage_id(passage) for passage in ([passages] if isinstance(passages, (str, Mapping)) else passages)]


def _passage_id(passage: Any) -> Any:
    """The passage's id in this session, or the id of a row of another call, which works as well."""
    if isinstance(passage, list):
        raise TypeError("a passage is one id or one row; for several: [kb.read_excerpt(row) for row in rows]")
    if not isinstance(passage, Mapping):
        return passage
    return passage["passage_id"] if "passage_id" in passage else passage["id"]
