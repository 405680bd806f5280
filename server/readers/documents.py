"""Raw documents, as readers return them to the pipeline, and the cleaning of their text and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from typing import Any

from winnow.server.models import DocumentType, Place, Reading
from winnow.server.text import stated_facts
from winnow.server.text.printable import one_line

_NO_WORD = "(not a word)"
# Limits of metadata, which filters, boosts and the graph read: fields, values in a list, characters in a value.
# Numbers of more than 64 bits are dropped.
_MOST_FIELDS, _MOST_VALUES, _VALUE_CHARS = 200, 100, 4_000
_NUMBER_BITS = 64
# Limits of places and of the lists of a reading, which come from files of any size: 100,000 captions are a week of
# subtitles. A file has at most ``_LARGEST_NUMBER`` pages, rows or characters.
_MOST_PLACES, _MOST_NOTES, _LARGEST_NUMBER = 100_000, 1_000, 10**9
_ABSENT = object()  # a field that one mapping of a list lacks
# Limits of nested facts: levels, and the number of values and containers that are examined.
_DEEPEST, _MOST_NODES = 8, 10_000


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document as its reader returns it; every field except uri, type and text may be empty.

    ``text`` is the whole text, ``body_start`` the length of the front matter that it begins with. ``places`` are
    the pages, slides or other parts of its file in the order of the text; ``reading`` is None for files of text.
    ``language`` (ISO 639-1) is a stated one; without it the text decides.
    """

    uri: str
    type: DocumentType
    title: str
    text: str
    vendor: str = ""
    doc_tag: str = ""
    tags: tuple[str, ...] = ()
    created: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    environment: str = ""
    repository: str = ""
    body_start: int = 0
    places: tuple[Place, ...] = ()
    reading: Reading | None = None
    language: str = ""


@dataclass(frozen=True, slots=True)
class DefaultLabels:
    """The labels that an ingest gives to documents that do not state their own; "" is no label.

    ``forced``: they replace the labels that documents state.
    """

    doc_tag: str = ""
    environment: str = ""
    repository: str = ""
    forced: bool = False


# Labels that are applied one after another.
LabelSteps = tuple[DefaultLabels, ...]


class UnreadableFile(Exception):
    """A file or a part of it cannot be read; the message is the reason, as reports show it."""


