"""Reads workbooks (XLSX, XLSM, XLSB, XLS, ODS) with calamine: the values of cells, as they are shown.

calamine holds a whole sheet in memory, with every cell of the rectangle that its cells span. For an XLSX, it
therefore gets a copy without hidden sheets, in which each sheet ends after the rows that will be read. Other
workbooks are refused above a size.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from winnow.server.models import HiddenReason, Reading
from winnow.server.readers.common.archives import Archive, open_archive
from winnow.server.readers.common.bounded_xml import attribute, children, descendants, find, parse_xml
from winnow.server.readers.common.markdown_draft import MarkdownDraft
from winnow.server.readers.common.open_xml import PartLink, properties, relationships
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.sheets.binary_sheets import check_xlsb_sheet, prepare_xls
from winnow.server.readers.sheets.number_formats import BUILT_IN, NumberFormat, parse_format
from winnow.server.readers.sheets.sheet_parts import SheetBudget, SheetRow, SheetWriter

# Limits of the XML of all sheets together, and of their shared texts. The XML takes 4 to 8 times the size of the
# text.
_LARGEST_SHEETS_BYTES = 96 * 1024 * 1024
_LARGEST_TEXTS_BYTES = 128 * 1024 * 1024
# An ODS file has all sheets in one part. A cell of an XLSB or XLS takes a tenth of the size of a cell in XML.
_LARGEST_OTHER_BYTES = 64 * 1024 * 1024
# Cells of the rectangle that a sheet spans; calamine takes 32 bytes for each.
_MOST_SPANNED_CELLS = 12_000_000

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_START_BYTES = 1024
# Other files that have the suffix of a workbook.
_OTHERS = (
    (re.compile(rb"(?:\xef\xbb\xbf)?\s*<"), "HTML or XML"),
    (re.compile(rb"\x09[\x00\x02\x04\x08][\x04\x06\x08]\x00"), "a sheet of Excel 4 or older"),
    (re.compile(rb"[^\x00-\x08\x0e-\x1f]+\Z"), "text"),
)
_ROW_END = re.compile(rb"</(?:\w+:)?row>")
_ROWS_START = re.compile(rb"<(\w+:|)sheetData\s*>")
_LONGEST_TAG = 40
_ROW_NUMBER = re.compile(rb"""<(?:\w+:)?row\b[^<>]*?\sr=["'](\d{1,20})""")
_VALUE = re.compile(
    rb"""<(?:\w+:)?c\b[^<>]*?\sr=["']([A-Z]{1,3})(\d{1,20})["'][^<>]*>\s*"""
    rb"""(?:<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*)?<(?:\w+:)?(?:v|is)\b"""
)
# A cell may state another row number than the row that contains it.
_LOW_CELL, _NOT_LOW = re.compile(rb"""\sr=["'][A-Z]{1,3}(\d{5,20})"""), 9_999
_LAST_ROW = 1_048_576
_WIDE_CELL = re.compile(rb"""\sr=["']([A-Z]{2,3})\d""")
_HIDDEN = re.compile(rb"""\shidden=["'](?:1|true)["']""")
_HIDDEN_ROW = re.compile(rb"""<(?:\w+:)?row\b[^<>]*?\shidden=["'](?:1|true)["']""")
_COLUMNS, _COLUMNS_END = re.compile(rb"<(?:\w+:)?col\b[^<>]*>"), 1024 * 1024
_COLUMN_BOUND = {name: re.compile(rb"""\s%b=["'](\d{1,5})["']""" % name.encode()) for name in ("min", "max")}
_LETTERS = 26
# A cell with a number, if its style is one of these: its prefix, attributes, formula and value.
_NUMBER_CELL = (
    rb"""<((?:\w+:)?)c\b(?=[^<>]*\ss=["'](?:%b)["'])([^<>]*)>(\s*"""
    rb"""(?:<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*)?)<(?:\w+:)?v>([-+.0-9eE]{1,40})</(?:\w+:)?v>"""
)
_STYLE, _CELL_TYPE = re.compile(rb"""\ss=["'](\d{1,9})["']"""), re.compile(rb"""\st=["'](\w{1,20})["']""")
_NUMBER = b"n"
# The type of a cell that has an error, "#DIV/0!"; calamine returns nothing for it.
_ERROR_CELL = re.compile(rb"""(<(?:\w+:)?c\b[^<>]*?\st=["'])e(?=["'])""")
_BOOK = "xl/workbook.xml"
_XLSB_SHEET = re.compile(r"xl/worksheets/.*\.bin\Z", re.I)
_ODS_CONTENT = "content.xml"
# A cell of an ODS with its value, if its text is below it: the text as the sheet shows it, after any comment.
_ODS_VALUED_CELL = re.compile(
    rb"""<table:(?:covered-)?table-cell\b(?>[^<>]*?\soffice:(?:value|(?:string|date|time|boolean)-value)=)"""
    rb"""[^<>]*+(?<!/)>"""
    rb"""(?=\s*(?:<office:annotation\b(?s:.){0,4000}?</office:annotation>\s*)?<text:p\b)"""
)
_ODS_VALUE = re.compile(rb"""(?<=\s)office:(?:value|(?:string|date|time|boolean)-value)=(?=["'])""")
_ODS_TYPE = re.compile(rb"""(?<=\s)office:value-type=(?:"[^"]*"|'[^']*')""")
_DAYS_SHOWN_AS_DATE = time()
_UNKNOWN = "Cannot detect file format"  # the message of calamine for any workbook that it cannot open
_NOT_A_WORKBOOK = "is damaged or not a workbook"


