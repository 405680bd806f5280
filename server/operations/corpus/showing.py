"""``kb.show``: the page that a citation is about, as a picture, or its lines, with the quote marked.

The index decides whether a quote stands in a document, as for every check of quotes; the child that draws a page
only looks for the boxes of its words. A page is drawn from the file that was ingested, and from no other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.bibliographies.locators import (
    address_of,
    cite_place,
    describe_places,
    locator_fields,
    place_at,
    work_fields,
)
from winnow.server.contracts.corpus.reading import read_pages
from winnow.server.contracts.corpus.showing import MAX_SHOWN_CHARS, MarkKind, ShowAnswer, ShowPage
from winnow.server.errors import WinnowError
from winnow.server.ingest.inspection.ingested_files import draw_ingested, find_ingested
from winnow.server.models import Document, Place, WantedText
from winnow.server.operations.answers.budget import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.base import Answer, Image, RequestContext
from winnow.server.operations.corpus.pages import find_numbers, find_pages
from winnow.server.operations.corpus.reading import find_document
from winnow.server.operations.declaration import Operation, ToolSpec, has_kb_tools
from winnow.server.operations.excerpts import cut_end
from winnow.server.operations.ranking.passages import require_passage
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line, printable
from winnow.server.text.quotes.finding import closest, find_quote, has_words
from winnow.server.text.quotes.sources import SourceText
from winnow.server.text.words.spans import split_spans
from winnow.server.text.words.tokens import count_tokens, last_tokens

_PNG = "image/png"
# Of a text: the lines before and after the mark, and the tokens of each of the three parts.
_LINES_AROUND, _AROUND_TOKENS, _MARKED_TOKENS = 3, 150, 500
_MARKED_CHARS = MAX_SHOWN_CHARS // 2
_AROUND_CHARS = MAX_SHOWN_CHARS // 8
# Sentences of a passage that are marked on a page.
_MOST_SENTENCES = 40
_BEGIN, _END = "\u27e6", "\u27e7"
_ONE_OF = "give passage_id, or document with page or quote"
_CLOSEST = "the quote does not stand there word for word; marked is the closest text: {words}"
_NOT_ON_PAGE = "the quote is not on this page{elsewhere}"
_NOT_IN_PASSAGE = "the quote is not in this passage{elsewhere}"
_NOT_DRAWN_AS_TEXT = (
    "the words are in the text of this page, but cannot be marked in its picture: a scan has no letters, and "
    "letters that nobody sees are not marked"
)
_DRAWN_OTHERWISE = (
    "the quote is in the text of this page, but the letters in its picture are others; marked is the closest text"
)
_CHANGED = "{name} changed since it was ingested: shown is its text from then, and its file may have another one"
_FIRST_PAGE = "one page is shown: the first of those that were asked for"
_CLOSEST_CHARS = 120


@dataclass(frozen=True, slots=True)
class _Cited:
    """A document with its text and places, and the part of it that a call names.

    ``textless``: the page that it names where that has no text: a drawing, or a scan.
    """

    document: Document
    text: str
    places: tuple[Place, ...]
    start: int
    end: int
    is_passage: bool = False
    textless: Place | None = None

    def place_of(self, at: int) -> Place | None:
        return self.places[place_at(self.places, at)] if self.places else None

    @property
    def places_shown(self) -> Sequence[Place]:
        return self.places if self.textless is None else (self.textless,)

    def end_of_place(self, at: int) -> int:
        """The end of the page or other place of a character."""
        return next((place.start for place in self.places if place.start > at), len(self.text))


@dataclass(frozen=True, slots=True)
class _Spot:
    """The characters of a document to mark, and why; ``kind`` is "none" or "absent" for nothing to mark."""

    start: int
    end: int
    kind: MarkKind


def show_page(context: RequestContext, request: ShowPage) -> Answer:
    """Answer with the picture of a page, or with lines of a text."""
    cited = _find_cited(context, request)
    spot = _find_spot(context, cited, request.quote)
    payload: dict[str, Any] = {
        "document_id": cited.document.id,
        "file": one_line(cited.document.uri, 1_000),
        "title": one_line(cited.document.title or cited.document.uri),
        "type": cited.document.type,
        **locator_fields(cited.places_shown, spot.start, spot.start + 1, address_of(cited.document)),
        **work_fields(cited.document.metadata),
        "mark": spot.kind,
    }
    images: tuple[Image, ...] = ()
    if cited.document.type == "pdf" and request.image:
        payload, images = _add_picture(context, cited, spot, request, payload)
    else:
        payload |= _lines_around(cited, spot)
    tokens = count_tokens(payload["text"])
    return Answer(payload, "excerpt", 1, tokens, images=images, file_url=_find_url(context, cited, spot))


def _find_cited(context: RequestContext, request: ShowPage) -> _Cited:
    if (request.passage_id is None) == (request.document is None):
        raise WinnowError("INVALID_REQUEST", f"passage_id, document: {_ONE_OF}")
    if request.passage_id is not None:
        return _find_passage(context, request, request.passage_id)
    assert request.document is not None
    filters = filters_of(context, request.scope)
    document = find_document(context, filters, request.document)
    text = context.index.catalogue.text(document.id, filters.project) or ""
    places = context.index.catalogue.places(document.id)
    if request.page is None:
        return _Cited(document, text, places, 0, len(text))
    asked = _read_pages(request.page)
    first, last = find_numbers(places, asked)
    if first != last:
        context.warnings.append(_FIRST_PAGE)
    is_seen = document.type == "pdf" and request.image
    if is_seen and not isinstance(asked, str) and all(place.number != first for place in places):
        return _Cited(document, text, places, 0, 0, textless=Place(0, "page", first))
    return _Cited(document, text, places, *find_pages(places, (first, first), len(text)))


def _read_pages(name: str) -> tuple[int, int] | str:
    try:
        return read_pages(name)
    except ValueError as error:
        raise WinnowError("INVALID_REQUEST", f"page: {error}") from None


def _find_passage(context: RequestContext, request: ShowPage, passage_id: str) -> _Cited:
    if request.page is not None:
        raise WinnowError("INVALID_REQUEST", f"page: a passage has its own; {_ONE_OF}")
    stored = require_passage(context, passage_id, request.scope)
    chunk, catalogue = stored.passage.chunk, context.index.catalogue
    text = catalogue.text(chunk.document_id, stored.project) or ""
    if text[chunk.start : chunk.end] != chunk.text:
        raise WinnowError(
            "NOT_FOUND", f"the document changed since passage {passage_id!r} was found; search again"
        )
    places = catalogue.places(chunk.document_id)
    return _Cited(stored.passage.document, text, places, chunk.start, chunk.end, is_passage=True)


def _find_spot(context: RequestContext, cited: _Cited, quote: str | None) -> _Spot:
    """The spot to mark. Warns of a quote that stands elsewhere, or has other words."""
    if quote is None:
        end = cited.end if cited.is_passage else cited.start
        return _Spot(cited.start, end, "passage" if cited.is_passage else "none")
    if not has_words(quote):
        raise WinnowError("INVALID_REQUEST", "quote: it has no words to look for")
    part = SourceText(cited.text[cited.start : cited.end])
    if found := find_quote(quote, part, 1):
        return _Spot(cited.start + found[0].start, cited.start + found[0].end, "exact")
    near = closest(quote, part)
    if near is not None and near.is_altered_quote:
        start, end = cited.start + near.start, cited.start + near.end
        words = one_line(printable(cited.text[start:end]), _CLOSEST_CHARS)
        context.warnings.append(_CLOSEST.format(words=repr(words)))
        return _Spot(start, end, "closest")
    return _find_nothing(context, cited, quote)


def _find_nothing(context: RequestContext, cited: _Cited, quote: str) -> _Spot:
    """A spot without a mark, and a warning that says where the quote stands; NOT_FOUND if it stands nowhere."""
    is_whole = (cited.start, cited.end) == (0, len(cited.text))
    found = [] if is_whole else find_quote(quote, SourceText(cited.text), 1)
    if is_whole:
        name = one_line(cited.document.uri, 100)
        raise WinnowError(
            "NOT_FOUND",
            f"quote: it does not stand in {name!r}, nor anything close to it; give page to see a page without "
            "it, or look for its words with kb_scan",
        )
    place = cited.place_of(found[0].start) if found else None
    elsewhere = f"; it is on {describe_places(place, place)}" if place else "; it is elsewhere" if found else ""
    template = _NOT_IN_PASSAGE if cited.is_passage else _NOT_ON_PAGE
    context.warnings.append(template.format(elsewhere=elsewhere))
    return _Spot(cited.start, cited.start, "absent")


# --- a picture


def _add_picture(
    context: RequestContext, cited: _Cited, spot: _Spot, request: ShowPage, payload: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Image, ...]]:
    assert context.page_drawing is not None
    place = cited.textless or cited.place_of(spot.start)
    number = place.number if place is not None and place.kind == "page" else 1
    wanted = _wanted_on_page(cited, spot, request.quote)
    drawn = draw_ingested(context.page_drawing, context.index.catalogue, cited.document, number, wanted)
    if wanted and not {"exact", "closest"} & {*drawn.marks}:
        context.warnings.append(_NOT_DRAWN_AS_TEXT)
        payload["mark"] = "absent"
    elif spot.kind == "exact" and "exact" not in drawn.marks:
        context.warnings.append(_DRAWN_OTHERWISE)
        payload["mark"] = "closest"
    picture = drawn.picture
    facts = {"mime_type": _PNG, "width": picture.width, "height": picture.height, "bytes": len(picture.data)}
    return payload | {"text": "", "image": facts}, (Image(picture.data, _PNG),)


def _wanted_on_page(cited: _Cited, spot: _Spot, quote: str | None) -> Sequence[WantedText]:
    """The texts to mark on the page: the quote, or the part of it that is there, or sentences of the passage."""
    if spot.start == spot.end:
        return ()
    end = min(spot.end, cited.end_of_place(spot.start))
    first = _page_start(cited, spot.start)
    page = SourceText(cited.text[first:end])
    if spot.kind == "exact" and quote is not None and end == spot.end:
        return (_repeated(page, quote, spot.start - first),)
    part = cited.text[spot.start : end]
    if spot.kind != "passage":
        return (_repeated(page, part, spot.start - first),)
    return tuple(
        _repeated(page, part[span.start : span.end], spot.start - first + span.start)
        for span in split_spans(part)[:_MOST_SENTENCES]
        if has_words(part[span.start : span.end])
    )


def _repeated(page: SourceText, text: str, at: int) -> WantedText:
    """The text at a character of a page, and how often it stands before that."""
    return WantedText(text, sum(each.end <= at for each in find_quote(text, page)))


def _find_url(context: RequestContext, cited: _Cited, spot: _Spot) -> str:
    """The address of the file, and of the page that is shown; "" where it is not on this machine any more.

    Warns of a file that changed since it was ingested: what stands at its address may be another text.
    """
    found = find_ingested(context.index.catalogue, cited.document)
    if found is None:
        return ""
    if found.has_changed:
        context.warnings.append(_CHANGED.format(name=repr(one_line(cited.document.uri, 100))))
    place = cited.textless or cited.place_of(spot.start)
    is_page = cited.document.type == "pdf" and place is not None and place.kind == "page"
    return found.path.as_uri() + (f"#page={place.number}" if place is not None and is_page else "")


# --- lines of a text


def _lines_around(cited: _Cited, spot: _Spot) -> dict[str, Any]:
    """The marked text with a few lines before and after it, on its page, within the bounds of an answer."""
    text = cited.text
    first = _page_start(cited, spot.start)
    begin = max(_lines_before(text, spot.start), first)
    before = last_tokens(printable(text[max(begin, spot.start - _AROUND_CHARS) : spot.start]), _AROUND_TOKENS)
    marked = cut_end(printable(text[spot.start : spot.end][:_MARKED_CHARS]), _MARKED_TOKENS)
    last = min(_lines_after(text, spot.end), cited.end_of_place(spot.end) if cited.places else len(text))
    after = printable(text[spot.end : min(last, spot.end + _AROUND_CHARS)])
    whole = after if spot.end > spot.start else printable(text[spot.end : spot.end + _MARKED_CHARS])
    shown = cut_end(whole, _AROUND_TOKENS if spot.end > spot.start else _MARKED_TOKENS)
    fields: dict[str, Any] = {"text": before + marked + shown}
    if marked:
        fields["marked"] = [len(before), len(before) + len(marked)]
    if not cited.places:
        fields["first_line"] = text.count("\n", 0, spot.start) - before.count("\n") + 1
    return fields


def _page_start(cited: _Cited, at: int) -> int:
    place = cited.place_of(at)
    return place.start if place is not None and place.start <= at else 0


def _lines_before(text: str, at: int) -> int:
    for _ in range(_LINES_AROUND + 1):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _lines_after(text: str, at: int) -> int:
    for _ in range(_LINES_AROUND + 1):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at - 1


def render_shown(payload: dict[str, Any]) -> list[str]:
    """The document and its place, then the lines with the mark, numbered where the document has no pages."""
    place = " | ".join(filter(None, (cite_place(payload), payload["type"])))
    lines = [
        f"[{payload['document_id']}] {payload['file']} | {payload['title']} | {place}; marked: {payload['mark']}"
    ]
    if "image" in payload:
        facts = payload["image"]
        lines.append(f"image: {facts['width']} x {facts['height']} pixels, {facts['bytes']:,} bytes")
    if "url" in payload:
        lines.append(payload["url"])
    return [*lines, *_render_text(payload)] if payload["text"] else lines


def _render_text(payload: dict[str, Any]) -> list[str]:
    text = payload["text"]
    if "marked" in payload:
        start, end = payload["marked"]
        text = f"{text[:start]}{_BEGIN}{text[start:end]}{_END}{text[end:]}"
    if "first_line" not in payload:
        return frame_text(text)
    numbered = enumerate(text.split("\n"), payload["first_line"])
    return frame_text("\n".join(f"{number:>6}  {line}" for number, line in numbered))


_KB_SHOW_DESCRIPTION = """\
Show the cited page of a PDF as an image, or the lines of a text, with the quote marked.
Use when: you or a person want to see what a citation is about.
Do not use when: you want to read (kb_read, kb_read_excerpt).
Returns at most: one image of 200 kB, 2,400 tokens of text.
If you need more, call: this with another page.
Defaults: image true. Max: one page."""
KB_SHOW = Operation(
    "kb.show",
    ShowPage,
    show_page,
    in_scripts=False,
    tool=ToolSpec(
        title="Show the cited page",
        description=_KB_SHOW_DESCRIPTION,
        answer=ShowAnswer,
        render=render_shown,
        max_size=Size(2 * ANSWER_TOKENS["excerpt"], ANSWER_BYTES),
        is_offered=has_kb_tools,
        pack="pages",
    ),
)
