"""The functions of ``kb``: search, quotes and excerpts.

Written by docs/generate.py from the operations that these functions call. Change it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .requests import Filters, Scope, request_page, request_row
from .rows import Results, Row


def retrieve_evidence(
    question: str,
    *,
    top_k: int = 5,
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
    return request_page("kb.retrieve_evidence", locals())


def search(
    query: str,
    *,
    top_k: int = 5,
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
    return request_page("kb.search", locals())


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
    return request_page("kb.extract_evidence", locals())


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
    An excerpt ends where its passage ends; a `start_char` after that continues in the document.
    """
    return request_row("kb.read_excerpt", locals())


def expand_excerpt(
    passage_id: Any, before_tokens: int = 150, after_tokens: int = 150, *, scope: Scope | None = None
) -> Row:
    """A passage with the text before and after it in its document.

        quote = kb.retrieve_evidence("how are retries configured")[0]
        print(kb.expand_excerpt(quote, before_tokens=80, after_tokens=80).excerpt)

    passage_id: an id or a row. At most 800 tokens in all; if the document changed since, the passage alone.
    """
    return request_row("kb.expand_excerpt", locals())


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "retrieve_evidence": retrieve_evidence,
        "search": search,
        "extract_evidence": extract_evidence,
        "read_excerpt": read_excerpt,
        "expand_excerpt": expand_excerpt,
    }
)
for _name, _function in FUNCTIONS.items():
    _function.__qualname__ = f"kb.{_name}"  # the name in Python's own messages


class KbFunctions:
    """These functions as methods."""

    __slots__ = ()

    retrieve_evidence = staticmethod(retrieve_evidence)
    search = staticmethod(search)
    extract_evidence = staticmethod(extract_evidence)
    read_excerpt = staticmethod(read_excerpt)
    expand_excerpt = staticmethod(expand_excerpt)
