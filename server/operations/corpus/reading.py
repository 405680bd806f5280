"""``kb.read``: a document from its beginning to its end, in bounded pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from winnow.server.bibliographies.locators import address_of, cite_work, locator_fields, work_fields
from winnow.server.contracts.corpus.reading import MAX_READ_BYTES, MAX_READ_TOKENS, ReadAnswer, ReadDocument
from winnow.server.contracts.excerpts import MAX_EXCERPT_BYTES, MAX_EXCERPT_TOKENS
from winnow.server.errors import WinnowError
from winnow.server.models import Document, Filters
from winnow.server.operations.answers import text_charges
from winnow.server.operations.answers.budget import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.corpus.pages import find_numbers, find_pages, list_pages, name_pages
from winnow.server.operations.corpus.sheet_rows import narrow_to_rows
from winnow.server.operations.declaration import Operation, Script, ToolSpec, has_kb_tools
from winnow.server.operations.excerpts import cut_end
from winnow.server.operations.ranking.nearest import near_documents
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line, printable
from winnow.server.text.words.tokens import count_tokens

_NAMED = 5
_CAPPED = f"max_tokens above {MAX_EXCERPT_TOKENS} counts as that in a direct call; scripts may ask for more"
_REST = "this piece is a part of {}, which goes on at start {}, up to character {}"
_BEYOND = "page: it has {} only"
_PART = (
    f"read gave a part of a document: {MAX_EXCERPT_TOKENS} tokens, unless max_tokens (up to {MAX_READ_TOKENS:,}) "
    "is given; .total_tokens is its size, and read(part, start=part.next) goes on"
)


def read_document(context: RequestContext, request: ReadDocument) -> Answer:
    """Answer with a piece of a document, from ``start`` on or of a page; ``next`` is where the next one begins."""
    filters = filters_of(context, request.scope)
    document = find_document(context, filters, request.document)
    text = context.index.catalogue.text(document.id, filters.project) or ""
    start, last = _find_span(context, request, document, len(text))
    tokens, most_bytes = _size_limit(context, request)
    # A character is at least a byte, so no more than this can be in the piece.
    piece = cut_end(text[start : min(last, start + most_bytes + 1)], tokens, most_bytes)
    end = start + len(piece)
    shown = printable(piece)
    places = context.index.catalogue.places_within(document.id, start, end)
    if places and places[0].kind == "sheet":
        places = context.index.catalogue.places(document.id)
        places = tuple(narrow_to_rows(places, start, end, len(text), lambda first, last: text[first:last]))
    payload: dict[str, Any] = {
        "document_id": document.id,
        "file": one_line(document.uri, 1_000),
        "title": one_line(document.title or document.uri),
        "type": document.type,
        "text": shown,
        "start": start,
        "end": end,
        "next": end if end < len(text) else None,
        "tokens": count_tokens(shown),
        "total_chars": len(text),
        "total_tokens": context.index.catalogue.token_count(document.id),
        **locator_fields(places, start, end, address_of(document)),
        **work_fields(document.metadata),
    }
    warnings = (*_page_warnings(context, request, document, end, last), *_warnings(context, request, end, last))
    return Answer(
        payload, "excerpt", 1, payload["tokens"], warnings, charged_text=text_charges.piece(document.id, shown)
    )


def _find_span(context: RequestContext, request: ReadDocument, document: Document, length: int) -> tuple[int, int]:
    """The characters that are asked for: from ``start`` to the document's end, or those of a page."""
    if request.page is None:
        if request.start > length:
            raise WinnowError(
                "INVALID_REQUEST", f"start: {request.start:,} is beyond the document's {length:,} characters"
            )
        return request.start, length
    if request.start:
        raise WinnowError(
            "INVALID_REQUEST", "page: give a page or start, not both; the rest of a long page is at start=next"
        )
    places = context.index.catalogue.places(document.id)
    return find_pages(places, find_numbers(places, request.page), length)


