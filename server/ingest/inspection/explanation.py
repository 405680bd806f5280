"""Explanation of reading and splitting one file, without changing an index: ``winnow ingest --explain``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from winnow.server.bibliographies.locators import locate
from winnow.server.ingest.advice import add_advice
from winnow.server.ingest.change_detection import document_of
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.models import Chunk, DocumentType, Place, Reading
from winnow.server.readers.chunking import chunk, list_headings
from winnow.server.readers.documents import RawDocument, UnreadableFile, clean_document, reason_of
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.reading import ReadFlaw, kind_of, read
from winnow.server.text.printable import one_line

# Of a collection, so many documents are explained; so many headings and lines of each.
MOST_DOCUMENTS = 20
_PDF = "pdf_"  # of the modules that read PDF; reports name their libraries
_MOST_HEADINGS, _MOST_LINES, _LINE_CHARS = 200, 10, 160


@dataclass(frozen=True, slots=True)
class ExplainedPassage:
    """A passage of a document: where it begins and ends, its headings, its place in the file, its first line."""

    start: int
    end: int
    tokens: int
    section: str
    locator: str
    first_line: str


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """A document as an ingest would index it; ``reading`` is None for text."""

    uri: str
    title: str
    type: DocumentType
    language: str
    characters: int
    tokens: int
    places: int
    reading: Reading | None
    headings: tuple[str, ...]
    passages: tuple[ExplainedPassage, ...]
    first_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reading of a file: its type, the readers that were tried with why each failed, its documents and flaws.

    ``readers`` is empty for files of text; a reader that read the file has "" for its failure. ``more`` counts the
    documents of a collection that are left out.
    """

    file: str
    type: str
    readers: tuple[tuple[str, str], ...]
    documents: tuple[ExplainedDocument, ...]
    flaws: tuple[str, ...]
    more: int = 0

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON data."""
        readers = [{"reader": name, "failure": failure} for name, failure in self.readers]
        return {**asdict(self), "readers": readers}


def explain_file(path: Path, options: ReadOptions, *, allows_weaker: bool = False) -> Explanation:
    """Read and split a file as an ingest would; what cannot be read is among the flaws."""
    documents: list[ExplainedDocument] = []
    flaws: list[str] = []
    more = 0
    with ParserProcess(options, allows_weaker=allows_weaker) as parser:
        try:
            for found in read(path, path.name, parser):
                if isinstance(found, ReadFlaw):
                    flaws.append(f"{one_line(found.name)}: {one_line(add_advice(found.reason))}")
                elif len(documents) < MOST_DOCUMENTS:
                    documents.append(_explain(parser, clean_document(found)))
                else:
                    more += 1
        except (OSError, UnreadableFile) as error:
            flaws.append(one_line(add_advice(reason_of(error))))
        tried = tuple((name.removeprefix(_PDF), failure) for name, failure in parser.tried)
        return Explanation(path.name, kind_of(path), tried, tuple(documents), tuple(flaws), more)


def _explain(parser: ParserProcess, raw: RawDocument) -> ExplainedDocument:
    """The document with its passages. Raises ``UnreadableFile`` where it cannot be split."""
    parser.dry_run(raw)
    document = document_of("", "", raw)
    chunks = chunk(document, raw.text, raw.places)
    return ExplainedDocument(
        uri=one_line(raw.uri),
        title=one_line(raw.title),
        type=raw.type,
        language=document.language,
        characters=len(raw.text),
        tokens=sum(each.tokens for each in chunks),
        places=len(raw.places),
        reading=raw.reading,
        headings=_headings(list_headings(document, raw.text, raw.places)),
        passages=tuple(_passage(each, raw.places, raw.uri) for each in chunks),
        first_lines=_first_lines(raw.text[raw.body_start :]),
    )


def _headings(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(one_line(" > ".join(path)) for path in paths[:_MOST_HEADINGS])


def _passage(one: Chunk, places: Sequence[Place], uri: str) -> ExplainedPassage:
    locator = locate(places, one.start, one.end, uri)
    return ExplainedPassage(
        start=one.start,
        end=one.end,
        tokens=one.tokens,
        section=one_line(" > ".join(one.heading_path)),
        locator=locator.text if locator else "",
        first_line=one_line(one.text.strip().partition("\n")[0], _LINE_CHARS),
    )


def _first_lines(text: str) -> tuple[str, ...]:
    lines = (line for line in text[: 100 * _LINE_CHARS].splitlines() if line.strip())
    return tuple(one_line(line, _LINE_CHARS) for line in islice(lines, _MOST_LINES))
