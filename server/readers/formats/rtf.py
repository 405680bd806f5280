"""Reads RTF: headings by style, lists, tables and notes as Markdown; hidden text is left out.

The format is a stream of control words within groups; a group begins with the state of the group around it.
Source: Microsoft, Rich Text Format Specification 1.9.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import BinaryIO

from winnow.server.models import Reading
from winnow.server.readers.common.markdown_draft import MarkdownDraft, one_line
from winnow.server.readers.common.open_xml import facts_of
from winnow.server.readers.common.rtf_text import RtfWriter
from winnow.server.readers.common.unmarked_headings import write_headings
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

# Images in an RTF take twice their size; its text is a small part of it.
_LARGEST_FILE_BYTES = 128 * 1024 * 1024
_START = re.compile(rb"\s*\{\\rtf")
_TOKEN = re.compile(
    r"\\([A-Za-z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\"
)


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a text in RTF. Raises ``UnreadableFile``."""
    data = file.read(_LARGEST_FILE_BYTES + 1)
    if len(data) > _LARGEST_FILE_BYTES:
        raise UnreadableFile(f"is larger than {_LARGEST_FILE_BYTES >> 20} MiB")
    if not _START.match(data):
        raise UnreadableFile("is not an RTF file")
    writer = RtfWriter(keeps_hidden=options.keeps_hidden)
    _feed(data.decode("latin-1"), writer)
    draft = MarkdownDraft()
    draft.add(write_headings("\n\n".join(block.strip("\n") for block in writer.finish() if block.strip())))
    notes = (f"{writer.comments:,} comments were left out",) if writer.comments else ()
    reading = Reading(
        "rtf", 0, writer.hidden.total(), options.keeps_hidden, notes=notes, hidden_reasons=dict(writer.hidden)
    )
    title = writer.title or one_line(writer.info.get("title", ""))
    return ParsedFile(draft.text, reading, title, (), facts_of(_facts(writer.info)))


def _feed(text: str, writer: RtfWriter) -> None:
    """Give the tokens of a text to the writer, up to the end of the outermost group."""
    at = 0
    while (token := _TOKEN.match(text, at)) is not None:
        at = token.end()
        word, number, code, sign, brace, run = token.groups()
        if run:
            writer.text(run)
        elif word == "bin":  # that many bytes of an image follow
            at += max(int(number or 0), 0)
        elif word:
            writer.word(word, None if number is None else int(number))
        elif code:
            writer.code(int(code, 16))
        elif sign:
            writer.sign(sign)
        elif brace == "{":
            writer.open_group()
        elif brace and not writer.close_group():
            return


def _facts(info: Mapping[str, str]) -> dict[str, str]:
    year, month, day = (info.get(name, "") for name in ("yr", "mo", "dy"))
    created = f"{year:0>4}-{month:0>2}-{day:0>2}" if year and month and day else ""
    names = {"creator": "author", "subject": "subject", "keywords": "keywords"}
    return {name: one_line(info.get(source, "")) for name, source in names.items()} | {"created": created}
