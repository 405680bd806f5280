"""The table of formats that are read in the child process: suffixes, and the readers of each in order of trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from winnow.server.models import DocumentType
from winnow.server.readers.tasks.table import Task


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files. ``readers`` are modules of this folder, each with a function ``read``.

    A file that the first reader does not read (it crashes, takes too long or finds nothing) is given to the next.
    ``needs_ocr``: its files are read only where OCR is used.
    """

    type: DocumentType
    readers: tuple[str, ...]
    needs_ocr: bool = False

    @property
    def task(self) -> Task:
        """The task of a child that reads a file of this format."""
        return "read_sheet" if self.type == "sheet" else "read"


_IMAGE = Format("image", ("image",), needs_ocr=True)

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".pdf": Format("pdf", ("pdf_liteparse", "pdf_pdfium")),
        ".docx": Format("word", ("docx",)),
        ".docm": Format("word", ("docx",)),
        ".pptx": Format("slides", ("pptx",)),
        ".pptm": Format("slides", ("pptx",)),
        ".ppsx": Format("slides", ("pptx",)),
        ".xlsx": Format("sheet", ("workbook",)),
        ".xlsm": Format("sheet", ("workbook",)),
        ".xlsb": Format("sheet", ("workbook",)),
        ".xls": Format("sheet", ("workbook",)),
        ".ods": Format("sheet", ("workbook",)),
        ".csv": Format("sheet", ("delimited",)),
        ".tsv": Format("sheet", ("delimited",)),
        ".epub": Format("book", ("epub",)),
        ".odt": Format("word", ("opendocument",)),
        ".rtf": Format("word", ("rtf",)),
        ".odp": Format("slides", ("opendocument",)),
        ".ipynb": Format("notebook", ("notebook",)),
        ".eml": Format("mail", ("mail",)),
        ".mbox": Format("mail", ("mail",)),
        ".srt": Format("subtitles", ("subtitles",)),
        ".vtt": Format("subtitles", ("subtitles",)),
        ".png": _IMAGE,
        ".jpg": _IMAGE,
        ".jpeg": _IMAGE,
        ".tif": _IMAGE,
        ".tiff": _IMAGE,
        ".webp": _IMAGE,
        ".bmp": _IMAGE,
    }
)


def format_of(name: str) -> Format | None:
    """The format of a file by its name's suffix; None for other files."""
    return FORMATS.get(name[name.rfind(".") :].lower())


def needs_ocr(name: str) -> bool:
    """Whether a file of this name is an image, which is read only where OCR is used."""
    form = format_of(name)
    return form is not None and form.needs_ocr
