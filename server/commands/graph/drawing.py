"""Pictures of a node and its neighbours: an SVG without scripts, fonts or URLs, and an HTML page with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from winnow.server.commands.graph.portrait import NeighbourRow, Portrait, RelationGroup
from winnow.server.console.drawings import HEIGHT, WIDTH, ring
from winnow.server.text.printable import shorten

_TITLE_CHARS = 34
_COLOURS = {"Document": "#2f6fb3", "Section": "#4d8f8a", "Chunk": "#8a8a8a", "Entity": "#b3632f"}
_STYLE = """
text { font: 13px sans-serif; fill: currentColor; }
.centre { font-weight: bold; font-size: 16px; }
.kind { font-style: italic; font-size: 12px; opacity: .75; }
line { stroke: currentColor; stroke-opacity: .35; }
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }}
svg {{ width: 100%; height: auto; }}
ul {{ columns: 2; }}
</style></head><body>
<h1>{title}</h1>
{svg}
{lists}
</body></html>
"""


@dataclass(frozen=True, slots=True)
class _Spoke:
    """A neighbour and its position."""

    group: RelationGroup
    row: NeighbourRow
    x: float
    y: float
    is_left: bool


def render_svg(portrait: Portrait) -> str:
    """An SVG document: the node in the middle, its neighbours in a ring, grouped by relation."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{_escape(portrait.node.title)}</title><style>{_STYLE}</style>"
        f"{''.join(_render_parts(portrait))}</svg>\n"
    )


def render_page(portrait: Portrait) -> str:
    """An HTML page with the SVG and its contents as text below."""
    lists = "".join(_render_list(group) for group in portrait.groups)
    return _PAGE.format(title=_escape(portrait.node.title), svg=render_svg(portrait), lists=lists)


def _render_parts(portrait: Portrait) -> Iterator[str]:
    middle_x, middle_y = WIDTH / 2, HEIGHT / 2
    spokes = list(_lay_out(portrait))
    for spoke in spokes:
        yield f'<line x1="{middle_x:.0f}" y1="{middle_y:.0f}" x2="{spoke.x:.0f}" y2="{spoke.y:.0f}"/>'
    labelled: set[tuple[str, str]] = set()
    for spoke in spokes:
        yield from _render_spoke(spoke, is_first=(spoke.group.type, spoke.group.direction) not in labelled)
        labelled.add((spoke.group.type, spoke.group.direction))
    yield f'<circle cx="{middle_x:.0f}" cy="{middle_y:.0f}" r="13" fill="{_COLOURS[portrait.node.label]}"/>'
    title = _shorten(portrait.node.title)
    yield f'<text class="centre" x="{middle_x:.0f}" y="{middle_y - 22:.0f}" text-anchor="middle">{title}</text>'


def _lay_out(portrait: Portrait) -> Iterator[_Spoke]:
    rows = [(group, row) for group in portrait.groups for row in group.rows]
    for (group, row), at in zip(rows, ring(len(rows)), strict=True):
        yield _Spoke(group, row, at.x, at.y, at.is_left)


def _render_spoke(spoke: _Spoke, *, is_first: bool) -> Iterator[str]:
    anchor, side = ("end", -11) if spoke.is_left else ("start", 11)
    position = f'x="{spoke.x + side:.0f}" text-anchor="{anchor}"'
    yield f"<g><title>{_escape(_describe(spoke.row))}</title>"
    yield f'<circle cx="{spoke.x:.0f}" cy="{spoke.y:.0f}" r="6" fill="{_COLOURS[spoke.row.node.label]}"/>'
    yield f'<text {position} y="{spoke.y + 4:.0f}">{_shorten(spoke.row.node.title)}</text></g>'
    if is_first:
        yield f'<text class="kind" {position} y="{spoke.y - 12:.0f}">{_escape(spoke.group.phrase)}</text>'


def _render_list(group: RelationGroup) -> str:
    items = "".join(f"<li>{_escape(_describe(row))}</li>" for row in group.rows)
    rest = group.total - len(group.rows)
    more = f"<p>… and {rest:,} more</p>" if rest > 0 else ""
    return f"<h2>{_escape(group.phrase)} ({group.total:,})</h2><ul>{items}</ul>{more}"


def _describe(row: NeighbourRow) -> str:
    facts = ", ".join(filter(None, (row.node.type, row.where, *row.locators)))
    return f"{row.node.title} ({facts})"


def _shorten(title: str) -> str:
    return _escape(shorten(title, _TITLE_CHARS))


def _escape(text: str) -> str:
    return escape(text, quote=True)
