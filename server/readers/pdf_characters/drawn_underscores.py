r"""Underscores that are drawn as lines: liteparse takes some for the bar of a fraction, whose parts it looks for.

The parts are letters of the lines above and below, which lose them: "socket" and "buffering" around ``rpi_tcp``
are read as "socke", ``rpi\frac{t}{t}tcp`` and "buf ering".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.pdf.document import save
from winnow.server.readers.pdf.letters import Letter, count_places, letters_of

# Reads some pages of a PDF, by their numbers.
ParsePages = Callable[[bytes, Sequence[int]], Iterable[Any]]

# In points: an underscore is no longer and no thicker; the letter before it begins no farther to its left, and
# that after it no farther from its end.
_LONGEST, _THICKEST, _BEFORE, _AFTER = 12.0, 2.0, 14.0, 4.0
# In points: it lies on the line that letters stand on. The bar of a fraction is a quarter of a letter above it.
_ON_LINE = 1.2
# A page with more lines is a drawing.
_MOST_PATHS = 2_000
# Of the letters of a page.
_LEAST_KEPT = 0.9


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of liteparse with other items of text: its attributes."""

    page_num: int
    width: float
    height: float
    text_items: Sequence[Any]
    annotations: Any
    vector_graphics: Any


def without_underscores(pages: Sequence[Any], data: bytes, parse: ParsePages) -> list[Any]:
    """The pages of liteparse; those where a drawn underscore was read as a fraction, as they are without it."""
    numbers = [page.page_num for page in pages if any(r"\frac" in item.text for item in page.text_items)]
    if not numbers:
        return [*pages]
    document = pypdfium2.PdfDocument(data)
    try:
        cleared = [number for number in numbers if _clear(document, number)]
        again = {page.page_num: page for page in parse(save(document), cleared)} if cleared else {}
    finally:
        document.close()
    return [_repaired(page, again[page.page_num]) if page.page_num in again else page for page in pages]


def _repaired(page: Any, again: Any) -> _Page:
    """A page with those items of its second reading that have other letters: PDFium writes no bullet of some."""
    first = {_place(item): item for item in page.text_items}
    items = [first.get(_place(item), item) for item in again.text_items]
    return _Page(page.page_num, page.width, page.height, items, page.annotations, page.vector_graphics)


def _place(item: Any) -> tuple[str, int, int]:
    """The letters of an item, and in points its right end and its bottom."""
    letters = "".join(filter(str.isalnum, item.text))
    return letters, round(item.x + item.width), round(item.y + item.height)


def _clear(document: Any, number: int) -> bool:
    """Whether a page had underscores that could be removed, with nearly all letters, none of them elsewhere."""
    page = document[number - 1]
    try:
        letters = letters_of(page)
        found = [*_underscores(page, letters)]
        for line in found:
            pdfium.FPDFPage_RemoveObject(page, line)
            pdfium.FPDFPageObj_Destroy(line)
        page.gen_content()
    finally:
        page.close()
    before, after = count_places(letters), count_places(_letters_again(document, number))
    return bool(found) and after <= before and after.total() >= _LEAST_KEPT * before.total()


def _letters_again(document: Any, number: int) -> list[Letter]:
    page = document[number - 1]
    try:
        return letters_of(page)
    finally:
        page.close()


def _underscores(page: Any, letters: Iterable[Letter]) -> Iterator[Any]:
    """The handles of short lines between two letters, on the line that these stand on."""
    levels: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, x, y in letters:
        levels[round(y)].append((x, y))
    for places in levels.values():
        places.sort()
    for drawn in islice(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_PATH], max_depth=1), _MOST_PATHS):
        left, bottom, right, top = drawn.get_bounds()
        if right - left > _LONGEST or top - bottom > _THICKEST:
            continue
        is_after = _has_letter(levels, left - _BEFORE, left, top)
        if is_after and _has_letter(levels, right - _ON_LINE, right + _AFTER, top):
            yield drawn.raw


def _has_letter(levels: Mapping[int, Sequence[tuple[float, float]]], left: float, right: float, y: float) -> bool:
    """Whether a letter begins between two places on the line at this height. ``levels``: sorted, by height."""
    return any(
        abs(height - y) <= _ON_LINE
        for level in range(round(y - _ON_LINE), round(y + _ON_LINE) + 1)
        for _, height in _within(levels.get(level, ()), left, right)
    )


def _within(places: Sequence[tuple[float, float]], left: float, right: float) -> Sequence[tuple[float, float]]:
    return places[bisect_left(places, (left,)) : bisect_right(places, (right, inf))]
