"""The first reader of PDF: liteparse finds words, fonts and drawn lines; PDFium finds what is hidden.

Importing this module starts the library: it starts its threads and loads PDFium at its first use, and the child
that reads files can do neither. The library's own class copies every word of a document into records of Python,
which takes as much memory again and a quarter of the time: its native class, of the version that is pinned, gives
the same attributes page by page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby, pairwise
from statistics import median
from typing import Any, BinaryIO

from liteparse._liteparse import LiteParse  # type: ignore[import-not-found]

from winnow.server.readers.formats.parsed_file import NotForThisReader, ParsedFile, ReadOptions
from winnow.server.readers.pdf.composition import ReadPages, compose
from winnow.server.readers.pdf.document import OpenPdf, bounded_texts, open_pdf
from winnow.server.readers.pdf.hidden_text import Cleaned, clean
from winnow.server.readers.pdf.layout import Box, Rules
from winnow.server.readers.pdf.line_layout import DrawnPage, TurnedText, lay_out_pages
from winnow.server.readers.pdf.lines import (
    BESIDE_BAR,
    CELL_GAP,
    Cell,
    Line,
    Word,
    are_equally_wide,
    do_letters_touch_at,
    font_at,
    has_bold_name,
    has_gap_at,
    has_one_width,
    split_cells,
    word_places,
)
from winnow.server.readers.pdf_characters.drawn_underscores import without_underscores
from winnow.server.readers.pdf_characters.font_gaps import find_changes, part_fonts, words_over
from winnow.server.readers.pdf_characters.ink_sizes import (
    box_of_line,
    box_of_runs,
    ink_size,
    join_sizes,
)
from winnow.server.readers.pdf_characters.letters import as_in_programs, has_shapes
from winnow.server.readers.pdf_characters.lost_text import LostText
from winnow.server.readers.pdf_characters.pieces import part_lines
from winnow.server.readers.pdf_characters.printed_signs import find_printed, has_signs
from winnow.server.readers.pdf_characters.raised_digits import MAY_BE_RAISED, drawn_size, find_raised
from winnow.server.readers.pdf_characters.thin_gaps import MAY_HAVE_GAP, find_gaps
from winnow.server.readers.pdf_characters.torn_words import HYPHEN
from winnow.server.readers.pdf_characters.turned_text import QuarterTurn, find_turn, part_turned
from winnow.server.text.markup.shaped_text import raise_number

# A vertical line: its place, and where it begins and ends.
Bar = tuple[float, float, float]
# Whether no letter of a word reaches over this place of a line; whether two letters touch there.
HasGap = Callable[[float, Box], bool]
DoTouch = Callable[[float, Box], bool]
# The name of the font of the first letter in a box.
FontOf = Callable[[Box], str]
# Whether the font of this name is bold.
IsBold = Callable[[str], bool]

# Japanese headings are in Gothic where the text is in Mincho.
_MINCHO, _GOTHIC = re.compile(r"mincho|ryumin", re.I), re.compile(r"gothic", re.I)
_MONO = re.compile(
    r"mono|monaco|andale|letter ?gothic|nimbusmon|cursor|courier|cmtt|tt\d+\b|typewriter|consol|menlo|inconsolata|"
    r"fixed|terminal|code|cmsltt|cmitt|txb?tt|\bt[1c]x(?:b|sl|it|sc)*tt|pcr|\b(?:SF|EC)(?:IT|ST|TC)\d",
    re.I,
)
# How much the widths of letters differ, word by word, in a font of one width; and where its name does not say so.
_MONO_SPREAD, _EXACT_SPREAD = 1.12, 1.01
_SLANTED = re.compile(r"ital|obli|slant|CMTI|CMSL|[ST]FTI|ECTI|(?<=\d)I\b|-It\b|LMRoman\d+-Italic", re.I)
# In points: drawn lines that are shorter or thicker are no rules.
_SHORTEST_RULE, _THICKEST_RULE, _MOST_RULES = 12.0, 3.0, 400
_BAR_ROOM = 6.0
# In points: a word that begins and ends farther from a vertical line reaches over it.
_OVER_BAR = 3.0
# In sizes of the text: two cells are farther apart. Of the width of a word beside a vertical line so much stays,
# since cells that stand below each other overlap.
_CELLS_APART, _LEFT_OF_WORD = CELL_GAP + 0.1, 0.5
# In sizes of the text a box behind a word is no higher; in points, pieces of one bar are no farther apart.
_BOX_LINES, _BAR_GAP = 1.9, 1.5
# So much of a bold line is bold: text that follows a term makes it none.
_BOLD_SHARE = 0.7
# A row of a table has bars beside and between its cells.
_CELL_BARS = 3
_SMALLEST = 0.1
# In heights of a line: a font whose stated size is smaller is drawn larger.
_STATED = 0.3
# A font whose stated size is larger, and whose words are no higher, is drawn smaller.
_OVERSTATED, _WORD = 1.5, re.compile(r"\w{2}")
# The first word is a number of a line if it is this much smaller than the second, and has no more digits.
_SMALL_NUMBER, _NUMBER_DIGITS = 0.85, 5
# A word with raised digits is higher than others of its font by this factor.
_RAISED_HEIGHT = 1.06
# The size of what follows such a number is not known exactly.
_ADVANCE_ROOM = 0.025
_MINUS = "\u2212"
_DASH_SIGNS = rf"-{HYPHEN}\u2010\u2013\u2212"
_DASH = re.compile(f"[{_DASH_SIGNS}]")
_DASHES_BEFORE = re.compile(rf"[{_DASH_SIGNS}][{_DASH_SIGNS}\s]{{0,9}}\Z")
_DASHES_AFTER = re.compile(rf"[{_DASH_SIGNS}\s]{{0,9}}[{_DASH_SIGNS}]")
_DIVIDED = re.compile(r"[^\W\d_]-\Z")
_POWER = re.compile(r"(?P<base>\d)\s?\^\s?\{?\s?(?P<exponent>[-+\u2212]?\s?\d{1,10})(?!\d)")
# In widths of a letter: words of a program that are nearer have no space between them. In sizes: nor have those of
# a font without a name, whose letters are set one by one.
_TOUCHING, _KERNED = 0.3, 0.08
# A sign of a formula that stands above or below the end of another one, in the parser's TeX.
_SCRIPT = re.compile(r"(?P<base>[^\W_])\$?[_^](?:\{(?P<script>[-+]?\w{1,20})\}|(?P<sign>\w))")
_HYPHENS = re.compile("-?\xad-?")
_TEX = re.compile(r"\\math[a-z]{1,6}(?![A-Za-z])|[{}_^]")  # any other command is a sign
_STRUCTURE = re.compile(r"\\(?:frac|sqrt|sum|int|prod|lim|begin)\b")
_ROOT = re.compile(r"\\sqrt\b")
_SMALLEST_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
)


def _make_parser(pages: Sequence[int] = ()) -> Any:
    """A parser that never renders a page; of all pages, or of those with these numbers."""
    return LiteParse(
        ocr_enabled=False,
        output_format="text",
        image_mode="off",
        emit_word_boxes=True,
        extract_annotations=True,
        extract_vector_graphics=True,
        max_pages=1_000_000,
        num_workers=1,
        quiet=True,
        target_pages=",".join(map(str, pages)) or None,
    )


def _parse_pages(data: bytes, pages: Sequence[int]) -> Iterable[Any]:
    found: Iterable[Any] = _make_parser(pages).parse_bytes(data).pages
    return found


def _start() -> Any:
    """A parser that has loaded its library."""
    parser = _make_parser()
    parser.parse_bytes(_SMALLEST_PDF)
    return parser


_PARSER = _start()


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a PDF. Raises ``UnreadableFile`` for what is no PDF, is encrypted, or has absurd pages."""
    opened = open_pdf(file, options)
    try:
        if not opened.is_upright:
            raise NotForThisReader("pages are turned or begin elsewhere, and cannot be moved")
        cleaned = clean(opened)
        pages = without_underscores(_PARSER.parse_bytes(cleaned.data).pages, cleaned.data, _parse_pages)
        drawn = _all_drawn(pages, opened, cleaned)
        return compose(opened, ReadPages("liteparse", tuple(lay_out_pages(drawn)), cleaned.objects), options)
    finally:
        opened.close()


