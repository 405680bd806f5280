"""Search, passages by their ids, and vendors.

Written by docs/generate.py from the operations that these functions call. Change it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .requests import Filters, Scope, request_page
from .rows import Results

__all__ = ["fetch", "find_vendor_info", "hybrid_search", "semantic_search"]


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
    return request_page("semantic_search", locals())


def find_vendor_info(
    vendor_name: str,
    include_content: bool = False,
    max_results: int = 50,
    entity_types: Iterable[str] | None = None,
    *,
    scope: Scope | None = None,
    cursor: str | None = None,
) -> Results:
    """Everything related to one vendor: documents, products, people, tags, and entities named with it.

        try:
            page = find_vendor_info("acme", entity_types=["product"])
            print(page.vendor, [row.title for row in page], page.relationships)
        except SDKError as error:
            print(error.message)

    include_content: also row.content, the passage that shows it best. max_results: 1 to 100. `page.relationships`
    has source_id, target_id, relationship_type and confidence.
    """
    return request_page("find_vendor_info", locals())


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
    return request_page("fetch", locals())


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
    whose weights are the best on average. syntax, here and there: "plain" reads tag:x in a query as words.
    """
    return request_page("hybrid_search", locals())


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "semantic_search": semantic_search,
        "find_vendor_info": find_vendor_info,
        "fetch": fetch,
        "hybrid_search": hybrid_search,
    }
)


class SearchFunctions:
    """These functions as methods."""

    __slots__ = ()

    semantic_search = staticmethod(semantic_search)
    find_vendor_info = staticmethod(find_vendor_info)
    fetch = staticmethod(fetch)
    hybrid_search = staticmethod(hybrid_search)
