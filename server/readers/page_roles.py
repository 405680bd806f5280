"""Adds to a parsed page the ARIA roles that its author left out.

An item of a list or a row of a table that holds a heading, or a table within a table, arranges parts of the page:
its role is "presentation", and its content is read as that of the page. Titles that generators write without the
elements of HTML become headings by the rules of ``generated_pages``.
"""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from winnow.server.readers.generated_pages import rules_for

_HEADING_TAGS = "h1, h2, h3, h4, h5, h6, [role=heading]"
_PRESENTATION = frozenset({"presentation", "none"})
# Elements that may hold the blocks of a cell, those that count as blocks of a text, and those of several lines.
_WRAPPERS = frozenset({"div", "center", "span", "font", "section", "article", "main", "b", "a", "form"})
_TEXT_BLOCKS = frozenset({"p", "blockquote", "table", "hr"})
_LINED = frozenset({"pre", "ul", "ol", "dl"})
# A table with this many rows of several texts shows data.
_DATA_ROWS = 3


def state_roles(tree: LexborHTMLParser, source: str) -> None:
    """Add the roles to a page, which was parsed from ``source``."""
    for rule in rules_for(source):
        for node in tree.css(rule.selector):
            for name, value in rule.stated:
                node.attrs[name] = value
    for heading in tree.css(_HEADING_TAGS):
        _open_around(heading)
    for inner in tree.css("table table"):
        if _is_tabular(inner, 2):
            _open_around(inner)


def is_presentation(node: LexborNode) -> bool:
    """Whether an element arranges parts of the page and is itself no item, row or table."""
    return (node.attributes.get("role") or "") in _PRESENTATION


def holds_blocks(cell: LexborNode) -> bool:
    """Whether a cell holds several blocks of text, code or a list."""
    return _count_blocks(cell) > 1


def _count_blocks(node: LexborNode) -> int:
    """The number of blocks of text of a cell; code and lists count as two, because their lines must be kept."""
    count = 0
    for child in node.iter():
        if child.tag in _LINED:
            count += 2
        elif child.tag in _TEXT_BLOCKS:
            count += 1
        elif child.tag in _WRAPPERS:
            count += _count_blocks(child)
        if count > 1:
            break
    return count


def _open_around(node: LexborNode) -> None:
    """State that the items and rows around a heading or table arrange the page."""
    cell = None
    around: LexborNode | None = node if node.tag in ("td", "th") else node.parent
    while around is not None:
        if around.tag in ("td", "th"):
            cell = around
        elif around.tag == "tr" and cell is not None:
            if is_presentation(around) or _is_data(around, cell, node):
                return
            around.attrs["role"] = "presentation"
        elif around.tag == "li":
            if is_presentation(around):
                return
            around.attrs["role"] = "presentation"
        around = around.parent


def _is_data(row: LexborNode, cell: LexborNode, node: LexborNode) -> bool:
    """Whether a row with a heading or a table in a cell is one of a table of data."""
    filled = [each for each in row.iter() if each.tag in ("td", "th") and _words(each)]
    if len(filled) < 2:
        return False
    table = row.parent
    while table is not None and table.tag != "table":
        table = table.parent
    if node.tag != "table" and _words(cell) != _words(node):
        return False
    return table is not None and _is_tabular(table, _DATA_ROWS)


def _is_tabular(table: LexborNode, rows: int) -> bool:
    """Whether a table has at least this many rows of several texts."""
    count = 0
    for row in _rows(table):
        count += sum(1 for cell in row.iter() if cell.tag in ("td", "th") and _words(cell)) > 1
        if count >= rows:
            return True
    return False


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    for child in table.iter():
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from _rows(child)


def _words(node: LexborNode) -> list[str]:
    return node.text().split()
