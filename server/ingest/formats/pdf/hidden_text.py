"""Takes the text that a person does not see out of a PDF, so that a reader finds only what is seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from server.ingest.formats.pdf.document import OpenPdf, save
from server.ingest.formats.pdf.layout import Block
from server.ingest.formats.pdf.visibility import HiddenRun, PageObjects, look_at_page

# liteparse takes minutes for a page of 300,000 lines.
_MOST_PATHS = 100_000


class NotForThisReader(Exception):
    """The second reader can do what the first cannot: many lines on a page, hidden text within a form."""


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
        """The blocks of a page without the hidden texts of its forms; ``NotForThisReader`` if one is not found."""
        for text in self.in_forms.get(number, ()):
            blocks = _cut(blocks, text)
        return tuple(block for block in blocks if block.text)

    def hidden(self, number: int) -> tuple[HiddenRun, ...]:
        """The hidden runs of a page."""
        return tuple(self.objects[number].hidden)


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
            if objects[number].hidden:
                in_forms[number] = _remove(page, objects[number].hidden)
        finally:
            page.close()
    return Cleaned(save(opened.document) if in_forms else opened.data, objects, in_forms)


def _remove(page: Any, hidden: Iterable[HiddenRun]) -> tuple[str, ...]:
    """Remove what stands on the page itself; the texts of the others, the longest first."""
    left = []
    for run in hidden:
        if run.on_page and pdfium.FPDFPage_RemoveObject(page, run.handle):
            pdfium.FPDFPageObj_Destroy(run.handle)
        else:
            left.append(run.text)
    page.gen_content()
    return tuple(sorted(left, key=len, reverse=True))


def _cut(blocks: tuple[Block, ...], text: str) -> tuple[Block, ...]:
    """The blocks without the first place where the words stand, in any spacing."""
    words = re.compile(r"\s*".join(re.escape(letter) for letter in re.sub(r"\s+", "", text)))
    for place, block in enumerate(blocks):
        shorter, found = words.subn(" ", block.text, count=1)
        if found:
            changed = replace(block, text=" ".join(shorter.split()) if "\n" not in shorter else shorter)
            return (*blocks[:place], changed, *blocks[place + 1 :])
    raise NotForThisReader(f"hidden text in a form was not found on the page: {text[:40]!r}")
