"""The XML of Word documents, rewritten so that a converter sees what a person sees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from xml.etree.ElementTree import Element, SubElement

from winnow.server.models import HiddenReason
from winnow.server.readers.common.bounded_xml import attribute, children, descendants, find, local_name
from winnow.server.readers.common.markdown_draft import one_line
from winnow.server.readers.common.open_xml import formula, texts
from winnow.server.readers.common.style_chain import style_chain, why_hidden
from winnow.server.text.markup.shaped_text import raise_number, strike_out

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_WORD = f"{{{WORD}}}"
_STRICT_WORD = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_RUNS, _PARAGRAPHS = (frozenset({_WORD + name, _STRICT_WORD + name}) for name in "rp")
_DEEPEST_HEADING = 6
# The style of paragraphs that are wholly bold, or in the style of a title.
BOLD_PARAGRAPH = "BoldParagraph"
_HEADING_STYLE = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_TITLE_STYLE = re.compile(r"title", re.IGNORECASE)
_TEXT = frozenset({"t", "tab", "br", "cr", "noBreakHyphen"})
# Elements that do not become text or structure.
_PASSED_OVER = """
    proofErr bookmarkStart bookmarkEnd lastRenderedPageBreak tblPr tblGrid tblPrEx sectPr commentRangeStart
    commentRangeEnd commentReference annotationRef permStart permEnd del moveFrom
"""
_WITHOUT_TEXT = frozenset(_PASSED_OVER.split())
# Text below three points is not meant to be read; sizes are in half points.
_LEAST_HALF_POINTS = 6
_OFF = frozenset({"0", "false", "off"})
_WHITE = frozenset({"FFFFFF", "FEFEFE", "FFFFFE", "FDFDFD"})
_NO_FILL = frozenset({"", "AUTO", *_WHITE})


@dataclass(slots=True)
class WordCounts:
    """The findings of ``rewrite_body``: hidden runs, comments, and the first paragraph in the style of a title."""

    hidden: Counter[HiddenReason] = field(default_factory=Counter)
    comments: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Look:
    """The look of text; None, or 0 for ``size`` in half points, where nothing is stated.

    ``vanishes``: it has the property of hidden text. ``is_filled``: its ground has another color than the page.
    ``is_struck`` and ``is_raised``: a line is drawn through it, it stands above its line.
    """

    vanishes: bool | None = None
    size: int = 0
    is_white: bool | None = None
    is_filled: bool = False
    is_struck: bool | None = None
    is_raised: bool | None = None
    is_bold: bool | None = None

    def over(self, other: _Look) -> _Look:
        """The look, with properties that it does not state taken from ``other``."""
        return _Look(
            other.vanishes if self.vanishes is None else self.vanishes,
            self.size or other.size,
            other.is_white if self.is_white is None else self.is_white,
            self.is_filled or other.is_filled,
            other.is_struck if self.is_struck is None else self.is_struck,
            other.is_raised if self.is_raised is None else self.is_raised,
            other.is_bold if self.is_bold is None else self.is_bold,
        )

    @property
    def why_hidden(self) -> HiddenReason | None:
        """Why a person does not see the text; None for text that is seen."""
        return why_hidden(
            is_set=bool(self.vanishes),
            is_tiny=0 < self.size < _LEAST_HALF_POINTS,
            is_like_ground=bool(self.is_white) and not self.is_filled,
        )


_PLAIN, _FILLED = _Look(), _Look(is_filled=True)


class WordStyles:
    """Styles by their ids: the headings and titles among them, and the look of their text."""

    def __init__(self, root: Element | None) -> None:
        styles = () if root is None else tuple(children(root, "style"))
        self._styles = {attribute(style, "styleId"): style for style in reversed(styles)}
        self._levels = {id: level for id in self._styles if (level := self._find_level(id))}
        self._looks = {id: look for id in self._styles if (look := self._find_look(id)) != _PLAIN}
        self.default_look = _PLAIN if root is None else self._find_default_look(root)

    @property
    def levels(self) -> Mapping[str, int]:
        """The levels of styles that are headings, from 1."""
        return MappingProxyType(self._levels)

    def look(self, style: str) -> _Look:
        """The look of text in this style."""
        return self._looks.get(style, _PLAIN)

    def is_title(self, style: str) -> bool:
        """Whether the style is that of a document's title."""
        found = self._styles.get(style)
        return bool(_TITLE_STYLE.fullmatch(style if found is None else _value(found, "name")))

    def _chain(self, id: str) -> Iterator[Element]:
        """The style and those that it is based on."""
        return style_chain(self._styles, id, lambda style: _value(style, "basedOn"))

    def _find_level(self, id: str) -> int:
        for style in self._chain(id):
            if match := _HEADING_STYLE.fullmatch(_value(style, "name")):
                return int(match[1])
            properties = find(style, "pPr")
            if properties is not None and (level := outline_level(properties)):
                return level
        return 0

    def _find_look(self, id: str) -> _Look:
        look = _PLAIN
        for style in self._chain(id):
            look = look.over(_look_of(find(style, "rPr"))).over(_look_of(find(style, "pPr")))
        return look

    def _find_default_look(self, root: Element) -> _Look:
        """The look of text that names no style."""
        look = _PLAIN
        for id, style in self._styles.items():
            if attribute(style, "type") == "paragraph" and attribute(style, "default") in {"1", "true", "on"}:
                look = look.over(self.look(id))
        return look.over(_look_of(find(root, "docDefaults", "rPrDefault", "rPr")))


