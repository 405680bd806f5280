"""Puts the pages of a PDF together: Markdown, where each page begins in it, and how the file was read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from winnow.server.models import Place, Reading
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.pdf.document import OpenPdf
from winnow.server.readers.pdf.facts import read_facts, read_title
from winnow.server.readers.pdf.headings import Titles, find_numbered, mend_headings, outline_titles
from winnow.server.readers.pdf.layout import Block, BlockKind, Page
from winnow.server.readers.pdf.running_heads import read_labels
from winnow.server.readers.pdf.scanned_pages import Scans, read_scans
from winnow.server.readers.pdf.visibility import PageObjects
from winnow.server.readers.pdf_characters.torn_words import Mender, expand_ligatures
from winnow.server.readers.pdf_tables.tables import ENDS_SENTENCE
from winnow.server.text.markup.captions import is_caption
from winnow.server.text.markup.code_marks import fenced

# Marks that would turn a line of text into something else; within the line they mean themselves.
_MARKDOWN_START = re.compile(r"\A(?:#{1,6}(?=\s|\Z)|[-+>](?=\s)|```|~~~|={3,}\s*\Z|-{3,}\s*\Z)")


@dataclass(frozen=True, slots=True)
class ReadPages:
    """The findings of a reader: the pages, and what each of them draws."""

    reader: str
    pages: tuple[Page, ...]
    objects: Mapping[int, PageObjects]


def compose(opened: OpenPdf, found: ReadPages, options: ReadOptions) -> ParsedFile:
    """The file as Markdown, with its places and facts."""
    scans = read_scans(opened, found.pages, found.objects, options)
    pages = mend_pages(scans.pages, outline_titles(opened.outline()))
    if options.keeps_hidden:
        pages = tuple(_with_hidden(page, found.objects[page.number]) for page in pages)
    stated = {page.number: opened.label(page.number) for page in pages}
    labels = stated if any(stated.values()) else read_labels(found.pages)
    text, places = write_pages(pages, labels)
    return ParsedFile(
        text,
        _reading(opened, found, scans, options),
        read_title(opened, pages),
        places,
        read_facts(opened, pages),
    )


def write_pages(pages: Sequence[Page], labels: Mapping[int, str]) -> tuple[str, tuple[Place, ...]]:
    """The pages as Markdown, and where each begins. ``labels`` are printed numbers by page."""
    writer = _Writer(Mender(block.text for page in pages for block in page.blocks))
    for page in pages:
        writer.write(page, labels.get(page.number, ""))
    return writer.text(), tuple(writer.places)


def mend_pages(pages: Iterable[Page], titles: Titles) -> tuple[Page, ...]:
    """The pages with whole headings and words; ``titles`` are those of the outline."""
    pages = find_numbered([mend_headings(_expand(page), titles) for page in pages])
    mender = Mender(block.text for page in pages for block in page.blocks)
    return tuple(
        replace(page, blocks=tuple(_mend_words(block, mender) for block in page.blocks)) for page in pages
    )


def _mend_words(block: Block, mender: Mender) -> Block:
    """Lines that are kept as they are may be a program."""
    return block if block.kind is BlockKind.LINES else replace(block, text=mender.mend(block.text))


def _expand(page: Page) -> Page:
    blocks = (replace(block, text=expand_ligatures(block.text).replace("\x00", "")) for block in page.blocks)
    return replace(page, blocks=tuple(blocks))


def _with_hidden(page: Page, objects: PageObjects) -> Page:
    """The page with its hidden text as a last paragraph."""
    text = " ".join(run.text for run in objects.hidden)
    if not text:
        return page
    return replace(page, blocks=(*page.blocks, Block(BlockKind.PARAGRAPH, text, page.last_box)))


def _reading(opened: OpenPdf, found: ReadPages, scans: Scans, options: ReadOptions) -> Reading:
    hidden = Counter(run.why for objects in found.objects.values() for run in objects.hidden)
    return Reading(
        found.reader,
        pages=opened.pages,
        hidden_runs=hidden.total(),
        hidden_kept=bool(hidden and options.keeps_hidden),
        needs_ocr=scans.needs_ocr,
        ocr_pages=scans.read,
        attachments=opened.attachments(),
        notes=(*_notes(found), *scans.notes),
        hidden_reasons=dict(hidden),
    )


def _notes(found: ReadPages) -> tuple[str, ...]:
    scans = sum(objects.is_scan_with_text for objects in found.objects.values())
    if not scans:
        return ()
    return (f"the text of {scans} scanned pages is what an earlier OCR stored in the file",)


class _Writer:
    """Writes blocks as Markdown; a paragraph that does not end its sentence goes on in the next one."""

    def __init__(self, mender: Mender) -> None:
        self.places: list[Place] = []
        self._mender = mender
        self._parts: list[str] = []
        self._length = 0
        self._last: Block | None = None

    def text(self) -> str:
        """The whole text."""
        return "".join(self._parts)

    def write(self, page: Page, label: str) -> None:
        """Add a page. A page without text has no place."""
        for order, block in enumerate(page.blocks):
            joint = self._joint(block)
            self._add(joint)
            if order == 0:
                self.places.append(Place(self._length, "page", page.number, label))
            self._add(block.text if joint in ("", " ") and self._parts else block_markdown(block))
            self._last = block

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)

    def _joint(self, block: Block) -> str:
        """The separator between the last block and this one."""
        last = self._last
        if last is None:
            return ""
        if last.kind is BlockKind.ITEM and block.kind is BlockKind.ITEM:
            return "\n"
        if not _goes_on(last, block):
            return "\n\n"
        return self._mend_hyphen(last, block)

    def _mend_hyphen(self, last: Block, block: Block) -> str:
        """A space, or nothing where a word was divided; its hyphen goes unless the document has it elsewhere."""
        if not last.text.endswith("-"):
            return " "
        first = re.split(r"\W", last.text[:-1])[-1]
        then = re.match(r"\w*", block.text)
        if first and then and not self._mender.has_compound(first, then[0]):
            self._parts[-1] = self._parts[-1][:-1]
            self._length -= 1
        return ""


def _goes_on(last: Block, block: Block) -> bool:
    """Whether a paragraph goes on in this block, which may be on another page or in another column."""
    if last.kind not in (BlockKind.PARAGRAPH, BlockKind.ITEM) or block.kind is not BlockKind.PARAGRAPH:
        return False
    if last.is_aside or is_caption(last.text):
        return False
    if last.is_open:
        return not block.is_aside
    return not ENDS_SENTENCE.search(last.text) and block.text[:1].islower()


def block_markdown(block: Block) -> str:
    """A block as Markdown."""
    if block.kind is BlockKind.HEADING:
        return f"{'#' * max(1, block.level)} {_one_line(block.text)}"
    if block.kind is BlockKind.LINES:
        return fenced(block.text)
    if block.kind is BlockKind.ITEM:
        return f"{'  ' * max(0, block.level - 1)}{block.marker} {_one_line(block.text)}"
    if block.kind is BlockKind.TABLE:
        return block.text
    if block.kind is BlockKind.ROWS:
        return "\n".join(_plain(line) for line in block.text.split("\n"))
    return _plain(block.text)


def _plain(text: str) -> str:
    """A line that means what it says, whatever it begins with."""
    return _MARKDOWN_START.sub(lambda mark: f"\\{mark[0]}", _one_line(text), count=1)


def _one_line(text: str) -> str:
    return " ".join(text.split())
