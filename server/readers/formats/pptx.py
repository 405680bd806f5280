"""Reads PPTX: each slide is a place with its title, text, tables and speaker notes.

Shapes are read in the order of the file, which is the reading order of screen readers and of PowerPoint itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.etree.ElementTree import Element

from winnow.server.models import HiddenReason, Reading
from winnow.server.readers.common.archives import Archive, open_archive
from winnow.server.readers.common.bounded_xml import attribute, children, descendants, find, local_name, parse_xml
from winnow.server.readers.common.charts import chart_table
from winnow.server.readers.common.markdown_draft import MarkdownDraft, one_line, table
from winnow.server.readers.common.open_xml import PartLink, formula, main_part, properties, relationships, texts
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.text.markup.shaped_text import raise_number, strike_out
from winnow.server.text.sizes import count_of

_PRESENTATION = "ppt/presentation.xml"
_MOST_SLIDES = 5_000
_TITLES = frozenset({"title", "ctrTitle"})
# Placeholders that repeat on every slide.
_REPEATED = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})
_LISTS = frozenset({"", "body", "obj"})
_NO = frozenset({"0", "false"})
_STRUCK = frozenset({"sngStrike", "dblStrike"})
_DEEPEST_ITEM = 8
_INTEGER = re.compile(r"-?[0-9]{1,15}")
_NUMBERED = "1."
# The title that PowerPoint writes if the author states none.
_TEMPLATE_TITLE = re.compile(r"PowerPoint\b")
# Text below three points is not meant to be read; sizes are in hundredths of a point.
_LEAST_SIZE = 300


@dataclass(slots=True)
class _Slide:
    """The content of a slide. ``bounds`` are the width and the height of slides, ``charts`` ids of links."""

    bounds: tuple[int, int]
    keeps_hidden: bool
    title: str = ""
    blocks: list[str] = field(default_factory=list)
    hidden: Counter[HiddenReason] = field(default_factory=Counter)
    charts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Counts:
    hidden_slides: list[int] = field(default_factory=list)
    hidden: Counter[HiddenReason] = field(default_factory=Counter)
    charts: int = 0  # without values
    comments: int = 0


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a presentation. Hidden slides are left out, unless hidden text is kept. Raises ``UnreadableFile``."""
    archive = open_archive(file, "PPTX")
    part = main_part(archive, _PRESENTATION, "PPTX")
    presentation = parse_xml(archive.read(part))
    title, facts = properties(archive)
    slides = list(_slide_parts(archive, part, presentation))
    if len(slides) > _MOST_SLIDES:
        raise UnreadableFile(f"has more than {_MOST_SLIDES:,} slides; split it")
    draft, counts = MarkdownDraft(), _Counts()
    for number, name in enumerate(slides, 1):
        slide = _Slide(_bounds(presentation), options.keeps_hidden)
        _read_slide(archive, name, number, slide, draft, counts)
        if not title or _TEMPLATE_TITLE.match(title):
            title = slide.title
    return ParsedFile(draft.text, _reading(len(slides), counts, options), title, draft.places, facts)


def _reading(slides: int, counts: _Counts, options: ReadOptions) -> Reading:
    left_out = [
        (counts.hidden_slides and not options.keeps_hidden, f"hidden slides: {_listed(counts.hidden_slides)}"),
        (counts.charts, f"charts without a copy of their values, {counts.charts:,} in all,"),
        (counts.comments, f"comments of {count_of(counts.comments, 'slide')}"),
    ]
    notes = tuple(f"{what} were left out" for is_left, what in left_out if is_left)
    return Reading(
        "pptx",
        slides,
        counts.hidden.total(),
        options.keeps_hidden,
        notes=notes,
        hidden_reasons=dict(counts.hidden),
    )


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:50])) + (", ..." if len(numbers) > 50 else "")


def _slide_parts(archive: Archive, part: str, presentation: Element) -> Iterator[str]:
    """The names of the parts of the slides, in the order of the presentation."""
    links = relationships(archive, part)
    listed = find(presentation, "sldIdLst")
    listed_before: set[str] = set()
    for slide in () if listed is None else children(listed, "sldId"):
        # ``id`` without a namespace is a number of the slide's own.
        link = next((links.get(value) for key, value in slide.items() if key.endswith("}id")), None)
        if link is not None and archive.has(link.target) and link.target not in listed_before:
            listed_before.add(link.target)
            yield link.target


