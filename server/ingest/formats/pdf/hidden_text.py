"""Takes the text that a person does not see out of a PDF, so that a reader finds only what is seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.ingest.formats.parsed_file import NotForThisReader
from winnow.server.ingest.formats.pdf.document import OpenPdf, save
from winnow.server.ingest.formats.pdf.layout import Block
from winnow.server.ingest.formats.pdf.visibility import HiddenRun, PageObjects, look_at_page

# liteparse takes minutes for a page of 300,000 lines.
_MOST_PATHS = 100_000
# Of hidden text within forms; more is no accident, and the second reader leaves out each character by itself.
_MOST_RUNS, _MOST_LETTERS = 500, 20_000
# Of the characters of a page, blanks that PDFium adds included.
_LEAST_KEPT = 0.9
# So many letters of a hidden text in a row are not there by chance.
_TELLING = 12


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A PDF without its hidden text.

    ``data`` are its bytes. ``objects`` is what each page draws, by number. ``in_forms`` are hidden texts that are
    still in ``data``: PDFium does not write changed forms, so they are cut out of the blocks.
    """

    data: bytes
    objects: Mapping[int, PageObjects]
    in_forms: Mapping[int, tuple[str, ...]]

    def cut(self, number: int, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """The blocks of a page without the hidden texts of its forms; ``NotForThisReader`` if a part is left."""
        texts = self.in_forms.get(number, ())
        for text in sorted(texts, key=len, reverse=True):
            blocks = _cut(blocks, text)
        if texts:
            _check(_letters("".join(block.text for block in blocks)), _letters("".join(texts)))
        return tuple(block for block in blocks if block.text)


def clean(opened: OpenPdf) -> Cleaned:
    """Look at all pages; where text is hidden, write the file again without it."""
    objects: dict[int, PageObjects] = {}
    in_forms: dict[int, tuple[str, ...]] = {}
    for number in range(1, opened.pages + 1):
        page = opened.document[number - 1]
        try:
            objects[number] = look_at_page(page)
            if objects[number].paths > _MOST_PATHS:
                raise NotForThisReader(f"page {number} has {objects[number].paths:,} lines and shapes")
            if hidden := objects[number].hidden:
                left = _count_chars(page) - sum(len(run.text) for run in hidden if run.on_page)
                in_forms[number] = _remove(page, hidden)
        finally:
            page.close()
        if number in in_forms:
            _check_written(opened, number, left)
    runs = [text for texts in in_forms.values() for text in texts]
    if len(runs) > _MOST_RUNS or sum(map(len, runs)) > _MOST_LETTERS:
        raise NotForThisReader(f"{len(runs):,} hidden texts within forms")
    return Cleaned(save(opened.document) if in_forms else opened.data, objects, in_forms)


def _remove(page: Any, hidden: Iterable[HiddenRun]) -> tuple[str, ...]:
    """Remove what stands on the page itself; the texts of the others, as they are drawn."""
    left = []
    for run in hidden:
        if run.on_page and pdfium.FPDFPage_RemoveObject(page, run.handle):
            pdfium.FPDFPageObj_Destroy(run.handle)
        else:
            left.append(run.text)
    page.gen_content()
    return tuple(left)


def _check_written(opened: OpenPdf, number: int, expected: int) -> None:
    """Raise ``NotForThisReader`` if a page that was written again lacks text: PDFium does not write all fonts."""
    page = opened.document[number - 1]
    try:
        if _count_chars(page) < _LEAST_KEPT * expected:
            raise NotForThisReader(f"page {number} loses text when its hidden text is taken out")
    finally:
        page.close()


def _count_chars(page: Any) -> int:
    textpage = page.get_textpage()
    try:
        count: int = textpage.count_chars()
        return count
    finally:
        textpage.close()


def _cut(blocks: tuple[Block, ...], text: str) -> tuple[Block, ...]:
    """The blocks without the first place where the words stand, in any spacing."""
    words = re.compile(r"\s*".join(map(re.escape, "".join(text.split()))))
    for place, block in enumerate(blocks):
        shorter, found = words.subn(" ", block.text, count=1)
        if found:
            changed = replace(block, text=" ".join(shorter.split()) if "\n" not in shorter else shorter)
            return (*blocks[:place], changed, *blocks[place + 1 :])
    return blocks


def _check(seen: str, hidden: str) -> None:
    """Raise ``NotForThisReader`` if letters of hidden text are left: in a table, or divided by a hyphen."""
    for start in range(len(hidden) - _TELLING + 1):
        if hidden[start : start + _TELLING] in seen:
            raise NotForThisReader("hidden text within a form is left on a page")


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
