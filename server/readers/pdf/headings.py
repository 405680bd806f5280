"""Joins headings that were taken apart, and gives them the levels of the outline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from winnow.server.readers.pdf.document import Bookmark
from winnow.server.readers.pdf.layout import Block, BlockKind, Page
from winnow.server.text.markup.captions import is_caption

# Lines of one heading are this near, in heights of a line.
_LINE_GAP = 0.75
# Where the second begins with a small letter: the box of a heading of several lines may be that of its first.
_OPEN_GAP = 2.0
_LONGEST_HEADING = 300
_DEEPEST_LEVEL = 6
# "3", "3.1", "IV.", "A.2", "Chapter 3": such a line begins a heading of its own.
_NUMBERED = re.compile(
    r"\A(?:(?i:chapter|section|part|appendix|kapitel|teil)\s+)?"
    r"(?:\d+(?:\.\d+)*[.:)]?|[IVXLC]+[.:)]|[A-Z](?:\.\d+)+[.:)]?|[A-Z][.:)])\s"
)

Titles = Mapping[tuple[int, str], int]


def mend_headings(page: Page, titles: Titles) -> Page:
    """The page with whole headings. ``titles`` are the levels of the outline by page and ``title_key``."""
    blocks = map(_demote_caption, page.blocks)
    joined = _join_lines(list(_join_pieces(blocks)), page.number, titles)
    return replace(page, blocks=tuple(_with_level(block, page.number, titles) for block in joined))


def outline_titles(bookmarks: Iterable[Bookmark]) -> Titles:
    """The level of each title of an outline, by page and key."""
    keyed = ((entry, title_key(entry.title)) for entry in bookmarks)
    return {(entry.page, key): min(entry.depth, _DEEPEST_LEVEL) for entry, key in keyed if key}


def title_key(text: str) -> str:
    """A title without its number, spaces, marks and case, to compare what is written in two places."""
    return "".join(c for c in _NUMBERED.sub("", text).casefold() if c.isalnum())


def _demote_caption(block: Block) -> Block:
    """A caption in letters of its own size is no heading: what follows does not belong below it."""
    if block.kind is BlockKind.HEADING and is_caption(block.text):
        return replace(block, kind=BlockKind.PARAGRAPH, level=0)
    return block


def _join_pieces(blocks: Iterable[Block]) -> Iterator[Block]:
    """Join headings that stand on one line: a title over two columns comes in two pieces, apart."""
    left = list(blocks)
    while left:
        first = left.pop(0)
        if first.kind is BlockKind.HEADING:
            while (place := _piece_beside(first, left)) is not None:
                first = _join(*sorted((first, left.pop(place)), key=lambda piece: piece.box.left))
        yield first


def _piece_beside(heading: Block, others: list[Block]) -> int | None:
    """The place of a heading on the same line, less than a letter's width to the right or left."""
    for place, other in enumerate(others):
        if other.kind is not BlockKind.HEADING or not _is_same_line(heading, other):
            continue
        gap = max(heading.box.left, other.box.left) - min(heading.box.right, other.box.right)
        if abs(gap) < heading.box.height * 1.2:
            return place
    return None


def _is_same_line(one: Block, other: Block) -> bool:
    height = max(one.box.height, other.box.height, 1)
    return abs(one.box.top - other.box.top) < height / 4 and abs(one.box.bottom - other.box.bottom) < height / 4


def _join_lines(blocks: list[Block], number: int, titles: Titles) -> list[Block]:
    """Join headings whose lines follow each other closely, unless the second is a heading of its own."""
    out: list[Block] = []
    for block in blocks:
        if out and _goes_on(out[-1], block) and not _is_own(block, out[-1], number, titles):
            out[-1] = _join(out[-1], block)
        else:
            out.append(block)
    return out


def _goes_on(first: Block, then: Block) -> bool:
    """Two headings of one level and size, one close below the other."""
    if first.kind is not BlockKind.HEADING or then.kind is not BlockKind.HEADING or first.level != then.level:
        return False
    gap = then.box.top - first.box.bottom
    overlap = min(first.box.right, then.box.right) - max(first.box.left, then.box.left)
    widest = _OPEN_GAP if then.text[:1].islower() else _LINE_GAP
    return -then.box.height / 2 < gap < widest * then.box.height and overlap > 0


def _is_own(block: Block, before: Block, number: int, titles: Titles) -> bool:
    if (number, title_key(before.text)) in titles or len(before.text) + len(block.text) > _LONGEST_HEADING:
        return True
    return bool(_NUMBERED.match(block.text)) or (number, title_key(block.text)) in titles


def _join(first: Block, then: Block) -> Block:
    text = f"{first.text[:-1]}{then.text}" if _ends_torn(first.text, then.text) else f"{first.text} {then.text}"
    return replace(first, text=text, box=first.box.join(then.box))


def _ends_torn(first: str, then: str) -> bool:
    return first.endswith("-") and then[:1].islower()


def _with_level(block: Block, number: int, titles: Titles) -> Block:
    """A heading, or a short paragraph that the outline names, with the level of the outline."""
    if block.kind not in (BlockKind.HEADING, BlockKind.PARAGRAPH) or len(block.text) > _LONGEST_HEADING:
        return block
    level = titles.get((number, title_key(block.text)))
    if level is None:
        return block
    return replace(block, kind=BlockKind.HEADING, level=level)