def outline_level(properties: Element) -> int:
    """The level of a heading that the properties of a paragraph state, from 1; 0 for text."""
    value = _value(properties, "outlineLvl")
    return int(value) + 1 if value in {"0", "1", "2", "3", "4", "5", "6", "7", "8"} else 0


def rewrite_body(root: Element, styles: WordStyles, *, keeps_hidden: bool) -> WordCounts:
    """Rewrite the text of a part in place: headings by level, text for equations and boxes, no hidden runs."""
    counts = WordCounts(comments=sum(1 for _ in descendants(root, "commentReference")))
    page = _FILLED if find(root, "background") is not None else _PLAIN
    _Rewriter(styles, counts, keeps_hidden).visit(root, page.over(styles.default_look))
    return counts


class _Rewriter:
    """Walks a part once; ``look`` is the look of text that states no look of its own."""

    def __init__(self, styles: WordStyles, counts: WordCounts, keeps_hidden: bool) -> None:
        self._styles = styles
        self._counts = counts
        self._keeps_hidden = keeps_hidden
        self._weights: set[bool] = set()  # whether the runs of the paragraph so far are bold

    def visit(self, element: Element, look: _Look) -> None:
        """Rewrite the elements below ``element``."""
        kept: list[Element] = []
        for child in element:
            rewritten = self._rewritten(child, look)
            if rewritten is not None and not (kept and _is_joined(kept[-1], rewritten)):
                kept.append(rewritten)
        element[:] = kept

    def _rewritten(self, element: Element, look: _Look) -> Element | None:
        match local_name(element):
            case name if name in _WITHOUT_TEXT:
                return None
            case "r" if element.tag in _RUNS:
                return self._run(element, look)
            case "p" if element.tag in _PARAGRAPHS:
                self._paragraph(element, look)
            case "oMath":
                self._weights.add(False)
                return _text_run(formula(element))
            case "AlternateContent":
                element = _alternative(element)
                self.visit(element, look.over(_FILLED))
            case "drawing":
                element = _drawing(element)
                self.visit(element, look.over(_FILLED))
            case "imagedata":
                return _image(attribute(element, "title"))
            case "tbl" | "pict":  # their ground may be filled by a style
                self.visit(element, look.over(_FILLED))
            case _:
                _drop_links(element)
                self.visit(element, look)
        return element

    def _paragraph(self, paragraph: Element, look: _Look) -> None:
        properties = find(paragraph, "pPr")
        style, level = "", 0
        if properties is not None:
            style = _value(properties, "pStyle")
            level = outline_level(properties) or self._styles.levels.get(style, 0)
            if level:
                _set_style(properties, f"Heading{min(level, _DEEPEST_HEADING)}")
            look = _look_of(properties).over(self._styles.look(style)).over(look)
        around, self._weights = self._weights, set()
        self.visit(paragraph, look)
        is_bold, self._weights = self._weights == {True}, around
        is_title = bool(style) and self._styles.is_title(style)
        if not self._counts.title and is_title:
            self._counts.title = one_line(texts(paragraph, "t"))
        if (is_title or is_bold) and not level and (properties is None or find(properties, "numPr") is None):
            _set_style(_properties_of(paragraph), BOLD_PARAGRAPH)

    def _run(self, run: Element, look: _Look) -> Element | None:
        """The run, or None if it is hidden and left out."""
        properties = find(run, "rPr")
        if properties is not None:
            named = self._styles.look(_value(properties, "rStyle"))
            look = _look_of(properties).over(named).over(look)
            run.remove(properties)
        if (why := look.why_hidden) and texts(run, "t").strip():
            self._counts.hidden[why] += 1
            if not self._keeps_hidden:
                return None
        if texts(run, "t").strip():
            self._weights.add(bool(look.is_bold))
        self.visit(run, look)
        for text in children(run, "t") if look.is_struck or look.is_raised else ():
            raised = raise_number(text.text or "") if look.is_raised else text.text or ""
            text.text = strike_out(raised) if look.is_struck else raised
        return run