def _page_warnings(
    context: RequestContext, request: ReadDocument, document: Document, end: int, last: int
) -> Iterator[str]:
    """Warnings for a caller who asked for pages: a part of them, or fewer."""
    if request.page is None:
        return
    places = context.index.catalogue.places(document.id)
    numbers = find_numbers(places, request.page)
    if end < last:
        yield _REST.format(name_pages(places, numbers), end, last)
    if numbers[1] > max(place.number for place in places):
        yield _BEYOND.format(list_pages(places))


def _warnings(context: RequestContext, request: ReadDocument, end: int, last: int) -> tuple[str, ...]:
    """Warnings for a caller: a limit below the requested one, or a part where no length was asked for."""
    if context.caller.budget.is_direct:
        return (_CAPPED,) if request.max_tokens > MAX_EXCERPT_TOKENS else ()
    is_unexpected = end < last and not {"start", "max_tokens", "page"} & request.model_fields_set
    return (_PART,) if is_unexpected else ()


def _size_limit(context: RequestContext, request: ReadDocument) -> tuple[int, int]:
    if context.caller.budget.is_direct:
        return min(request.max_tokens, MAX_EXCERPT_TOKENS), MAX_EXCERPT_BYTES
    return request.max_tokens, MAX_READ_BYTES


def find_document(context: RequestContext, filters: Filters, name: str) -> Document:
    """The document with this id, path or title.

    Raises:
        WinnowError: INVALID_REQUEST if several documents have the title, NOT_FOUND with near names if none is.
    """
    found = context.index.catalogue.find_documents(filters, name)
    if len(found) > 1:
        named = ", ".join(f"{one_line(one.uri, 100)} ({one.id})" for one in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise WinnowError(
            "INVALID_REQUEST",
            f"document: {len(found)} documents have the title {one_line(name, 80)!r}; give a path or an id: "
            f"{named}{more}",
        )
    if found:
        return found[0]
    passage = context.index.catalogue.passages([name], filters.project).get(name)
    if passage is not None and context.index.admits(filters, passage.document):
        path = one_line(passage.document.uri, 100)
        raise WinnowError(
            "NOT_FOUND",
            f"document: {name!r} is a passage, which kb_read_excerpt reads; its document is {path} "
            f"({passage.document.id})",
        )
    raise WinnowError(
        "NOT_FOUND",
        f"document: none that this call reaches has the id, path or title {one_line(name, 80)!r}; "
        f"{near_documents(context.index, filters, name)}",
    )


def render_piece(payload: dict[str, Any]) -> list[str]:
    """The piece with its source and where to continue."""
    more = f"; goes on at start {payload['next']}" if payload["next"] is not None else "; the end"
    place = "".join(f" | {part}" for part in (cite_work(payload), payload.get("locator")) if part)
    return [
        f"characters {payload['start']}-{payload['end']} of {payload['total_chars']}{more}",
        f"[{payload['document_id']}] {payload['file']} | {payload['title']} | {payload['type']}, "
        f"{payload['total_tokens']} tokens{place}",
        *frame_text(payload["text"]),
    ]


_KB_READ_DESCRIPTION = """\
Read a document in pieces, by id, path or title.
Use when: you want a document whole.
Do not use when: you want what answers a question (kb_retrieve_evidence).
Returns at most: max_tokens tokens.
If you need more, call: this with next as start.
Defaults: max_tokens 800. Max: 800."""
_KB_READ_DOC = """\
A document from its beginning, from `start`, or one page of it: a piece, and where the next one begins.

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
KB_READ = Operation(
    "kb.read",
    ReadDocument,
    read_document,
    script=Script(
        "document start max_tokens * page scope",
        _KB_READ_DOC,
        name="read",
        is_row=True,
        types={"page": "int | str | Sequence[int] | None"},
    ),
    tool=ToolSpec(
        title="Read a document",
        description=_KB_READ_DESCRIPTION,
        answer=ReadAnswer,
        render=render_piece,
        # Its text, and a title and a path of any characters.
        max_size=Size(2 * ANSWER_TOKENS["excerpt"], ANSWER_BYTES),
        is_repeatable=True,
        is_offered=has_kb_tools,
    ),
)
