"""Batches of documents: what one transaction of an ingest writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from winnow.server.ingest.file_discovery import File
from winnow.server.ingest.writing.embedding import EmbeddedBatch, EmbeddingStage
from winnow.server.models import Chunk
from winnow.server.readers.documents import RawDocument
from winnow.server.readers.reading import ReadFlaw
from winnow.server.storage.base import CatalogueEntry

# A document weighs one, one for each chunk that is written for it, and one each for so many characters of text.
_CHARS_OF_WEIGHT = 8_192


@dataclass(frozen=True, slots=True)
class Origin:
    """A part of a source that is read as a whole; ``file`` where it is a file."""

    name: str
    documents: Iterable[RawDocument | ReadFlaw]
    file: File | None = None


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be written: its entry, the chunks that need points, the points to delete.

    ``relabelled`` points keep their vectors and get the document's labels. ``is_dirty``: existing points of the
    document are changed, so that until all is written they may have labels that the catalogue does not have.
    """

    entry: CatalogueEntry
    fresh: tuple[Chunk, ...]
    stale: tuple[str, ...]
    relabelled: tuple[str, ...]
    is_dirty: bool

    @property
    def size(self) -> int:
        """About the bytes of its origin that it stands for."""
        return len(self.entry.text)

    @property
    def weight(self) -> int:
        """The memory that it takes, in chunks."""
        return 1 + len(self.fresh) + len(self.entry.text) // _CHARS_OF_WEIGHT


@dataclass(frozen=True, slots=True)
class CompletedOrigin:
    """An origin that was read: whether no part of it failed, its deleted documents, its bytes not yet counted."""

    origin: Origin
    is_whole: bool
    deleted: tuple[str, ...]
    remaining_bytes: int


@dataclass(slots=True)
class Batch:
    """The content of one transaction."""

    source: str
    prepared: list[PreparedDocument] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    stamps: dict[str, str | None] = field(default_factory=dict)
    bytes: int = 0
    points: EmbeddedBatch | None = None

    @property
    def chunks(self) -> int:
        """The number of chunks that need points."""
        return sum(len(document.fresh) for document in self.prepared)

    @property
    def weight(self) -> int:
        """The memory that it takes, in chunks."""
        return sum(document.weight for document in self.prepared)

    @property
    def is_change(self) -> bool:
        """Whether it changes documents, and not only stamps."""
        return bool(self.prepared or self.deleted)

    def add(self, event: PreparedDocument | CompletedOrigin, stamp_of: Callable[[File], str]) -> None:
        """Put in a document, or the end of an origin."""
        if isinstance(event, PreparedDocument):
            self.prepared.append(event)
            self.bytes += event.size
            return
        self.deleted += event.deleted
        self.bytes += event.remaining_bytes
        if event.origin.file:
            self.stamps[event.origin.name] = stamp_of(event.origin.file) if event.is_whole else None

    def begin_embedding(self, embedding: EmbeddingStage) -> Batch:
        """Have the points of its chunks computed in the background; returns itself."""
        rows = [(document.entry.document, chunk) for document in self.prepared for chunk in document.fresh]
        self.points = embedding.begin(rows)
        return self
