"""Reads OpenDocument texts (ODT) and presentations (ODP)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element

from winnow.server.models import HiddenReason, Reading
from winnow.server.readers.common.archives import Archive, open_archive
from winnow.server.readers.common.bounded_xml import attribute, children, descendants, find, local_name, parse_xml
from winnow.server.readers.common.markdown_draft import MarkdownDraft, one_line
from winnow.server.readers.common.odf_text import OdfStyles, OdfWriter, collect_styles
from winnow.server.readers.common.open_xml import facts_of
from winnow.server.readers.common.unmarked_headings import without_marks, write_headings
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

_CONTENT, _STYLES, _META, _MANIFEST = "content.xml", "styles.xml", "meta.xml", "META-INF/manifest.xml"
_MOST_SLIDES = 5_000
_REPEATED = frozenset({"date-time", "footer", "header", "page-number", "page"})


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a text or a presentation. Raises ``UnreadableFile``."""
    archive = open_archive(file, "OpenDocument")
    if not archive.has(_CONTENT):
        raise UnreadableFile(f"is a ZIP archive, but not an OpenDocument file (no {_CONTENT})")
    _check_encryption(archive)
    content = parse_xml(archive.read(_CONTENT))
    body = find(content, "body")
    text, slides = (None, None) if body is None else (find(body, "text"), find(body, "presentation"))
    if text is None and slides is None:
        raise UnreadableFile("is an OpenDocument file, but neither a text nor a presentation")
    roots = [content, *([parse_xml(archive.read(_STYLES))] if archive.has(_STYLES) else [])]
    writer = OdfWriter(collect_styles(roots), options.keeps_hidden)
    try:
        return _read_slides(archive, slides, writer) if text is None else _read_text(archive, text, writer)
    except RecursionError:
        raise UnreadableFile("nested too deeply") from None


def _read_text(archive: Archive, text: Element, writer: OdfWriter) -> ParsedFile:
    draft = MarkdownDraft()
    draft.add(write_headings("\n\n".join(block.strip("\n") for block in writer.blocks(text) if block.strip())))
    draft.add(without_marks(writer.footnotes()))
    title, facts = _metadata(archive)
    return ParsedFile(draft.text, _reading(writer, 0, []), writer.title or title, (), facts)


def _reading(writer: OdfWriter, pages: int, hidden: list[int]) -> Reading:
    notes = [f"{writer.comments:,} comments were left out"] if writer.comments else []
    if hidden and not writer.keeps_hidden:
        notes.append(f"hidden slides: {', '.join(map(str, hidden[:50]))} were left out")
    reasons = +(writer.hidden + Counter[HiddenReason]({"hidden slide": len(hidden)}))
    return Reading(
        "opendocument",
        pages,
        reasons.total(),
        writer.keeps_hidden,
        notes=tuple(notes),
        hidden_reasons=dict(reasons),
    )


def _check_encryption(archive: Archive) -> None:
    if archive.has(_MANIFEST):
        manifest = parse_xml(archive.read(_MANIFEST))
        if next(descendants(manifest, "encryption-data"), None) is not None:
            raise UnreadableFile("is encrypted; save it without a password")


def _metadata(archive: Archive) -> tuple[str, Mapping[str, Any]]:
    """The title and the facts that the file states; facts that cannot be read are left out."""
    try:
        root = parse_xml(archive.read(_META))
    except UnreadableFile:
        return "", {}
    values = {local_name(element): one_line(element.text or "") for element in root.iter()}
    values["creator"] = values.get("initial-creator", "") or values.get("creator", "")
    values["created"] = values.get("creation-date", "") or values.get("date", "")
    values["keywords"] = values.get("keyword", "")
    return values.get("title", ""), facts_of(values)


# --- presentations


def _read_slides(archive: Archive, slides: Element | None, writer: OdfWriter) -> ParsedFile:
    draft = MarkdownDraft()
    pages = [] if slides is None else list(children(slides, "page"))
    if len(pages) > _MOST_SLIDES:
        raise UnreadableFile(f"has more than {_MOST_SLIDES:,} slides; split it")
    hidden = [number for number, page in enumerate(pages, 1) if _is_hidden(page, writer.styles)]
    for number, page in enumerate(pages, 1):
        if writer.keeps_hidden or number not in hidden:
            _read_slide(page, number, writer, draft)
    title, facts = _metadata(archive)
    first = draft.places[0].label if draft.places else ""
    return ParsedFile(draft.text, _reading(writer, len(pages), hidden), title or first, draft.places, facts)


def _is_hidden(page: Element, styles: OdfStyles) -> bool:
    return styles.stated(attribute(page, "style-name"), "visibility") == "hidden"


def _read_slide(page: Element, number: int, writer: OdfWriter, draft: MarkdownDraft) -> None:
    title, blocks, spoken = "", [], []
    for child in page:
        role = attribute(child, "class")
        if local_name(child) == "notes":
            spoken = _spoken(child, writer)
        elif role == "title" and not title:
            title = one_line(" ".join(_blocks(child, writer)))
        elif role not in _REPEATED:
            blocks += _blocks(child, writer)
    if not (title or blocks or spoken):
        return
    draft.begin("slide", number, title)
    draft.add(f"# {title}" if title else "")
    for block in (*blocks, *(["Notes:", *spoken] if spoken else [])):
        draft.add(block)


def _spoken(notes: Element, writer: OdfWriter) -> list[str]:
    return [
        block
        for frame in children(notes, "frame")
        if attribute(frame, "class") == "notes"
        for block in _blocks(frame, writer)
    ]


def _blocks(shape: Element, writer: OdfWriter) -> list[str]:
    """The blocks of one shape."""
    around = Element("shape")
    around.append(shape)
    return [without_marks(block) for block in writer.blocks(around) if block.strip()]
