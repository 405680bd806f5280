"""Frames of the Language Server Protocol: a header with ``Content-Length``, then JSON-RPC. No I/O here.

A frame whose end cannot be found ends the stream, because no later frame can be found either: a header that is too
long or not a header, a length that is missing, stated twice, or larger than any frame may be. A body that is not a
request leaves the stream intact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
SERVER_ERROR, REQUEST_CANCELLED = -32000, -32800

# The two headers that there are take 80 bytes.
MAX_HEADER_BYTES = 1024
# Input of 64 KiB, each byte written as an escape of six, and the rest of the request.
MAX_BODY_BYTES = 512 * 1024
_MAX_METHOD_CHARS, _MAX_ID_CHARS = 200, 1_000
_FORM = "send Content-Length: N, an empty line, and N bytes of JSON; lines end with CR LF"
_END = b"\r\n\r\n"
_LENGTH = re.compile(r"[0-9]{1,9}")
_TYPES = re.compile(r"application/vscode-jsonrpc(?:;\s*charset=\"?utf-?8\"?)?", re.IGNORECASE)

RequestId = str | int


class BrokenStream(Exception):
    """Bytes after which no frame can be found; the message says why."""


class UnreadableBody(Exception):
    """A body that is not a request. ``code`` is that of JSON-RPC; ``id`` is that of its request, if it has one."""

    def __init__(self, code: int, message: str, id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id


@dataclass(frozen=True, slots=True)
class LspRequest:
    """A request, or a notification: that has no ``id`` and gets no answer."""

    method: str
    params: Mapping[str, Any]
    id: RequestId | None = None


class FrameDecoder:
    """Splits bytes into the bodies of frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that these bytes complete. Raises ``BrokenStream``."""
        self._buffer += data
        bodies = []
        while (body := self._take()) is not None:
            bodies.append(body)
        return bodies

    def end(self) -> None:
        """Raises ``BrokenStream`` if the stream ends within a frame."""
        if self._buffer:
            raise BrokenStream(f"the stream ends within a frame; {_FORM}")

    def _take(self) -> bytes | None:
        end = self._buffer.find(_END, 0, MAX_HEADER_BYTES)
        if end < 0:
            if len(self._buffer) >= MAX_HEADER_BYTES:
                raise BrokenStream(
                    f"a header has at most {MAX_HEADER_BYTES:,} bytes and ends with an empty line; {_FORM}"
                )
            return None
        begin = end + len(_END)
        length = _parse_header(bytes(self._buffer[:end]))
        if len(self._buffer) < begin + length:
            return None
        body = bytes(self._buffer[begin : begin + length])
        del self._buffer[: begin + length]
        return body


def _parse_header(header: bytes) -> int:
    """The length of the body. Raises ``BrokenStream``."""
    fields: dict[str, str] = {}
    for line in header.decode("latin-1").split("\r\n"):
        name, colon, value = line.partition(":")
        if not colon or name.lower() in fields or name.lower() not in ("content-length", "content-type"):
            raise BrokenStream(f"a header has one Content-Length, and at most one Content-Type; {_FORM}")
        fields[name.lower()] = value.strip(" \t")
    if not _TYPES.fullmatch(fields.get("content-type", "application/vscode-jsonrpc")):
        raise BrokenStream("the Content-Type is application/vscode-jsonrpc; charset=utf-8")
    length = fields.get("content-length", "")
    if not _LENGTH.fullmatch(length):
        raise BrokenStream("a header states the length of its body: Content-Length: NUMBER")
    if int(length) > MAX_BODY_BYTES:
        raise BrokenStream(f"a body has at most {MAX_BODY_BYTES:,} bytes; send less in one request")
    return int(length)


def encode_frame(message: Mapping[str, Any]) -> bytes:
    """The frame of a message."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return f"Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


def parse_request(body: bytes) -> LspRequest | None:
    """The request in a body; None for an answer, which nobody asked for. Raises ``UnreadableBody``."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise UnreadableBody(PARSE_ERROR, "Parse error: the body is not JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise UnreadableBody(INVALID_REQUEST, "Invalid Request: a message is one JSON object")
    id, method, params = value.get("id"), value.get("method"), value.get("params", {})
    if "id" in value and not _is_id(id):
        raise UnreadableBody(INVALID_REQUEST, "Invalid Request: an id is a short string or a whole number")
    if method is None and ("result" in value or "error" in value):
        return None
    is_named = isinstance(method, str) and len(method) <= _MAX_METHOD_CHARS
    if value.get("jsonrpc") != "2.0" or not is_named:
        raise UnreadableBody(INVALID_REQUEST, "Invalid Request: not a JSON-RPC 2.0 request", id)
    if not isinstance(params, dict):
        raise UnreadableBody(INVALID_PARAMS, "Invalid params: params is an object", id)
    return LspRequest(str(method), params, id)


def _is_id(value: Any) -> bool:
    return (isinstance(value, str) and len(value) <= _MAX_ID_CHARS) or type(value) is int


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
