"""Converts the visible content of HTML and reStructuredText to Markdown, the form that chunking works on."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from docutils import nodes, transforms
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from selectolax.lexbor import LexborHTMLParser, LexborNode

from winnow.server.readers.common.unmarked_headings import BOLD_MARKS, embolden, without_marks, write_headings
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.generated_pages import BOLD_CLASSES, CODE_LINES, COLUMNS, ONE_LINE
from winnow.server.readers.page_furniture import is_furniture
from winnow.server.readers.page_roles import DEEPEST_ELEMENT, holds_blocks, is_presentation, state_roles
from winnow.server.text.markup.code_marks import code_span, escape_backticks, fenced
from winnow.server.text.markup.shaped_text import lower_number, raise_number, strike_out

_LINE_ENDS = re.compile(r"\n(?:[ \t]*\n)+")
_BLANK_LINES = re.compile(r"\n{3,}")
_SPACE = re.compile(r"[ \t\r\f\v\n]+")
_HEADING_MARK = re.compile(r"#{1,6} (?=\S)")
# Javadoc writes a place for a line break before each parenthesis, which would divide names.
_BREAK_IN_CODE = re.compile(r"(?<=[!-~])\u200b(?=[!-~])")
_LINE_START = re.compile(r"(?<=\n)(?=[^\n])")
_NUMBER = re.compile(r"[0-9]{1,9}")
# Links within the site are kept: they show which pages belong together. Addresses of other sites and of anchors on
# the same page are dropped, because they only dilute the words.
_OTHER_SITE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\Z")
_LONGEST_TARGET = 300
_IN_TARGETS = {ord(mark): f"%{ord(mark):02X}" for mark in " ()<>"}

# --- HTML

_Attributes = Mapping[str, str | None]

# Two noncharacters of Unicode, which enclose the text of code until the whole page is converted, because adjacent
# code becomes one span.
_CODE_BEGINS, _CODE_ENDS = "\ufdd0", "\ufdd1"
_CODE = re.compile(f"{_CODE_BEGINS}([^{_CODE_BEGINS}{_CODE_ENDS}\n]*){_CODE_ENDS}")
_ADJACENT_CODE = re.compile(f"{_CODE_ENDS}({BOLD_MARKS}*){_CODE_BEGINS}")
# The elements that may hold the text of a page, the likeliest first.
_BODIES = ("main", "[role=main]", "article")
_INVISIBLE_TAGS = "script style noscript template svg nav footer iframe button select head"
_INVISIBLE = frozenset(_INVISIBLE_TAGS.split())
_HEADINGS = {f"h{depth}": "#" * depth for depth in range(1, 7)}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer
    header hr html li main ol p section summary table tbody tfoot thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
# Elements whose words are not joined with those before and after them.
_SEPARATE = _BLOCKS | _HEADINGS.keys() | {"pre", "td", "th"}
# Lists nested deeper are not indented: each level would lengthen every line below it.
_DEEPEST_INDENT = 60
# The most columns and rows that a cell may span, and the most columns of a table that cells of other rows may
# cover.
_WIDEST_SPAN, _HIGHEST_SPAN, _MOST_COVERED = 20, 1_000, 100
# The limit of the length of the Markdown, as a multiple of the page: tables gain bars, lists gain marks.
_GROWTH, _GROWTH_CHARS = 4, 64 * 1024


# Classes that Sphinx, MediaWiki and pandoc give to the image of a formula; and text with the delimiters of TeX.
_DRAWN_FORMULA = re.compile(r"(?:^|[\s-])(?:math|tex|latex)(?:$|[\s-])", re.IGNORECASE)
_TEX = re.compile(r"\$[^$]+\$")
# The most words in a formula that are not commands.
_PLAIN_WORD, _MOST_PLAIN_WORDS, _LONGEST_FORMULA = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}"), 2, 500


# Elements whose shape has a meaning, and the function that writes their text.
_SHAPED: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "sup": raise_number,
        "del": strike_out,
        "s": strike_out,
        "strike": strike_out,
        "b": embolden,
        "big": embolden,
        "strong": embolden,
    }
)
_WEIGHT = re.compile(r"(?:\A|;)\s*font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
# Elements whose bold text is no heading of what follows.
_NAMES = frozenset({"dt", "figcaption", "caption", "summary"})
_FIGURES = re.compile(r"\b(?:fig|figure|float|image|img|table|thumb)\b", re.IGNORECASE)
_LARGER = re.compile(r"\+[1-7]|[4-7]")
_STRUCK = re.compile(r"(?:\A|;)\s*text-decoration(?:-line)?\s*:[^;]{0,100}\bline-through\b", re.IGNORECASE)
_MOVED = re.compile(r"(?:\A|;)\s*vertical-align\s*:\s*su(?P<where>per|b)\b", re.IGNORECASE)


def _shape_of(node: LexborNode, stated: _Attributes) -> Callable[[str], str] | None:
    """The function that writes the text of an element with a meaningful shape; None for other elements."""
    tag = node.tag or ""
    if tag in _SHAPED:
        return _SHAPED[tag]
    if tag.startswith(("-", "_")) or tag in _BLOCKS or tag in _HEADINGS:
        return None
    style = stated.get("style") or ""
    moved = _MOVED.search(style)
    if tag == "sub" or (moved and moved["where"] == "b"):
        return lower_number if _is_beside_digit(node) else None
    if _STRUCK.search(style) or moved:
        return strike_out if _STRUCK.search(style) else raise_number
    is_larger = tag == "font" and _LARGER.fullmatch(stated.get("size") or "")
    return embolden if is_larger or _WEIGHT.search(style) else None


def _is_beside_digit(node: LexborNode) -> bool:
    """Whether a digit stands directly before or after an element: it would be read as one number with this one."""
    before = node.prev.text()[-1:] if node.prev else ""
    after = node.next.text()[:1] if node.next else ""
    return before.isdigit() or after.isdigit()


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table: its elements with their depths, and the text of each place.

    The texts of a row that states that it arranges parts of the page are not read. A cell is alone if it has the
    whole row.
    """

    parts: Sequence[tuple[LexborNode, int]]
    cells: Sequence[str] | None
    is_alone: bool

    @property
    def texts(self) -> Sequence[str]:
        """The texts that are not empty."""
        return list(filter(None, self.cells or ()))