def _all_drawn(pages: Sequence[Any], opened: OpenPdf, cleaned: Cleaned) -> list[DrawnPage]:
    lost = LostText(opened, cleaned.data)
    try:
        return [_drawn(page, opened, lost, cleaned) for page in pages]
    finally:
        lost.close()


def _drawn(page: Any, opened: OpenPdf, lost: LostText, cleaned: Cleaned) -> DrawnPage:
    """A page; where liteparse has hidden text or other letters than are printed, PDFium reads its lines."""
    rules = _rules(page.vector_graphics, page.text_items, partial(_do_touch, opened, page.page_num))
    if page.page_num in cleaned.unclean or lost.is_misread(page.page_num):
        return DrawnPage(page.page_num, page.height, tuple(lost.whole_page(page.page_num)), rules)
    lines = [*_page_lines(page, page.text_items, opened, rules)]
    has_hidden = bool(cleaned.objects[page.page_num].hidden)
    lines = lines if has_hidden else lost.complete(page.page_num, lines)
    found = lost.find(page.page_num, lines, has_hidden=has_hidden)
    if (turn := find_turn(page.text_items, page.width, page.height)) is None:
        return DrawnPage(page.page_num, page.height, (*lines, *found), rules)
    upright, turned = part_turned(page.text_items, turn)
    lines = [*_page_lines(page, upright, opened, rules), *found]
    return DrawnPage(
        page.page_num, page.height, tuple(lines), rules, _turned_back(turned, page, opened, rules, turn)
    )


