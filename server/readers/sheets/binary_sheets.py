"""Checks binary workbooks before calamine reads them: the encryption of an XLS, and the size of sheets.

calamine makes room for every cell of the rectangle that the cells of a sheet span, and before that for the one
that an XLS states. Two cells far apart, or a wrong statement, take all memory and end the process. Containers and
records are those of [MS-CFB], [MS-XLS] and [MS-XLSB].
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from winnow.server.readers.documents import UnreadableFile

_DAMAGED = "is damaged or not a workbook"
_NO_WORKBOOK = "is an old office document, but not a workbook; save it in today's format"
_ENCRYPTED = "is encrypted; save it without a password"
_FREE_SECTOR, _HEAD_TABLE, _SMALL_SECTOR = 0xFFFFFFF0, 109, 64
_ENTRY, _KIND, _IS_STREAM = (
    128,
    66,
    2,
)  # an entry of the directory: its bytes, the offset of its kind, one of the kinds
_NAMES, _ENCRYPTED_NAME = frozenset({"workbook", "book"}), "encryptedpackage"
_FILE_PASS, _BEGIN = 0x2F, frozenset({0x009, 0x209, 0x409, 0x809})
# Records of a cell with a value: row and column are their first two numbers.
_CELLS = frozenset({0x03, 0x04, 0x05, 0x06, 0x203, 0x204, 0x205, 0x206, 0x27E, 0x406, 0xD6, 0xFD})
_SEVERAL_CELLS, _STATED_SIZE = 0xBD, 0x200
_XLSB_ROW, _XLSB_CELLS = 0, range(2, 12)  # 1 is a cell without a value
_MOST_COLUMNS, _MOST_ROWS = 1 << 14, 1 << 20


@dataclass(slots=True)
class _Span:
    """The rectangle that holds the cells so far."""

    top: int = _MOST_ROWS
    left: int = _MOST_COLUMNS
    bottom: int = -1
    right: int = -1

    @property
    def cells(self) -> int:
        """The number of cells."""
        return max(self.bottom - self.top + 1, 0) * max(self.right - self.left + 1, 0)

    def add(self, row: int, column: int) -> None:
        """Make it hold this cell."""
        self.top, self.bottom = min(self.top, row), max(self.bottom, row)
        self.left, self.right = min(self.left, column), max(self.right, column)


def prepare_xls(data: bytes, most: int) -> bytes:
    """The XLS without the stated sizes of its sheets, which may differ from the cells.

    Raises ``UnreadableFile`` where it is encrypted, or its sheets together span more than ``most`` cells.
    """
    try:
        book = _book(data)
        prepared = bytearray(data)
        spans = [_Span()]
        for kind, start, body in _records(book.text):
            if kind == _FILE_PASS:
                raise UnreadableFile(_ENCRYPTED)
            if kind in _BEGIN:
                spans.append(_Span())
            elif kind == _STATED_SIZE:
                for place in range(start, start + len(body)):
                    prepared[book.place(place)] = 0
            elif kind in _CELLS or kind == _SEVERAL_CELLS:
                _add_cells(spans[-1], kind, body)
    except (struct.error, IndexError):
        raise UnreadableFile(_DAMAGED) from None
    _check(sum(span.cells for span in spans), most)
    return bytes(prepared)


def check_xlsb_sheet(data: bytes, most: int) -> None:
    """Raise ``UnreadableFile`` for the part of a sheet that spans more than ``most`` cells."""
    span, at, row = _Span(), 0, 0
    while at < len(data):
        kind, at = _seven_bits(data, at)
        size, at = _seven_bits(data, at)
        if kind == _XLSB_ROW or kind in _XLSB_CELLS:
            number = int.from_bytes(data[at : at + 4], "little")
            if kind == _XLSB_ROW:
                row = number
            else:
                span.add(row, number)
        at += size
    _check(span.cells, most)


def _check(cells: int, most: int) -> None:
    if cells > most:
        raise UnreadableFile(f"its sheets span {cells:,} cells, more than {most:,}: delete stray cells")


def _seven_bits(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits per byte, the lowest first, and the offset of its end."""
    number = shift = 0
    for place, byte in enumerate(data[at : at + 4], 1):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at + place
    return number, at + 4


