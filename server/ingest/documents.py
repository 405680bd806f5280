"""What readers hand to the pipeline, and how foreign text is made fit to keep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from server.models import DocumentType


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document as its reader hands it over; everything but uri, type and text may be empty."""

    uri: str
    type: DocumentType
    title: str
    text: str
    vendor: str = ""
    doc_tag: str = ""
    tags: tuple[str, ...] = ()
    created: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Unreadable(Exception):
    """A file or a part of it cannot be read; the message is the reason, for people."""


def described(raw: RawDocument, facts: Mapping[str, Any]) -> RawDocument:
    """``raw`` with what front matter or a record's metadata say about it.

    ``title, vendor, doc_tag, tags, created`` (or ``date``) are taken by name; all plain values stay in
    ``metadata`` as they are.
    """
    plain = {str(key): value for key, fact in facts.items() if (value := _plain(fact)) is not None}
    return replace(
        raw,
        title=_text(plain.get("title")) or raw.title,
        vendor=_text(plain.get("vendor")) or raw.vendor,
        doc_tag=_text(plain.get("doc_tag")) or raw.doc_tag,
        tags=_tags(plain.get("tags")) or raw.tags,
        created=_text(plain.get("created") or plain.get("date")) or raw.created,
        metadata=plain,
    )


def cleaned(raw: RawDocument) -> RawDocument:
    r"""``raw`` with text that every store can keep: ``\\n`` line ends, no NUL, no lone surrogates."""
    return replace(
        raw,
        uri=clean(raw.uri),
        title=" ".join(clean(raw.title).split()),
        text=clean(raw.text),
        vendor=clean(raw.vendor),
        doc_tag=clean(raw.doc_tag),
        tags=tuple(map(clean, raw.tags)),
        created=clean(raw.created),
        metadata={clean(key): _clean_value(value) for key, value in raw.metadata.items()},
    )


def clean(text: str) -> str:
    """Text without what stores and parsers stumble over."""
    lines = re.sub(r"\r\n?", "\n", text).replace("\0", "\ufffd")
    return lines.encode("utf-8", "replace").decode("utf-8")


def _clean_value(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list() | tuple():
            return [_clean_value(item) for item in value]
        case _:
            return value


def _plain(value: Any) -> Any:
    """``value`` if it is a JSON scalar, or a list of such (dates become ISO text); None otherwise."""
    match value:
        case str() | bool() | int():
            return value
        case float():
            return value if value - value == 0 else None  # neither infinite nor not a number
        case date():
            return value.isoformat()
        case list() | tuple() | set():
            return [item for part in value if (item := _scalar(part)) is not None]
        case _:
            return None


def _scalar(value: Any) -> Any:
    return None if isinstance(value, list | tuple | set) else _plain(value)


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, list) else str(value).strip()


def _tags(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else _text(value).split(",")
    return tuple(dict.fromkeys(tag for part in parts if (tag := _text(part))))