def _turned_back(items: Sequence[Any], page: Any, opened: OpenPdf, rules: Rules, turn: QuarterTurn) -> TurnedText:
    """The lines of turned items, and the rules of their page, as they are once it is turned back."""
    turned_rules = turn.rules(rules)
    lines: list[Line] = []
    for item in items:
        piece = turn.item(item)
        size = round(max(_SMALLEST, min(item.font_size or piece.height, _OVERSTATED * piece.height)), 1)
        is_bold = _is_bold(item, opened, page.page_num, has_bold_name)
        lines += _lines(
            piece, _box(piece), size, is_bold, (), turned_rules, {}, lambda x, box: False, lambda box: ""
        )
    return TurnedText(tuple(lines), turned_rules)


def _page_lines(page: Any, items: Iterable[Any], opened: OpenPdf, rules: Rules) -> Iterator[Line]:
    links = [(_box(link.rect), link.uri) for link in page.annotations or () if link.uri and link.rect]
    has_gap, font_of = partial(_has_gap, opened, page.page_num), partial(_font_of, opened, page.page_num)
    printed = {
        **_parted_words(page, opened),
        **_spaced_words(page, opened),
        **_printed_words(page, opened),
        **_raised_words(page, opened),
    }
    is_bold_font = _bold_fonts(page.text_items)
    formulas, plain = [], []
    for item in (part for whole in items for part in part_lines(whole)):
        text = item.text.strip()
        if "$" in text and _has_formula(item, text):
            formulas.append(item)
        elif text and not has_shapes(item.font_name or ""):
            plain.append(item)
    for item, (size, box) in zip(plain, _sizes(plain, page.page_num, opened), strict=True):
        is_bold = _is_bold(item, opened, page.page_num, is_bold_font)
        lines = _lines(item, box, size, is_bold, links, rules, printed, has_gap, font_of)
        if _is_slanted(item, font_of):
            lines = (replace(line, is_slanted=True) for line in lines)
        yield from lines if item.font_name else _with_true_widths(lines, opened, page.page_num)
    if formulas:
        yield from _formula_lines(opened, page, formulas, rules)


def _sizes(items: Sequence[Any], number: int, opened: OpenPdf) -> Iterator[tuple[float, Box]]:
    """The size of each item as it is drawn, and its box; of bitmap fonts, which state none, by their ink."""
    known: dict[tuple[str, float], float] = {}
    sizes = [_size(item, number, opened, known) for item in items]
    inked = [item for item, size in zip(items, sizes, strict=True) if not size]
    found = iter(
        join_sizes([(ink_size(item.text, item.height), len(item.text)) for item in inked]) if inked else ()
    )
    for item, size in zip(items, sizes, strict=True):
        if size:
            yield size, _box(item)
        else:
            drawn = max(_SMALLEST, next(found))
            yield drawn, box_of_line(item.text, _box(item), drawn)


def _with_true_widths(lines: Iterable[Line], opened: OpenPdf, number: int) -> Iterator[Line]:
    """Lines in a font without a name: letters that are as wide as those of a typewriter in the mean may differ."""
    textpage, height = opened.texts.of(number)
    for line in lines:
        places = [*word_places(textpage, line.box, height)] if line.is_mono else []
        yield replace(line, is_mono=line.is_mono and are_equally_wide(textpage, places))


