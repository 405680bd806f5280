"""Reads mail: one message (EML) or a mailbox (mbox), each message with its subject, people, date and text.

Headers are decoded here: the parser of headers in the standard library takes time that grows with the square of
a hostile header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO

from winnow.server.models import Reading
from winnow.server.readers.common.markdown_draft import MarkdownDraft, one_line, plain_text
from winnow.server.readers.decoding import decode_part
from winnow.server.readers.documents import UnreadableFile, clean_text
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.markup import html_to_markdown

_LARGEST_MESSAGE_BYTES = 48 * 1024 * 1024
_LARGEST_MAILBOX_BYTES = 512 * 1024 * 1024
_MOST_MESSAGES = 20_000
_MOST_ATTACHMENTS = 1_000
_HEADER_CHARS = 2_000
_SHOWN_CHARS = 300
_DEEPEST_PART, _MOST_PARTS = 20, 500
_LINE_BYTES = 1024 * 1024
_HEADER = re.compile(rb"[!-9;-~]{1,100}:")
_ADDRESS = re.compile(r"\s*<[^<>]*>\s*$")
_QUOTED_START = re.compile(rb"^>(>*From )", re.M)


@dataclass(slots=True)
class _MessageContent:
    """The content of the parts of a message."""

    blocks: list[str] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    parts: int = 0


@dataclass(slots=True)
class _Mailbox:
    """Counts over all messages."""

    attachments: list[str] = field(default_factory=list)
    messages: int = 0
    unreadable: int = 0


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a message or a mailbox. Raises ``UnreadableFile``."""
    start = file.read(5)
    file.seek(0)
    if start == b"From ":
        return _read_mailbox(file)
    data = file.read(_LARGEST_MESSAGE_BYTES + 1)
    if len(data) > _LARGEST_MESSAGE_BYTES:
        raise UnreadableFile(f"is larger than {_LARGEST_MESSAGE_BYTES >> 20} MiB")
    if not _HEADER.match(data.lstrip()):
        raise UnreadableFile("is not a message: it does not begin with a header")
    message = _parse(data)
    draft, box = MarkdownDraft(), _Mailbox()
    _write(draft, message, box, 1)
    return ParsedFile(
        draft.text,
        Reading("mail", attachments=tuple(box.attachments)),
        _header(message, "Subject"),
        draft.places,
        _facts(message),
    )


def _read_mailbox(file: BinaryIO) -> ParsedFile:
    draft, box = MarkdownDraft(), _Mailbox()
    notes = []
    for number, data in enumerate(_split(file), 1):
        if number > _MOST_MESSAGES:
            notes.append(f"only the first {_MOST_MESSAGES:,} messages were read")
            break
        try:
            message = _parse(data)
        except UnreadableFile:
            box.unreadable += 1
            continue
        if not _has_room(draft, message, box, number):
            notes.append(
                f"only the first {number - 1:,} messages were read: their text is as long as a document can be"
            )
            break
    if box.unreadable:
        notes.append(f"{box.unreadable:,} messages could not be read")
    reading = Reading("mail", attachments=tuple(box.attachments), notes=tuple(notes))
    return ParsedFile(draft.text, reading, "", draft.places)


def _has_room(draft: MarkdownDraft, message: Message, box: _Mailbox, number: int) -> bool:
    """Write a message; False if it does not fit into the draft."""
    try:
        _write(draft, message, box, number)
    except UnreadableFile:
        return False
    return True


def _split(file: BinaryIO) -> Iterator[bytes]:
    """The messages of a mailbox; each begins after a line ``From ...`` that follows an empty line."""
    held: list[bytes] = []
    size = taken = 0
    was_empty = True
    while (line := file.readline(_LINE_BYTES)) and taken < _LARGEST_MAILBOX_BYTES:
        taken += len(line)
        if was_empty and line.startswith(b"From "):
            if held:
                yield b"".join(held)
            held, size = [], 0
        elif size < _LARGEST_MESSAGE_BYTES:
            held.append(line)
            size += len(line)
        was_empty = not line.strip()
    if held:
        yield b"".join(held)