@dataclass(frozen=True, slots=True)
class _Copy:
    """The input of calamine; and for each sheet, the number of rows left out, and a note about hidden parts."""

    file: BinaryIO
    rows_cut: Mapping[str, int] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a workbook. Hidden sheets are left out, unless hidden text is kept. Raises ``UnreadableFile``."""
    title, facts, copy = _prepare(file, options)
    with _calamine_errors(), CalamineWorkbook.from_filelike(copy.file) as workbook:
        parsed = _read_sheets(workbook, copy, options)
    return replace(parsed, title=title, facts=facts)


def _prepare(file: BinaryIO, options: ReadOptions) -> tuple[str, Mapping[str, Any], _Copy]:
    """The title, the facts, and the input of calamine."""
    start = file.read(_START_BYTES)
    file.seek(0)
    if start.startswith(_OLE):
        return "", {}, _Copy(io.BytesIO(prepare_xls(_read_bounded(file), _MOST_SPANNED_CELLS)))
    for signature, name in _OTHERS:
        if signature.match(start):
            raise UnreadableFile(f"is {name}, not a workbook; open it and save it as XLSX")
    archive = open_archive(file, "workbook")
    if archive.has(_BOOK):
        return *properties(archive), _copy_of_xlsx(archive, options)
    if not (archive.has("xl/workbook.bin") or archive.has("content.xml")):
        raise UnreadableFile("is a ZIP archive, but not a workbook")
    return *properties(archive), _copy_of_other(archive)


def _read_bounded(file: BinaryIO) -> bytes:
    data = file.read(_LARGEST_OTHER_BYTES + 1)
    if len(data) > _LARGEST_OTHER_BYTES:
        raise UnreadableFile(f"is larger than {_LARGEST_OTHER_BYTES >> 20} MiB; save it as XLSX")
    return data


@contextmanager
def _calamine_errors() -> Iterator[None]:
    """A context in which errors and panics of calamine become ``UnreadableFile``; a panic is no ``Exception``."""
    try:
        yield
    except PasswordError:
        raise UnreadableFile("is encrypted; save it without a password") from None
    except (CalamineError, OSError) as error:
        reason = str(error)[:100]
        raise UnreadableFile(_NOT_A_WORKBOOK if reason == _UNKNOWN else f"{_NOT_A_WORKBOOK} ({reason})") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableFile(_NOT_A_WORKBOOK) from None


# --- sheets


def _read_sheets(workbook: CalamineWorkbook, copy: _Copy, options: ReadOptions) -> ParsedFile:
    draft = MarkdownDraft()
    writer = SheetWriter(draft)
    hidden: list[str] = []
    notes = list(copy.notes)
    for number, sheet in enumerate(workbook.sheets_metadata, 1):
        if sheet.typ != SheetTypeEnum.WorkSheet:  # a chart or a macro; calamine fails on those of an XLSB
            continue
        if sheet.visible != SheetVisibleEnum.Visible:
            hidden.append(sheet.name)
            if not options.keeps_hidden:
                continue
        notes += _read_sheet(workbook, writer, number, sheet.name, copy)
    if hidden and not options.keeps_hidden:
        notes.append(f"hidden sheets were left out: {', '.join(hidden)[:500]}")
    pages = len(workbook.sheets_metadata)
    reasons: dict[HiddenReason, int] = {"hidden sheet": len(hidden)} if hidden else {}
    reading = Reading(
        "workbook", pages, len(hidden), options.keeps_hidden, notes=tuple(notes), hidden_reasons=reasons
    )
    return ParsedFile(draft.text, reading, "", draft.places)


def _read_sheet(
    workbook: CalamineWorkbook, writer: SheetWriter, number: int, name: str, copy: _Copy
) -> Iterator[str]:
    """Write a sheet; return sentences about rows that were not read, and about hidden rows and columns."""
    sheet = workbook.get_sheet_by_index(number - 1)
    rows = (SheetRow(row, [*map(show, cells)]) for row, cells in enumerate(sheet.iter_rows(), 1))
    notes = (writer.write(number, name, rows, copy.rows_cut.get(name, 0)), copy.unseen.get(name, ""))
    return (f"sheet '{name}': {note}" for note in notes if note)


def show(value: Any) -> str:
    """A value as a person reads it: dates as in ISO 8601, numbers with the digits that a cell keeps."""
    match value:
        case str():
            return value.replace("\0", "")
        case bool():
            return str(value).upper()
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
        case datetime():
            is_day = value.time() == _DAYS_SHOWN_AS_DATE
            return value.date().isoformat() if is_day else value.isoformat(" ", "seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return _show_hours(value)
        case _:
            return str(value)


def _show_hours(value: timedelta) -> str:
    """A duration as spreadsheet programs show it, without days: "36:00:00"."""
    seconds = round(value.total_seconds())
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'-' if seconds < 0 else ''}{minutes // 60}:{minutes % 60:02}:{rest:02}"


# --- what calamine is given


def _copy_of_xlsx(archive: Archive, options: ReadOptions) -> _Copy:
    """A copy with the sheets that are read, each cut after the rows that are read."""
    links = relationships(archive, _BOOK)
    copied = io.BytesIO()
    cut: dict[str, int] = {}
    unseen: dict[str, str] = {}
    formats = _formats_by_style(archive, links)
    rows, rest = SheetBudget().rows, _LARGEST_SHEETS_BYTES
    with zipfile.ZipFile(copied, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        _copy_common_parts(archive, links, target)
        for name, part in _sheets(archive, links, options):
            data, count, cut[name] = _cut_sheet(archive, part, rows, rest)
            _check_span(name, data)
            unseen[name] = _describe_unseen(data)
            rows, rest = rows - count, rest - len(data)
            target.writestr(part, _with_shown_values(data, formats))
    copied.seek(0)
    commented = sum(name.startswith("xl/comments") for name in archive.names())
    notes = (f"comments of {commented:,} sheets were left out",) if commented else ()
    return _Copy(copied, cut, unseen, notes)


def _copy_common_parts(archive: Archive, links: Mapping[str, PartLink], target: zipfile.ZipFile) -> None:
    """Copy the parts that all sheets share: their list, styles and texts."""
    kept = ["[Content_Types].xml", "_rels/.rels", _BOOK, "xl/_rels/workbook.xml.rels"]
    kept += [link.target for link in links.values() if link.type in {"styles", "theme"}]
    for name in filter(archive.has, dict.fromkeys(kept)):
        target.writestr(name, archive.read(name))
    for name in dict.fromkeys(link.target for link in links.values() if link.type == "sharedStrings"):
        if archive.has(name):
            target.writestr(name, archive.read(name, _LARGEST_TEXTS_BYTES))


def _sheets(archive: Archive, links: Mapping[str, PartLink], options: ReadOptions) -> Iterator[tuple[str, str]]:
    """The names and the parts of the sheets that are read, each part once."""
    parts: set[str] = set()
    for sheet in descendants(parse_xml(archive.read(_BOOK)), "sheet"):
        link = links.get(attribute(sheet, "id"))
        is_hidden = attribute(sheet, "state") in {"hidden", "veryHidden"}
        if link is None or not archive.has(link.target) or (is_hidden and not options.keeps_hidden):
            continue
        if link.target not in parts:
            parts.add(link.target)
            yield attribute(sheet, "name"), link.target


def _formats_by_style(archive: Archive, links: Mapping[str, PartLink]) -> dict[bytes, NumberFormat]:
    """The number of each style of cells -> its format, for formats that say how a number is shown."""
    part = next((link.target for link in links.values() if link.type == "styles" and archive.has(link.target)), "")
    if not part:
        return {}
    root = parse_xml(archive.read(part))
    codes = {str(number): code for number, code in BUILT_IN.items()}
    codes |= {attribute(each, "numFmtId"): attribute(each, "formatCode") for each in descendants(root, "numFmt")}
    formats = {number: parse_format(code) for number, code in codes.items()}
    styles = find(root, "cellXfs")
    named = (attribute(style, "numFmtId") for style in (() if styles is None else children(styles, "xf")))
    found = ((str(style).encode(), formats.get(name)) for style, name in enumerate(named))
    return {style: form for style, form in found if form is not None}


def _with_shown_values(data: bytes, formats: Mapping[bytes, NumberFormat]) -> bytes:
    """The XML of a sheet in which errors, and numbers with one of these formats, are the text that cells show."""
    data = _ERROR_CELL.sub(rb"\1str", data)
    if not formats:
        return data

    def show_number(cell: re.Match[bytes]) -> bytes:
        prefix, attributes, formula, value = cell.groups()
        kind, style = _CELL_TYPE.search(attributes), _STYLE.search(attributes)
        if style is None or (kind and kind[1] != _NUMBER):
            return cell[0]
        try:
            shown = formats[style[1]].show(float(value))
        except (ValueError, ArithmeticError):
            return cell[0]
        name = prefix + b"v"
        typed = _CELL_TYPE.sub(b"", attributes) + b' t="str"'
        return b"<%bc%b>%b<%b>%b</%b>" % (prefix, typed, formula, name, escape(shown).encode(), name)

    return re.sub(_NUMBER_CELL % b"|".join(formats), show_number, data)


def _describe_unseen(data: bytes) -> str:
    """A sentence about hidden rows and columns; they are read, because filters hide rows for a while."""
    columns = (match[0] for match in _COLUMNS.finditer(data, 0, _COLUMNS_END) if _HIDDEN.search(match[0]))
    hidden = [
        (sum(1 for _ in _HIDDEN_ROW.finditer(data)), "hidden rows"),
        (sum(map(_count_columns, columns)), "hidden columns"),
    ]
    parts = " and ".join(f"{count:,} {what}" for count, what in hidden if count)
    return f"{parts} are part of the text" if parts else ""


def _count_columns(columns: bytes) -> int:
    first, last = (_COLUMN_BOUND[name].search(columns) for name in ("min", "max"))
    return max(int(last[1]) - int(first[1]) + 1, 1) if first and last else 1


def _cut_sheet(archive: Archive, part: str, rows: int, most: int) -> tuple[bytes, int, int]:
    """The XML of a sheet with at most ``rows`` rows and ``most`` bytes; the numbers of rows in it and left out."""
    data = archive.read_start(part, most)
    ends = [match.end() for match in _ROW_END.finditer(data)]
    if len(ends) <= rows and archive.size(part) <= len(data):
        return data, len(ends), 0
    kept = ends[: max(rows, 0)]
    return _end_after(data, kept), len(kept), _count_rows(archive, part) - len(kept)


def _end_after(data: bytes, row_ends: Sequence[int]) -> bytes:
    """The XML of a sheet that ends after the last of these rows."""
    start = _ROWS_START.search(data)
    if start is None:
        raise UnreadableFile("has a sheet without rows that is too large")
    prefix = start[1]
    end = row_ends[-1] if row_ends else start.end()
    return b"%b</%bsheetData></%bworksheet>" % (data[:end], prefix, prefix)


def _count_rows(archive: Archive, part: str) -> int:
    """The number of rows of a sheet; a tag that two blocks share is counted once."""
    count, tail = 0, b""
    for block in archive.blocks(part):
        data = tail + block
        ends = [match.end() for match in _ROW_END.finditer(data)]
        count += len(ends)
        tail = data[max(len(data) - _LONGEST_TAG, ends[-1] if ends else 0) :]
    return count


def _check_span(name: str, data: bytes) -> None:
    """Raise ``UnreadableFile`` for a sheet whose values span a rectangle too large to hold."""
    rows = max((int(match[1]) for match in _ROW_NUMBER.finditer(data)), default=1)
    rows = max(rows, _NOT_LOW, *map(int, {match[1] for match in _LOW_CELL.finditer(data)}))
    if rows > _LAST_ROW:
        raise UnreadableFile(f"its sheet '{name[:100]}' has a row {rows:,}, and sheets end at {_LAST_ROW:,}")
    columns = max(map(_column, {match[1] for match in _WIDE_CELL.finditer(data)}), default=_LETTERS)
    if rows * columns <= _MOST_SPANNED_CELLS:
        return
    # Cells without values do not count. Most distant cells are empty, so the slower search for values comes
    # second.
    columns, rows = 1, 1
    for match in _VALUE.finditer(data):
        columns, rows = max(columns, _column(match[1])), max(rows, int(match[2]))
    if rows * columns > _MOST_SPANNED_CELLS:
        span = f"{rows:,} rows of {columns:,} columns"
        raise UnreadableFile(f"its sheet '{name[:100]}' spans {span}: delete stray cells")


def _column(letters: bytes) -> int:
    """The number of a column from its letters: AA is 27."""
    number = 0
    for letter in letters:
        number = number * _LETTERS + letter - ord("A") + 1
    return number


def _copy_of_other(archive: Archive) -> _Copy:
    """The whole of an XLSB or ODS, entry by entry."""
    copied = io.BytesIO()
    rest = _LARGEST_OTHER_BYTES
    with zipfile.ZipFile(copied, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for name in archive.names():
            if name == "mimetype" or name.endswith((".xml", ".bin", ".rels")):
                data = archive.read(name, rest)
                if _XLSB_SHEET.match(name):
                    check_xlsb_sheet(data, _MOST_SPANNED_CELLS)
                rest -= len(data)
                target.writestr(name, _with_shown_texts(data) if name == _ODS_CONTENT else data)
    copied.seek(0)
    return _Copy(copied)


def _with_shown_texts(content: bytes) -> bytes:
    """The content of an ODS in which a number, date or truth value is the text that the sheet shows for it.

    calamine returns the value where there is one, with more digits than the sheet shows, and the text of texts.
    """
    return _ODS_VALUED_CELL.sub(_as_text_cell, content)


def _as_text_cell(cell: re.Match[bytes]) -> bytes:
    return _ODS_TYPE.sub(b'office:value-type="string"', _ODS_VALUE.sub(b"office:unread=", cell[0]))