def _size(item: Any, number: int, opened: OpenPdf, known: dict[tuple[str, float], float]) -> float:
    """The size of an item as it is drawn: some programs state 1 and enlarge it, or a large one and shrink it.

    0 where that is less than its letters are high, as with bitmap fonts. ``known``: by font and height.
    """
    height = round(float(item.height), 1)
    stated: float = item.font_size or height
    if stated < _STATED * height:
        key = (item.font_name or "", height)
        if key not in known:
            drawn = drawn_size(opened, number, _box(item))
            known[key] = 0.0 if 0 < drawn < _STATED * height and not item.rotation else drawn or height
        stated = known[key]
        if not stated:
            return 0.0
    if stated > _OVERSTATED * height and not item.rotation and _WORD.search(item.text):
        stated = height
    return round(max(_SMALLEST, stated), 1)


def _bold_fonts(items: Sequence[Any]) -> IsBold:
    """Whether a font of a page with these items is bold: Gothic is, beside more text in Mincho."""
    mincho = sum(len(item.text) for item in items if _MINCHO.search(item.font_name or ""))
    if mincho <= (mincho and sum(len(item.text) for item in items if _GOTHIC.search(item.font_name or ""))):
        return has_bold_name
    return lambda font: has_bold_name(font) or bool(_GOTHIC.search(font))


def _is_bold(item: Any, opened: OpenPdf, number: int, is_bold_font: IsBold) -> bool:
    """Whether most of an item is bold: its stated font is that of its first word, and text may follow a term."""
    if not is_bold_font(item.font_name or ""):
        return False
    words = item.words
    ends = list(accumulate(len(word.text) for word in words))
    place = next((at for at, end in enumerate(ends) if end > _BOLD_SHARE * ends[-1]), 0)
    if place == 0:
        return True
    textpage, height = opened.texts.of(number)
    font = font_at(textpage, _box(words[place]), height)
    if _MONO.search(font):
        # A name in a heading, unless it follows "See also:".
        return not any(word.text.endswith(":") for word in words[:place])
    return not font or is_bold_font(font)


def _is_slanted(item: Any, font_of: FontOf) -> bool:
    """Whether an item begins and ends in italics: its stated font is that of its first word."""
    if not _SLANTED.search(item.font_name or ""):
        return False
    return len(item.words) < 2 or bool(_SLANTED.search(font_of(_box(item.words[-1]))))


def _has_formula(item: Any, text: str) -> bool:
    """Whether the parser has made TeX of a part of an item: that part is not among its words."""
    return "".join(word.text for word in item.words) != text.replace(" ", "")


def _formula_lines(opened: OpenPdf, page: Any, formulas: Sequence[Any], rules: Rules) -> Iterator[Line]:
    """The source of the parser's TeX: the signs that are printed, unless its structure is more than its signs.

    Bars part the signs into cells.
    """
    parts = [[*_cell_boxes(_box(item), rules)] for item in formulas]
    texts = iter(bounded_texts(opened, page.page_num, [box for boxes in parts for box in boxes]))
    has_root = any(_ROOT.search(item.text) for item in formulas)
    runs = opened.texts.runs(page.page_num) if has_root else ()
    for item, boxes in zip(formulas, parts, strict=True):
        printed = [(_with_scripts(own_signs(next(texts), item.text), item.text).strip(), box) for box in boxes]
        cells = tuple(Cell(text, box.left, box.right) for text, box in printed if text)
        box = _box(item)
        if _STRUCTURE.search(item.text) or not cells:
            cells = (Cell(item.text.strip(), box.left, box.right),)
            box = box_of_runs(box, runs) if set(_STRUCTURE.findall(item.text)) == {"\\sqrt"} else box
        size = round(max(_SMALLEST, item.font_size or box.height), 1)
        yield Line(box, size, has_bold_name(item.font_name or ""), cells)


def _cell_boxes(box: Box, rules: Rules) -> Iterator[Box]:
    """The parts of a box between the bars in it."""
    for left, right in pairwise((box.left, *_bars(box, rules), box.right)):
        yield replace(box, left=left, right=right)


