"""Frames between an ingest and its parsing child: four bytes of length, then JSON. Both ends use this file."""

from __future__ import annotations

import json
import struct
from typing import IO, Any

_LENGTH = struct.Struct(">I")
# The largest text in UTF-8 with every character escaped, and the growth by its conversion.
MAX_FRAME_BYTES = 256 * 1024 * 1024


class ParserProtocolError(Exception):
    """The other process sent an invalid frame, or ended in the middle of one."""


def send(stream: IO[bytes], value: dict[str, Any]) -> None:
    """Write one frame. Raises ``OSError`` if the other process has ended."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes], most: int = MAX_FRAME_BYTES) -> dict[str, Any]:
    """Read one frame of at most ``most`` bytes.

    Raises ``EOFError`` if the stream ends before it, ``ParserProtocolError`` if it is invalid.
    """
    head = stream.read(_LENGTH.size)
    if not head:
        raise EOFError
    length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else most + 1
    if length > most:
        raise ParserProtocolError("a frame is larger than the limit")
    body = stream.read(length)
    if len(body) != length:
        raise ParserProtocolError("a frame ends early")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise ParserProtocolError("a frame is not JSON") from None
    if not isinstance(value, dict):
        raise ParserProtocolError("a frame is not a JSON object")
    return value
