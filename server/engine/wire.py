"""Frames between an engine and its clients, and how what is asked and answered is written in them.

A frame is four bytes of length, big-endian, and that much JSON: an object. A request has an ``id`` of the client's
choice and says what to ``do``; its answer has the same ``id`` and either ``ok`` or ``error``, and before it there
may be frames with ``progress``. Whatever else arrives ends the connection. Nothing is ever unpickled or evaluated.

What is asked is written and read by the standard library, so that a number too large for 64 bits, or one that is
none, is what it would be in one process. What is answered is large, and ours: orjson takes a fifth of the time for
it. What that cannot write without loss begins with a blank, and is the standard library's again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

import server
from server.backends.models.identity import embedder_of, reranker_of
from server.errors import WinnowError, internal_error
from server.models import Chunk, Document, Passage
from server.operations.base import Answer
from server.sessions.passage_store import PassageLink, StoredPassage
from server.settings import MIB, Settings

# Grows when frames change so that another build could not even say that it is another one.
PROTOCOL = 1
_HEADER = struct.Struct(">I")

Message = dict[str, Any]


class WireError(Exception):
    """The other side sent something that is not a frame."""


# Escaped: a lone surrogate of some document must survive the way.
_ENCODE = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_BLANK = b" "


def _exact(message: Mapping[str, Any]) -> bytes:
    return _ENCODE(message).encode("ascii")


def _fast(message: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(message)
    except TypeError:  # a lone surrogate, a number of more than 64 bits, a key that is no text
        return _BLANK + _exact(message)


def _read_fast(body: bytes) -> Any:
    return json.loads(body) if body.startswith(_BLANK) else orjson.loads(body)


@dataclass(frozen=True, slots=True)
class Frames:
    """What goes one way: bytes of the longest frame, and how a message becomes a body and a body a message.

    ``write`` raises TypeError or ValueError for what is no JSON data, ``read`` ValueError or RecursionError.
    ``reason`` and ``advice`` are those of the error for a message that is too long.
    """

    longest: int
    write: Callable[[Mapping[str, Any]], bytes]
    read: Callable[[bytes], Any]
    reason: str
    advice: str


# A question with a hundred ids takes 10 KiB, an ingest of ten thousand paths less than this.
REQUESTS = Frames(
    MIB,
    _exact,
    json.loads,
    "INVALID_REQUEST",
    "the arguments take {size:,} bytes, and {longest:,} can be sent at once; shorten them",
)
# A script's answer takes up to 900 KiB, an ingest's report of 100,000 unreadable files about 20 MiB.
REPLIES = Frames(
    64 * MIB, _fast, _read_fast, "OUTPUT_BYTES", "{size:,} bytes are more than one frame may hold; ask for less"
)


def pack(message: Mapping[str, Any], frames: Frames) -> bytes:
    """A message as a frame. ``WinnowError`` with the frames' own reason where it is longer than agreed."""
    body = frames.write(message)
    if len(body) > frames.longest:
        advice = frames.advice.format(size=len(body), longest=frames.longest)
        raise WinnowError(frames.reason, advice, details={"bytes": len(body)})
    return _HEADER.pack(len(body)) + body


class MessageSplitter:
    """Cuts a stream into messages; holds at most one frame."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are whole now. ``WireError`` for what is none."""
        self._pending += data
        found = []
        while (body := self._next()) is not None:
            found.append(_message(body, self._frames))
        return found

    def _next(self) -> bytes | None:
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


def _message(body: bytes, frames: Frames) -> Message:
    try:
        value = frames.read(body)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {type(error).__name__}") from None
    number = value.get("id") if isinstance(value, dict) else None
    if type(number) is not int or not 0 <= number < 2**53:
        raise WireError("no object with an id")
    message: Message = value
    return message