def _add_cells(span: _Span, kind: int, body: bytes) -> None:
    row, column = struct.unpack_from("<HH", body)
    span.add(row, column)
    if kind == _SEVERAL_CELLS:
        span.add(row, struct.unpack("<H", body[-2:])[0])


def _records(stream: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The kind of each record, the offset of its body, and the body."""
    at = 4
    while at <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at - 4)
        yield kind, at, stream[at : at + size]
        at += 4 + size


# --- the container


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream: its bytes, and the offset in the file of each block of them."""

    text: bytes
    starts: list[int]
    step: int

    def place(self, at: int) -> int:
        """The place in the file of a byte of the stream."""
        return self.starts[at // self.step] + at % self.step


def _book(data: bytes) -> _Stream:
    """The stream of the workbook. Raises ``UnreadableFile``, ``struct.error`` or ``IndexError``."""
    shift, mini_shift = struct.unpack_from("<HH", data, 30)
    if (shift, mini_shift) not in ((9, 6), (12, 6)):
        raise UnreadableFile(_DAMAGED)
    sectors = _Sectors(data, 1 << shift)
    first_of_directory, _, smallest = struct.unpack_from("<III", data, 48)
    directory = sectors.read(sectors.starts(first_of_directory))
    entries = [directory[at : at + _ENTRY] for at in range(0, len(directory) - _ENTRY + 1, _ENTRY)]
    streams = {_name(entry).lower(): entry for entry in entries if entry[_KIND] == _IS_STREAM}
    entry = next((streams[name] for name in _NAMES if name in streams), None)
    if entry is None:
        is_encrypted = _ENCRYPTED_NAME in streams
        raise UnreadableFile(_ENCRYPTED if is_encrypted else _NO_WORKBOOK if streams else _DAMAGED)
    # Short streams are in sectors of 64 bytes within the stream of the root, with a table of their own.
    held = sectors.starts(struct.unpack_from("<I", entries[0], 116)[0])
    table = _numbers(sectors.read(sectors.starts(struct.unpack_from("<I", data, 60)[0])))
    start, size = struct.unpack_from("<II", entry, 116)
    if size >= smallest:
        starts = sectors.starts(start)
        return _Stream(sectors.read(starts)[:size], starts, sectors.size)
    per_sector = sectors.size // _SMALL_SECTOR
    chain = [number for number in _follow(table, start) if number < len(held) * per_sector]
    starts = [held[at // per_sector] + at % per_sector * _SMALL_SECTOR for at in chain]
    return _Stream(b"".join(data[at : at + _SMALL_SECTOR] for at in starts)[:size], starts, _SMALL_SECTOR)


def _name(entry: bytes) -> str:
    length = struct.unpack_from("<H", entry, 64)[0]
    return entry[: max(min(length, 64) - 2, 0)].decode("utf-16-le", "replace")


class _Sectors:
    """The sectors of a container, and the table that has the successor of each sector."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self.size = size
        parts = list(struct.unpack_from(f"<{_HEAD_TABLE}I", data, 76))
        further = struct.unpack_from("<I", data, 68)[0]
        most = len(data) // size // (size // 4) + 1  # sectors that the table takes
        while further < _FREE_SECTOR:  # sectors that continue the list of those of the table
            if len(parts) > most + _HEAD_TABLE:
                raise UnreadableFile(_DAMAGED)
            *more, further = _numbers(self.read(self._places([further]))) or [_FREE_SECTOR]
            parts += more
        self._table = _numbers(self.read(self._places([part for part in parts if part < _FREE_SECTOR][:most])))

    def starts(self, first: int) -> list[int]:
        """The offsets in the file of the sectors of a chain."""
        return self._places(_follow(self._table, first))

    def read(self, starts: list[int]) -> bytes:
        """The bytes of the sectors at these offsets."""
        return b"".join(self._data[start : start + self.size] for start in starts)

    def _places(self, numbers: list[int]) -> list[int]:
        return [(number + 1) * self.size for number in numbers]


def _numbers(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))


def _follow(table: list[int], start: int) -> list[int]:
    """The chain that begins with ``start``. Raises ``UnreadableFile`` for a cycle, which traps calamine."""
    chain: list[int] = []
    while start < len(table):
        if len(chain) == len(table):
            raise UnreadableFile(_DAMAGED)
        chain.append(start)
        start = table[start]
    return chain
