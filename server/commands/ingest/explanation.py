"""``winnow ingest --explain FILE``: how one file is read and split, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from server.commands.terminal.output import print_json, print_lines
from server.errors import WinnowError
from server.ingest.formats.parsed_file import ReadOptions
from server.text.framing import MARK
from server.text.printable import one_line

if TYPE_CHECKING:
    from server.ingest.inspection.explanation import ExplainedDocument, Explanation
    from server.models import Reading

_PASSAGES_SHOWN, _HEADINGS_SHOWN = 40, 40
_LINE_CHARS = 90


def print_explanation(path: Path, options: ReadOptions, *, allows_weaker: bool, as_json: bool) -> bool:
    """Print how the file is read; returns whether anything of it is."""
    from server.ingest.inspection.explanation import explain_file

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
        yield f"... and {explanation.more:,} more documents"


def _format_document(document: ExplainedDocument) -> Iterator[str]:
    yield ""
    yield (
        f"{document.uri}: {document.characters:,} characters, {document.tokens:,} tokens, "
        f"{len(document.passages):,} passages"
    )
    yield f"  title: {document.title or '(none)'}; language: {document.language or 'unknown'}"
    if document.reading:
        yield from _format_reading(document.reading)
    yield "  first lines:"
    yield from (f"   {MARK}{line[:_LINE_CHARS]}" for line in document.first_lines)
    yield from _format_some("headings", document.headings, _HEADINGS_SHOWN)
    passages = [
        f"{number:>4} {passage.tokens:>5} tokens  {passage.locator or f'{passage.start}-{passage.end}'}  "
        f"{passage.first_line[:_LINE_CHARS]}"
        for number, passage in enumerate(document.passages, start=1)
    ]
    yield from _format_some("passages", passages, _PASSAGES_SHOWN)


def _format_some(name: str, lines: list[str] | tuple[str, ...], most: int) -> Iterator[str]:
    yield f"  {name}: {len(lines) or 'none'}"
    yield from (f"   {MARK}{line}" for line in lines[:most])
    if len(lines) > most:
        yield f"    ... and {len(lines) - most:,} more; --json lists all"


def _format_reading(reading: Reading) -> Iterator[str]:
    yield f"  read by {reading.reader}; pages, slides or sheets: {reading.pages:,}"
    if reading.hidden_runs:
        done = "in the text" if reading.hidden_kept else "left out; --hidden keep reads it"
        yield f"  {reading.hidden_runs:,} runs of text that a person does not see: {done}"
    if reading.needs_ocr:
        numbers = ", ".join(map(str, reading.needs_ocr[:_HEADINGS_SHOWN]))
        yield f"  {len(reading.needs_ocr):,} pages without text of their own (pages {numbers}); {_ocr(reading)}"
    for name in reading.attachments:
        yield f"  a file within it, not read: {one_line(name)}"
    for note in reading.notes:
        yield f"  note: {one_line(note)}"


def _ocr(reading: Reading) -> str:
    return f"{reading.ocr_pages:,} were read by OCR" if reading.ocr_pages else "--ocr reads them"
