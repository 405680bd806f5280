"""Reads DOCX: mammoth makes HTML of a rewritten copy, which becomes Markdown.

mammoth takes any archive and any XML. It is therefore given a new archive of the few parts that it reads, each
parsed with bounds and written anew. This rewriting leaves out hidden text, gives styles that are headings by their
outline level the ids of headings, and converts equations, text boxes and images to text that mammoth knows.
"""

from __future__ import annotations

import gc
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO
from xml.etree.ElementTree import tostring
from xml.parsers.expat import ExpatError

import mammoth  # type: ignore[import-untyped]

from winnow.server.models import HiddenReason, Reading
from winnow.server.readers.common.archives import Archive, open_archive
from winnow.server.readers.common.bounded_xml import parse_xml
from winnow.server.readers.common.markdown_draft import MarkdownDraft
from winnow.server.readers.common.open_xml import PartLink, main_part, properties, relationships
from winnow.server.readers.common.word_xml import BOLD_PARAGRAPH, WORD, WordStyles, rewrite_body
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.markup import html_to_markdown

# mammoth takes a second and 17 MiB for each MiB of XML. A report of 1,000 pages has 10 MiB.
_LARGEST_PART_BYTES = 24 * 1024 * 1024
_DOCUMENT = "word/document.xml"
# The parts besides the document, by the types of their relationships.
_PARTS = {
    "numbering": "word/numbering.xml",
    "styles": "word/styles.xml",
    "footnotes": "word/footnotes.xml",
    "endnotes": "word/endnotes.xml",
}
_WITH_TEXT = ("footnotes", "endnotes")
_ROOT_LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Target="word/document.xml" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>'
)
# Headings have the ids that ``rewrite_body`` gives them; the rest are lists, level by level.
_STYLE_MAP = "\n".join(
    [f"p.Heading{level} => h{level}:fresh" for level in range(1, 7)]
    + [f"p.{BOLD_PARAGRAPH} => p:fresh > strong:fresh"]
    + [
        f"p:{kind}-list({level}) => {'ul|ol > li > ' * (level - 1)}{tag} > li:fresh"
        for level in range(1, 10)
        for kind, tag in (("unordered", "ul"), ("ordered", "ol"))
    ]
)
# The arrow that mammoth adds to a note as a link back to the text.
_BACK_LINK = re.compile(r' ?<a href="#(?:foot|end)note-ref-[^"]*">[^<]*</a>')


@dataclass(frozen=True, slots=True)
class _Copy:
    """The archive that mammoth reads, the text of the first paragraph in the style of a title, and counts."""

    file: BinaryIO
    title: str
    hidden: Counter[HiddenReason]
    comments: int


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a Word document. Raises ``UnreadableFile``."""
    archive = open_archive(file, "DOCX")
    title, facts = properties(archive)
    try:
        with _no_collection():
            copy = _copy(archive, options)
            body = html_to_markdown(_BACK_LINK.sub("", _convert(copy.file)))[1]
    except RecursionError:
        raise UnreadableFile("nested too deeply") from None
    draft = MarkdownDraft()
    draft.add(body)
    reading = Reading(
        "docx",
        hidden_runs=copy.hidden.total(),
        hidden_kept=options.keeps_hidden,
        notes=(f"{copy.comments:,} comments were left out",) if copy.comments else (),
        hidden_reasons=dict(copy.hidden),
    )
    return ParsedFile(draft.text, reading, copy.title or title, (), facts)


@contextmanager
def _no_collection() -> Iterator[None]:
    """A context without garbage collection, which would spend half of the time on millions of nodes in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _convert(file: BinaryIO) -> str:
    try:
        result: Any = mammoth.convert_to_html(
            file,
            style_map=_STYLE_MAP,
            include_default_style_map=False,
            include_embedded_style_map=False,
            external_file_access=False,
        )
    except (LookupError, ValueError, TypeError, AttributeError, ExpatError):  # an element or attribute is missing
        raise UnreadableFile("is damaged: its parts are not those of a Word document") from None
    return f"<body>{result.value}</body>"


def _copy(archive: Archive, options: ReadOptions) -> _Copy:
    """A new archive of the parts that mammoth reads."""
    document = main_part(archive, _DOCUMENT, "DOCX")
    links = relationships(archive, document)
    parts = {name: _part_of(archive, links, name) for name in _PARTS}
    styles = WordStyles(_parse(archive, parts["styles"]) if parts["styles"] else None)
    copied = io.BytesIO()
    with zipfile.ZipFile(copied, "w") as target:
        target.writestr("_rels/.rels", _ROOT_LINKS)
        body = _parse(archive, document)
        counts = rewrite_body(body, styles, keeps_hidden=options.keeps_hidden)
        target.writestr(_DOCUMENT, tostring(body))
        for name, part in parts.items():
            if part:
                root = _parse(archive, part)
                if name in _WITH_TEXT:
                    counts.hidden += rewrite_body(root, styles, keeps_hidden=options.keeps_hidden).hidden
                target.writestr(_PARTS[name], tostring(root))
    copied.seek(0)
    return _Copy(copied, counts.title, counts.hidden, counts.comments)


def _warm_up() -> None:
    """Convert an empty document: libraries import modules at their first use, when files cannot be opened."""
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("_rels/.rels", _ROOT_LINKS)
        archive.writestr(_DOCUMENT, f'<w:document xmlns:w="{WORD}"><w:body/></w:document>')
    html_to_markdown(_convert(empty))


def _part_of(archive: Archive, links: Mapping[str, PartLink], name: str) -> str:
    """The name of a part by the type of its relationship, "" if there is none."""
    targets = (link.target for link in links.values() if link.type == name)
    return next(filter(archive.has, targets), "")


def _parse(archive: Archive, part: str) -> Any:
    return parse_xml(archive.read(part, _LARGEST_PART_BYTES))


_warm_up()
