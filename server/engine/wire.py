"""Frames between an engine and its clients.

A frame is a length of four bytes, big-endian, followed by that many bytes of JSON: one object. A request has an
``id`` chosen by the client and names in ``do`` what to do; its answer has the same ``id`` and either ``ok`` or
``error``. Frames with ``progress`` may precede the answer. Anything else ends the connection. Nothing is unpickled
or evaluated.

Requests are encoded with the standard library, so that integers above 64 bits and NaN behave as they do inside one
process. Replies are large and trusted: orjson encodes them in a fifth of the time. A reply that orjson
refuses (lone surrogates, integers above 64 bits) begins with a blank and is encoded with the standard library.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from winnow.server.errors import WinnowError
from winnow.server.settings.settings import MIB

# Incremented when the frames change so much that two builds can no longer exchange their build ids.
PROTOCOL = 1
_HEADER = struct.Struct(">I")

Message = dict[str, Any]


class WireError(Exception):
    """The peer sent something that is not a valid frame or request."""


# ASCII with escapes: a lone surrogate in a document must survive the transfer.
_ENCODE = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_BLANK = b" "


def _exact(message: Mapping[str, Any]) -> bytes:
    return _ENCODE(message).encode("ascii")


def _fast(message: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(message)
    except TypeError:  # a lone surrogate, a number above 64 bits, a key that is not a string
        return _BLANK + _exact(message)


def _read_fast(body: bytes) -> Any:
    return json.loads(body) if body.startswith(_BLANK) else orjson.loads(body)


@dataclass(frozen=True, slots=True)
class Frames:
    """The encoding and the size limit of one direction (``longest``: bytes of a frame's body).

    ``write`` raises TypeError or ValueError for values that are not JSON data; ``read`` raises ValueError or
    RecursionError. ``reason`` and ``advice`` belong to the error for a message that is too long.
    """

    longest: int
    write: Callable[[Mapping[str, Any]], bytes]
    read: Callable[[bytes], Any]
    reason: str
    advice: str


# A question with a hundred ids takes 10 KiB; an ingest of ten thousand paths fits.
REQUESTS = Frames(
    MIB,
    _exact,
    json.loads,
    "INVALID_REQUEST",
    "the arguments take {size:,} bytes, and {longest:,} can be sent at once; shorten them",
)
# A script's answer takes up to 900 KiB; the report on 100,000 unreadable files about 20 MiB.
REPLIES = Frames(
    64 * MIB, _fast, _read_fast, "OUTPUT_BYTES", "{size:,} bytes are more than one frame may hold; ask for less"
)


def pack(message: Mapping[str, Any], frames: Frames) -> bytes:
    """Encode a message as a frame. Raises ``WinnowError(frames.reason)`` if it is longer than the limit."""
    body = frames.write(message)
    if len(body) > frames.longest:
        advice = frames.advice.format(size=len(body), longest=frames.longest)
        raise WinnowError(frames.reason, advice, details={"size": len(body), "max": frames.longest})
    return _HEADER.pack(len(body)) + body


class MessageSplitter:
    """Splits a byte stream into messages; buffers at most one frame."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Add bytes; return the messages that are now complete. Raises ``WireError`` for an invalid frame."""
        self._pending += data
        messages = []
        while (body := self._next_body()) is not None:
            messages.append(_parse_message(body, self._frames))
        return messages

    def _next_body(self) -> bytes | None:
        if len(self._pending) < _HEADER.size:
            return None
        (size,) = _HEADER.unpack_from(self._pending)
        if size > self._frames.longest:
            raise WireError(f"a frame of {size:,} bytes")
        end = _HEADER.size + size
        if len(self._pending) < end:
            return None
        body = bytes(self._pending[_HEADER.size : end])
        del self._pending[:end]
        return body


def _parse_message(body: bytes, frames: Frames) -> Message:
    try:
        value = frames.read(body)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {type(error).__name__}") from None
    number = value.get("id") if isinstance(value, dict) else None
    if type(number) is not int or not 0 <= number < 2**53:
        raise WireError("not an object with an id")
    message: Message = value
    return message


class Connection(asyncio.Protocol):
    """One end of a connection, in whole messages.

    ``on_lost`` is called once, however the connection ends. The connection is aborted if the peer sends an invalid
    frame or does not read its replies.
    """

    # Bytes that may wait for the peer to read them.
    _UNREAD_BYTES = 2 * REPLIES.longest

    def __init__(
        self, reads: Frames, writes: Frames, on_message: Callable[[Message], None], on_lost: Callable[[], None]
    ) -> None:
        self._splitter = MessageSplitter(reads)
        self._writes = writes
        self._on_message = on_message
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None

    @property
    def is_open(self) -> bool:
        """Whether a message that is sent now may still arrive."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio callback: the connection is established."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Asyncio callback: bytes arrived."""
        try:
            for message in self._splitter.feed(data):
                self._on_message(message)
        except WireError:
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Asyncio callback: the connection ended."""
        self._transport = None
        self._on_lost()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; does nothing on a closed connection. Raises as ``pack`` does."""
        frame = pack(message, self._writes)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)
            if self._transport.get_write_buffer_size() > self._UNREAD_BYTES:
                self.abort()

    def close(self) -> None:
        """Close the connection once everything is written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once and drop what is not yet written."""
        if self._transport is not None:
            self._transport.abort()
