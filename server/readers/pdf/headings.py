"""Joins headings that were taken apart, finds those that only their numbers show, and gives them levels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
# "6.5.1 Title", with the numbers of all levels; "12. Title".
_SECTION = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4})\.?\s+(?P<title>\S.*)", re.S)
_CLAUSE = re.compile(r"(?P<number>\d{1,3})\.\s+(?P<title>\S.*)", re.S)
# In letters, and in points: a title that only its number shows is no longer and no higher.
_LONGEST_TITLE, _HIGHEST_TITLE = 110, 20.0
# An entry of a table of contents ends with its page; other marks go on with what follows.
_NO_TITLE_END = re.compile(r"(?:\s\d{1,4}|\.{2,}|[:;,…(-])\Z")
# So many clauses with following numbers have titles, most of whose words of so many letters begin with capitals.
_FEWEST_CLAUSES, _LONG_WORD, _CAPITAL_SHARE = 3, re.compile(r"[^\W\d_]{4,}"), 0.7
_TITLED_SHARE, _LONG_TEXT = 0.6, 160
# A sentence of more words is none.
_MOST_SENTENCE_WORDS = 5

Titles = Mapping[tuple[int, str], int]


@dataclass(frozen=True, slots=True)
class _Clause:
    """A line with a number, where it stands, and the heading that it may be; ``is_title``: it looks like one."""

    number: int
    place: tuple[int, int]
    heading: Block
    is_title: bool


def mend_headings(page: Page, titles: Titles) -> Page:
    """The page with whole headings. ``titles`` are the levels of the outline by page and ``title_key``."""
    blocks = map(_demote_caption, page.blocks)
    joined = _join_lines(list(_join_pieces(blocks)), page.number, titles)
    return replace(page, blocks=tuple(_with_level(block, page.number, titles) for block in joined))


def find_numbered(pages: Sequence[Page]) -> tuple[Page, ...]:
    """The pages with headings that are printed like their text, and that only their numbers show.

    "6.5.1 Title" is one below heading 6.5, or after 6.5.0; so are three or more like "12. Title" in a row.
    """
    found = {**_find_sections(pages), **_find_clauses(pages)}
    return tuple(
        replace(
            page, blocks=tuple(found.get((page.number, place), block) for place, block in enumerate(page.blocks))
        )
        for page in pages
    )


def _find_sections(pages: Iterable[Page]) -> dict[tuple[int, int], Block]:
    """The headings by page and place whose number is the next one after that of the heading before."""
    found: dict[tuple[int, int], Block] = {}
    levels: dict[int, int] = {}
    last: tuple[int, ...] = ()
    for page in pages:
        for place, block in enumerate(page.blocks):
            if (match := _SECTION.fullmatch(block.text)) is None:
                continue
            number = tuple(map(int, match["number"].split(".")))
            if block.kind is BlockKind.HEADING:
                last, levels[len(number)] = number, block.level
            elif len(number) > 1 and number in _next_numbers(last) and _may_be_title(page, place, match["title"]):
                level = min(levels.get(len(number), levels.get(len(number) - 1, 1) + 1), _DEEPEST_LEVEL)
                found[page.number, place] = replace(block, kind=BlockKind.HEADING, level=level, is_open=False)
                last, levels[len(number)] = number, level
    return found


def _next_numbers(last: Sequence[int]) -> set[tuple[int, ...]]:
    """The numbers that may follow this one: its first child, the next one of its level, or of one above."""
    after = {(*last[:depth], last[depth] + 1) for depth in range(len(last))}
    return after | {(*last, 1), (*last, 0)} if last else after


def _may_be_title(page: Page, place: int, title: str) -> bool:
    """Whether a block is one short line that begins with a capital, and what follows it is no such line."""
    block = page.blocks[place]
    if block.kind is not BlockKind.PARAGRAPH or block.box.height > _HIGHEST_TITLE or title[0].islower():
        return False
    if len(block.text) > _LONGEST_TITLE or not title[0].isalpha() or _NO_TITLE_END.search(block.text):
        return False
    if title.endswith(".") and len(title.split()) > _MOST_SENTENCE_WORDS:
        return False
    then = page.blocks[place + 1] if place + 1 < len(page.blocks) else None
    if then is None or then.kind is not BlockKind.PARAGRAPH:
        return True
    return not _SECTION.fullmatch(then.text) and not then.text[:1].islower()


def _find_clauses(pages: Iterable[Page]) -> dict[tuple[int, int], Block]:
    """The titles of numbered clauses by page and place: most are questions, or have words with capitals."""
    runs: list[list[_Clause]] = []
    ending: dict[int, list[_Clause]] = {}  # the latest run by its last number
    lowest = 0
    for page in pages:
        for place, block in enumerate(page.blocks):
            lowest = max(lowest, block.level * (block.kind is BlockKind.HEADING))
            if (clause := _clause(page, place)) is None:
                continue
            run = ending.pop(clause.number - 1, None)
            if run is None:
                runs.append(run := [])
            run.append(clause)
            ending[clause.number] = run
    level = min(lowest + 1, _DEEPEST_LEVEL)
    return {
        clause.place: replace(clause.heading, level=level) for run in filter(_are_titles, runs) for clause in run
    }


def _clause(page: Page, place: int) -> _Clause | None:
    """A block that may be the title of a clause: one line, and what follows it is no such line."""
    block = page.blocks[place]
    text = _with_marker(block)
    if block.kind not in (BlockKind.ITEM, BlockKind.PARAGRAPH) or block.box.height > _HIGHEST_TITLE:
        return None
    match = _CLAUSE.fullmatch(text)
    if match is None or len(text) > _LONGEST_TITLE or _NO_TITLE_END.search(text):
        return None
    then = page.blocks[place + 1] if place + 1 < len(page.blocks) else None
    if then is not None and _CLAUSE.fullmatch(_with_marker(then)):
        return None
    heading = Block(BlockKind.HEADING, text, block.box)
    return _Clause(int(match["number"]), (page.number, place), heading, _is_title(match["title"], then))


def _with_marker(block: Block) -> str:
    return f"{block.marker} {block.text}".strip()


def _are_titles(run: Sequence[_Clause]) -> bool:
    titled = sum(clause.is_title for clause in run)
    return titled >= _FEWEST_CLAUSES and titled > _TITLED_SHARE * len(run)


def _is_title(text: str, then: Block | None) -> bool:
    """Whether a text is a question, or most of its words begin with capitals and a long paragraph follows.

    The steps of a manual have capitals, too, but no long text below each.
    """
    if text.endswith("?"):
        return True
    words = _LONG_WORD.findall(text)
    has_text = then is None or (then.kind is BlockKind.PARAGRAPH and len(then.text) >= _LONG_TEXT)
    return has_text and sum(word[0].isupper() for word in words) > _CAPITAL_SHARE * len(words) > 0


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
