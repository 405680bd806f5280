"""Calls over all documents in scope: never a ranking, and they say whether they were complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .calls import Filters, Scope, request_page
from .rows import Results, Row, to_row
from .transport import call

# The tokens of a piece of a document unless a script asks for others.
_READ_TOKENS = 800
_FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"))


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

    literal: plain text, as a reader sees it: across line ends, hyphens there and marks. word: whole words only.
    case: False ignores case. path: a glob or prefix ("guides/*"); where: front-matter fields ({"stage": "beta"}).
    group_by: "document", "folder", "section", "match", or a group's name or number; rows are then row.key,
    row.matches, row.passages and row.documents, most matches first. context: characters on each side, 0 to 500.
    max_match: cuts row.match, row.groups and row.key to so many characters (row.truncated); whole without it.
    limit: rows of a page, 1 to 10,000; page.all() has all.

    page.total: matches, passages, documents; page.complete: False where time ended before all was looked through.
    row.start and row.end are characters of the document's text. The syntax is Python's without look-around and
    backreferences; ^ and $ are ends of lines with (?m); \b knows ASCII words only, word=True those of any
    language.
    """
    given = _patterned(pattern, literal=literal, word=word, case=case)
    narrowed = {"path": path, "where": where, "filters": filters, "scope": scope}
    shown = {"group_by": group_by, "context": context, "max_match": max_match}
    return request_page("kb.scan", _drop_none({**given, **narrowed, **shown, "limit": limit, "cursor": cursor}))


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
    r"""Numbers alone: of the matches of a pattern, or without one of the documents in scope.

        print(count("backup", word=True, case=False).documents)
        whole = count(path="guides/*")
        print(whole.documents, whole.passages, whole.tokens)

    With a pattern: matches, passages, documents, scanned and complete; without: documents, passages, tokens. The
    rest as in scan.
    """
    given = {} if pattern is None else _patterned(pattern, literal=literal, word=word, case=case)
    narrowed = {"path": path, "where": where, "filters": filters, "scope": scope}
    return to_row(call("kb.count", _drop_none({**given, **narrowed})))


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
    passages, most documents first; the key "" is of those without a value.
    """
    narrowed = {"path": path, "where": where, "filters": filters, "scope": scope}
    more = {"sort": sort, "group_by": group_by, "limit": limit, "cursor": cursor}
    return request_page("kb.documents", _drop_none({**narrowed, **more}))


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

    min_chars: the least length, 20 to 100,000. Copies are exact but for white space; a run ends where its copies
    part. row.places: document_id, file, passage_id, start and end of the first 50, and of files with pages or the
    like page_span, page_labels, locator and link; row.copies counts all. The rest as in documents; `page.complete`
    is False where time ended before all was compared.
    """
    narrowed = {"path": path, "where": where, "filters": filters, "scope": scope}
    return request_page(
        "kb.repeats", _drop_none({"min_chars": min_chars, **narrowed, "limit": limit, "cursor": cursor})
    )


def read(
    document: Any,
    start: int = 0,
    max_tokens: int = _READ_TOKENS,
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
    # The defaults are not sent, so that the answer warns of a part where no length was asked for.
    length = None if max_tokens == _READ_TOKENS else max_tokens
    asked = {"start": start or None, "page": page, "max_tokens": length}
    return to_row(call("kb.read", _drop_none({"document": _name_of(document), **asked, "scope": scope})))


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"scan": scan, "count": count, "documents": documents, "repeats": repeats, "read": read}
)


def _patterned(pattern: str | re.Pattern[str], *, literal: bool, word: bool, case: bool) -> dict[str, Any]:
    """The pattern and its options; those of a compiled pattern that change a match are written into it."""
    if not isinstance(pattern, str):
        letters = "".join(letter for flag, letter in _FLAGS if pattern.flags & flag)
        pattern = f"(?{letters}){pattern.pattern}" if letters else pattern.pattern
    return {"pattern": pattern, "literal": literal, "word": word, "case": case}


def _name_of(document: Any) -> Any:
    if isinstance(document, list):
        raise TypeError("a document is one id, path, title or row; for several: [read(row) for row in rows]")
    return document["document_id"] if isinstance(document, Mapping) else document


def _drop_none(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}