def own_signs(printed: str, formula: str) -> str:
    r"""The signs that are printed in a box, without the letters beside it whose boxes overlap that of a formula.

    The two programs have different signs for a minus; a hyphen at the end of a line, which divides a word, is lost
    where a letter of the next line follows.

    >>> own_signs("the CST", r"the $\mathcal{C}$"), own_signs("CST", r"$\mathcal{S}$"), own_signs("a + b", "$a+c$")
    ('the C', 'S', 'a + b')
    >>> own_signs("γ1(G)", r"$\gamma_{1}(G)$"), own_signs("e -x 2", r"e$^{-x}$")
    ('γ1(G)', 'e -x')
    >>> own_signs("a -x 2", r"$-x$")
    '-x'
    """
    parts = (_TEX.sub("", part) if place % 2 else part for place, part in enumerate(formula.split("$")))
    source = "".join("".join(parts).split())
    signs = "".join(filter(_is_sign, source))
    places = [place for place, sign in enumerate(printed) if _is_sign(sign)]
    first = "".join(printed[place] for place in places).find(signs)
    if not signs or first < 0:
        return printed
    start, end = places[first], places[first + len(signs) - 1] + 1
    if _DASH.match(source[0]) and (found := _DASHES_BEFORE.search(printed[:start])):
        start = found.start()
    if _DASH.match(source[-1]) and (found := _DASHES_AFTER.match(printed, end)):
        end = found.end()
    own = printed[start:end]
    return own + HYPHEN if _DIVIDED.search(formula) and own[-1].isalpha() else own


def _is_sign(sign: str) -> bool:
    return not (sign.isspace() or _DASH.match(sign))


def _with_scripts(text: str, formula: str) -> str:
    return join_scripts(with_powers(text, formula), formula)


def join_scripts(text: str, formula: str) -> str:
    r"""The printed signs of a formula, without a blank between a letter and what is raised or lowered beside it.

    >>> join_scripts("of order q n · p", r"of order q$^{n}\cdot$ p"), join_scripts("x i and y", r"$x_{i}$ and y")
    ('of order qn · p', 'xi and y')
    >>> join_scripts("e \u2212x of x", "e$^{-x}$ of x") == "e\u2212x of x"
    True
    """
    shown, at = text, 0
    for found in _SCRIPT.finditer(formula):
        script = found["script"] or found["sign"]
        sign = r"[-+\u2212\u2013]" if script[0] in "-+" else ""
        printed = re.compile(rf"(?<![^\W_]){found['base']}\s{sign}{script.lstrip('-+')}(?![^\W_])")
        if (place := printed.search(shown, at)) is not None:
            shown = f"{shown[: place.start() + 1]}{shown[place.start() + 2 :]}"
            at = place.start() + 1
    return shown


def with_powers(text: str, formula: str) -> str:
    """The printed signs of a formula, with raised digits where an exponent follows a digit."""
    shown, at = " ".join(text.split()), 0
    for power in _POWER.finditer(formula):
        exponent = "".join(power["exponent"].split())
        sign = r"[-+\u2212\u2013]\s?" if not exponent[0].isdigit() else ""
        printed = re.compile(rf"(?<={power['base']})\s?{sign}{exponent.lstrip('-+' + _MINUS)}(?!\d)")
        if (found := printed.search(shown, at)) is not None:
            raised = raise_number(exponent)
            shown = shown[: found.start()] + raised + shown[found.end() :]
            at = found.start() + len(raised)
    return shown


def _rules(graphics: Any, items: Sequence[Any], do_touch: DoTouch) -> Rules:
    """The lines that are drawn across or down, and not the strokes of letters nor the sides of boxes in a line."""
    size = median([item.height for item in items] or [0])
    across, down = set(), set()
    for line in graphics.lines if graphics else ():
        left, right, top, bottom = *sorted((line.x1, line.x2)), *sorted((line.y1, line.y2))
        if right - left >= _SHORTEST_RULE and bottom - top < _THICKEST_RULE:
            across.add((round(top, 1), left, right))
        elif bottom - top >= _SHORTEST_RULE / 2 and right - left < _THICKEST_RULE:
            down.add((round(left, 1), top, bottom))
    bars = sorted(down)[:_MOST_RULES]
    found = {*_long_bars(bars, _BOX_LINES * size), *_framed_bars(bars, across)}
    bars = sorted(found.difference(*_boxes_behind_words(found, items, do_touch)))
    return Rules(tuple(sorted(across)[:_MOST_RULES]), tuple(bars))


def _long_bars(bars: Sequence[Bar], least: float) -> Iterator[Bar]:
    """The bars that go on, in one piece or several, over more than a line: a box behind a word has no others."""
    for _, group in groupby(bars, lambda bar: round(bar[0])):
        run: list[Bar] = []
        for bar in sorted(group, key=lambda bar: bar[1]):
            if run and bar[1] > max(end for _, _, end in run) + _BAR_GAP:
                yield from run if _length(run) > least else ()
                run = []
            run.append(bar)
        yield from run if _length(run) > least else ()