def html_to_markdown(text: str) -> tuple[str, str]:
    """The title of a page and its body as Markdown.

    Raises ``UnreadableFile`` if the page is nested too deeply, or its Markdown becomes too long.
    """
    tree = LexborHTMLParser(text)
    state_roles(tree, text)
    title = tree.css_first("title")
    body = next(filter(None, map(tree.css_first, _BODIES)), tree.body)
    written = _join(_convert_html(body, 0), len(text)) if body else ""
    lines = (line.rstrip() for line in _mark_code(_BREAK_IN_CODE.sub("", written)).split("\n"))
    shown = write_headings(_BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n"))
    return _inline(title, 0) if title else "", shown


def _mark_code(written: str) -> str:
    """The Markdown of a page with the marks of its code."""
    joined = _ADJACENT_CODE.sub(r"\1", written)
    return _CODE.sub(lambda found: code_span(found[1]), joined)


def _join(parts: Iterable[str], length: int, between: str = "") -> str:
    """Join the parts. Raises ``UnreadableFile`` if they are far longer than the source, which has ``length``."""
    kept, left = [], _GROWTH * length + _GROWTH_CHARS
    for part in parts:
        left -= len(part)
        if left < 0:
            raise UnreadableFile(
                f"becomes more than {_GROWTH} times as long when it is converted to Markdown; simplify it"
            )
        kept.append(part)
    return between.join(kept)


def _convert_html(node: LexborNode, depth: int) -> Iterator[str]:
    tag = node.tag or ""
    if tag == "-text":
        yield escape_backticks(_SPACE.sub(" ", node.text(deep=False)))
        return
    stated = node.attributes
    if tag in _INVISIBLE or is_furniture(node, stated):
        return
    if tag in _HEADINGS or stated.get("role") == "heading":
        words = _inline(node, depth)
        yield f"\n\n{_HEADINGS.get(tag) or _stated_level(stated)} {words}\n\n" if words else "\n\n"
    elif tag == "pre":
        yield f"\n\n{fenced(_text(node, depth).strip(chr(10)))}\n\n"
    elif tag == "table":
        yield "\n\n"
        yield from _convert_table(node, depth)
        yield "\n\n"
    elif tag == "br":
        yield "\n"
    elif tag == "ol":
        yield from _numbered_list(node, depth)
    elif tag == "li":
        yield _list_item(node, depth, "-")
    elif tag in _BLOCKS:
        yield f"\n\n{_block_text(node, stated, depth)}\n\n"
    elif tag == "code":
        yield f"{_CODE_BEGINS}{_inline(node, depth)}{_CODE_ENDS}"
    elif tag in _FORMULAS:
        yield _FORMULAS[tag](node, depth)
    elif shape := _shape_of(node, stated):
        yield shape(without_marks("".join(_convert_children(node, depth))))
    elif tag == "a":
        yield _link_of("".join(_convert_children(node, depth)), stated.get("href") or "")
    elif not tag.startswith("-") and not tag.startswith("_"):
        yield from _convert_children(node, depth)


def _stated_level(stated: _Attributes) -> str:
    """The mark of an element that is a heading for screen readers."""
    level = stated.get("aria-level") or ""
    return _HEADINGS.get(f"h{level}", "##")


def _block_text(node: LexborNode, stated: _Attributes, depth: int) -> str:
    if COLUMNS in stated and not _has_own_words(node, depth):
        return "".join(_grid_lines(node, depth))
    if CODE_LINES in stated:
        return fenced(_LINE_ENDS.sub("\n", _text(node, depth)).strip("\n"))
    text = "".join(_convert_children(node, depth))
    if node.tag in _NAMES:
        return without_marks(text)
    return embolden(text) if node.tag in ("p", "div") and _is_bold(node, stated) else text


def _is_bold(block: LexborNode, stated: _Attributes) -> bool:
    """Whether a block is bold by its style, or by a class that generators give to headings, not to captions."""
    if _WEIGHT.search(stated.get("style") or ""):
        return True
    if BOLD_CLASSES.isdisjoint((stated.get("class") or "").split()):
        return False
    around = block.parent
    return around is None or not _FIGURES.search(f"{around.tag} {around.attributes.get('class') or ''}")


def _convert_children(node: LexborNode, depth: int) -> Iterator[str]:
    for child in _child_nodes(node, depth):
        yield from _convert_html(child, depth + 1)


def _numbered_list(node: LexborNode, depth: int) -> Iterator[str]:
    """The items with their numbers, which start where the list says."""
    start = node.attributes.get("start") or ""
    number = int(start) if _NUMBER.fullmatch(start) else 1
    yield "\n\n"
    for child in _child_nodes(node, depth):
        if child.tag == "li":
            yield _list_item(child, depth + 1, f"{number}.")
            number += 1
        else:
            yield from _convert_html(child, depth + 1)
    yield "\n\n"


def _list_item(node: LexborNode, depth: int, mark: str) -> str:
    """An item of a list; its further lines, and lists within it, are indented below its first word.

    An item that arranges parts of the page has neither mark nor indentation, only its number.
    """
    if is_presentation(node):
        body = "".join(_convert_children(node, depth)).strip()
        return f"\n\n{_number_first_line(body, mark) if mark != '-' else body}\n\n"
    body = _BLANK_LINES.sub("\n\n", without_marks("".join(_convert_children(node, depth)))).strip()
    indent = " " * (len(mark) + 1) if depth < _DEEPEST_INDENT else ""
    return f"\n{mark} {_LINE_START.sub(indent, body)}\n"


def _number_first_line(body: str, number: str) -> str:
    """A text with a number before its first word, within the heading if it begins with one."""
    mark = _HEADING_MARK.match(body)
    at = mark.end() if mark else 0
    return f"{body[:at]}{number} {body[at:]}"


def _child_nodes(node: LexborNode, depth: int) -> Iterator[LexborNode]:
    """The children of a node. Raises ``UnreadableFile`` if they are nested too deeply."""
    if depth >= DEEPEST_ELEMENT:
        raise UnreadableFile("nested too deeply")
    return node.iter(include_text=True)


def _convert_table(node: LexborNode, depth: int) -> Iterator[str]:
    """A table as Markdown, below its caption. A table within a cell becomes text of that cell.

    The cells of a row that arranges parts of the page are written as these parts, between the rows around it. If
    there is one, and no row has several texts, none is a row.
    """
    if ONE_LINE in node.attributes:
        yield _inline(node, depth)
        return
    for child in _child_nodes(node, depth):
        if child.tag == "caption":
            yield from _convert_html(child, depth + 1)
    rows = list(_rows(node, depth))
    is_data = any(len(row.texts) > 1 for row in rows) and len(rows) > 1
    opened = [row.cells is None or _is_open(row, is_data=is_data) for row in rows]
    is_arranged = any(opened) and not is_data
    is_first = True
    for row, is_open in zip(rows, opened, strict=True):
        if is_arranged or is_open or row.cells is None:
            yield "\n\n"
            yield from (f"\n\n{''.join(_convert_html(cell, below))}\n\n" for cell, below in row.parts)
            is_first = True
        elif row.texts:
            yield f"| {' | '.join(row.cells)} |\n"
            if is_first:
                yield f"| {' | '.join(['---'] * len(row.cells))} |\n"
            is_first = False


def _rows(node: LexborNode, depth: int) -> Iterator[_Row]:
    spans: dict[int, int] = {}  # column -> rows below that a cell above covers
    for row, at in _own_parts(node, ("tr",), depth):
        parts = list(_own_parts(row, ("th", "td"), at))
        is_alone = len(parts) == 1 and not spans
        is_read = not (is_presentation(row) or is_presentation(node))
        yield _Row(parts, _row_of(parts, spans) if is_read else None, is_alone)


def _is_open(row: _Row, *, is_data: bool) -> bool:
    """Whether a row arranges blocks of text: in its only cell, or in any cell of a table that shows no data."""
    return (row.is_alone or not is_data) and any(holds_blocks(cell) for cell, _ in row.parts)


def _grid_lines(node: LexborNode, depth: int) -> Iterator[str]:
    """The lines of a table whose cells are the children of one element."""
    columns = _span(node, COLUMNS, _WIDEST_SPAN)
    cells = [
        _cell_text(child, depth + 1)
        for child in _child_nodes(node, depth)
        if child.tag != "-text" and child.tag not in _INVISIBLE and not is_furniture(child, child.attributes)
    ]
    for start in range(0, len(cells), columns):
        yield f"| {' | '.join(cells[start : start + columns])} |\n"
        if start == 0:
            yield f"| {' | '.join(['---'] * columns)} |\n"


def _has_own_words(node: LexborNode, depth: int) -> bool:
    return any(child.tag == "-text" and child.text(deep=False).strip() for child in _child_nodes(node, depth))


def _cell_text(node: LexborNode, depth: int) -> str:
    return escape_backticks(_inline(node, depth)).replace("|", r"\|")


def _row_of(parts: Sequence[tuple[LexborNode, int]], spans: dict[int, int]) -> list[str]:
    """The cells of a row, with an empty cell for each place that another cell spans."""
    cells: list[str] = []
    for cell, below in parts:
        _fill_spanned(cells, spans)
        width, height = _span(cell, "colspan", _WIDEST_SPAN), _span(cell, "rowspan", _HIGHEST_SPAN)
        if height > 1 and len(spans) < _MOST_COVERED:
            spans.update(dict.fromkeys(range(len(cells), len(cells) + width), height - 1))
        cells += [_cell_text(cell, below), *[""] * (width - 1)]
    if cells:
        _fill_spanned(cells, spans)
    return cells


def _fill_spanned(cells: list[str], spans: dict[int, int]) -> None:
    """Append an empty cell for each next column that a cell above covers."""
    while (left := spans.pop(len(cells), 0)) > 0:
        if left > 1:
            spans[len(cells)] = left - 1
        cells.append("")


def _span(cell: LexborNode, name: str, most: int) -> int:
    value = cell.attributes.get(name) or ""
    return min(max(int(value), 1), most) if _NUMBER.fullmatch(value) else 1


def _own_parts(node: LexborNode, tags: tuple[str, ...], depth: int) -> Iterator[tuple[LexborNode, int]]:
    """The rows of a table or the cells of a row, with their depths, without those of nested tables."""
    for child in _child_nodes(node, depth):
        tag = child.tag or ""
        if tag in _INVISIBLE or tag.startswith("-") or is_furniture(child, child.attributes):
            continue
        if tag in tags:
            yield child, depth + 1
        elif tag != "table":
            yield from _own_parts(child, tags, depth + 1)


def _text(node: LexborNode, depth: int) -> str:
    return "".join(_texts(node, depth))


def _texts(node: LexborNode, depth: int) -> Iterator[str]:
    """The texts below a node. Blocks and line breaks end lines, so that words of two blocks are not joined."""
    for child in _child_nodes(node, depth):
        tag = child.tag or ""
        if tag == "-text":
            yield child.text(deep=False)
            continue
        stated = child.attributes
        if tag == "br":
            yield "\n"
        elif tag in _FORMULAS:
            yield _FORMULAS[tag](child, depth + 1)
        elif tag in _INVISIBLE or is_furniture(child, stated):
            continue
        elif shape := _shape_of(child, stated):
            yield without_marks(shape(_text(child, depth + 1)))
        else:
            end = "\n" if tag in _SEPARATE else ""
            yield end
            yield from _texts(child, depth + 1)
            yield end


def _fraction(node: LexborNode, depth: int) -> str:
    """A fraction of a formula, whose parts are displayed one below the other."""
    return "/".join(_parts_of(node, depth))


def _power(node: LexborNode, depth: int) -> str:
    """A term of a formula whose last part is an exponent of the first part."""
    parts = _parts_of(node, depth)
    return "".join([*parts[:-1], *map(raise_number, parts[-1:])])


def _parts_of(node: LexborNode, depth: int) -> list[str]:
    return [_inline(child, depth + 1) for child in _child_nodes(node, depth) if child.tag != "-text"]


def _drawn_formula(node: LexborNode, _depth: int) -> str:
    """The TeX of a formula that is drawn as an image; "" for other images, whose alternative text nobody sees."""
    alt = (node.attributes.get("alt") or "").strip()
    is_formula = _DRAWN_FORMULA.search(node.attributes.get("class") or "") or _TEX.fullmatch(alt)
    if not is_formula or len(alt) > _LONGEST_FORMULA or len(_PLAIN_WORD.findall(alt)) > _MOST_PLAIN_WORDS:
        return ""
    return _SPACE.sub(" ", alt.strip("$").replace("~", " "))


# Elements that are formulas, or may be.
_FORMULAS: Mapping[str, Callable[[LexborNode, int], str]] = MappingProxyType(
    {"mfrac": _fraction, "msup": _power, "msubsup": _power, "img": _drawn_formula}
)


def _inline(node: LexborNode, depth: int) -> str:
    return _SPACE.sub(" ", _text(node, depth)).strip()


def _link_of(text: str, target: str) -> str:
    """``text`` as a link if it is one line and ``target`` is another page of the same site, else unchanged."""
    words, target = text.strip(), target.strip()
    if not words or re.search(r"[\[\]\n]", text) or _OTHER_SITE.match(target) or len(target) > _LONGEST_TARGET:
        return text
    return text.replace(words, f"[{words}]({target.translate(_IN_TARGETS)})")


# --- reStructuredText

_LONGEST_LINE = 10_000
# A page must neither read other files nor write to the terminal.
_SAFE = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "line_length_limit": _LONGEST_LINE,
}
_DEEPEST_HEADING = 6