def _bounds(presentation: Element) -> tuple[int, int]:
    size = find(presentation, "sldSz")
    return (0, 0) if size is None else (_number(size, "cx"), _number(size, "cy"))


def _read_slide(
    archive: Archive, name: str, number: int, slide: _Slide, draft: MarkdownDraft, counts: _Counts
) -> None:
    root = parse_xml(archive.read(name))
    links = relationships(archive, name)
    tree = find(root, "cSld", "spTree")
    notes = [link for link in links.values() if link.type == "notesSlide" and archive.has(link.target)]
    if attribute(root, "show") in _NO:
        counts.hidden_slides.append(number)
        counts.hidden["hidden slide"] += 1
        if not slide.keeps_hidden:
            return
    for shape in tree if tree is not None else ():
        _read_shape(shape, slide)
    for link in links.values():
        if link.type == "diagramData" and archive.has(link.target):
            slide.blocks.append(_diagram(parse_xml(archive.read(link.target))))
    charts = [_chart(archive, links.get(id)) for id in dict.fromkeys(slide.charts)]
    slide.blocks += charts
    spoken = "\n\n".join(_notes(archive, link) for link in notes)
    counts.hidden += slide.hidden
    counts.charts += charts.count("")
    counts.comments += any(link.type.startswith("comment") for link in links.values())
    _write(draft, number, slide, spoken)


def _write(draft: MarkdownDraft, number: int, slide: _Slide, spoken: str) -> None:
    blocks = [block for block in slide.blocks if block.strip()]
    if not (slide.title or blocks or spoken.strip()):
        return
    draft.begin("slide", number, slide.title)
    draft.add(f"# {slide.title}" if slide.title else "")
    for block in blocks:
        draft.add(block)
    if spoken.strip():
        draft.add("Notes:")
        draft.add(spoken)


# --- shapes


def _read_shape(shape: Element, slide: _Slide) -> None:
    """Add the text of a shape to the slide."""
    kind = local_name(shape)
    if kind == "AlternateContent":
        for child in next(iter(shape), ()):
            _read_shape(child, slide)
    elif kind == "grpSp":
        for child in shape:
            _read_shape(child, slide)
    elif kind in {"sp", "cxnSp", "graphicFrame", "pic"}:
        if why := _why_hidden(shape, slide.bounds):
            slide.hidden[why] += bool(texts(shape, "t").strip())
            if not slide.keeps_hidden:
                return
        _read_content(shape, kind, slide)


def _read_content(shape: Element, kind: str, slide: _Slide) -> None:
    if kind == "pic":
        described = next(filter(None, (attribute(each, "descr") for each in descendants(shape, "cNvPr"))), "")
        slide.blocks.append(f"[image: {one_line(described)}]" if described.strip() else "")
    elif kind == "graphicFrame":
        slide.charts += [attribute(each, "id") for each in descendants(shape, "chart")]
        slide.blocks += [_table(each, slide) for each in descendants(shape, "tbl")]
    else:
        placeholder = next(descendants(shape, "ph"), None)
        role = None if placeholder is None else attribute(placeholder, "type")
        if role in _REPEATED:
            return
        body = find(shape, "txBody")
        if body is None:
            return
        if role in _TITLES and not slide.title:
            slide.title = one_line(" ".join(_line(each, slide) for each in children(body, "p")))
        else:
            slide.blocks.append(_paragraphs(body, slide, is_list=role in _LISTS))


def _why_hidden(shape: Element, bounds: tuple[int, int]) -> HiddenReason | None:
    """Why a person does not see a shape: it is hidden, or wholly outside the slide; None if it is seen."""
    named = next(descendants(shape, "cNvPr"), None)
    if named is not None and attribute(named, "hidden") in {"1", "true"}:
        return "set as hidden"
    frame = next(descendants(shape, "xfrm"), None)
    offset, size = (None, None) if frame is None else (find(frame, "off"), find(frame, "ext"))
    if offset is None or size is None or not all(bounds):
        return None
    left, top = _number(offset, "x"), _number(offset, "y")
    right, bottom = left + _number(size, "cx"), top + _number(size, "cy")
    is_beside = right < 0 or bottom < 0 or left > bounds[0] or top > bounds[1]
    return "off the page" if is_beside else None


