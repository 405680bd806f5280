"""Opens the file that a document is from, if it is the one that was ingested: at its path, and unchanged since.

A path is made of what the catalogue has of the document and of nothing else. Documents of archives and of Zotero's
libraries, and single records, have no file of their own here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from winnow.server.errors import WinnowError
from winnow.server.ingest.inspection.file_states import has_state
from winnow.server.models import Document, WantedText
from winnow.server.readers.bounded_files import open_file
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.failures import NO_PAGE
from winnow.server.storage.base import DocumentStore
from winnow.server.text.printable import one_line

if TYPE_CHECKING:
    from winnow.server.ingest.children.answers import MarkedPage
    from winnow.server.ingest.children.page_drawing import PageDrawing

_NOT_HERE = "{name} was not ingested from a file on the server's machine, so there is no page to show"
_GONE = "{name} cannot be opened: {why}; put it back where it was, or ingest the place where it is now"
_CHANGED = (
    "{name} changed since it was ingested, so its pages may not be the cited ones; its operator can ingest it "
    "again: winnow ingest"
)
_UNFINISHED = (
    "the last ingest of {name} was interrupted, or could not read it, so its pages may not be the cited ones; its "
    "operator can run it again: winnow ingest"
)
_NOT_DRAWN = "page {number} of {name} cannot be shown: {why}; image=false shows its text"
_REASON_CHARS = 200


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """The file of a document, open, with its stamp from when it was ingested, "" for none."""

    path: Path
    file: BinaryIO
    stamp: str

    @property
    def has_changed(self) -> bool:
        """Whether it has another size or time now than at its ingest."""
        status = os.fstat(self.file.fileno())
        return not has_state(self.stamp, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class IngestedPath:
    """The path of a document's file, and whether it has changed since its ingest."""

    path: Path
    has_changed: bool


def find_path(document: Document) -> Path | None:
    """The path that a document's file was read from; None for a document without one."""
    source, below = Path(document.source), PurePosixPath(document.uri)
    if not source.is_absolute() or document.type == "record" or below.is_absolute() or ".." in below.parts:
        return None
    # A source that is a file has one document, which has its name.
    return source if source.name == document.uri and not source.is_dir() else source / below


def draw_ingested(
    drawing: PageDrawing,
    catalogue: DocumentStore,
    document: Document,
    number: int,
    wanted: Sequence[WantedText],
) -> MarkedPage:
    """The picture of a page of a document's file, with the wanted texts marked.

    Raises:
        WinnowError: as ``open_ingested``, INVALID_REQUEST for a page that the file does not have, and
            SOURCE_UNAVAILABLE for one that cannot be drawn; QUEUE_FULL while others wait for theirs.
    """
    with open_ingested(catalogue, document) as opened:
        try:
            drawn = drawing.draw(opened.file, opened.path, number, wanted)
        except UnreadableFile as error:
            # The reason is the child's, which a file may have taken over.
            name, why = _name_of(document), one_line(str(error), _REASON_CHARS)
            if why.startswith(NO_PAGE):
                raise WinnowError("INVALID_REQUEST", f"page: {name} {why}") from None
            raise WinnowError("SOURCE_UNAVAILABLE", _NOT_DRAWN.format(number=number, name=name, why=why)) from None
        # Who writes into the file meanwhile changes what the child reads.
        _check_unchanged(opened, document)
        return drawn


def find_ingested(catalogue: DocumentStore, document: Document) -> IngestedPath | None:
    """The path of a document's file; None where it has none, or a link or something else is in its place."""
    try:
        with _open(catalogue, document) as opened:
            return IngestedPath(opened.path, opened.has_changed)
    except WinnowError:
        return None


@contextmanager
def open_ingested(catalogue: DocumentStore, document: Document) -> Iterator[IngestedFile]:
    """A context with the file of a document.

    Raises:
        WinnowError: UNSUPPORTED for a document without a file, SOURCE_UNAVAILABLE for a file that is not there,
            became a link, or changed, or whose last ingest was not finished.
    """
    with _open(catalogue, document) as opened:
        _check_unchanged(opened, document)
        yield opened


def _check_unchanged(opened: IngestedFile, document: Document) -> None:
    """Raise ``WinnowError`` for a file that is not known to be the one that was ingested."""
    if opened.has_changed:
        told = _CHANGED if opened.stamp else _UNFINISHED
        raise WinnowError("SOURCE_UNAVAILABLE", told.format(name=_name_of(document)))


@contextmanager
def _open(catalogue: DocumentStore, document: Document) -> Iterator[IngestedFile]:
    """A context with the file at the path of a document, also one that changed."""
    name, path = _name_of(document), find_path(document)
    if path is None:
        raise WinnowError("UNSUPPORTED", _NOT_HERE.format(name=name))
    try:
        file = open_file(path)
    except UnreadableFile as error:
        raise WinnowError("SOURCE_UNAVAILABLE", _GONE.format(name=name, why=error)) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its path is none of this system"
        raise WinnowError("SOURCE_UNAVAILABLE", _GONE.format(name=name, why=why)) from None
    with file:
        # A file that its last ingest could not read has none: it is not the one that the document is from.
        yield IngestedFile(path, file, catalogue.stamp(document.project, document.source, document.uri) or "")


def _name_of(document: Document) -> str:
    return repr(one_line(document.uri, 200))