def reason_of(error: Exception) -> str:
    """The reason why something could not be read, as reports show it."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def apply_facts(raw: RawDocument, facts: Mapping[str, Any]) -> RawDocument:
    """``raw`` with the facts of its front matter or its record's metadata.

    ``title, vendor, doc_tag, tags, created`` (or ``date``), ``environment`` and ``repository`` (or ``repo``)
    become fields; all plain values are kept in ``metadata`` unchanged, nested ones as ``flatten`` names them.
    """
    plain = flatten(facts)
    return replace(
        raw,
        title=_text(plain.get("title")) or raw.title,
        vendor=_text(plain.get("vendor")) or raw.vendor,
        doc_tag=_label(facts, "doc_tag") or raw.doc_tag,
        tags=_tags(plain.get("tags")) or raw.tags,
        created=_text(plain.get("created") or plain.get("date")) or raw.created,
        metadata=plain,
        environment=_label(facts, "environment") or raw.environment,
        repository=_label(facts, "repository", "repo") or raw.repository,
    )


def apply_labels(raw: RawDocument, *steps: DefaultLabels) -> RawDocument:
    """``raw`` with these labels, which fill in its missing labels or, if forced, replace its own."""
    for labels in steps:
        first, second = (labels, raw) if labels.forced else (raw, labels)
        raw = replace(
            raw,
            doc_tag=first.doc_tag or second.doc_tag,
            environment=first.environment or second.environment,
            repository=first.repository or second.repository,
        )
    return raw


def with_project_labels(labels: DefaultLabels, doc_tag: str, environment: str, repository: str) -> LabelSteps:
    """These labels of an ingest and then those of its project, in the order in which they are applied.

    Labels of the project never replace what a document states, also where those of the ingest are forced.
    """
    own = DefaultLabels(doc_tag, environment, repository)
    if labels.forced and own != DefaultLabels():
        return (labels, own)
    return (
        replace(
            labels,
            doc_tag=labels.doc_tag or doc_tag,
            environment=labels.environment or environment,
            repository=labels.repository or repository,
        ),
    )


def flatten(facts: Mapping[Any, Any]) -> dict[str, Any]:
    """The plain values of facts by field name, within the limits of metadata.

    A field of a nested mapping has a dotted name. One of a list of mappings has the list of their values, None for
    a mapping without it, so that the lists stay aligned. Values of other types than JSON's and dates are left out.

    >>> flatten({"title": "Pods", "stages": [{"stage": "alpha", "until": "1.8"}, {"stage": "beta"}]})
    {'title': 'Pods', 'stages.stage': ['alpha', 'beta'], 'stages.until': ['1.8', None]}
    """
    fields: dict[str, Any] = {}
    for name, value, is_listed in islice(_walk("", facts, 0), _MOST_NODES):
        if name not in fields and len(fields) == _MOST_FIELDS:
            continue
        if not is_listed and value is not None:
            fields.setdefault(name, value)
        elif is_listed and isinstance(held := fields.setdefault(name, []), list) and len(held) < _MOST_VALUES:
            held += [] if value is None else [None if value is _ABSENT else value]
    return fields


def _walk(name: str, value: Any, depth: int, *, is_listed: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Each value below ``value``: its field, the value, and whether it is an item of a list.

    Mappings, lists and the items of sets are yielded too, with None for the value: aliases of YAML nest without
    end, so the caller counts what was looked at.
    """
    match value:
        case Mapping() if depth <= _DEEPEST:
            yield name, None, False
            for key, item in value.items():
                part = _text(_plain(key))[: stated_facts.LABEL_CHARS]
                yield from _walk(f"{name}.{part}" if depth else part, item, depth + 1, is_listed=is_listed)
        case list() | tuple() if depth <= _DEEPEST:
            kept = _align(value[:_MOST_VALUES])
            yield name, None, not any(isinstance(item, Mapping) for item in kept)
            for item in kept:
                yield from _walk(name, item, depth + 1, is_listed=True)
        case set():
            texts = []
            for item in value:
                yield name, None, True
                texts += [] if (plain := _plain(item)) is None else [str(plain)]
            # Sorted, because the order of a set differs from run to run.
            yield from _walk(name, sorted(texts), depth)
        case _:
            yield name, value if value is _ABSENT else _plain(value), is_listed


def _align(items: Sequence[Any]) -> Sequence[Any]:
    """The items of a list; mappings get each field that has plain values in others, with ``_ABSENT`` for it.

    A value of null is as absent as none: left out by itself, it would move the values after it.
    """
    if not all(isinstance(item, Mapping) for item in items) or sum(map(len, items)) > _MOST_FIELDS:
        return items
    values = [(key, value) for item in items for key, value in item.items()]
    held = {key: value for key, value in values if value is not None}
    nested = {key for key, value in values if value is not None and _plain(value) is None}
    keys = [key for key in held if key not in nested]
    return [{**item, **{key: _ABSENT for key in keys if item.get(key) is None}} for item in items]


def clean_document(raw: RawDocument) -> RawDocument:
    r"""``raw`` with text and metadata that every store can keep and every answer can show.

    Text has ``\\n`` line ends, no NUL and no lone surrogates; titles, labels and dates are short printable lines.
    """
    kept = list(raw.metadata.items())[:_MOST_FIELDS]
    head, body = (
        _neutralize_controls(clean_text(part)) for part in (raw.text[: raw.body_start], raw.text[raw.body_start :])
    )
    return replace(
        raw,
        uri=clean_text(raw.uri),
        title=one_line(clean_text(raw.title), stated_facts.TITLE_CHARS),
        text=head + body,
        vendor=one_line(clean_text(raw.vendor), stated_facts.LABEL_CHARS),
        doc_tag=_clean_label(raw.doc_tag),
        tags=stated_facts.tags(map(clean_text, raw.tags)),
        created=stated_facts.moment(clean_text(raw.created)),
        metadata={one_line(clean_text(key), stated_facts.LABEL_CHARS): _clean_value(value) for key, value in kept},
        environment=_clean_label(raw.environment),
        repository=_clean_label(raw.repository),
        body_start=len(head),
        places=_clean_places(raw.places, raw.text, len(head) + len(body)),
        reading=raw.reading and _clean_reading(raw.reading),
    )