class Connection(asyncio.Protocol):
    """One end of a connection: whole messages in, whole messages out.

    ``on_lost`` is called once, however the connection ends. A peer that does not read what it asked for, or sends
    what is no frame, is cut off.
    """

    # What may wait for a peer to read it.
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
        """Whether something that is sent now may still arrive."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio's: the connection stands."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """asyncio's: some bytes."""
        try:
            for message in self._splitter.feed(data):
                self._on_message(message)
        except WireError:
            self.cut()

    def connection_lost(self, error: Exception | None) -> None:
        """asyncio's: the end."""
        self._transport = None
        self._on_lost()

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message; nothing happens where nobody is left to read it. Raises as ``pack`` does."""
        frame = pack(message, self._writes)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)
            if self._transport.get_write_buffer_size() > self._UNREAD_BYTES:
                self.cut()

    def close(self) -> None:
        """End the connection once everything is written."""
        if self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()


# --- who speaks -------------------------------------------------------------------------------------------


@cache
def build() -> str:
    """What this process runs: the version, and a digest of every module: a changed one makes another build."""
    root = Path(server.__file__).parent
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{server.__version__}+{digest.hexdigest()}"


# What each client may have its own of. Every other setting decides how the library is opened, so all clients of an
# engine must agree on it; one that is not known here is such a setting until somebody has looked.
OWN_SETTINGS = frozenset(
    (
        *("project", "projects", "doc_tags", "environment", "repositories"),
        *("fusion", "boost_vendor", "boost_types", "boost_recency", "boost_recency_days", "boost_entity"),
        *("boost_topic", "rerank_top", "mmr", "evidence"),
        *("default_response_mode", "content", "structured_output_enabled", "resource_links", "tools"),
        *("tool_names", "kb_v2_enabled", "legacy_tools", "scratch_mb", "scratch_minutes", "log_queries"),
        *("execute_code", "sandbox", "allow_weaker_sandbox", "skills", "limits", "wall_seconds", "memory_mb"),
        *("script_calls", "script_rows", "script_previews", "script_documents", "result_kb", "result_tokens"),
        *("calls_per_minute", "scripts_per_minute", "reads_per_minute"),
        *("workers", "queue", "queue_seconds", "audit", "audit_mb", "audit_days"),
        *("daemon", "engine_idle_minutes"),
    )
)
# What the engine has decided and no answer depends on: the first client's stands.
ENGINE_SETTINGS = frozenset(
    ("store", "models", "index_memory_mb", "qdrant_shards", "qdrant_replicas", "qdrant_on_disk")
)
SECRET_SETTINGS = frozenset({"qdrant_api_key", "neo4j_password", "embedder_key"})
_FOLDER_OF_MODEL = "onnx:"


def plain(settings: Settings) -> dict[str, Any]:
    """Settings as JSON data that mean the same in another folder; without secrets."""
    facts = settings.model_dump(mode="json", exclude=set(SECRET_SETTINGS))
    paths = {name: value for name in facts if isinstance(value := getattr(settings, name), Path)}
    facts |= {name: str(path.resolve()) for name, path in paths.items()}
    if settings.embedder.whole.startswith(_FOLDER_OF_MODEL):
        folder = Path(settings.embedder.whole.removeprefix(_FOLDER_OF_MODEL)).expanduser()
        facts["embedder"] = f"{_FOLDER_OF_MODEL}{folder.resolve()}"
    return facts


def introduction(settings: Settings) -> dict[str, Any]:
    """What a client says of its settings: its own, and what must agree, the models by what they are.

    Two users' folders of the same model are the same model, and one store may be reached by two paths. May read
    the files of a model: not for an event loop.
    """
    models = {"embedder": embedder_of(settings), "reranker": reranker_of(settings)}
    return {name: value for name, value in plain(settings).items() if name not in ENGINE_SETTINGS} | models


def disagreement(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The settings that two clients of an engine must not differ in, and do."""
    shared = (ours.keys() | theirs.keys()) - OWN_SETTINGS
    return sorted(name for name in shared if ours.get(name) != theirs.get(name))


# --- what travels -----------------------------------------------------------------------------------------


def from_error(error: Exception) -> Message:
    """What a caller may know of an error; a fault of ours says nothing of itself."""
    known = error if isinstance(error, WinnowError) else internal_error()
    return {
        "reason": known.reason,
        "message": known.message,
        "retryable": known.retryable,
        "retry_after_s": known.retry_after_s,
        "details": dict(known.details),
    }


def to_error(told: Mapping[str, Any]) -> WinnowError:
    """The same error on the other side."""
    return WinnowError(
        told["reason"],
        told["message"],
        retryable=told["retryable"],
        retry_after_s=told["retry_after_s"],
        details=told["details"],
    )


def from_answer(answer: Answer) -> Message:
    """An answer as JSON data."""
    return {
        "payload": answer.payload,
        "tier": answer.tier,
        "rows": answer.rows,
        "tokens": answer.tokens,
        "warnings": answer.warnings,
        "cache_hit": answer.cache_hit,
        "counted": answer.counted,
        "noted": dict(answer.noted),
        "links": [(one.passage_id, one.uri, one.title, one.size_bytes, one.created_at) for one in answer.links],
    }


def to_answer(told: Mapping[str, Any]) -> Answer:
    """The same answer on the other side."""
    links = tuple(PassageLink(*link) for link in told["links"])
    return Answer(**{**told, "warnings": tuple(told["warnings"]), "links": links})


def to_stored_passage(told: Mapping[str, Any] | None) -> StoredPassage | None:
    """A passage that was sent as ``asdict`` writes it."""
    if told is None:
        return None
    chunk, document = told["passage"]["chunk"], told["passage"]["document"]
    passage = Passage(
        Chunk(**{**chunk, "heading_path": tuple(chunk["heading_path"])}),
        Document(**{**document, "tags": tuple(document["tags"])}),
    )
    return StoredPassage(**{**told, "passage": passage})
