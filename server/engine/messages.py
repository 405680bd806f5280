"""The requests and answers that travel between an engine and its clients, and their JSON form.

``from_message`` runs in the engine and checks the shape of a request, which is as hostile as what a script sends;
its values are validated where direct calls are. ``*_from_json`` runs in the client and trusts the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winnow.server.engine.wire import Message, WireError
from winnow.server.errors import WinnowError, internal_error
from winnow.server.models import Chunk, Document, Passage, Place
from winnow.server.operations.base import Answer
from winnow.server.sessions.passage_store import PassageLink, StoredPassage

_MAX_PATHS = 100_000


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

    ``fresh``: whether the answer is from no cache.
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


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """An ingest: absolute paths, labels by name, whether ignore files count and any deletion is made.

    ``references`` is the absolute path of a bibliography, or "". ``keeps_hidden``, ``uses_ocr`` and ``passwords``
    as in ``ReadOptions`` of ``server.ingest``. ``zotero`` is what is taken of Zotero in place of paths, or {}.
    """

    paths: tuple[str, ...]
    labels: Mapping[str, str]
    ignore_files: bool = True
    allow_deletions: bool = False
    keeps_hidden: bool = False
    uses_ocr: bool = False
    references: str = ""
    passwords: tuple[str, ...] = field(default=(), repr=False)
    zotero: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_message(cls, message: Message) -> IngestRequest:
        """Read the request. Raises ``WireError``."""
        paths, labels = read_field(message, "paths", list), read_field(message, "labels", dict)
        passwords = read_field(message, "passwords", list)
        texts = (*paths, *labels.values(), *passwords)
        if max(len(paths), len(passwords)) > _MAX_PATHS or not all(isinstance(text, str) for text in texts):
            raise WireError("paths, labels and passwords must be strings, and not too many")
        return cls(
            tuple(paths),
            labels,
            read_field(message, "ignore_files", bool),
            read_field(message, "allow_deletions", bool),
            read_field(message, "keeps_hidden", bool),
            read_field(message, "uses_ocr", bool),
            read_field(message, "references", str),
            tuple(passwords),
            read_field(message, "zotero", dict),
        )

    def to_fields(self) -> Message:
        """The fields of the request."""
        return {
            "paths": list(self.paths),
            "labels": dict(self.labels),
            "ignore_files": self.ignore_files,
            "allow_deletions": self.allow_deletions,
            "keeps_hidden": self.keeps_hidden,
            "uses_ocr": self.uses_ocr,
            "references": self.references,
            "passwords": list(self.passwords),
            "zotero": dict(self.zotero),
        }


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
        "counted": answer.counted,
        "noted": dict(answer.noted),
        "taken": dict(answer.charged_text),
        "links": [
            (link.passage_id, link.uri, link.title, link.size_bytes, link.created_at, link.place)
            for link in answer.links
        ],
    }


def answer_from_json(fields: Mapping[str, Any]) -> Answer:
    """The inverse of ``answer_to_json``."""
    links = tuple(PassageLink(*link) for link in fields["links"])
    rest = {name: value for name, value in fields.items() if name != "taken"}
    known = {"warnings": tuple(fields["warnings"]), "links": links, "charged_text": fields["taken"]}
    return Answer(**{**rest, **known})


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
