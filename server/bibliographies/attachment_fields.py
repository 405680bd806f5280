r"""Reads the field ``file`` of BibTeX, in which programs list the files of a work.

Better BibTeX, Zotero and JabRef write ``title:path:type`` with ``;`` between files and a backslash before a colon
or semicolon of the path; others write paths alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow.server.bibliographies.records import Attachment

_MOST_FILES = 100
_ESCAPED = re.compile(r"\\([\\:;{}_&%#$~^ ])")
_DRIVE = re.compile(r"[A-Za-z]")


def read_file_field(field: str) -> tuple[Attachment, ...]:
    r"""The files in a field.

    >>> read_file_field(r"Full Text:/lib/a\:b.pdf:application/pdf;:notes.txt:Text")
    (Attachment(path='/lib/a:b.pdf', title='Full Text'), Attachment(path='notes.txt', title=''))
    """
    return tuple(_read_files(field))[:_MOST_FILES]


def _read_files(field: str) -> Iterator[Attachment]:
    for stated in _split(field, ";"):
        parts = _split(stated, ":")
        match parts:
            case [title, *middle, _] if middle:
                path = ":".join(middle)
            case [drive, rest] if _DRIVE.fullmatch(drive):
                title, path = "", f"{drive}:{rest}"
            case [title, path]:
                pass
            case _:
                title, path = "", stated
        if path := _ESCAPED.sub(r"\1", path).strip():
            yield Attachment(path, _ESCAPED.sub(r"\1", title).strip())


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators without a backslash before them."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == separator:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]
