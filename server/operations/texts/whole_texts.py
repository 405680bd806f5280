"""``kb.text``: whole documents for scripts, as many as one answer holds, with the places of their pages.

An answer has documents in the order in which they were asked for; those that it has no room for are missing at
its end. A document that is longer than an answer comes in pieces, each alone: ``next`` is where the following one
begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from winnow.server.bibliographies.locators import locate, work_fields
from winnow.server.contracts.corpus.texts import MAX_TEXT_BYTES, ReadTexts
from winnow.server.errors import WinnowError
from winnow.server.models import Document, Place
from winnow.server.operations.answers import text_charges
from winnow.server.operations.answers.budget import cut_to_bytes
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.corpus.pages import find_numbers, find_pages
from winnow.server.operations.corpus.reading import find_document
from winnow.server.operations.declaration import Operation
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.text.printable import one_line, printable

_START_OF_SEVERAL = "start: it goes on with one document; give one"
_BEYOND = "start: {start:,} is outside the {length:,} characters of what is asked for"


def read_texts(context: RequestContext, request: ReadTexts) -> Answer:
    """Answer with documents whole, or a page of each; with one document, a piece from ``start`` on."""
    if request.start and len(request.documents) > 1:
        raise WinnowError("INVALID_REQUEST", _START_OF_SEVERAL)
    filters = filters_of(context, request.scope)
    rows: list[dict[str, Any]] = []
    left, tokens = MAX_TEXT_BYTES, 0
    for name in request.documents:
        check_deadline()
        document = find_document(context, filters, name)
        text = context.index.catalogue.text(document.id, filters.project) or ""
        first, last = _find_span(context, request, document, text)
        end = _find_end(text, first, last, left)
        if end < last and rows:
            break
        rows.append(_build_row(context, document, text, (first, end, last)))
        left -= len(rows[-1]["text"].encode("utf-8", "replace"))
        tokens += _share_of_tokens(context, document, end - first, len(text))
        if end < last:
            break
    charged = text_charges.of_rows(rows, "document_id", "text")
    return Answer({"results": rows}, "full", len(rows), tokens, charged_text=charged)


def _find_span(context: RequestContext, request: ReadTexts, document: Document, text: str) -> tuple[int, int]:
    """The characters that are asked for: all from ``start`` on, of the document or of the page."""
    first, last = 0, len(text)
    if request.page is not None:
        places = context.index.catalogue.places(document.id)
        first, last = find_pages(places, find_numbers(places, request.page), len(text))
    start = request.start or first
    if not first <= start <= last:
        raise WinnowError("INVALID_REQUEST", _BEYOND.format(start=start, length=last - first))
    return start, last


def _find_end(text: str, first: int, last: int, most_bytes: int) -> int:
    """The end of a piece: after a whole line, if it has one, because no sign of the terminal goes over lines."""
    # A character is at least a byte.
    piece = cut_to_bytes(text[first : min(last, first + most_bytes)], most_bytes)
    if first + len(piece) == last:
        return last
    whole_lines = piece.rfind("\n") + 1
    return first + (whole_lines or len(piece))


def _build_row(
    context: RequestContext, document: Document, text: str, span: tuple[int, int, int]
) -> dict[str, Any]:
    first, end, last = span
    places = context.index.catalogue.places_within(document.id, first, end)
    shown, starts = _split_at(text[first:end], [max(place.start - first, 0) for place in places])
    return {
        "document_id": document.id,
        "file": one_line(document.uri, 1_000),
        "title": one_line(document.title or document.uri),
        "type": document.type,
        "text": shown,
        "next": end if end < last else None,
        "total_chars": len(text),
        # Of front matter, which is no Markdown; 0 in a piece that begins after it.
        "body_start": len(printable(text[first : min(document.body_start, end)])),
        "places": [_describe(place, start, document) for place, start in zip(places, starts, strict=True)],
        **work_fields(document.metadata),
    }


def _split_at(text: str, starts: Sequence[int]) -> tuple[str, list[int]]:
    """The printable text, and where in it the parts begin that begin at ``starts`` in the text."""
    parts = [printable(text[start:end]) for start, end in pairwise([0, *starts, len(text)])]
    offsets = [0]
    for part in parts[:-1]:
        offsets.append(offsets[-1] + len(part))
    return "".join(parts), offsets[1:]


def _describe(place: Place, start: int, document: Document) -> list[Any]:
    """A place: its beginning, its number if readers turn such pages, and its name."""
    located = locate([place], 0, 1, document.uri)
    assert located is not None
    return [start, None if located.page_span is None else place.number, located.text]


def _share_of_tokens(context: RequestContext, document: Document, chars: int, of_chars: int) -> int:
    return context.index.catalogue.token_count(document.id) * chars // max(of_chars, 1)


KB_TEXT = Operation("kb.text", ReadTexts, read_texts)
