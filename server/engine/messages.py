"""The requests and answers that travel between an engine and its clients, and their JSON form.

``from_message`` runs in the engine and checks the shape of a request, which is as hostile as what a script sends;
its values are validated where direct calls are. ``*_from_json`` runs in the client and trusts the answers.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from winnow.server.engine.wire import Message, WireError
from winnow.server.errors import WinnowError, internal_error
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.models import Chunk, Document, Passage, Place
from winnow.server.operations.answers.budget import Size
from winnow.server.operations.base import Answer, AnswerText, Image
from winnow.server.runtime.sessions.passage_store import PassageLink, StoredPassage


def read_field(message: Message, name: str, kind: type) -> Any:
    """A field of a request. Raises ``WireError`` if it is missing or of another type."""
    value = message.get(name)
    if type(value) is not kind:
        raise WireError(f"{name} is not of type {kind.__name__}")
    return value


@dataclass(frozen=True, slots=True)
class Hello:
    """The first request of a client. ``protocol`` and ``build`` are unchecked: another build may send anything."""

    protocol: Any
    build: Any
    settings: Mapping[str, Any]
    waits_for_model: bool

    @classmethod
    def from_message(cls, message: Message) -> Hello:
        """Read the request. Raises ``WireError``."""
        return cls(
            message.get("protocol"),
            message.get("build"),
            read_field(message, "settings", dict),
            read_field(message, "waits_for_model", bool),
        )

    def to_fields(self) -> Message:
        """The fields of the request."""
        return {
            "protocol": self.protocol,
            "build": self.build,
            "settings": dict(self.settings),
            "waits_for_model": self.waits_for_model,
        }


@dataclass(frozen=True, slots=True)
class Welcome:
    """The engine's answer to ``Hello``: its process id and the name of its tokenizer."""

    pid: int
    tokenizer: str


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call of an operation. ``script``: whether a script makes it; ``run``: the id of that execution.

    ``fresh``: whether caches are bypassed.
    """

    operation: str
    arguments: Mapping[str, Any]
    connection: str
    script: bool
    run: str
    fresh: bool = False

    @classmethod
    def from_message(cls, message: Message) -> CallRequest:
        """Read the request. Raises ``WireError``."""
        return cls(
            read_field(message, "operation", str),
            read_field(message, "arguments", dict),
            read_field(message, "connection", str),
            read_field(message, "script", bool),
            read_field(message, "run", str),
            read_field(message, "fresh", bool),
        )

    def to_fields(self) -> Message:
        """The fields of the request."""
        return {
            "operation": self.operation,
            "arguments": dict(self.arguments),
            "connection": self.connection,
            "script": self.script,
            "run": self.run,
            "fresh": self.fresh,
        }


def read_seconds(message: Message) -> float:
    """The time that a client gives to its call. Raises ``WireError`` if it is not finite."""
    seconds: float = read_field(message, "seconds", float)
    if not math.isfinite(seconds):
        raise WireError("seconds is not finite")
    return seconds


def ingest_request_of(message: Message) -> IngestRequest:
    """The ingest that a request asks for. Raises ``WireError``."""
    try:
        return IngestRequest.model_validate(read_field(message, "request", dict))
    except ValidationError:
        raise WireError("request is not that of an ingest") from None


def error_to_json(error: Exception) -> Message:
    """The part of an error that a caller may know; an internal error reveals no detail."""
    known = error if isinstance(error, WinnowError) else internal_error()
    return {
        "reason": known.reason,
        "message": known.message,
        "retryable": known.retryable,
        "retry_after_s": known.retry_after_s,
        "details": dict(known.details),
    }


def error_from_json(fields: Mapping[str, Any]) -> WinnowError:
    """The inverse of ``error_to_json``."""
    return WinnowError(
        fields["reason"],
        fields["message"],
        retryable=fields["retryable"],
        retry_after_s=fields["retry_after_s"],
        details=fields["details"],
    )


def answer_to_json(answer: Answer) -> Message:
    """An answer as JSON data."""
    return {
        "payload": answer.payload,
        "tier": answer.tier,
        "rows": answer.rows,
        "tokens": answer.tokens,
        "warnings": answer.warnings,
        "cache_hit": answer.cache_hit,
        "row_field": answer.row_field,
        "rendered": answer.rendered and asdict(answer.rendered),
        "noted": dict(answer.noted),
        "taken": dict(answer.charged_text),
        "images": [(b64encode(image.data).decode("ascii"), image.mime_type) for image in answer.images],
        "file_url": answer.file_url,
        "links": [
            (link.passage_id, link.uri, link.title, link.size_bytes, link.created_at, link.place)
            for link in answer.links
        ],
    }


def answer_from_json(fields: Mapping[str, Any]) -> Answer:
    """The inverse of ``answer_to_json``."""
    links = tuple(PassageLink(*link) for link in fields["links"])
    rest = {name: value for name, value in fields.items() if name != "taken"}
    known = {
        "warnings": tuple(fields["warnings"]),
        "links": links,
        "charged_text": fields["taken"],
        "rendered": _text_from_json(fields["rendered"]),
        "images": tuple(Image(b64decode(data), mime_type) for data, mime_type in fields["images"]),
    }
    return Answer(**{**rest, **known})


def _text_from_json(fields: Mapping[str, Any] | None) -> AnswerText | None:
    if fields is None:
        return None
    sizes = {name: Size(**fields[name]) for name in ("payload_size", "text_size")}
    return AnswerText(**{**fields, **sizes})


def stored_passage_from_json(fields: Mapping[str, Any] | None) -> StoredPassage | None:
    """The inverse of ``asdict`` of a stored passage."""
    if fields is None:
        return None
    chunk, document = fields["passage"]["chunk"], fields["passage"]["document"]
    passage = Passage(
        Chunk(**{**chunk, "heading_path": tuple(chunk["heading_path"])}),
        Document(**{**document, "tags": tuple(document["tags"])}),
        tuple(_place_from_json(place) for place in fields["passage"]["places"]),
    )
    return StoredPassage(**{**fields, "passage": passage})


def _place_from_json(fields: Mapping[str, Any]) -> Place:
    return Place(**{**fields, "rows": fields["rows"] and tuple(fields["rows"])})
