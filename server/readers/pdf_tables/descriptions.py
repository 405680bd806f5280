"""Finds lists of descriptions: terms at the left, and beside or below each of them its explanation, indented.

Manuals have lists of options in this form. An explanation of many lines has only one with a term, so nothing but
the edges of its lines tells that it belongs to a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from math import inf

from winnow.server.readers.pdf.lines import Line
from winnow.server.readers.pdf_tables.columns import STRETCHED
from winnow.server.readers.pdf_tables.rows import join_cells
from winnow.server.readers.pdf_tables.tables import MARKER, FoundTable, has_leaders, table_block

# So many terms are a list, of which so many stand beside their explanations.
_FEWEST_TERMS, _FEWEST_BESIDE = 3, 2
# In sizes of the font: how far explanations are indented, and the gap between a term and its explanation.
_INDENT, _GAP = 2.5, 0.3
# In points: edges that are as near stand below each other.
_EDGE = 1.5
# In heights of a line: lines of an explanation, its paragraphs, and terms are no farther apart.
_NEAR, _PARAGRAPH, _FARTHEST = 1.6, 2.2, 3.2
_LONGEST_TERM = 60
# A gap parts two paragraphs that is wider than lines are apart by this factor; lines are as near within another.
_WIDER_GAP, _SAME_GAP = 1.25, 1.1
# In sizes of the font: the widest space after a sentence in a line that is stretched.
_STRETCH = 1.6
# A line of prose is as wide as this share of its column.
_PROSE_WIDTH = 0.6


@dataclass(slots=True)
class _Entry:
    """A term, the lines of its explanation, and how far it is below the line above it."""

    term: str
    distance: float
    lines: list[str] = field(default_factory=list)
    is_beside: bool = True


def find_descriptions(lines: Sequence[Line], start: int) -> FoundTable | None:
    """The list of descriptions that begins with this line; None if it begins none."""
    left, indent = lines[start].box.left, _indent(lines, start)
    if indent is None:
        return None
    entries: list[_Entry] = []
    end = start
    for place in range(start, len(lines)):
        if place > start and _is_far(lines[place - 1], lines[place], indent):
            break
        term, rest = _part(lines[place], indent)
        is_name = abs(lines[place].box.left - left) <= _EDGE and (rest or _is_alone(lines, place, indent))
        if term and is_name:
            distance = lines[place].box.middle - lines[place - 1].box.middle if place > start else inf
            entries.append(_Entry(term, distance, is_beside=rest != ""))
        elif term or not rest or not entries:
            break
        if rest:
            entries[-1].lines.append(rest)
        end = place + 1
    taken = lines[start:end]
    entries = [*_join_terms(entries, taken)]
    if not _are_descriptions(entries, taken) or not _is_list(lines, start, end, left, indent):
        return None
    rows = [[entry.term, reduce(join_cells, entry.lines)] for entry in entries]
    return FoundTable((table_block(rows, taken),), len(taken))


def _indent(lines: Sequence[Line], start: int) -> float | None:
    """The left edge of the explanation of the term at the left of a line; None if the line has no term."""
    line = lines[start]
    if len(line.cells) > 1:
        indent = line.cells[1].left
    elif line.is_mono and start + 1 < len(lines):
        indent = lines[start + 1].box.left
    else:
        return None
    return indent if indent > line.box.left + _INDENT * line.size else None


def _part(line: Line, indent: float) -> tuple[str, str]:
    """The term and the explanation of a line, of which one may be ""; neither if it has words at other places."""
    words = [*_words(line)]
    place = sum(left < indent - _EDGE for _, left, _ in words)
    term, rest = words[:place], words[place:]
    if rest and rest[0][1] > indent + _EDGE:
        return "", ""
    if term and rest and rest[0][1] - term[-1][2] < _GAP * line.size:
        return "", ""
    if any(then[1] - first[2] > STRETCHED * line.size for first, then in pairwise(rest)):
        return "", ""
    return " ".join(text for text, _, _ in term), " ".join(text for text, _, _ in rest)


def _words(line: Line) -> Iterator[tuple[str, float, float]]:
    for cell in line.cells:
        yield from cell.words or [(cell.text, cell.left, cell.right)]


def _is_far(above: Line, line: Line, indent: float) -> bool:
    """Whether a line is too far below another to go on with its list, or with its explanation."""
    distance = line.box.middle - above.box.middle
    is_term = line.box.left < indent - _EDGE
    return not 0 < distance < (_FARTHEST if is_term else _PARAGRAPH) * max(line.box.height, above.box.height)


def _is_alone(lines: Sequence[Line], place: int, indent: float) -> bool:
    """Whether a line is a term that is too long for its column, with its explanation below it."""
    line, then = lines[place], lines[place + 1] if place + 1 < len(lines) else None
    if then is None or len(line.text) > _LONGEST_TERM:
        return False
    term, rest = _part(then, indent)
    is_name = line.is_mono or line.box.right > indent - _GAP * line.size
    is_near = 0 < then.box.middle - line.box.middle < _NEAR * line.box.height
    return is_name and is_near and rest != "" and not term


def _join_terms(entries: Sequence[_Entry], lines: Sequence[Line]) -> Iterator[_Entry]:
    """The entries; where terms are farther apart than lines, one as near as a line is the rest of another."""
    near = min((then.box.middle - first.box.middle for first, then in pairwise(lines)), default=0.0)
    far = sum(entry.distance > _WIDER_GAP * near for entry in entries)
    whole: _Entry | None = None
    for entry in entries:
        if whole is not None and far * 2 > len(entries) and entry.distance < _SAME_GAP * near:
            whole.term = join_cells(whole.term, entry.term)
            whole.lines += entry.lines
            continue
        if whole is not None:
            yield whole
        whole = entry
    if whole is not None:
        yield whole


def _are_descriptions(entries: Sequence[_Entry], lines: Sequence[Line]) -> bool:
    """Whether terms and explanations are a list whose rows no table would show."""
    terms = [entry.term for entry in entries]
    if len(terms) < _FEWEST_TERMS or sum(entry.is_beside for entry in entries) < _FEWEST_BESIDE:
        return False
    if all(entry.is_beside and len(entry.lines) == 1 for entry in entries):
        return False
    if any(MARKER.fullmatch(term) or has_leaders(term) or len(term) > _LONGEST_TERM for term in terms):
        return False
    if len(set(terms)) == 1 or all(term.isdigit() or term.startswith("[") for term in terms):
        return False
    # The rest of an explanation may be a name in letters of one width, and short.
    letters = sum(len(line.text) for line in lines)
    return sum(len(line.text) for line in lines if line.is_mono) * 2 < letters


def are_stretched(lines: Sequence[Line]) -> bool:
    """Whether the third cells of a list are ends of stretched lines: they end where the text does.

    A gap within a line of text is narrower than one between columns, and a column has its cells below each other.
    """
    edge = max(line.box.right for line in lines)
    ends = [line for line in lines if len(line.cells) > 2]
    lefts = {round(line.cells[-1].left) for line in ends}
    return (
        bool(ends)
        and all(
            len(line.cells) == 3
            and line.box.right > edge - _EDGE
            and line.cells[2].left - line.cells[1].right < _STRETCH * line.size
            and any(map(str.isalpha, line.cells[2].text))
            for line in ends
        )
        and (len(lefts) > 1 or len(ends) == 1)
    )


def _is_list(lines: Sequence[Line], start: int, end: int, left: float, indent: float) -> bool:
    """Whether the terms stand in a text, and not in its margin, where names stand beside its paragraphs."""
    right = max(line.box.right for line in lines)
    others = [*lines[:start], *lines[end:]]
    if any(
        line.box.left < left + _EDGE and line.box.right - line.box.left > _PROSE_WIDTH * (right - left)
        for line in others
    ):
        return True
    taken = lines[start:end]
    gaps = [
        then.box.middle - first.box.middle for first, then in pairwise(taken) if then.box.left > indent - _EDGE
    ]
    return bool(gaps) and max(gaps) < _WIDER_GAP * min(gaps)