def _framed_bars(bars: Sequence[Bar], across: Iterable[Bar]) -> Iterator[Bar]:
    """The bars of a row of a table: beside and between its cells, from a rule over all of them to one below."""
    across = sorted(across)
    for row in _rows(bars):
        _, top, bottom = row[0]
        # The bars at both ends of the row may be longer.
        beside = [x for x, start, end in bars if start <= top + _BAR_GAP and end >= bottom - _BAR_GAP]
        first, last = min(beside) + _BAR_GAP, max(beside) - _BAR_GAP
        over = [y for y, left, right in across if left <= first and right >= last]
        if len(beside) >= _CELL_BARS and all(any(abs(y - end) <= _BAR_GAP for y in over) for end in (top, bottom)):
            yield from row


def _boxes_behind_words(bars: Iterable[Bar], items: Sequence[Any], do_touch: DoTouch) -> Iterator[Sequence[Bar]]:
    """The sides of boxes behind the syllables of a word, each of which has one that touches the next.

    They are as high as a line, and stand where two letters of the word touch. So may words that run over their
    cell, but there the bars go on above or below.
    """
    for row in _rows(sorted(bars)):
        if len(row) < _CELL_BARS or not _is_behind_word(row, items, do_touch):
            continue
        if not any(_goes_on(bar, bars) for bar in row[1:-1]):
            yield row


def _is_behind_word(row: Sequence[Bar], items: Sequence[Any], do_touch: DoTouch) -> bool:
    """Whether letters of a word touch at all bars of a row that it reaches over; they are as high as a line."""
    _, top, bottom = row[0]
    level = [word for item in items if top < _box(item).middle < bottom for word in item.words]
    for word in level:
        box = _box(word)
        over = [x for x, _, _ in row[1:-1] if _is_over(box.left, box.right, x)]
        if over and bottom - top < _BOX_LINES * box.height and all(do_touch(x, box) for x in over):
            return True
    return False


def _goes_on(bar: Bar, bars: Iterable[Bar]) -> bool:
    """Whether another bar begins where this one ends, or ends where it begins."""
    x, top, bottom = bar
    return any(
        abs(other - x) <= _BAR_GAP and min(abs(end - top), abs(start - bottom)) <= _BAR_GAP
        for other, start, end in bars
    )


def _rows(bars: Iterable[Bar]) -> Iterable[list[Bar]]:
    """Bars that begin and end at the same heights, from left to right as they come."""
    rows: dict[tuple[int, int], list[Bar]] = defaultdict(list)
    for bar in bars:
        rows[round(bar[1]), round(bar[2])].append(bar)
    return rows.values()


def _is_over(left: float, right: float, bar: float) -> bool:
    return left + _OVER_BAR < bar < right - _OVER_BAR


def _length(run: Sequence[Bar]) -> float:
    return max(end for _, _, end in run) - run[0][1]


def _printed_words(page: Any, opened: OpenPdf) -> Mapping[tuple[float, float], str]:
    """The words that are printed with other signs than the parser writes, by their places."""
    words = [
        word for item in page.text_items if has_signs(item.text) for word in item.words if has_signs(word.text)
    ]
    texts = find_printed(opened, page.page_num, [(word.text, _box(word)) for word in words])
    return {(word.x, word.y): text for word, text in zip(words, texts, strict=True) if text != word.text}


def _parted_words(page: Any, opened: OpenPdf) -> Mapping[tuple[float, float], str]:
    """The words that are two in two fonts, by their places."""
    changes = find_changes(opened, page.page_num)
    words = [word for item in page.text_items for word in words_over(item, changes)] if changes else []
    texts = part_fonts(opened, page.page_num, [(word.text, _box(word)) for word in words])
    return {(word.x, word.y): text for word, text in zip(words, texts, strict=True) if text != word.text}


def _spaced_words(page: Any, opened: OpenPdf) -> Mapping[tuple[float, float], str]:
    """The words with a thin space after a comma, by their places."""
    items = [item for item in page.text_items if MAY_HAVE_GAP.search(item.text)]
    words = [word for item in items for word in item.words if MAY_HAVE_GAP.search(word.text)]
    texts = find_gaps(opened, page.page_num, [(word.text, _box(word)) for word in words])
    return {(word.x, word.y): text for word, text in zip(words, texts, strict=True) if text != word.text}


