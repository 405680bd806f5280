"""Reads tables in text files, one row per line: CSV and TSV, with the delimiter that fits the first lines best."""

from __future__ import annotations

import csv
import io
from collections import Counter
from itertools import islice
from typing import BinaryIO, Literal

from winnow.server.models import Reading
from winnow.server.readers.common.markdown_draft import LARGEST_TEXT_BYTES, MarkdownDraft
from winnow.server.readers.decoding import decode
from winnow.server.readers.documents import UnreadableFile, clean_text
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.sheets.sheet_parts import SheetRow, SheetWriter

# Text beyond the largest file is counted by its lines.
_LARGEST_FILE_BYTES = 4 * LARGEST_TEXT_BYTES
_DELIMITERS = ",;\t|"
_SAMPLE_LINES, _SAMPLE_CHARS = 50, 64 * 1024
_LONGEST_FIELD = 1024 * 1024

csv.field_size_limit(_LONGEST_FIELD)


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a table. Raises ``UnreadableFile`` for binary data and for files far too large."""
    data = file.read(_LARGEST_FILE_BYTES + 1)
    if len(data) > _LARGEST_FILE_BYTES:
        raise UnreadableFile(f"is larger than {_LARGEST_FILE_BYTES >> 20} MiB; split it")
    text = clean_text(decode(data)).removeprefix("\ufeff")
    delimiter = _find_delimiter(text)
    try:
        return _read_table(text, delimiter, csv.QUOTE_MINIMAL)
    except csv.Error:  # a quotation mark that nothing closes
        return _read_table(text, delimiter, csv.QUOTE_NONE)


def _read_table(text: str, delimiter: str, quoting: Literal[0, 3]) -> ParsedFile:
    draft = MarkdownDraft()
    lines = io.StringIO(text, newline="")
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=quoting != csv.QUOTE_NONE)
    note = SheetWriter(draft).write(1, "", (SheetRow(number, cells) for number, cells in enumerate(rows, 1)))
    reading = Reading("delimited", 1, notes=(note,) if note else ())
    return ParsedFile(draft.text, reading, "", draft.places)


def _find_delimiter(text: str) -> str:
    """The delimiter that divides most of the first lines into equally many fields, and into the most fields."""
    sample = list(islice(io.StringIO(text[:_SAMPLE_CHARS]), _SAMPLE_LINES))
    return max(_DELIMITERS, key=lambda delimiter: _fit(sample, delimiter))


def _fit(lines: list[str], delimiter: str) -> tuple[float, float, int]:
    """The fit of a delimiter to the first lines; the largest of these values fits best.

    They are the share of rows with the usual number of fields (0 where that is one), the mean number of fields,
    and how often the delimiter occurs.
    """
    rows = _count_fields(lines, delimiter)
    counts = Counter(rows)
    fields, usual = max(counts.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
    occurs = sum(line.count(delimiter) for line in lines)
    return usual / len(rows) if fields > 1 else 0.0, sum(rows) / max(1, len(rows)), occurs


def _count_fields(lines: list[str], delimiter: str) -> list[int]:
    """The number of fields of each row; a line whose quotation marks forbid the delimiter counts as one field."""
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    counts: list[int] = []
    try:
        counts.extend(len(row) for row in rows if row)
    except csv.Error:
        if rows.line_num < len(lines):  # otherwise the end of the sample cuts a field in quotation marks
            return [sum(_count_fields([line], delimiter)) or 1 for line in lines if line.strip()]
    return counts
