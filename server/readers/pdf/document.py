"""Opens a PDF and reads what it says of itself: its facts, page labels, outline and attachments."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf.page_boxes import Move, find_moves, move_pages
from winnow.server.readers.pdf_characters.glyph_names import may_name_signs, with_named_letters
from winnow.server.readers.pdf_characters.ink_sizes import find_runs
from winnow.server.readers.pdf_characters.torn_words import HYPHEN, HYPHENS

MOST_PAGES = 20_000
# PDF 1.7, annex C: the largest page, 200 inches on each side.
_LARGEST_SIDE = 14_400
_MAGIC = b"%PDF-"
# Viewers accept other bytes before the magic number, up to this offset.
_MAGIC_WITHIN = 1024
_MOST_ATTACHMENTS, _MOST_BOOKMARKS, _DEEPEST_BOOKMARK = 200, 5_000, 15
_LONGEST_NAME = 300

_WRONG_PASSWORD = (
    "encrypted: none of the given passwords opens it; add its password to the file of --password-file"
)
_NO_PASSWORD = "encrypted: it opens only with a password; give --password-file"
_UNKNOWN_ENCRYPTION = "encrypted in a way that this reader does not know; save it without encryption"
_REASONS = {
    pdfium.FPDF_ERR_SECURITY: _UNKNOWN_ENCRYPTION,
    pdfium.FPDF_ERR_FORMAT: "damaged: it begins like a PDF, but has no pages; save it again from its program",
}


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline: its title, its depth from 1, and its page from 1; 0 if that is unknown."""

    title: str
    depth: int
    page: int


class PageTexts:
    """The texts of the pages of a document, one at a time: to load a page costs most."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._number = 0
        self._open: list[Any] = []
        self._runs: list[Box] = []

    def of(self, number: int) -> tuple[Any, float]:
        """The text of a page (a ``PdfTextPage``), open until another one is asked for; and the page's height."""
        if number != self._number:
            self.close()
            page = self._document[number - 1]
            self._open, self._number = [page], number
            self._open.append(page.get_textpage())
        return self._open[1], self._open[0].get_height()

    def runs(self, number: int) -> Sequence[Box]:
        """The boxes of the first runs of text on a page."""
        textpage, height = self.of(number)
        self._runs = self._runs or [*find_runs(textpage, height)]
        return self._runs

    def close(self) -> None:
        """Release the page that was asked for last."""
        while self._open:
            self._open.pop().close()
        self._runs = []
        self._number = 0


class OpenPdf:
    """A PDF that was opened. ``data`` are its bytes without encryption; ``document`` is the handle of PDFium.

    ``is_upright``: all pages have their corner at the origin and need no turn; those of others could not be moved.
    """

    def __init__(self, data: bytes, document: Any, *, is_upright: bool = True) -> None:
        self.data = data
        self.is_upright = is_upright
        self.document = document
        self.texts = PageTexts(document)
        self.pages = len(document)

    def close(self) -> None:
        """Release what PDFium holds."""
        self.texts.close()
        self.document.close()

    def label(self, number: int) -> str:
        """The printed label of a page, counted from 1; "" if the file has none."""
        return _clean(self.document.get_page_label(number - 1))

    def info(self, key: str) -> str:
        """An entry of the document information, such as "Title"; "" if the file has none."""
        return _clean(self.document.get_metadata_value(key))

    def attachments(self) -> tuple[str, ...]:
        """The names of the files within the file."""
        count = min(self.document.count_attachments(), _MOST_ATTACHMENTS)
        names = (self.document.get_attachment(place).get_name() for place in range(count))
        return tuple(_clean(name)[:_LONGEST_NAME] for name in names)

    def outline(self) -> tuple[Bookmark, ...]:
        """The entries of the outline, in the order of the file."""
        return tuple(self._bookmarks())

    def _bookmarks(self) -> Iterator[Bookmark]:
        entries = self.document.get_toc(max_depth=_DEEPEST_BOOKMARK)
        for _, entry in zip(range(_MOST_BOOKMARKS), entries, strict=False):
            target = entry.get_dest()
            page = target.get_index() if target else None
            title = _clean(entry.get_title())[:_LONGEST_NAME]
            yield Bookmark(title, entry.level + 1, 0 if page is None else page + 1)


def bounded_texts(opened: OpenPdf, number: int, boxes: Iterable[Box]) -> list[str]:
    """The text within each box of a page, as PDFium has it; ``HYPHEN`` at its end divides a word."""
    text, height = opened.texts.of(number)
    return [
        printed_line(text.get_text_bounded(box.left, height - box.bottom, box.right, height - box.top))
        for box in boxes
    ]