def _raised_words(page: Any, opened: OpenPdf) -> Mapping[tuple[float, float], str]:
    """The words with raised digits by their places: those that are higher than others of their font."""
    numbered = [item for item in page.text_items if MAY_BE_RAISED.search(item.text)]
    by_font: dict[tuple[str, float], list[Any]] = {}
    for item in numbered:
        by_font.setdefault((item.font_name or "", round(item.font_size or 0, 1)), []).extend(item.words)
    found = []
    for words in filter(None, by_font.values()):
        heights = [word.height for word in words]
        least = _RAISED_HEIGHT * min(heights)
        found += [
            word
            for word, height in zip(words, heights, strict=True)
            if height > least and MAY_BE_RAISED.search(word.text)
        ]
    if not found:
        return {}
    texts = find_raised(opened, page.page_num, [(word.text, _box(word)) for word in found])
    return {(word.x, word.y): text for word, text in zip(found, texts, strict=True)}


def _lines(
    item: Any,
    box: Box,
    size: float,
    is_bold: bool,
    links: Sequence[tuple[Box, str]],
    rules: Rules,
    printed: Mapping[tuple[float, float], str],
    has_gap: HasGap,
    font_of: FontOf,
) -> Iterator[Line]:
    """An item of text with its cells: words with a wide gap or a drawn line between them are two.

    The font and size of an item are those of its first word: the small number of a program line is a line apart.
    """
    font = item.font_name or ""
    words = whole_words(item, printed)
    if words and not font:
        words = [*join_touching(words, _KERNED * size)]
    if not words:
        yield Line(box, size, is_bold, (Cell(_shown(item.text.strip()), box.left, box.right),))
        return
    if len(words) > 1 and len(words[0][0]) <= _NUMBER_DIGITS and words[0][0].isdigit():
        heights = [word.height for word in item.words[:2]]
        if heights[0] < _SMALL_NUMBER * heights[1] or _is_program(words[1:], item, font_of):
            number = words.pop(0)
            yield Line(replace(box, right=number[2]), size, False, (Cell(*number),))
            box = replace(box, left=words[0][1])
            size, is_bold = round(min(size * heights[1] / heights[0], heights[1]), 1), False
            font = _shared_font(item.words[1:], font_of)
    is_mono = _is_mono(words, font, size)
    if is_mono:
        room = _TOUCHING * (words[0][2] - words[0][1]) / len(words[0][0])
        words = [(as_in_programs(text), left, right) for text, left, right in join_touching(words, room)]
    if rules.vertical:
        words = list(_part_at_bars(list(_split_at_bars(words, box, rules, has_gap)), box, rules, size))
    if links:
        words = _with_links(words, box, links)
    yield Line(box, size, is_bold, tuple(split_cells(words, size)), is_mono)


def whole_words(item: Any, printed: Mapping[tuple[float, float], str]) -> list[Word]:
    """The words of an item; those without a blank between them in its text are one that was torn.

    ``printed``: the words that are printed otherwise than the parser writes them, by their places.
    """
    text, at = item.text.strip(), 0
    words = item.words
    texts = [word.text for word in words]
    if not printed and text.split() == texts:
        return [(_shown(shown), word.x, word.x + word.width) for shown, word in zip(texts, words, strict=True)]
    apart: list[Word] = []
    whole: list[Word] = []
    is_torn = is_known = True
    for word, found in zip(words, texts, strict=True):
        left = word.x
        shown, right = _shown(printed.get((left, word.y), found)), left + word.width
        apart.append((shown, left, right))
        is_known = is_known and text.startswith(found, at)
        if whole and is_torn:
            before, left, _ = whole.pop()
            shown = before + shown
        whole.append((shown, left, right))
        at += len(found)
        is_torn = not text[at : at + 1].isspace()
        at += len(text[at:]) - len(text[at:].lstrip())
    return whole if is_known else apart


def _is_program(words: Sequence[Word], item: Any, font_of: FontOf) -> bool:
    """Whether the words behind the number of a line are in a font of one width, and the number is not."""
    if _MONO.search(item.font_name or "") or len(item.words) < 2 or item.words[1].text != words[0][0]:
        return False
    widths = [(right - left) / len(text) for text, left, right in words if len(text) > 2]
    is_likely = bool(widths) and max(widths) < _EXACT_SPREAD * min(widths)
    return is_likely and bool(_MONO.search(font_of(_box(item.words[1]))))


