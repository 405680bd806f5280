"""Adds to a parsed page the ARIA roles that its author left out.

An item of a list or a row of a table that holds a heading, or a table within a table, arranges parts of the page:
its role is "presentation", and its content is read as that of the page. Titles that generators write without the
elements of HTML become headings by the rules of ``generated_pages``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from winnow.server.readers.generated_pages import rules_for

_HEADING_TAGS = "h1, h2, h3, h4, h5, h6, [role=heading]"
_PRESENTATION = frozenset({"presentation", "none"})
# Elements that may hold the blocks of a cell, those that count as blocks of a text, and those of several lines.
_WRAPPER_TAGS = "div center span font section article main b a form table tbody tr td th"
_WRAPPERS = frozenset(_WRAPPER_TAGS.split())
_TEXT_BLOCKS = frozenset({"p", "blockquote", "hr"})
_LINED = frozenset({"pre", "ul", "ol", "dl"})
# Pages that are nested deeper are refused; real pages nest 30 elements, and conversion takes time that grows with
# the square of the depth.
DEEPEST_ELEMENT = 200
# A table with this many rows of several texts shows data.
_DATA_ROWS = 3


@dataclass(frozen=True, slots=True)
class _Known:
    """The findings about a page, by elements.

    ``seen``: those around others, whose own surroundings are done; whether rows have several texts, and whether
    tables show data.
    """

    seen: set[int]
    rows: dict[int, bool]
    tables: dict[int, bool]


def state_roles(tree: LexborHTMLParser, source: str) -> None:
    """Add the roles to a page, which was parsed from ``source``."""
    for rule in rules_for(source):
        for node in tree.css(rule.selector):
            for name, value in rule.stated:
                node.attrs[name] = value
    known = _Known(set(), {}, {})
    for heading in tree.css(_HEADING_TAGS):
        _open_around(heading, known)
    depths: dict[int, int] = {}
    for inner in tree.css("table table"):
        if _depth(inner, depths) < DEEPEST_ELEMENT and _is_tabular(inner, 2):
            _open_around(inner, known)


def is_presentation(node: LexborNode) -> bool:
    """Whether an element arranges parts of the page and is itself no item, row or table."""
    return (node.attributes.get("role") or "") in _PRESENTATION


def holds_blocks(cell: LexborNode) -> bool:
    """Whether a cell holds several blocks of text, code or a list."""
    return _count_blocks(cell) > 1


def _count_blocks(node: LexborNode, depth: int = 0) -> int:
    """The number of blocks of text of a cell; code and lists count as two, because their lines must be kept."""
    count = 0
    for child in node.iter():
        if child.tag in _LINED:
            count += 2
        elif child.tag in _TEXT_BLOCKS:
            count += 1
        elif child.tag in _WRAPPERS and depth < DEEPEST_ELEMENT:
            count += _count_blocks(child, depth + 1)
        if count > 1:
            break
    return count


def _open_around(node: LexborNode, known: _Known) -> None:
    """State that the items and rows around a heading or table arrange the page."""
    seen = known.seen
    cell = node if node.tag in ("td", "th") else None
    around = node.parent
    while around is not None and around.mem_id not in seen:
        seen.add(around.mem_id)
        if around.tag in ("td", "th"):
            cell = around
        elif around.tag == "li":
            around.attrs["role"] = "presentation"
        elif around.tag == "tr" and cell is not None:
            if _is_data(around, cell, node, known):
                seen.discard(around.mem_id)  # another cell of the row may decide otherwise
                return
            around.attrs["role"] = "presentation"
        around = around.parent


def _depth(node: LexborNode, depths: dict[int, int]) -> int:
    """The depth of an element; ``depths`` has those that are known, and gets those of the elements around it."""
    path = []
    around: LexborNode | None = node
    while around is not None and around.mem_id not in depths:
        path.append(around.mem_id)
        around = around.parent
    depth = 0 if around is None else depths[around.mem_id]
    depths.update((id, depth + number) for number, id in enumerate(reversed(path), 1))
    return depths[node.mem_id]


def _is_data(row: LexborNode, cell: LexborNode, node: LexborNode, known: _Known) -> bool:
    """Whether a row with a heading or a table in a cell is one of a table of data."""
    if row.mem_id not in known.rows:
        known.rows[row.mem_id] = _has_texts(row)
    if not known.rows[row.mem_id] or (node.tag != "table" and cell.text().split() != node.text().split()):
        return False
    table = row.parent
    while table is not None and table.tag != "table":
        table = table.parent
    if table is None:
        return False
    if table.mem_id not in known.tables:
        known.tables[table.mem_id] = _is_tabular(table, _DATA_ROWS)
    return known.tables[table.mem_id]


def _is_tabular(table: LexborNode, rows: int) -> bool:
    """Whether a table has at least this many rows of several texts."""
    found = filter(_has_texts, _rows(table))
    return next(islice(found, rows - 1, None), None) is not None


def _has_texts(row: LexborNode) -> bool:
    """Whether several cells of a row have text."""
    filled = (cell for cell in row.iter() if cell.tag in ("td", "th") and _has_text(cell))
    return next(islice(filled, 1, None), None) is not None


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    for child in table.iter():
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from _rows(child)


def _has_text(cell: LexborNode) -> bool:
    return any(node.tag == "-text" and node.text(deep=False).strip() for node in cell.traverse(include_text=True))
