"""Calls over all documents in scope: never a ranking, and they say whether they were complete.

Written by docs/generate.py from the operations that these functions call. Change it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .requests import Filters, Scope, request_page, request_row
from .rows import Results, Row

__all__ = ["count", "documents", "read", "repeats", "scan"]


def scan(
    pattern: str | re.Pattern[str],
    *,
    literal: bool = False,
    word: bool = False,
    case: bool = True,
    path: str | None = None,
    where: Mapping[str, Any] | None = None,
    filters: Filters | None = None,
    scope: Scope | None = None,
    group_by: str | int | None = None,
    context: int = 80,
    max_match: int | None = None,
    limit: int = 1_000,
    cursor: str | None = None,
) -> Results:
    r"""Every match of a regular expression in all text in scope: a list, not a ranking.

        page = scan(r"(?i)retries: (\d+)")
        print(page.total, page.complete)
        for row in page:
            print(row.match, row.groups, row.file, row.start, row.context)
        pages = scan(r"\bretry\b", group_by="document")
        print([(row.key, row.matches) for row in pages])

    literal: plain text, as a reader sees it: across line ends, their hyphens, and marks. word: whole words only.
    case: False ignores case. path: a glob or prefix ("guides/*"); where: front-matter fields ({"stage": "beta"}).
    group_by: "document", "folder", "section", "match", or a group's name or number; rows are then row.key,
    row.matches, row.passages and row.documents, most matches first. context: characters on each side, 0 to 500.
    max_match: cuts row.match, row.groups and row.key to this many characters (row.truncated); default: no cut.
    limit: rows of a page, 1 to 10,000; page.all() has all.

    page.total: matches, passages, documents; page.complete: False if time ran out.
    row.start and row.end are characters of the document's text. The syntax is Python's without look-around and
    backreferences; ^ and $ match at each line with (?m); \b knows ASCII words only, word=True those of any
    language.
    """
    return request_page("kb.scan", locals())


def documents(
    path: str | None = None,
    *,
    where: Mapping[str, Any] | None = None,
    filters: Filters | None = None,
    scope: Scope | None = None,
    sort: str = "path",
    group_by: str | None = None,
    limit: int = 1_000,
    cursor: str | None = None,
) -> Results:
    """Every document in scope, or their counts: a list, not a ranking.

        page = documents("guides/*")
        print(page.total, [(row.file, row.title, row.tokens) for row in page.all()])
        print([(row.key, row.documents) for row in documents(group_by="type")])

    path: a glob ("*" crosses "/") or the beginning of the path. where: front-matter fields ({"stage": "beta"}; a
    list: any of the values; "": no value). filters: as in semantic_search. sort: "path", "title", "created",
    "updated" or "tokens", with "-" descending. limit: rows of a page, 1 to 1,000; page.all() has all.

    Rows: file, title, type, language, tokens, passages, created, updated, labels, citekey, authors, year and doi
    of works, fields (other front matter; row.stage is row.fields.stage). With group_by ("type", "folder",
    "language", "vendor", "doc_tag", "tags", "environment", "repository" or a field) rows are key, documents and
    passages, most documents first; the key "" stands for documents without a value.
    """
    return request_page("kb.documents", locals())


def read(
    document: Any,
    start: int = 0,
    max_tokens: int = 800,
    *,
    page: int | str | Sequence[int] | None = None,
    scope: Scope | None = None,
) -> Row:
    """A document from its beginning, from `start`, or one page of it: a piece, and where the next one begins.

        part = read(documents(limit=1)[0], max_tokens=4000)
        text = part.text
        while part.next is not None:
            part = read(part, start=part.next, max_tokens=4000)
            text += part.text

    document: its document_id, path, unique title, or a row of any call. max_tokens: 8 to 20,000. part.start and
    part.end are characters of the whole text, as scan counts them; part.total_chars and part.total_tokens its
    size. page: only this page, slide, sheet or chapter, by its number in page_span or locator, or several:
    "12-14", or row.page_span; where they are longer than max_tokens, a warning says where it goes on and ends.
    """
    return request_row("kb.read", locals())


def count(
    pattern: str | re.Pattern[str] | None = None,
    *,
    literal: bool = False,
    word: bool = False,
    case: bool = True,
    path: str | None = None,
    where: Mapping[str, Any] | None = None,
    filters: Filters | None = None,
    scope: Scope | None = None,
) -> Row:
    """Numbers alone: of the matches of a pattern, or without one of the documents in scope.

        print(count("backup", word=True, case=False).documents)
        whole = count(path="guides/*")
        print(whole.documents, whole.passages, whole.tokens)

    With a pattern: matches, passages, documents, scanned and complete; without: documents, passages, tokens. The
    rest as in scan.
    """
    return request_row("kb.count", locals())


def repeats(
    min_chars: int = 200,
    *,
    path: str | None = None,
    where: Mapping[str, Any] | None = None,
    filters: Filters | None = None,
    scope: Scope | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Results:
    """Text that stands in several places: whole paragraphs and runs of them, the largest first.

        for row in repeats(min_chars=300, path="guides/*"):
            print(row.copies, row.chars, row.text[:80], [place["file"] for place in row.places])

    min_chars: the least length, 20 to 100,000. Copies are equal except for white space; a run ends where they
    differ. row.places: document_id, file, passage_id, start and end of the first 50; with page_span, page_labels,
    locator and link for files that have pages or the like. row.copies counts all. The rest as in documents;
    `page.complete` is False if time ran out before all text was compared.
    """
    return request_page("kb.repeats", locals())


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "scan": scan,
        "documents": documents,
        "read": read,
        "count": count,
        "repeats": repeats,
    }
)


class CorpusFunctions:
    """These functions as methods."""

    __slots__ = ()

    scan = staticmethod(scan)
    documents = staticmethod(documents)
    read = staticmethod(read)
    count = staticmethod(count)
    repeats = staticmethod(repeats)
