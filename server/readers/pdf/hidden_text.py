"""Takes the text that a person does not see out of a PDF, so that a reader finds only what is seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.formats.parsed_file import NotForThisReader
from winnow.server.readers.pdf.document import OpenPdf, save
from winnow.server.readers.pdf.letters import BLANKS, count_places, letters_of
from winnow.server.readers.pdf.visibility import HiddenRun, PageObjects, look_at_page

# liteparse takes minutes for a page of 300,000 lines.
_MOST_PATHS = 100_000
# Of the letters of a page.
_LEAST_KEPT = 0.9

_Letter = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A PDF without its hidden text.

    ``data`` are its bytes. ``objects`` is what each page draws, by number. ``unclean`` are the numbers of pages
    whose text in ``data`` must not be read: PDFium does not write changed forms, so hidden text is left in them,
    nor all fonts, so seen text is lost, nor the space between letters, so words are torn.
    """

    data: bytes
    objects: Mapping[int, PageObjects]
    unclean: frozenset[int]


def clean(opened: OpenPdf) -> Cleaned:
    """Look at all pages; where text is hidden, write the file again without it."""
    objects: dict[int, PageObjects] = {}
    unclean: set[int] = set()
    for number in range(1, opened.pages + 1):
        page = opened.document[number - 1]
        try:
            objects[number] = look_at_page(page)
            if objects[number].paths > _MOST_PATHS:
                raise NotForThisReader(f"page {number} has {objects[number].paths:,} lines and shapes")
            hidden = objects[number].hidden
            before = count_places(letters_of(page)) if hidden else Counter()
            is_clean = not hidden or _remove(page, hidden)
        finally:
            page.close()
        if not is_clean or (hidden and not _is_whole(opened, number, before, hidden)):
            unclean.add(number)
    is_changed = any(found.hidden for found in objects.values())
    return Cleaned(save(opened.document) if is_changed else opened.data, objects, frozenset(unclean))


def _remove(page: Any, hidden: Iterable[HiddenRun]) -> bool:
    """Remove what stands on the page itself; whether that was all."""
    is_all = True
    for run in hidden:
        if run.on_page and pdfium.FPDFPage_RemoveObject(page, run.handle):
            pdfium.FPDFPageObj_Destroy(run.handle)
        else:
            is_all = False
    page.gen_content()
    return is_all


def _is_whole(opened: OpenPdf, number: int, before: Counter[_Letter], hidden: Iterable[HiddenRun]) -> bool:
    """Whether a page that was written again has its letters where they were: PDFium drops space between them."""
    page = opened.document[number - 1]
    try:
        after = count_places(letters_of(page))
    finally:
        page.close()
    removed = sum(ord(letter) not in BLANKS for run in hidden if run.on_page for letter in run.text)
    in_place = (before & after).total()
    return in_place >= _LEAST_KEPT * max(after.total(), before.total() - removed)
