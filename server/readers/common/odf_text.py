"""The text of OpenDocument files as Markdown blocks: headings, lists, tables, notes and boxes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from winnow.server.models import HiddenReason
from winnow.server.readers.common.bounded_xml import attribute, children, descendants, find, local_name
from winnow.server.readers.common.markdown_draft import one_line, plain_text, table
from winnow.server.readers.common.style_chain import style_chain, why_hidden
from winnow.server.readers.common.unmarked_headings import embolden, reads_as_heading, without_marks
from winnow.server.text.markup.shaped_text import raise_number, strike_out

_DEEPEST_HEADING = 6
_DEEPEST_LIST = 9
_MOST_REPEATS = 100
_LEAST_POINTS = 3.0
_POINTS = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})?)pt")
_WHITE = "#ffffff"
_CLEAR = frozenset({"", "transparent", _WHITE})
# Deleted text, remarks, and fields whose content is not shown.
_LEFT_OUT = frozenset({"tracked-changes", "annotation", "annotation-end", "hidden-text", "hidden-paragraph"})
_FRAMES = frozenset({"frame", "custom-shape", "rect"})
_DIGIT = frozenset("123456789")
_RAISED = re.compile(r"super\b|[1-9]")
_NO_LINE = frozenset({"", "none"})
_COUNT = re.compile(r"[0-9]{1,8}")
_HEAVY = frozenset({"bold", "600", "700", "800", "900"})
_CONTAINERS = frozenset({"section", "index-title", "text-box", "g", "a", "table-of-content"})


@dataclass(frozen=True, slots=True)
class OdfStyles:
    """The styles of a file by name, and the levels of list styles that are numbered."""

    styles: Mapping[str, Element]
    numbered: Mapping[str, frozenset[int]]

    def chain(self, name: str) -> Iterator[Element]:
        """A style and those that it is based on."""
        return style_chain(self.styles, name, lambda style: attribute(style, "parent-style-name"))

    def stated(self, name: str, *fields: str) -> str:
        """The first value that a style or its parents state for one of these attributes of their properties."""
        for style in self.chain(name):
            for properties in style:
                for key in fields:
                    if value := attribute(properties, key):
                        return value
        return ""

    def is_title(self, name: str) -> bool:
        """Whether the style is that of a document's title."""
        return any(attribute(style, "name") == "Title" for style in self.chain(name))

    def is_bold(self, name: str, around: bool) -> bool:
        """Whether text in the style is bold; ``around`` says it where the style does not."""
        stated = self.stated(name, "font-weight")
        return stated in _HEAVY if stated else around

    def why_hidden(self, name: str, *, on_ground: bool) -> HiddenReason | None:
        """Why a person does not see text in the style; None for text that is seen.

        ``on_ground``: its ground may not have the color of the page.
        """
        size = _POINTS.fullmatch(self.stated(name, "font-size"))
        is_white = self.stated(name, "color").lower() == _WHITE
        is_filled = on_ground or self.stated(name, "background-color").lower() not in _CLEAR
        return why_hidden(
            is_set=self.stated(name, "display") == "none",
            is_tiny=size is not None and 0 < float(size[1]) < _LEAST_POINTS,
            is_like_ground=is_white and not is_filled,
        )


def collect_styles(roots: Iterable[Element]) -> OdfStyles:
    """The styles of these parts; a style of the text precedes a style of the file with the same name."""
    styles: dict[str, Element] = {}
    numbered: dict[str, frozenset[int]] = {}
    for root in roots:
        for style in descendants(root, "style"):
            styles.setdefault(attribute(style, "name"), style)
        for style in descendants(root, "list-style"):
            levels = {attribute(level, "level") for level in children(style, "list-level-style-number")}
            numbered.setdefault(attribute(style, "name"), frozenset(map(int, _DIGIT & levels)))
    return OdfStyles(styles, numbered)


def _numbers_headings(element: Element) -> bool:
    """Whether the headings in a list are headings: some programs make them of its items, whatever they say."""
    texts = [one_line("".join(heading.itertext())) for heading in descendants(element, "h")]
    return bool(texts) and all(map(reads_as_heading, texts))


