"""Documents of which little came into the index, and what to do about each: ``winnow doctor --documents``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.server.models import DocumentReading, DocumentText, DocumentType, Filters
from winnow.server.readers.common import ocr_package
from winnow.server.storage.base import DocumentStore
from winnow.server.text.printable import MOST_UNREADABLE, count_visible, unreadable_share
from winnow.server.text.sizes import count_of, name_counts, name_numbers

# Fewer visible characters a page, slide or sheet than these are few.
_FEW: Mapping[DocumentType, int] = MappingProxyType({"pdf": 200, "image": 50, "slides": 10, "sheet": 10})
_NAMES: Mapping[DocumentType, str] = MappingProxyType(
    {"pdf": "PDF page", "image": "image", "slides": "slide", "sheet": "sheet"}
)


@dataclass(frozen=True, slots=True)
class Problem:
    """The fault of a document, and advice."""

    problem: str
    advice: str


@dataclass(frozen=True, slots=True)
class ThinDocument:
    """A document of which little can be found."""

    project: str
    file: str
    type: DocumentType
    characters: int
    pages: int
    passages: int
    problems: tuple[Problem, ...]

    def to_json(self) -> dict[str, Any]:
        """The document as JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Examined:
    """A document with what its text shows: visible characters, and the share of those that nobody can read."""

    project: str
    document: DocumentReading
    visible: int
    unreadable: float

    @property
    def path(self) -> str:
        """The place of its file, as far as that is known."""
        source = self.document.source
        return str(Path(source) / self.document.uri) if Path(source).is_absolute() else self.document.uri

    @property
    def ocr_command(self) -> str:
        """The command that reads its file by OCR, into its own project."""
        return f"winnow ingest --ocr {self.path} --project {self.project}"


def find_thin_documents(catalogue: DocumentStore, project: str) -> Iterator[ThinDocument]:
    """The thin documents of a project, by path; reads all of its text."""
    filters = Filters(project)
    readings = {reading.uri: reading for reading in catalogue.readings_within(filters)}
    with closing(catalogue.texts_within(filters)) as texts:
        for text in texts:
            if isinstance(text, DocumentText) and text.uri in readings:
                yield from _describe(project, _examine(project, readings[text.uri], text.data.decode()))


def _describe(project: str, examined: _Examined) -> Iterator[ThinDocument]:
    """The document with its problems, if it has any."""
    document = examined.document
    problems = tuple(problem for check in _CHECKS if (problem := check(examined)))
    if problems:
        problems += tuple(_name_hidden_text(examined))
        pages = document.reading.pages if document.reading else 0
        yield ThinDocument(
            project, document.uri, document.type, document.characters, pages, document.chunks, problems
        )


def _examine(project: str, document: DocumentReading, text: str) -> _Examined:
    return _Examined(project, document, count_visible(text), unreadable_share(text))


def _needs_ocr(examined: _Examined) -> Problem | None:
    reading = examined.document.reading
    if reading is None or len(reading.needs_ocr) <= reading.ocr_pages:
        return None
    numbers = name_numbers(reading.needs_ocr)
    count = len(reading.needs_ocr) - reading.ocr_pages
    are = "is an image" if count == 1 else "are images"
    of = "its page" if reading.pages == 1 else f"{count:,} of {reading.pages:,} pages"
    return Problem(
        f"{of} {are} without text ({numbers})",
        ocr_package.advise(f"read {'it' if count == 1 else 'them'} by OCR: {examined.ocr_command}"),
    )


def _is_unreadable(examined: _Examined) -> Problem | None:
    if examined.unreadable <= MOST_UNREADABLE:
        return None
    problem = f"{examined.unreadable:.0%} of its characters are unreadable"
    if examined.document.reading:
        ocr = ocr_package.advise(f"try OCR: {examined.ocr_command}")
        advice = f"its fonts do not say what their characters are; {ocr}"
    else:
        advice = "save it as UTF-8, then ingest it again"
    return Problem(problem, advice)


def _has_few_characters(examined: _Examined) -> Problem | None:
    document = examined.document
    pages = document.reading.pages if document.reading else 0
    if not pages or examined.visible >= pages * _FEW.get(document.type, 0):
        return None
    each = count_of(round(examined.visible / pages), "character")
    return Problem(
        f"{each} on its page" if pages == 1 else f"{each} a page on {pages:,} pages",
        f"look at what was read: winnow ingest --explain {examined.path}",
    )


def _has_no_passages(examined: _Examined) -> Problem | None:
    if examined.document.chunks:
        return None
    return Problem(
        "no passages: nothing in it is found", f"look at what was read: winnow ingest --explain {examined.path}"
    )


def _name_hidden_text(examined: _Examined) -> Iterator[Problem]:
    """The parts left out of a thin document because a person does not see it."""
    reading = examined.document.reading
    if reading and reading.hidden_runs and not reading.hidden_kept:
        runs = count_of(reading.hidden_runs, "run of text", "runs of text")
        why = f" ({name_counts(reading.hidden_reasons)})" if reading.hidden_reasons else ""
        yield Problem(
            f"{runs} that a person does not see{why} left out",
            f"look at {'it' if reading.hidden_runs == 1 else 'them'}: "
            f"winnow ingest --explain {examined.path} --hidden keep",
        )


def describe_thresholds() -> str:
    """The number of characters that is few, by the type of a file."""
    each = ", ".join(f"{most} ({_NAMES[type]})" for type, most in _FEW.items())
    return f"fewer visible characters each than {each}"


_CHECKS: Sequence[Callable[[_Examined], Problem | None]] = (
    _has_no_passages,
    _needs_ocr,
    _is_unreadable,
    _has_few_characters,
)