def _clean_places(places: Sequence[Place], text: str, length: int) -> tuple[Place, ...]:
    """The places in the order of the text, at their offsets in the clean text, without duplicates.

    ``text`` is the text before it was cleaned, ``length`` that of the clean text.
    """
    kept: dict[tuple[int, int], Place] = {}
    done = dropped = 0
    for place in sorted(places, key=lambda place: place.start)[:_MOST_PLACES]:
        dropped += text.count("\r\n", done, max(place.start, done))
        done = max(place.start, done)
        start = max(0, min(place.start - dropped, length))
        kept[start, place.number] = replace(
            place,
            start=start,
            number=_clean_number(place.number),
            label=_clean_label(place.label),
            rows=place.rows and (_clean_number(place.rows[0]), _clean_number(place.rows[1])),
        )
    return tuple(kept.values())


def _clean_number(number: int) -> int:
    return max(0, min(number, _LARGEST_NUMBER))


def _clean_reading(reading: Reading) -> Reading:
    return replace(
        reading,
        reader=_clean_label(reading.reader),
        pages=_clean_number(reading.pages),
        hidden_runs=_clean_number(reading.hidden_runs),
        hidden_reasons={why: _clean_number(runs) for why, runs in reading.hidden_reasons.items()},
        needs_ocr=tuple(map(_clean_number, reading.needs_ocr[:_MOST_PLACES])),
        ocr_pages=_clean_number(reading.ocr_pages),
        attachments=tuple(map(_clean_label, reading.attachments[:_MOST_NOTES])),
        notes=tuple(one_line(clean_text(note)) for note in reading.notes[:_MOST_NOTES]),
    )


_COLOURS = re.compile(r"\x1b\[[0-9;]{0,40}m")
_CONTROL_SIGNS = re.compile(r"[\x1b\x7f-\x84\x86-\x9f]")
_NO_SIGN = "\u200b"


def _neutralize_controls(text: str) -> str:
    """A text in which zero-width blanks replace terminal colours and the signs around control sequences.

    Where text is shown, such sequences are left out whole, with the words in them; an editor shows these words.
    The text keeps its length, as places count its characters.
    """
    if not _CONTROL_SIGNS.search(text):
        return text
    return _CONTROL_SIGNS.sub(_NO_SIGN, _COLOURS.sub(lambda found: _NO_SIGN * len(found[0]), text))


def clean_text(text: str) -> str:
    """Text with LF line ends and without NUL and lone surrogates, which stores and parsers cannot handle."""
    lines = re.sub(r"\r\n?", "\n", text).replace("\0", "\ufffd")
    return lines.encode("utf-8", "replace").decode("utf-8")


def _clean_label(label: str) -> str:
    return one_line(clean_text(label), stated_facts.LABEL_CHARS)


def _clean_value(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value[:_VALUE_CHARS])
        case list() | tuple():
            return [_clean_value(item) for item in value[:_MOST_VALUES]]
        case _:
            return value


def _plain(value: Any) -> Any:
    """``value`` if it is a JSON scalar (dates become ISO text); None otherwise."""
    match value:
        case str():
            return value[:_VALUE_CHARS]
        case int():  # and bool
            return value if value.bit_length() <= _NUMBER_BITS else None
        case float():
            return value if value - value == 0 else None  # neither infinite nor not a number
        case date():
            return value.isoformat()
        case _:
            return None


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, list) else str(value).strip()


def _label(facts: Mapping[str, Any], *names: str) -> str:
    """The first of these facts that is not empty, as a label."""
    return next((label for name in names if (label := _label_text(facts.get(name)))), "")


def _label_text(value: Any) -> str:
    """The value as one label, "" if it is empty.

    A table or a list of several values becomes a label that no scope names: a document that states a label which
    winnow does not understand must not get the default label of documents that state none.
    """
    match value:
        case None | str():
            return _text(_plain(value))
        case list() | tuple() | set():
            return ", ".join(_text(_plain(item)) or _NO_WORD for item in list(value)[:_MOST_VALUES])
        case _:
            return _text(_plain(value)) or _NO_WORD


def _tags(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else _text(value).split(",")
    return tuple(dict.fromkeys(tag for part in parts if (tag := _text(part))))