def _look_of(properties: Element | None) -> _Look:
    """The look that properties of a run or a paragraph state."""
    if properties is None:
        return _PLAIN
    vanish, color, size = find(properties, "vanish"), find(properties, "color"), _value(properties, "sz")
    bold = find(properties, "b")
    struck = [_is_on(found) for name in ("strike", "dstrike") if (found := find(properties, name)) is not None]
    place = _value(properties, "vertAlign")
    fill = [attribute(shade, "fill").upper() for shade in children(properties, "shd")]
    return _Look(
        None if vanish is None else _is_on(vanish),
        int(size) if size.isascii() and size.isdigit() and len(size) < 6 else 0,
        None if color is None else attribute(color, "val").upper() in _WHITE,
        any(value not in _NO_FILL for value in fill) or find(properties, "highlight") is not None,
        any(struck) if struck else None,
        place == "superscript" if place else None,
        None if bold is None else _is_on(bold),
    )


def _is_on(stated: Element) -> bool:
    return attribute(stated, "val").lower() not in _OFF


def _value(element: Element, name: str) -> str:
    """The attribute ``val`` of a child; "" without it."""
    child = find(element, name)
    return "" if child is None else attribute(child, "val")


def _properties_of(paragraph: Element) -> Element:
    """The properties of a paragraph, which are its first element."""
    properties = find(paragraph, "pPr")
    if properties is None:
        properties = Element(f"{paragraph.tag.rpartition('}')[0]}}}pPr")
        paragraph.insert(0, properties)
    return properties


def _set_style(properties: Element, style: str) -> None:
    old = find(properties, "pStyle")
    named = SubElement(properties, f"{_WORD}pStyle") if old is None else old
    for key in list(named.attrib):
        if key.endswith("val"):
            del named.attrib[key]
    named.set(f"{named.tag.rpartition('}')[0]}}}val", style)


def _text_run(text: str) -> Element:
    run = Element(f"{_WORD}r")
    SubElement(run, f"{_WORD}t").text = text
    return run


def _is_joined(run: Element, following: Element) -> bool:
    """Join the second of two runs to the first if both are text; return whether they were joined.

    Words that were edited consist of many runs, and each takes a converter as long as a paragraph.
    """
    if not (run.tag in _RUNS and following.tag in _RUNS and _is_text(run) and _is_text(following)):
        return False
    for child in following:
        if len(run) and child.tag == run[-1].tag and local_name(child) == "t":
            run[-1].text = (run[-1].text or "") + (child.text or "")
        else:
            run.append(child)
    return True


def _is_text(run: Element) -> bool:
    return all(local_name(child) in _TEXT for child in run)


def _drop_links(element: Element) -> None:
    """Remove the ids of other parts, which a converter would look for."""
    for key in [key for key in element.attrib if key.partition("}")[0].endswith("/relationships")]:
        del element.attrib[key]


def _drawing(drawing: Element) -> Element:
    """The text boxes of a drawing, or else the description of its image."""
    if boxes := list(descendants(drawing, "txbxContent")):
        box = Element(f"{_WORD}pict")
        box.extend(boxes)
        return box
    described = (attribute(found, "descr") or attribute(found, "title") for found in descendants(drawing, "docPr"))
    return _image(next(described, ""))


def _image(description: str) -> Element:
    text = Element(f"{_WORD}t")
    text.text = f"[image: {one_line(description)}]" if description.strip() else ""
    return text


def _alternative(content: Element) -> Element:
    """A box with the older alternative, which converters know, otherwise with the text boxes of the newer one."""
    box = Element(f"{_WORD}pict")
    fallback = find(content, "Fallback")
    if fallback is not None and next(descendants(fallback, "t"), None) is not None:
        box.extend(list(fallback))
    else:
        box.extend(list(descendants(content, "txbxContent")) or list(descendants(content, "drawing"))[:1])
    return box