def open_pdf(file: BinaryIO, options: ReadOptions) -> OpenPdf:
    """Open a PDF; an encrypted one with the first password that fits.

    Raises ``UnreadableFile`` for what is no PDF, is encrypted, or has more or larger pages than any real document.
    """
    data = file.read()
    check_magic(data)
    document, password = open_document(data, options.passwords)
    is_moved = False
    try:
        _check_size(document)
        moves = find_moves(document)
        if moves:
            document, is_moved = _move(document, open_document(data, options.passwords)[0], moves)
        if is_moved or password is not None:
            data = _plain_bytes(document)
        named = _with_named_letters(document) if may_name_signs(data) else None
    except BaseException:
        document.close()
        raise
    is_upright = is_moved or not moves
    if named is None:
        return OpenPdf(data, document, is_upright=is_upright)
    document.close()
    return OpenPdf(*named, is_upright=is_upright)


def _move(document: Any, copy: Any, moves: Mapping[int, Move]) -> tuple[Any, bool]:
    """The copy with its pages moved and True, or the document and False if a letter would be elsewhere.

    The other one is closed.
    """
    is_moved = False
    try:
        is_moved = move_pages(copy, document, moves)
    finally:
        (document if is_moved else copy).close()
    return (copy if is_moved else document), is_moved


def check_magic(data: bytes) -> None:
    """Raise ``UnreadableFile`` for bytes that are no PDF."""
    if not data:
        raise UnreadableFile("empty: it has no bytes")
    if _MAGIC not in data[:_MAGIC_WITHIN]:
        raise UnreadableFile("not a PDF: it does not begin with %PDF-")


def open_document(
    data: bytes, passwords: tuple[str, ...], without_password: str = _NO_PASSWORD
) -> tuple[Any, str | None]:
    """The document of PDFium, and the password that opened it; None if it opens without.

    Raises ``UnreadableFile``, with the reason ``without_password`` if it needs one and none is given.
    """
    for password in (None, *passwords):
        try:
            return pypdfium2.PdfDocument(data, password=password), password
        except pypdfium2.PdfiumError as error:
            if error.err_code != pdfium.FPDF_ERR_PASSWORD:
                raise UnreadableFile(_REASONS.get(error.err_code, f"damaged: {error}")) from None
    raise UnreadableFile(_WRONG_PASSWORD if passwords else without_password)


def _plain_bytes(document: Any) -> bytes:
    """The file without its encryption, so that a second library reads it without a password."""
    return save(document, pdfium.FPDF_REMOVE_SECURITY)


def _with_named_letters(document: Any) -> tuple[bytes, Any] | None:
    """The document, as bytes and opened, with the letters that names tell in its fonts; None without any."""
    data = with_named_letters(_plain_bytes(document))
    if data is None:
        return None
    try:
        named = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError:
        return None
    if len(named) == len(document):
        return data, named
    named.close()
    return None


def save(document: Any, flags: int = 0) -> bytes:
    """The document as PDFium writes it."""
    out = io.BytesIO()
    document.save(out, flags=flags)
    return out.getvalue()


def _check_size(document: Any) -> None:
    if len(document) > MOST_PAGES:
        raise UnreadableFile(f"has {len(document):,} pages, more than {MOST_PAGES:,}; split it into smaller files")
    for place in range(len(document)):
        check_page_size(document, place)


def check_page_size(document: Any, place: int) -> None:
    """Raise ``UnreadableFile`` for a page, counted from 0, that is larger than PDF allows, or cannot be loaded."""
    width, height = _page_size(document, place)
    if not (0 < width <= _LARGEST_SIDE and 0 < height <= _LARGEST_SIDE):
        raise UnreadableFile(
            f"page {place + 1} measures {width:,.0f} x {height:,.0f} points; PDF allows {_LARGEST_SIDE:,}"
        )


def _page_size(document: Any, place: int) -> tuple[float, float]:
    try:
        width, height = document.get_page_size(place)
    except pypdfium2.PdfiumError:
        raise UnreadableFile(
            f"damaged: page {place + 1} cannot be loaded; save it again from its program"
        ) from None
    return width, height


def printed_line(text: str) -> str:
    """A text of PDFium as one line; ``HYPHEN`` at its end divides a word."""
    return _clean(text) + (HYPHEN if text.rstrip().endswith(HYPHENS) else "")


def _clean(text: str) -> str:
    """One line without characters that are not printed."""
    return re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text)).strip()
