"""What the rest of the server expects of a store and of a model. Vendors live in the files beside this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from server.models import Chunk, Document, Filters, Passage, ProjectInfo

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """BM25 term weights: parallel tuples of term ids (unsigned 32 bits, ascending) and positive weights."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One chunk as the vector store holds it. ``dense`` is None where no model was at hand.

    ``payload`` holds only what filters need; text and metadata live in the catalogue.
    """

    chunk_id: str
    sparse: SparseVector
    dense: Vector | None
    payload: Mapping[str, str | int | float | tuple[str, ...]]


class VectorStore(Protocol):
    """Dense and sparse search over chunks, with filters applied inside the index.

    Implementers guarantee: scores are cosine (dense) and BM25 with the collection's own inverse document
    frequency (sparse); results are complete, best first; an upserted point is found by the next query and
    survives the process being killed once ``flush`` has returned; upserting an id again replaces it.
    Methods are blocking and safe to call from several threads.
    """

    def upsert(self, points: Sequence[Point]) -> None: ...

    def delete(self, chunk_ids: Sequence[str]) -> None: ...

    def search_dense(self, vector: Vector, filters: Filters, limit: int) -> list[tuple[str, float]]: ...

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]: ...

    def score_dense(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The dense score of each of these chunks: fills what the dense leg did not return."""

    def score_sparse(self, vector: SparseVector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The sparse score of each of these chunks that has one (absent means 0)."""

    def ids(self, project: str) -> Iterable[str]: ...

    def count(self) -> int: ...

    def flush(self) -> None: ...

    def optimize(self) -> None:
        """Build what makes search fast (HNSW). Blocking, may take minutes; search stays correct without it."""

    def close(self) -> None: ...


class Embedder(Protocol):
    """Text to unit vectors. ``fingerprint`` changes whenever the vectors would."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vector:
        """Shape (len(texts), dimension), rows of length 1."""


ModelState = Literal["loading", "ready", "missing", "off"]


class EmbedderSource(Protocol):
    """A model that may still be loading, may be missing, may be switched off; none of these is an error.

    ``state`` says which, ``why`` says it in a sentence for people ("" once the model is ready).
    """

    @property
    def state(self) -> ModelState: ...

    @property
    def why(self) -> str: ...

    def ready(self) -> Embedder | None:
        """The model if it is there now; never waits."""

    def wait(self) -> Embedder | None:
        """The model once it is loaded, or None where there is none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A document as the catalogue keeps it: record, whole text, chunks, and what tells whether to do it again.

    ``origin`` is the file (below the source) that it was read from, or "". ``embedding`` is the fingerprint of
    the model that its vectors come from, or "". ``context_hash`` digests what every point of the document
    shares (title, filter values): where it and a chunk's id are as before, the point is as before.
    """

    document: Document
    text: str
    chunks: tuple[Chunk, ...]
    origin: str = ""
    embedding: str = ""
    context_hash: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalogue knows of a document without its text: enough to decide whether it changed."""

    id: str
    uri: str
    source: str
    origin: str
    content_hash: str
    context_hash: str
    embedding: str


@dataclass(frozen=True, slots=True)
class Changes:
    """One atomic change of the catalogue: entries that replace their predecessors, ids that go, files seen.

    ``stamps`` maps an origin to what its file looked like (size and modification time); None forgets it.
    """

    project: str
    source: str
    entries: Sequence[Entry] = ()
    deleted: Sequence[str] = ()
    stamps: Mapping[str, str | None] = field(default_factory=dict)


class DocumentStore(Protocol):
    """Documents, their text and their chunks; the truth about what is indexed.

    Implementers guarantee: ``apply`` is atomic and durable once it has returned; reads are safe from several
    threads and see whole changes only.
    """

    def projects(self) -> list[ProjectInfo]: ...

    def embedding(self, project: str) -> str:
        """The fingerprint that all documents of the project share; "" where they have none or several."""

    def generation(self, project: str) -> int:
        """Grows with every ingest that changed the project; 0 for a project that does not exist."""

    def passages(self, chunk_ids: Sequence[str], project: str) -> dict[str, Passage]:
        """The chunks that exist in this project, by id, each with its document."""

    def documents(self, project: str) -> list[Document]:
        """All documents of a project, by uri."""

    def text(self, document_id: str, project: str) -> str | None:
        """The whole text of a document, or None where there is none."""

    def chunks(self, document_id: str, project: str) -> list[Chunk]:
        """The chunks of a document in reading order."""

    def known(self, project: str) -> list[Known]: ...

    def stamps(self, project: str, source: str) -> dict[str, str]: ...

    def chunk_ids(self, project: str) -> list[str]: ...

    def chunk_count(self) -> int:
        """Chunks in all projects."""

    def apply(self, changes: Changes) -> None: ...

    def begin(self, project: str) -> bool:
        """Mark the project as being written; True where an earlier writer never came to its ``finish``."""

    def finish(self, project: str, *, changed: bool) -> None:
        """Take the mark away; where something changed, the generation grows."""
