"""The input and the output of a reader of a binary format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from winnow.server.models import Place, Reading


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of reading. ``passwords`` are tried in turn on an encrypted file.

    ``keeps_hidden``: text that a person does not see becomes part of the document. ``uses_ocr``: pages and images
    without text are read by OCR.
    """

    keeps_hidden: bool = False
    passwords: tuple[str, ...] = ()
    uses_ocr: bool = False


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file as Markdown.

    ``text`` is the whole text; the first of ``places`` begins at or before its first word. ``title`` is "" where
    the file states none. ``facts`` are what the file says of itself ("author", "created", "doi", ...), with the
    names and types of front matter.
    """

    text: str
    reading: Reading
    title: str = ""
    places: tuple[Place, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class NotForThisReader(Exception):
    """A file that this reader cannot read, but the next reader of the format may; the message is the reason."""


# Raises ``UnreadableFile`` with the reason, as reports show it. Any other exception is a defect of the reader or
# its library, and the next reader of the format is tried.
FormatReader = Callable[[BinaryIO, ReadOptions], ParsedFile]
