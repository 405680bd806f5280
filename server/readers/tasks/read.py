"""Reads a file by a reader of its format; sheets are another task (``read_sheet.py``)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import asdict, astuple
from typing import Any, BinaryIO

from winnow.server.readers import frames
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.format_table import FORMATS
from winnow.server.readers.formats.parsed_file import FormatReader, ReadOptions
from winnow.server.readers.pdf import ocr
from winnow.server.readers.tasks.table import ReaderAnswer, Task

_FORMATS = "winnow.server.readers.formats"

READERS: dict[str, FormatReader] = {}
_UNAVAILABLE: dict[str, str] = {}  # reader -> why it cannot be imported


def warm_up(*, uses_ocr: bool) -> None:
    """Import the readers, and load OCR if it is used."""
    load_readers("read")
    if uses_ocr:
        ocr.load()


def load_readers(task: Task) -> None:
    """Import the readers of this task."""
    for name in dict.fromkeys(name for each in FORMATS.values() if each.task == task for name in each.readers):
        load_reader(name)


def load_reader(name: str) -> None:
    """Import a reader, or keep why that is not possible."""
    try:
        READERS[name] = importlib.import_module(f"{_FORMATS}.{name}").read
    except ImportError as error:  # a library without a build for this system must not take the others with it
        _UNAVAILABLE[name] = str(error)


def serve(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
    """The facts of the file, and its text as Markdown. Raises ``UnreadableFile``."""
    name = request["reader"]
    options = ReadOptions(request["keeps_hidden"], tuple(request["passwords"]), request["uses_ocr"])
    with open_document() as document:
        document.seek(0)  # the parent has looked at its beginning, and shares the position
        if name not in READERS and name not in _UNAVAILABLE:
            load_reader(name)  # without walls: the process has loaded none before
        if name not in READERS:
            return {"failure": f"the reader {name} is not available: {_UNAVAILABLE[name]}"}, ""
        parsed = READERS[name](document, options)
    if len(parsed.text) > frames.MAX_TEXT_CHARS:
        raise UnreadableFile(f"its text is longer than {frames.MAX_TEXT_CHARS >> 20} million characters; split it")
    facts = {
        "title": parsed.title,
        "places": list(map(astuple, parsed.places)),
        "reading": asdict(parsed.reading),
        "facts": dict(parsed.facts),
    }
    return facts, parsed.text