def _shared_font(words: Sequence[Any], font_of: FontOf) -> str:
    """The font of the words behind the number of a line, if the one in the middle and the last share it; or ""."""
    middle, last = (font_of(_box(word)) for word in (words[len(words) // 2], words[-1]))
    return last if middle == last else ""


def _is_mono(words: Sequence[Word], font: str, size: float) -> bool:
    """Whether all letters are equally wide, by the widths of the words: the font is that of the first alone."""
    if not font:
        return has_one_width(words, size, _ADVANCE_ROOM, 1)
    widths = [(right - left) / len(text) for text, left, right in words if len(text) > 2]
    if len(widths) < 2:
        return bool(_MONO.search(font))
    spread = max(widths) / max(min(widths), 0.1)
    return spread < _MONO_SPREAD if _MONO.search(font) else len(widths) > 3 and spread < _EXACT_SPREAD


def join_touching(words: Sequence[Word], room: float) -> Iterator[Word]:
    """The words; those that are nearer than this, in points, are one."""
    text, left, right = words[0]
    for then, start, end in words[1:]:
        if -room < start - right < room:
            text, right = text + then, end
        else:
            yield text, left, right
            text, left, right = then, start, end
    yield text, left, right


def _shown(text: str) -> str:
    """The text as it is printed: some programs write a hyphen as a soft one, or as both in one place."""
    return _HYPHENS.sub("-", text)


def _has_gap(opened: OpenPdf, number: int, x: float, box: Box) -> bool:
    textpage, height = opened.texts.of(number)
    return has_gap_at(textpage, x, height - box.middle, box.height)


def _font_of(opened: OpenPdf, number: int, box: Box) -> str:
    textpage, height = opened.texts.of(number)
    return font_at(textpage, box, height)


def _do_touch(opened: OpenPdf, number: int, x: float, box: Box) -> bool:
    textpage, height = opened.texts.of(number)
    return do_letters_touch_at(textpage, x, height - box.middle, box.height)


def _split_at_bars(words: Sequence[Word], box: Box, rules: Rules, has_gap: HasGap) -> Iterator[Word]:
    """The words; one that stands on both sides of a vertical line is two, unless it only runs over its cell.

    One that ends beyond the last line does.
    """
    bars = rules.bars_at(box.middle)
    for text, left, right in words:
        over = [bar for bar in bars if _is_over(left, right, bar)]
        if over and over[-1] == bars[-1]:
            over = []
        for bar in over if all(has_gap(bar, box) for bar in over) else ():
            place = round((bar - left) / max(right - left, 0.1) * len(text))
            if 0 < place < len(text):
                yield text[:place], left, bar - _BAR_ROOM
                text, left = text[place:], bar + _BAR_ROOM
        yield text, left, right


def _part_at_bars(words: Sequence[Word], box: Box, rules: Rules, size: float) -> Iterator[Word]:
    """The words; two with a vertical line between them are as far apart as cells are, if their widths allow it."""
    bars = _bars(box, rules)
    lefts, rights = [left for _, left, _ in words], [right for _, _, right in words]
    for then in range(1, len(words)):
        first = then - 1
        # A word that runs over its cell ends behind the bar, and the next one begins close to it.
        if any(
            rights[first] <= bar <= lefts[then] or lefts[first] < bar <= lefts[then] <= bar + BESIDE_BAR
            for bar in bars
        ):
            room = max(0.0, (_CELLS_APART * size - (lefts[then] - rights[first])) / 2)
            rights[first] -= min(room, _LEFT_OF_WORD * (rights[first] - lefts[first]))
            lefts[then] += min(room, _LEFT_OF_WORD * (rights[then] - lefts[then]))
    return zip((text for text, _, _ in words), lefts, rights, strict=True)


def _bars(box: Box, rules: Rules) -> list[float]:
    return [x for x in rules.bars_at(box.middle) if box.left < x < box.right]


def _with_links(words: list[Word], box: Box, links: Sequence[tuple[Box, str]]) -> list[Word]:
    """The words with a Markdown link around those that lead somewhere else than they say."""
    for area, uri in links:
        if not area.top <= box.middle <= area.bottom:
            continue
        held = [
            place for place, (_, left, right) in enumerate(words) if area.left <= (left + right) / 2 <= area.right
        ]
        if not held or _shows("".join(words[place][0] for place in held), uri) or "](" in words[held[-1]][0]:
            continue
        first, last = held[0], held[-1]
        words[first] = (f"[{words[first][0]}", *words[first][1:])
        words[last] = (f"{words[last][0]}]({uri})", *words[last][1:])
    return words


def _shows(text: str, uri: str) -> bool:
    """Whether a text has the address that it leads to, or is a part of it that goes on in the next line."""
    return uri.rstrip("/") in text or text.strip("()<>.,/") in uri


def _box(box: Any) -> Box:
    return Box(box.x, box.y, box.x + box.width, box.y + box.height)