@dataclass(slots=True)
class OdfWriter:
    """Writes elements as blocks, and counts hidden text."""

    styles: OdfStyles
    keeps_hidden: bool = False
    hidden: Counter[HiddenReason] = field(default_factory=Counter)
    comments: int = 0
    title: str = ""
    notes: list[str] = field(default_factory=list)

    def blocks(self, element: Element, *, on_ground: bool = False) -> Iterator[str]:
        """The blocks of text below an element."""
        for child in element:
            match local_name(child):
                case "h":
                    yield self._heading(child, on_ground)
                case "p":
                    yield self._paragraph(child, on_ground)
                    yield from self._boxes(child)
                case "list" if _numbers_headings(child):
                    for item in child:
                        yield from self.blocks(item, on_ground=on_ground)
                case "list":
                    yield "\n".join(self._list(child, attribute(child, "style-name"), 1, on_ground))
                case "table":
                    yield table(list(self._rows(child)))
                case name if name in _FRAMES:
                    yield from self._frame(child)
                case "index-body":  # bold entries of contents are no headings
                    for entry in self.blocks(child, on_ground=on_ground):
                        yield without_marks(entry)
                case name if name in _CONTAINERS:
                    yield from self.blocks(child, on_ground=on_ground)
                case "annotation":
                    self.comments += 1

    def footnotes(self) -> str:
        """The notes so far, as a numbered list."""
        return "\n".join(f"{number}. {note}" for number, note in enumerate(self.notes, 1))

    def _heading(self, element: Element, on_ground: bool) -> str:
        text = one_line(self._inline(element, on_ground))
        level = _COUNT.fullmatch(attribute(element, "outline-level"))
        depth = min(int(level[0]), _DEEPEST_HEADING) if level else 1
        return f"{'#' * max(depth, 1)} {text}" if text else ""

    def _paragraph(self, element: Element, on_ground: bool) -> str:
        text = self._inline(element, on_ground).strip()
        is_title = self.styles.is_title(attribute(element, "style-name"))
        if text and not self.title and is_title:
            self.title = one_line(text)
        is_bold = is_title or all(bold for words, bold in self._weights(element, False) if words.strip())
        return embolden(plain_text(text)) if is_bold and not on_ground else plain_text(text)

    def _weights(self, element: Element, around: bool) -> Iterator[tuple[str, bool]]:
        """The text of a paragraph, piece by piece, and whether each piece is bold."""
        is_bold = self.styles.is_bold(attribute(element, "style-name"), around)
        yield element.text or "", is_bold
        for child in element:
            if local_name(child) not in {"note", *_FRAMES, *_LEFT_OUT}:
                yield from self._weights(child, is_bold)
            yield child.tail or "", is_bold

    def _list(self, element: Element, style: str, level: int, on_ground: bool) -> Iterator[str]:
        """The lines of a list; lists within an item are indented."""
        is_numbered = level in self.styles.numbered.get(style, frozenset())
        number = 0
        for item in element:
            if local_name(item) not in {"list-item", "list-header"}:
                continue
            number += 1
            mark = f"{number}." if is_numbered else "-"
            indent = " " * (len(mark) + 1) if level <= _DEEPEST_LIST else ""
            lines = list(self._item(item, style, level, on_ground))
            if lines:
                yield f"{mark} {lines[0]}"
                yield from (indent + line for line in lines[1:])

    def _item(self, item: Element, style: str, level: int, on_ground: bool) -> Iterator[str]:
        for child in item:
            match local_name(child):
                case "list":
                    named = attribute(child, "style-name") or style
                    yield from self._list(child, named, level + 1, on_ground)
                case "p" | "h":
                    text = one_line(self._inline(child, on_ground))
                    if text:
                        yield text

    def _rows(self, element: Element) -> Iterator[list[str]]:
        for child in element:
            match local_name(child):
                case "table-row":
                    yield [cell for each in child for cell in self._cells(each)]
                case "table-header-rows" | "table-rows" | "table-row-group":
                    yield from self._rows(child)

    def _cells(self, cell: Element) -> list[str]:
        """The text of a cell, as many times as the cell is repeated; a covered cell is empty."""
        if local_name(cell) not in {"table-cell", "covered-table-cell"}:
            return []
        repeats = _COUNT.fullmatch(attribute(cell, "number-columns-repeated"))
        count = min(int(repeats[0]), _MOST_REPEATS) if repeats else 1
        return [" ".join(filter(None, self.blocks(cell, on_ground=True)))] * count

    def _boxes(self, paragraph: Element) -> Iterator[str]:
        """The text of frames that are anchored in a paragraph."""
        for child in paragraph:
            if local_name(child) in _FRAMES:
                yield from self._frame(child)
            elif local_name(child) not in {"note", *_LEFT_OUT}:
                yield from self._boxes(child)

    def _frame(self, frame: Element) -> Iterator[str]:
        box = next(children(frame, "text-box"), None)
        if box is not None:
            yield from self.blocks(box, on_ground=True)
        elif find(frame, "table") is not None:
            yield from self.blocks(frame, on_ground=True)
        elif find(frame, "image") is not None:
            described = [find(frame, name) for name in ("desc", "title")]
            text = next((one_line(each.text or "") for each in described if each is not None), "")
            yield f"[image: {text}]" if text else ""
        else:
            yield from self.blocks(frame, on_ground=True)

    # --- within a paragraph

    def _inline(self, element: Element, on_ground: bool) -> str:
        style = attribute(element, "style-name")
        text = "".join(self._parts(element, on_ground))
        if style and text.strip() and (why := self.styles.why_hidden(style, on_ground=on_ground)):
            self.hidden[why] += 1
            return text if self.keeps_hidden else ""
        return self._shaped(text, style) if style else text

    def _shaped(self, text: str, style: str) -> str:
        if _RAISED.match(self.styles.stated(style, "text-position")):
            text = raise_number(text)
        line = self.styles.stated(style, "text-line-through-style", "text-line-through-type")
        return text if line in _NO_LINE else strike_out(text)

    def _parts(self, element: Element, on_ground: bool) -> Iterator[str]:
        yield " ".join((element.text or "").split("\n"))
        for child in element:
            yield self._part(child, on_ground)
            yield " ".join((child.tail or "").split("\n"))

    def _part(self, child: Element, on_ground: bool) -> str:
        match local_name(child):
            case "s" | "tab":
                return " "
            case "line-break":
                return "\n"
            case "note":
                return self._note(child)
            case name if name in _FRAMES:
                return ""
            case name if name in _LEFT_OUT:
                self.comments += name == "annotation"
                self.hidden["set as hidden"] += name.startswith("hidden")
                return self._kept(child, name)
            case _:
                return self._inline(child, on_ground)

    def _kept(self, child: Element, name: str) -> str:
        """The text of a hidden field, if hidden text is kept."""
        if not (self.keeps_hidden and name.startswith("hidden")):
            return ""
        return attribute(child, "string-value") or "".join(child.itertext())

    def _note(self, note: Element) -> str:
        body = find(note, "note-body")
        if body is None:
            return ""
        index = len(self.notes)
        self.notes.append("")
        self.notes[index] = one_line(" ".join(self.blocks(body)))
        return f"[{index + 1}]"
