"""A store of any number of passages: a folder of real documents, repeated under other paths.

Each copy has other digits, so that copies differ in many words but not in length, and ends with a line that no
other document has. Its points have no vectors: that suffices for operations over all text, and takes minutes where
an ingest takes hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from winnow.server.backends.opening import Backends, open_backends
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id
from winnow.server.ingest.file_discovery import find_files, resolve_roots
from winnow.server.models import Chunk, Document
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, clean_document
from winnow.server.readers.formats.format_table import needs_ocr
from winnow.server.readers.reading import read
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import CatalogueChanges, CatalogueEntry, Point, SparseVector, payload_of

SOURCE = "repeated"
_BATCH_DOCUMENTS = 500
_DIGITS = "0123456789"
_NO_WORDS = SparseVector((), ())


@dataclass(frozen=True, slots=True)
class _Original:
    """A real document and its chunks."""

    document: Document
    text: str
    chunks: tuple[Chunk, ...]


def build_store(settings: Settings, source: Path, passages: int) -> None:
    """Write copies of the documents of ``source`` until the store has this many passages."""
    backends = open_backends(settings, wait_for_model=False)
    try:
        with backends.catalogue.only_writer():
            _write(backends, settings.project, source, passages)
    finally:
        backends.close()


def _write(backends: Backends, project: str, source: Path, passages: int) -> None:
    catalogue, originals = backends.catalogue, list(_read_originals(project, source))
    if not any(original.chunks for original in originals):
        raise WinnowError("INVALID_REQUEST", f"{source} holds no text")
    entries = _make_copies(project, originals)
    catalogue.begin_write(project)
    missing = passages - catalogue.chunk_count()
    while missing > 0:
        batch = list(islice(entries, _BATCH_DOCUMENTS))
        backends.store.upsert([point for entry in batch for point in _make_points(entry)])
        catalogue.apply(CatalogueChanges(project, SOURCE, batch))
        missing -= sum(len(entry.chunks) for entry in batch)
    backends.store.flush()
    catalogue.finish_write(project)
    catalogue.index_texts()


def _read_originals(project: str, source: Path) -> Iterator[_Original]:
    for root in resolve_roots([source], []):
        files = (file for file in find_files(root).files if not needs_ocr(file.path.name))
        for file in files:
            for raw in read(file.path, file.uri):
                if isinstance(raw, RawDocument):
                    yield _split(project, clean_document(raw))


def _split(project: str, raw: RawDocument) -> _Original:
    document = Document(
        document_id(project, raw.uri),
        project,
        raw.uri,
        SOURCE,
        raw.title,
        raw.type,
        "0",
        metadata=raw.metadata,
        body_start=raw.body_start,
    )
    return _Original(document, raw.text, chunk(document, raw.text))


def _make_copies(project: str, originals: Sequence[_Original]) -> Iterator[CatalogueEntry]:
    number = 0
    while originals:
        shift = number % len(_DIGITS)
        digits = str.maketrans(_DIGITS, _DIGITS[shift:] + _DIGITS[:shift])
        for original in originals:
            yield _make_copy(project, original, number, digits)
        number += 1


def _make_copy(project: str, original: _Original, number: int, digits: dict[int, int]) -> CatalogueEntry:
    uri = f"copy-{number:04d}/{original.document.uri}"
    document = replace(original.document, id=document_id(project, uri), uri=uri)
    chunks = []
    for old in original.chunks:
        text = old.text.translate(digits)
        id = chunk_id(project, uri, old.heading_path, text, old.ordinal)
        chunks.append(replace(old, id=id, document_id=document.id, text=text))
    text = f"{original.text.translate(digits)}\n\nThis is copy {number:04d} of {original.document.uri}.\n"
    return CatalogueEntry(document, text, tuple(chunks), uri, "", "0")


def _make_points(entry: CatalogueEntry) -> Iterator[Point]:
    payload = payload_of(entry.document)
    return (Point(one.id, _NO_WORDS, None, payload) for one in entry.chunks)
