"""``winnow ingest --explain FILE``: how one file is read and split, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.server.bibliographies.locators import count_pages
from winnow.server.commands.ingest.addresses import refuse_addresses
from winnow.server.commands.terminal.output import print_json, print_lines
from winnow.server.errors import WinnowError
from winnow.server.readers.common import ocr_package
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.text.framing import MARK
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of, name_counts, name_numbers

if TYPE_CHECKING:
    from winnow.server.ingest.inspection.explanation import ExplainedDocument, ExplainedPassage, Explanation
    from winnow.server.models import DocumentType, Reading

_PASSAGES_SHOWN, _HEADINGS_SHOWN = 40, 40
_LINE_CHARS = 90


def print_explanation(path: Path, options: ReadOptions, *, allows_weaker: bool, as_json: bool) -> bool:
    """Print how the file is read; returns whether anything of it is."""
    from winnow.server.ingest.inspection.explanation import explain_file

    refuse_addresses([path])
    if not path.is_file():
        what = "a folder; name one of its files" if path.is_dir() else "not there"
        raise WinnowError("INVALID_REQUEST", f"--explain: {path} is {what}")
    explanation = explain_file(path, options, allows_weaker=allows_weaker)
    if as_json:
        print_json(explanation.to_json())
    else:
        print_lines(*_format(explanation))
    return bool(explanation.documents)


def _format(explanation: Explanation) -> Iterator[str]:
    yield f"{one_line(explanation.file)}: {explanation.type}"
    for reader, failure in explanation.readers:
        yield f"  reader {reader}: {one_line(failure) or 'read it'}"
    for flaw in explanation.flaws:
        yield f"  not read: {flaw}"
    for document in explanation.documents:
        yield from _format_document(document)
    if explanation.more:
        yield f"... and {count_of(explanation.more, 'more document')}"


def _format_document(document: ExplainedDocument) -> Iterator[str]:
    yield ""
    yield (
        f"{document.uri}: {count_of(document.characters, 'character')}, {count_of(document.tokens, 'token')}, "
        f"{count_of(len(document.passages), 'passage')}"
    )
    yield f"  title: {document.title or '(none)'}; language: {document.language or 'unknown'}"
    if document.reading:
        yield from _format_reading(document.reading, document.type)
    yield "  first lines:"
    yield from (f"   {MARK}{line[:_LINE_CHARS]}" for line in document.first_lines)
    yield from _format_some("headings", document.headings, _HEADINGS_SHOWN)
    passages = [_format_passage(number, one) for number, one in enumerate(document.passages, start=1)]
    yield from _format_some("passages", passages, _PASSAGES_SHOWN)


def _format_passage(number: int, passage: ExplainedPassage) -> str:
    size = f"{count_of(passage.tokens, 'token'):>12}"
    place = passage.locator or f"characters {passage.start:,}-{passage.end:,}"
    return f"{number:>4} {size}  {place}  {passage.first_line[:_LINE_CHARS]}"


def _format_some(name: str, lines: list[str] | tuple[str, ...], most: int) -> Iterator[str]:
    yield f"  {name}: {f'{len(lines):,}' if lines else 'none'}"
    yield from (f"   {MARK}{line}" for line in lines[:most])
    if len(lines) > most:
        yield f"    ... and {len(lines) - most:,} more; --json lists all"


def _format_reading(reading: Reading, type: DocumentType) -> Iterator[str]:
    pages = count_pages({type: reading.pages})
    yield f"  read by {reading.reader}{f'; {pages}' if pages else ''}"
    if reading.hidden_runs:
        done = "in the text" if reading.hidden_kept else "left out; --hidden keep reads it"
        runs = count_of(reading.hidden_runs, "run of text", "runs of text")
        yield f"  {runs} that a person does not see ({name_counts(reading.hidden_reasons)}): {done}"
    if reading.needs_ocr:
        pages = count_of(len(reading.needs_ocr), "page is an image", "pages are images")
        yield f"  {pages} without text ({name_numbers(reading.needs_ocr)}); {_ocr(reading)}"
    for name in reading.attachments:
        yield f"  a file within it, not read: {one_line(name)}"
    for note in reading.notes:
        yield f"  note: {one_line(note)}"


def _ocr(reading: Reading) -> str:
    return (
        f"{reading.ocr_pages:,} read by OCR" if reading.ocr_pages else ocr_package.advise("to read by OCR: --ocr")
    )
