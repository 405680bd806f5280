"""PNG files with a palette: written by the child that draws a page, checked by the process that sends them.

A picture has four chunks: header, palette, data and end. The check decompresses the data, because the client that
shows the picture decodes it too: a file that passes has exactly the pixels that its header states.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from winnow.server.readers.frames import ParserProtocolError

# A picture of a page; hosts bound the answer of a tool, and base64 adds a third.
MAX_PICTURE_BYTES = 200_000
MAX_SIDE_PIXELS = 1_400
COLOURS = 256
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Width, height, 8 bits for a pixel, a palette, and the only methods that there are.
_HEADER = struct.Struct(">IIBBBBB")
_DEPTH, _WITH_PALETTE = 8, 3
_LENGTH = struct.Struct(">I")
_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
_COMPRESSION = 6


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A PNG file, and its size in pixels."""

    data: bytes
    width: int
    height: int


def write_png(rows: bytes, width: int, height: int, palette: bytes) -> bytes:
    """The file of rows of pixels, each the number of its colour in a palette of 256; a row begins with a zero."""
    header = _HEADER.pack(width, height, _DEPTH, _WITH_PALETTE, 0, 0, 0)
    bodies = (header, palette, zlib.compress(rows, _COMPRESSION), b"")
    return _SIGNATURE + b"".join(map(_chunk, _CHUNKS, bodies))


def _chunk(name: bytes, body: bytes) -> bytes:
    return _LENGTH.pack(len(body)) + name + body + _LENGTH.pack(zlib.crc32(name + body))


def check_png(data: bytes) -> PagePicture:
    """The picture in a file that ``write_png`` may have written. Raises ``ParserProtocolError`` for any other."""
    _require(len(data) <= MAX_PICTURE_BYTES and data.startswith(_SIGNATURE))
    bodies, at = [], len(_SIGNATURE)
    for name in _CHUNKS:
        body = _read_chunk(data, at, name)
        bodies.append(body)
        at += len(body) + 3 * _LENGTH.size
    _require(at == len(data))
    header, palette, packed, end = bodies
    _require(len(header) == _HEADER.size and len(palette) == 3 * COLOURS and not end)
    width, height, *form = _HEADER.unpack(header)
    _require(form == [_DEPTH, _WITH_PALETTE, 0, 0, 0])
    _require(0 < width <= MAX_SIDE_PIXELS and 0 < height <= MAX_SIDE_PIXELS)
    _check_rows(packed, width + 1, height)
    return PagePicture(data, width, height)


def _read_chunk(data: bytes, at: int, name: bytes) -> bytes:
    head = data[at : at + 2 * _LENGTH.size]
    _require(len(head) == 2 * _LENGTH.size and head[_LENGTH.size :] == name)
    start = at + len(head)
    body = data[start : start + _LENGTH.unpack(head[: _LENGTH.size])[0]]
    _require(data[at : start + len(body) + _LENGTH.size] == _chunk(name, body))
    return body


def _check_rows(packed: bytes, row_bytes: int, height: int) -> None:
    unpacking = zlib.decompressobj()
    try:
        rows = unpacking.decompress(packed, row_bytes * height + 1)
    except zlib.error:
        raise ParserProtocolError("not a picture") from None
    _require(len(rows) == row_bytes * height and unpacking.eof and not unpacking.unused_data)
    _require(not any(rows[::row_bytes]))


def _require(is_valid: bool) -> None:
    if not is_valid:
        raise ParserProtocolError("not a picture")