def _paragraphs(body: Element, slide: _Slide, *, is_list: bool) -> str:
    """The paragraphs of a shape: a list where the layout or the paragraph says so."""
    written: list[str] = []
    number = 0
    was_item = False
    for paragraph in children(body, "p"):
        text = _line(paragraph, slide)
        if not text.strip():
            continue
        mark, level = _mark(paragraph, is_list=is_list)
        number = number + 1 if mark == _NUMBERED else 0
        prefix = f"{'   ' * level}{f'{number}.' if number else mark} " if mark else ""
        written.append("\n" if was_item and mark else "\n\n")
        written.append(prefix + text.replace("\n", "\n" + " " * len(prefix)))
        was_item = bool(mark)
    return "".join(written)


def _mark(paragraph: Element, *, is_list: bool) -> tuple[str, int]:
    """The mark of a list item, "" for a paragraph, and its level."""
    stated = find(paragraph, "pPr")
    level = 0 if stated is None else min(max(_number(stated, "lvl"), 0), _DEEPEST_ITEM)
    kinds = set() if stated is None else {local_name(child) for child in stated}
    if "buNone" in kinds:
        return "", 0
    if "buAutoNum" in kinds:
        return _NUMBERED, level
    return ("-", level) if is_list or level or kinds & {"buChar", "buBlip"} else ("", 0)


def _line(paragraph: Element, slide: _Slide) -> str:
    """The text of a paragraph; its line breaks are kept."""
    parts = []
    for child in paragraph:
        match local_name(child):
            case "br":
                parts.append("\n")
            case "r" | "fld":
                parts.append(_run(child, slide))
            case "AlternateContent" | "m":  # an equation
                parts.append(formula(child))
    return "".join(parts).strip()


def _run(run: Element, slide: _Slide) -> str:
    text = texts(run, "t").replace("\v", "\n").replace("\t", " ")
    stated = find(run, "rPr")
    if stated is not None and 0 < _number(stated, "sz") < _LEAST_SIZE and text.strip():
        slide.hidden["too small"] += 1
        return text if slide.keeps_hidden else ""
    if stated is not None and _number(stated, "baseline") > 0:
        text = raise_number(text)
    return strike_out(text) if stated is not None and attribute(stated, "strike") in _STRUCK else text


def _table(element: Element, slide: _Slide) -> str:
    rows = []
    for row in children(element, "tr"):
        cells = [
            " ".join(_line(paragraph, slide) for paragraph in descendants(cell, "p"))
            for cell in children(row, "tc")
        ]
        rows.append(cells)
    return table(rows)


def _chart(archive: Archive, link: PartLink | None) -> str:
    """A chart as a table; "" if its values cannot be read."""
    if link is None or not archive.has(link.target):
        return ""
    try:
        return chart_table(parse_xml(archive.read(link.target)))
    except UnreadableFile:
        return ""


def _diagram(data: Element) -> str:
    """The texts of a diagram as a list."""
    lines = (one_line(texts(point, "t")) for point in descendants(data, "pt"))
    return "\n".join(f"- {line}" for line in lines if line)


def _notes(archive: Archive, link: PartLink) -> str:
    """The text of the speaker's notes of a slide."""
    root = parse_xml(archive.read(link.target))
    slide = _Slide((0, 0), keeps_hidden=True)
    for shape in descendants(root, "sp"):
        placeholder = next(descendants(shape, "ph"), None)
        body = find(shape, "txBody")
        if placeholder is not None and attribute(placeholder, "type") == "body" and body is not None:
            slide.blocks.append(_paragraphs(body, slide, is_list=False))
    return "\n\n".join(block.strip("\n") for block in slide.blocks)


def _number(element: Element, name: str) -> int:
    """The number in an attribute; 0 if it is absent or no number."""
    match = _INTEGER.fullmatch(element.get(name) or "")
    return int(match[0]) if match else 0
