"""Frames between an ingest and a child that parses: four bytes of length, then a body. Both ends use this file.

A request is one frame of JSON. An answer has two frames: its facts as JSON, and a text as UTF-8, which needs no
parser, or a picture. A child that serves many requests adds a third frame. It is empty, or `SPENT` if the process
ends and takes no further request.
"""

from __future__ import annotations

import json
import struct
from datetime import date
from typing import IO, Any

_LENGTH = struct.Struct(">I")
# The largest text in UTF-8 with every character escaped.
MAX_REQUEST_BYTES = 256 * 1024 * 1024
# Bytes of the facts of an answer: a hundred thousand places. Decoding the worst JSON takes 25 times its size in
# memory.
MAX_FACTS_BYTES = 4 * 1024 * 1024
# Characters of the text of an answer; each takes up to four bytes.
MAX_TEXT_CHARS = 16 * 1024 * 1024
MAX_TEXT_BYTES = 4 * MAX_TEXT_CHARS
SPENT = b"spent"


class ParserProtocolError(Exception):
    """The other process sent an invalid frame, or ended in the middle of one."""


def dump(value: dict[str, Any]) -> bytes:
    """Encode JSON data. Dates become ISO text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_encode_date)
    return text.encode("utf-8", "replace")


def _encode_date(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not data")


def load(body: bytes) -> dict[str, Any]:
    """Decode a JSON object. Raises ``ParserProtocolError`` for other bytes."""
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ParserProtocolError("a frame is not JSON") from None
    if not isinstance(value, dict):
        raise ParserProtocolError("a frame is not a JSON object")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def send(stream: IO[bytes], *bodies: bytes) -> None:
    """Write frames with these bodies. Raises ``OSError`` if the other process has ended."""
    for body in bodies:
        stream.write(_LENGTH.pack(len(body)))
        stream.write(body)
    stream.flush()


def receive(stream: IO[bytes], most: int) -> bytes:
    """Read the body of one frame, of at most ``most`` bytes.

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
    return body
