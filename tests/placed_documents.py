"""Documents with places, as readers of PDF, slides, sheets, books, notebooks, mail and subtitles return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winnow.server.backends.opening import open_backends
from winnow.server.ingest.pipeline import IngestReport, ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.models import DocumentType, Place, PlaceKind, Reading
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

LOCATED = {"page_span", "page_labels", "locator", "link"}
_PAGED = {"page", "slide", "sheet"}
_FILLER = "It was inspected in spring, cleaned in summer and painted in autumn by the crew of the yard. "


def text_of_place(name: str, number: int) -> str:
    """The text of a place: a heading, a sentence that only it has, and filler of several chunks' length."""
    sentence = f"Valve {name}{number} opens at {number} bar."
    return f"## Part {name}{number}\n\n{sentence}\n\n{_FILLER * (2 + number % 3)}\n\n"


def placed_document(
    uri: str, type: DocumentType, kind: PlaceKind, labels: Sequence[str], first: int = 1, **facts: object
) -> RawDocument:
    """A document with a place for each label, numbered from ``first``, the text of each as ``text_of_place``."""
    name, _, _ = uri.partition(".")
    texts = [text_of_place(name, number) for number in range(first, first + len(labels))]
    starts = [sum(map(len, texts[:at])) for at in range(len(texts))]
    places = tuple(
        Place(start, kind, number, label, (2, 21) if kind == "sheet" else None)
        for number, (start, label) in enumerate(zip(starts, labels, strict=True), first)
    )
    reading = Reading(reader=f"{type}_reader", pages=len(labels))
    return RawDocument(uri, type, name.title(), "".join(texts), places=places, reading=reading, **facts)  # type: ignore[arg-type]


DOCUMENTS: Mapping[str, RawDocument] = {
    document.uri: document
    for document in (
        placed_document("guide.pdf", "pdf", "page", [str(n) for n in range(33, 45)], 45, environment="prod"),
        placed_document("deck.pptx", "slides", "slide", ["Goals", "", "Costs"]),
        placed_document("book.xlsx", "sheet", "sheet", ["Q1", 'Q"2']),
        placed_document("novel.epub", "book", "chapter", ["Of mice", "Of men"]),
        placed_document("run.ipynb", "notebook", "cell", [""] * 5),
        placed_document("box.mbox", "mail", "message", ["Hello", "Re: Hello"]),
        placed_document("talk.vtt", "subtitles", "time", ["00:00:01.000", "00:01:02.500", "01:00:00.000"]),
        RawDocument("plain.md", "markdown", "Plain", text_of_place("plain", 1)),
    )
}


def places_at(document: RawDocument, start: int, end: int) -> list[Place]:
    """The places of a span, by a look at every character."""
    held: list[Place] = []
    for at in range(start, max(end, start + 1)):
        place = [place for place in document.places if place.start <= at][-1]
        held += [place] if place not in held[-1:] else []
    return held


def _words_of_pages(first: Place, last: Place) -> str:
    if first.number == last.number:
        return f"p. {first.label} (file page {first.number})"
    return f"pp. {first.label}-{last.label} (file pages {first.number}-{last.number})"


def expected_fields(uri: str, start: int, end: int) -> dict[str, Any]:
    """The fields of a row for a span, from the places of its characters."""
    document = DOCUMENTS[uri]
    if not document.places:
        return {}
    held = places_at(document, start, end)
    first, last = held[0], held[-1]
    one = first.number == last.number
    numbers = f"{first.number}" if one else f"{first.number}-{last.number}"
    words = {
        "page": _words_of_pages(first, last),
        "slide": f"slide {numbers}" if one else f"slides {numbers}",
        "sheet": f'sheet "{first.label}", rows 2-21' if one else f'sheets "{first.label}" to "{last.label}"',
        "chapter": f'chapter {numbers} "{first.label}"' if one else f"chapters {numbers}",
        "cell": f"cell {numbers}" if one else f"cells {numbers}",
        "message": f"message {numbers}" if one else f"messages {numbers}",
        "time": first.label[:8] if one else f"{first.label[:8]}-{last.label[:8]}",
    }
    fields: dict[str, Any] = {"locator": words[first.kind], "link": uri}
    if first.kind in _PAGED:
        fields["page_span"] = [first.number, last.number]
    if first.kind == "page":
        fields |= {"page_labels": [first.label, last.label], "link": f"{uri}#page={first.number}"}
    return fields


def located(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name in LOCATED}


def index_placed_documents(
    store: Path, documents: Sequence[RawDocument] = (), graph: str = "off"
) -> tuple[Settings, IngestReport]:
    """Index these documents, or all of ``DOCUMENTS``, by words alone; ``graph``: "auto" draws their graph."""
    settings = load_settings(store=store, embedding="off", graph=graph)
    backends = open_backends(settings, wait_for_model=False)
    try:
        report = ingest_documents(target_of(settings, backends, None), "made", documents or [*DOCUMENTS.values()])
    finally:
        backends.close()
    assert report.failures == ()
    return settings, report