def _parse(data: bytes) -> Message:
    try:
        return BytesParser().parsebytes(_QUOTED_START.sub(rb"\1", data))
    except RecursionError:
        raise UnreadableFile("is nested too deeply") from None
    except (MessageError, ValueError, LookupError):
        raise UnreadableFile("is damaged") from None


# --- one message


def _write(draft: MarkdownDraft, message: Message, box: _Mailbox, number: int) -> None:
    found = _MessageContent()
    _visit(message, found, 0)
    box.messages += 1
    box.attachments += found.attachments[: _MOST_ATTACHMENTS - len(box.attachments)]
    subject = _header(message, "Subject")
    draft.begin("message", number, subject)
    draft.add(f"# {subject}" if subject else "")
    draft.add(_people(message))
    for block in found.blocks:
        draft.add(block)


def _people(message: Message) -> str:
    """Sender, recipients and date, a line each."""
    lines = [(name, _header(message, name)[:_SHOWN_CHARS]) for name in ("From", "To", "Cc")]
    sent = _sent(message)
    lines.append(("Date", sent.isoformat(" ", "minutes") if sent else _header(message, "Date")[:_SHOWN_CHARS]))
    return "\n".join(f"{name}: {value}" for name, value in lines if value)


def _facts(message: Message) -> dict[str, Any]:
    sender, sent = _header(message, "From"), _sent(message)
    facts = {
        "author": (_ADDRESS.sub("", sender) or sender).strip(' "'),
        "created": sent.isoformat() if sent else "",
    }
    return {name: value for name, value in facts.items() if value}


def _sent(message: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(_header(message, "Date")[:100])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _header(message: Message, name: str) -> str:
    """A header as text on one line. Encoded words are decoded; bytes that cannot be decoded are replaced."""
    raw = next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")
    value = _decode(raw[:_HEADER_CHARS].encode("utf-8", "surrogateescape"), "")
    try:
        parts = [_decode(part, charset or "") for part, charset in decode_header(value)]
    except (MessageError, ValueError):
        parts = [value]
    return one_line(clean_text("".join(parts)))


def _decode(data: bytes | str, charset: str) -> str:
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode("utf-8")
    return decode_part(data, charset)


# --- parts


def _visit(part: Message, found: _MessageContent, depth: int) -> None:
    """Add the text of a part and of the parts within it."""
    found.parts += 1
    if depth > _DEEPEST_PART or found.parts > _MOST_PARTS:
        return
    kind = part.get_content_type()
    children = [child for child in _children(part) if isinstance(child, Message)]
    if kind == "message/rfc822":
        for child in children:
            found.blocks.append(f"Forwarded message: {_header(child, 'Subject')}\n{_people(child)}")
            _visit(child, found, depth + 1)
    elif kind == "multipart/alternative":
        _visit_alternatives(children, found, depth)
    elif part.is_multipart():
        for child in children:
            _visit(child, found, depth + 1)
    elif _is_attached(part) or kind not in {"text/plain", "text/html"}:
        found.attachments.append(_name(part) or kind)
    else:
        found.blocks.append(_text(part, kind))


def _children(part: Message) -> list[Any]:
    payload = part.get_payload()
    return payload if isinstance(payload, list) else []


def _visit_alternatives(children: list[Message], found: _MessageContent, depth: int) -> None:
    """Add the plain text of a message, or the first alternative with words."""
    ordered = sorted(children, key=lambda child: child.get_content_type() != "text/plain")
    for child in ordered:
        before = len(found.blocks)
        _visit(child, found, depth + 1)
        if any(block.strip() for block in found.blocks[before:]):
            return


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_name(part))


def _name(part: Message) -> str:
    try:
        return one_line(clean_text(str(part.get_filename("") or "")))[:_SHOWN_CHARS]
    except (ValueError, LookupError, TypeError):
        return ""


def _text(part: Message, kind: str) -> str:
    """The text of a part as Markdown."""
    data = part.get_payload(decode=True)
    charset = str(part.get_param("charset", "") or "")
    text = clean_text(_decode(data if isinstance(data, bytes) else b"", charset))
    if kind == "text/plain":
        return plain_text(text)
    try:
        return html_to_markdown(text)[1]
    except UnreadableFile as error:
        return f"(its HTML was not read: {error})"
