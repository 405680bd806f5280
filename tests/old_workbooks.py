"""Small workbooks of the binary formats, made in code: XLS (BIFF8 records in an OLE container) and XLSB.

Numbers with the style ``DATE`` are dates, with ``HOURS`` durations. References: [MS-XLS], [MS-CFB] and [MS-XLSB].
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

GENERAL, DATE, HOURS = 0, 1, 2
_FORMATS = (0, 14, 46)  # numbers that Excel gives to formats: General, m/d/yyyy, [h]:mm:ss
VISIBLE, HIDDEN, VERY_HIDDEN = 0, 1, 2
_SECTOR, _FREE, _END, _FAT = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SMALLEST_STREAM = 4096  # shorter ones are kept in another way


@dataclass(frozen=True, slots=True)
class Number:
    """A number with a style."""

    value: float
    style: int = GENERAL


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula with the number that it last had."""

    value: float


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet: its cells by row and column, counted from 0."""

    cells: Mapping[tuple[int, int], str | bool | Number | Formula]
    state: int = VISIBLE
    is_chart: bool = False


def rows(*values: Sequence[str | bool | Number | Formula]) -> Sheet:
    """A visible sheet with these rows."""
    return Sheet({(row, column): cell for row, line in enumerate(values) for column, cell in enumerate(line)})


# --- XLS


def xls(
    sheets: Mapping[str, Sheet], *, stream: str = "Workbook", is_encrypted: bool = False, is_short: bool = False
) -> io.BytesIO:
    """An XLS file. Encrypted, it says so; its records are not. Short, it is kept in sectors of 64 bytes."""
    parts = [_sheet_records(sheet) for sheet in sheets.values()]
    head = [_biff(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 6))]
    head += [_biff(0x2F, b"\1\0\1\0\1\0" + bytes(48))] if is_encrypted else []
    head += [_biff(0xE0, struct.pack("<HHH14x", 0, number, 0)) for number in _FORMATS]
    names = [_bound_sheet(name, sheet) for name, sheet in sheets.items()]
    offset = sum(map(len, (*head, *names))) + 4
    for place, part in enumerate(parts):
        names[place] = names[place][:4] + struct.pack("<I", offset) + names[place][8:]
        offset += len(part)
    records = b"".join((*head, *names, _biff(0x0A), *parts))
    return io.BytesIO(_short_ole(stream, records) if is_short else ole({stream: records}))


def _bound_sheet(name: str, sheet: Sheet) -> bytes:
    kind = 2 if sheet.is_chart else 0
    return _biff(0x85, struct.pack("<IBBBB", 0, sheet.state, kind, len(name), 1) + name.encode("utf-16-le"))


def _sheet_records(sheet: Sheet) -> bytes:
    last = [max((place[axis] for place in sheet.cells), default=0) + 1 for axis in (0, 1)]
    begin = _biff(0x809, struct.pack("<HHHHII", 0x600, 0x20 if sheet.is_chart else 0x10, 0, 0, 0, 6))
    size = _biff(0x200, struct.pack("<IIHHH", 0, last[0], 0, last[1], 0))
    return b"".join((begin, size, *(_biff_cell(*place, cell) for place, cell in sheet.cells.items()), _biff(0x0A)))


def _biff_cell(row: int, column: int, cell: str | bool | Number | Formula) -> bytes:
    match cell:
        case str():
            text = struct.pack("<HB", len(cell), 1) + cell.encode("utf-16-le")
            return _biff(0x204, struct.pack("<HHH", row, column, GENERAL) + text)
        case bool():
            return _biff(0x205, struct.pack("<HHHBB", row, column, GENERAL, cell, 0))
        case Number():
            return _biff(0x203, struct.pack("<HHHd", row, column, cell.style, cell.value))
        case Formula():  # of one constant
            parsed = struct.pack("<HBH", 3, 0x1E, 1)
            return _biff(0x06, struct.pack("<HHHdHI", row, column, GENERAL, cell.value, 0, 0) + parsed)


def _biff(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def ole(streams: Mapping[str, bytes]) -> bytes:
    """An OLE container with these streams."""
    names = ["Root Entry", *streams]
    data = [stream.ljust(_SMALLEST_STREAM, b"\0") for stream in streams.values()]
    counts = [-(-len(stream) // _SECTOR) for stream in data]
    directory = -(-len(names) // 4)
    chains = [_FAT, *_chain(1, directory)]
    starts = []
    for count in counts:
        starts.append(len(chains))
        chains += _chain(len(chains), count)
    assert len(chains) <= _SECTOR // 4, "one sector of the table is all that this writer knows"
    chains += [_FREE] * (_SECTOR // 4 - len(chains))
    entries = [_entry(names[0], 5, _END, 0, 1)]
    entries += [
        _entry(name, 2, start, len(stream), _FREE if name == names[-1] else place + 2)
        for place, (name, start, stream) in enumerate(zip(streams, starts, data, strict=True))
    ]
    body = [struct.pack(f"<{_SECTOR // 4}I", *chains), _padded(b"".join(entries)), *map(_padded, data)]
    return _ole_head() + b"".join(body)


def _short_ole(name: str, stream: bytes) -> bytes:
    """An OLE container with one short stream, within that of the root."""
    held, small = -(-len(stream) // _SECTOR), -(-len(stream) // 64)
    assert len(stream) < _SMALLEST_STREAM
    chains = [_FAT, _END, _END, *_chain(3, held)]  # the table, the directory, the table of short streams
    tables = [chains + [_FREE] * (_SECTOR // 4 - len(chains)), _chain(0, small) + [_FREE] * (_SECTOR // 4 - small)]
    entries = _entry("Root Entry", 5, 3, held * _SECTOR, 1) + _entry(name, 2, 0, len(stream), _FREE)
    head = bytearray(_ole_head())
    struct.pack_into("<II", head, 60, 2, 1)
    table, short = (struct.pack(f"<{_SECTOR // 4}I", *numbers) for numbers in tables)
    return b"".join((head, table, _padded(entries), short, _padded(stream)))


def _chain(first: int, count: int) -> list[int]:
    return [*range(first + 1, first + count), _END]


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _SECTOR)


def _entry(name: str, kind: int, start: int, size: int, other: int) -> bytes:
    """An entry of the directory; ``other`` is the child of the root, or the next of the streams."""
    encoded = f"{name}\0".encode("utf-16-le")
    next_one, child = (_FREE, other) if kind == 5 else (other, _FREE)
    links = struct.pack("<BBIII", kind, 1, _FREE, next_one, child)
    return struct.pack("<64sH", encoded, len(encoded)) + links + bytes(36) + struct.pack("<IQ", start, size)


def _ole_head() -> bytes:
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<IIIIIIIII", 0, 1, 1, 0, _SMALLEST_STREAM, _END, 0, _END, 0)
    return head + struct.pack("<I", 0) + struct.pack("<I", _FREE) * 108


# --- XLSB


def xlsb(sheets: Mapping[str, Sheet]) -> io.BytesIO:
    """An XLSB file."""
    folders = ["chartsheets" if sheet.is_chart else "worksheets" for sheet in sheets.values()]
    targets = [f"{folder}/sheet{number}.bin" for number, folder in enumerate(folders, 1)]
    bundle = [
        _brt(156, struct.pack("<II", sheet.state, number) + _wide(f"rId{number}") + _wide(name))
        for number, (name, sheet) in enumerate(sheets.items(), 1)
    ]
    links = [(target, folder.removesuffix("s")) for target, folder in zip(targets, folders, strict=True)]
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": _links([("xl/workbook.bin", "officeDocument")]),
        "xl/_rels/workbook.bin.rels": _links([*links, ("styles.bin", "styles")]),
        "xl/workbook.bin": b"".join((_brt(131), _brt(143), *bundle, _brt(144), _brt(132))),
        "xl/styles.bin": _styles(),
        **{f"xl/{target}": _sheet_part(one) for target, one in zip(targets, sheets.values(), strict=True)},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    out.seek(0)
    return out


def _links(links: Iterable[tuple[str, str]]) -> str:
    base = "http://schemas.openxmlformats.org"
    kinds = f"{base}/officeDocument/2006/relationships"
    rows = "".join(
        f'<Relationship Id="rId{number}" Type="{kinds}/{kind}" Target="{target}"/>'
        for number, (target, kind) in enumerate(links, 1)
    )
    return f'<Relationships xmlns="{base}/package/2006/relationships">{rows}</Relationships>'


def _styles() -> bytes:
    styles = [_brt(47, struct.pack("<HHHHHBBHH", 0, number, 0, 0, 0, 0, 0, 0, 0)) for number in _FORMATS]
    return b"".join((_brt(278), _brt(617, struct.pack("<I", len(styles))), *styles, _brt(618), _brt(279)))


def _sheet_part(sheet: Sheet) -> bytes:
    if sheet.is_chart:
        return _brt(129) + _brt(130)
    last = [max((place[axis] for place in sheet.cells), default=0) for axis in (0, 1)]
    found = [_brt(129), _brt(148, struct.pack("<IIII", 0, last[0], 0, last[1])), _brt(145)]
    for row in sorted({row for row, _ in sheet.cells}):
        found.append(_brt(0, struct.pack("<IIHBBBI", row, 0, 300, 0, 0, 0, 0)))
        found += [_brt_cell(column, cell) for (line, column), cell in sheet.cells.items() if line == row]
    return b"".join((*found, _brt(146), _brt(130)))


def _brt_cell(column: int, cell: str | bool | Number | Formula) -> bytes:
    match cell:
        case str():
            return _brt(6, struct.pack("<II", column, GENERAL) + _wide(cell))
        case bool():
            return _brt(4, struct.pack("<IIB", column, GENERAL, cell))
        case Number():
            return _brt(5, struct.pack("<IId", column, cell.style, cell.value))
        case Formula():
            parsed = struct.pack("<HIBHI", 0, 3, 0x1E, 1, 0)
            return _brt(9, struct.pack("<IId", column, GENERAL, cell.value) + parsed)


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _brt(kind: int, data: bytes = b"") -> bytes:
    return _seven_bits(kind) + _seven_bits(len(data)) + data


def _seven_bits(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))