def warm_up() -> None:
    """Import the modules that docutils imports on demand, because a child behind walls cannot open their files."""
    for package in (directives, transforms):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    rst_to_markdown("=====\nTitle\n=====\n\n.. note:: Some `text`:sub: and a link_.\n\n.. _link: a.html\n")


def rst_to_markdown(text: str) -> tuple[str, str]:
    """The title of a page and its body as Markdown. Directives that only Sphinx knows are kept as literal text.

    Raises ``UnreadableFile``.
    """
    if any(len(line) > _LONGEST_LINE for line in text.splitlines()):  # docutils would return an empty page
        raise UnreadableFile(f"a line is longer than {_LONGEST_LINE:,} characters")
    try:
        tree = publish_doctree(text, settings_overrides=dict(_SAFE))
    except RecursionError:
        raise UnreadableFile("nested too deeply") from None
    except Exception as error:  # docutils passes on any exception of a directive
        raise UnreadableFile(f"not reStructuredText: {type(error).__name__}") from error
    try:
        body = _join((part for part in _convert_rst(tree, 1) if part.strip()), len(text), "\n\n")
    except RecursionError:
        raise UnreadableFile("nested too deeply") from None
    return str(tree.get("title", "")), body


def _convert_rst(node: nodes.Node, depth: int) -> Iterator[str]:
    match node:
        case nodes.title():
            yield f"{'#' * min(depth, _DEEPEST_HEADING)} {_one_line(node)}"
        case nodes.section():
            yield from _convert_rst_children(node, depth + 1)
        case nodes.literal_block() | nodes.doctest_block() | nodes.math_block():
            yield _literal_block(node)
        case nodes.list_item():
            yield "- " + "\n\n".join(_convert_rst_children(node, depth)).replace("\n", "\n  ")
        case nodes.definition_list_item() | nodes.field():
            yield "\n".join(_convert_rst_children(node, depth))
        case nodes.row():
            yield "| " + " | ".join(_one_line(cell) for cell in node.children) + " |"
        case nodes.thead():
            yield from _convert_rst_children(node, depth)
            yield "| " + " | ".join("---" for _ in node.children[0].children) + " |"
        case nodes.table() | nodes.tgroup():
            yield "\n".join(_convert_rst_children(node, depth))
        case nodes.tbody():
            yield "\n".join(_convert_rst_children(node, depth))
        case nodes.system_message():  # the message is the parser's, the quoted block is the page's
            yield from (_literal_block(child) for child in node.children if isinstance(child, nodes.literal_block))
        case nodes.comment() | nodes.substitution_definition() | nodes.target() | nodes.Invisible():
            return
        case nodes.TextElement():
            yield _text_of(node)
        case _:
            yield from _convert_rst_children(node, depth)


def _convert_rst_children(node: nodes.Node, depth: int) -> Iterator[str]:
    for child in node.children:
        yield from _convert_rst(child, depth)


def _literal_block(node: nodes.Node) -> str:
    return fenced(node.astext())


def _text_of(node: nodes.Node) -> str:
    match node:
        case nodes.reference():
            return _link_of(node.astext(), node.get("refuri", ""))
        case nodes.superscript():
            return raise_number(node.astext())
        case nodes.TextElement():
            return "".join(map(_text_of, node.children))
        case _:
            return str(node.astext())


def _one_line(node: nodes.Node) -> str:
    return _SPACE.sub(" ", node.astext()).strip()
