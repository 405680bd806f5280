"""Protocols of a store and of a model. The vendors that implement them are in ``server.backends``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from winnow.server.errors import WinnowError
from winnow.server.models import (
    Chunk,
    CollectionFacts,
    Document,
    Filters,
    NumberRange,
    Passage,
    Place,
    Reading,
)
from winnow.server.storage.store_reads import FilteredReads, ProjectReads
from winnow.server.storage.text_store import TextStore
from winnow.server.text.matching import field_numbers, field_texts, fold_label, path_matcher

if TYPE_CHECKING:  # a server that shares an engine knows these names, and computes nothing
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
# What filters compare, by key.
Payload: TypeAlias = Mapping[str, str | int | float | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """BM25 term weights: parallel tuples of term ids (unsigned 32 bits, ascending) and positive weights."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One chunk as the vector store holds it. ``dense`` is None where there was no model.

    ``payload`` holds only what filters need; text and metadata live in the catalogue.
    """

    chunk_id: str
    sparse: SparseVector
    dense: Vector | None
    payload: Payload


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The payload's ``key`` holds (or, for a list, contains) at least one of ``values``."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The payload has the number ``key``, and it is not below ``number``."""

    key: str
    number: float


@dataclass(frozen=True, slots=True)
class Below:
    """The payload has the number ``key``, and it is below ``number``."""

    key: str
    number: float


Condition = AnyOf | AtLeast | Below

# Settings that all vector stores share, so that they rank alike. The names of the two vectors of a point:
DENSE, LEXICAL = "dense", "lexical"
# up to here an index scans exactly: 13,000 vectors of 384 numbers, about a millisecond;
EXACT_KB = 20_000
# above it an HNSW graph with this many edges a node is built, with this many candidates;
HNSW_M, HNSW_EF = 16, 100
# over int8 vectors (the outermost hundredth of numbers is clipped), of which this many times the limit are
# rescored with the float32 vectors: recall@10 of 30,000 chunks is .997 instead of .967;
QUANTILE, OVERSAMPLING = 0.99, 2.0
# a search visits at least this many candidates: recall@10 of 100,000 chunks is 1.000, with the usual 100 .972;
SEARCH_EF = 256
# points in one page of a scroll.
PAGE = 1000

# Every key that filters need, and how an index should treat it.
PAYLOAD_KEYS: Mapping[str, Literal["keyword", "float"]] = MappingProxyType(
    {
        "project": "keyword",
        "doc_tag": "keyword",
        "tags": "keyword",
        "type": "keyword",
        "vendor": "keyword",
        "paths": "keyword",
        "updated": "float",
        "environment": "keyword",
        "repository": "keyword",
    }
)

# Facts of documents that ``where`` compares like front matter; FOLDER is another thing to count them by.
FACTS = ("title", "type", "language", "vendor", "doc_tag", "tags", "created", "environment", "repository")
FOLDER = "folder"


def payload_of(document: Document) -> Payload:
    """The payload of every point of the document, for filters.

    ``paths`` holds the uri and every folder above it, so that a path prefix is an equality that ends at a
    segment. ``updated`` is the document's own date in seconds since 1970 (UTC), absent where it has none, as
    are ``environment`` and ``repository``.
    """
    segments = document.uri.split("/")
    payload: dict[str, str | int | float | tuple[str, ...]] = {
        "project": document.project,
        "doc_tag": document.doc_tag,
        "tags": document.tags,
        "type": document.type,
        "vendor": document.vendor,
        "paths": tuple("/".join(segments[:depth]) for depth in range(1, len(segments) + 1)),
    }
    stated = document.metadata.get("updated") or document.metadata.get("lastmod") or document.created
    updated = seconds_of(str(stated))
    if updated is not None:
        payload["updated"] = updated
    labels = {"environment": document.environment, "repository": document.repository}
    return payload | {key: label for key, label in labels.items() if label}


def stored_payload(payload: Payload) -> dict[str, Any]:
    """The payload as vendors store it, with lists in place of tuples."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in payload.items()}


def point_of(chunk_id: str, vectors: Any, payload: Mapping[str, Any]) -> Point:
    """The point that was written, from a stored record: vectors by name, lists instead of tuples."""
    import numpy as np

    sparse, dense = vectors[LEXICAL], vectors.get(DENSE)
    return Point(
        chunk_id,
        SparseVector(tuple(sparse.indices), tuple(sparse.values)),
        None if dense is None else np.asarray(dense, dtype=np.float32),
        {key: tuple(value) if isinstance(value, list) else value for key, value in payload.items()},
    )


def conditions(filters: Filters) -> list[Condition]:
    """The filters as conditions on the payload, all of which must hold.

    Raises ``WinnowError("INVALID_REQUEST")`` where ``updated_after`` or ``updated_before`` is not a date.
    """
    needed: list[Condition] = [AnyOf("project", (filters.project,))]
    needed += [AnyOf("tags", _with_spellings(filters, "tags", (tag,))) for tag in filters.tags]
    anything = {
        "doc_tag": filters.doc_tags,
        "type": filters.types,
        "vendor": (filters.vendor,) if filters.vendor else (),
        "paths": (prefix,) if (prefix := filters.path_prefix.strip("/")) else (),
        "environment": (filters.environment,) if filters.environment else (),
        "repository": filters.repositories,
    }
    needed += [AnyOf(key, _with_spellings(filters, key, values)) for key, values in anything.items() if values]
    if filters.within is not None:
        needed.append(AnyOf("paths", filters.within))
    if filters.updated_after:
        needed.append(AtLeast("updated", _date("updated_after", filters.updated_after)))
    if filters.updated_before:
        needed.append(Below("updated", _date("updated_before", filters.updated_before)))
    return needed


def _with_spellings(filters: Filters, key: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """The values, and their other spellings that count as equal."""
    folded = {fold_label(value) for value in values}
    others = (other for name, other in filters.spellings if name == key and fold_label(other) in folded)
    return tuple(dict.fromkeys((*values, *others)))


def _date(name: str, value: str) -> float:
    seconds = seconds_of(value)
    if seconds is None:
        raise WinnowError("INVALID_REQUEST", f"{name} must be an ISO date such as 2026-11-21")
    return seconds


def admits(filters: Filters, document: Document) -> bool:
    """Whether the document passes the filters: the decision of the index, for documents read by id.

    Raises ``WinnowError("INVALID_REQUEST")`` where ``updated_after`` or ``updated_before`` is not a date.
    """
    if filters == Filters(filters.project):  # the usual ones, for which no payload is needed
        return document.project == filters.project
    if filters.path and not path_matcher(filters.path)(document.uri):
        return False
    payload = payload_of(document)
    return all(_has_field(document, *field) for field in filters.where) and all(
        _holds(condition, payload.get(condition.key)) for condition in conditions(filters)
    )


def _has_field(document: Document, name: str, wanted: tuple[str, ...] | NumberRange) -> bool:
    """Whether a value of the field is a wanted text or in the range; "" is wanted of documents without a value."""
    facts = (getattr(document, name),) if name in FACTS else ()
    values = (document.metadata.get(name), *facts)
    if isinstance(wanted, NumberRange):
        return any(number in wanted for number in field_numbers(values))
    texts = [folded for text in field_texts(values) if (folded := fold_label(text))] or [""]
    return any(text in wanted for text in texts)


def _holds(condition: Condition, value: str | float | tuple[str, ...] | None) -> bool:
    match condition:
        case AnyOf(_, values):
            held = value if isinstance(value, tuple) else (value,)
            return not set(values).isdisjoint(held)
        case AtLeast(_, number):
            return isinstance(value, float) and value >= number
        case Below(_, number):
            return isinstance(value, float) and value < number


def seconds_of(date: str) -> float | None:
    """An ISO date or time as seconds since 1970, UTC where it names no zone; None where it is neither."""
    try:
        moment = datetime.fromisoformat(date.strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class VectorStore(Protocol):
    """Dense and sparse search over chunks, with filters applied inside the index.

    Implementers guarantee: scores are cosine (dense) and BM25 with the collection's own inverse document
    frequency (sparse); results are complete, best first; an upserted point is found by the next query and
    survives the process being killed once ``flush`` has returned; upserting an id again replaces it.
    Methods are blocking and safe to call from several threads.
    """

    def upsert(self, points: Sequence[Point]) -> None: ...

    def relabel(self, chunk_ids: Sequence[str], payload: Payload) -> None:
        """Replace the payload of these points, which keep their vectors; unknown ids are no error."""

    def delete(self, chunk_ids: Sequence[str]) -> None: ...

    def search_dense(
        self, vector: Vector, filters: Filters, limit: int, *, exact: bool = False
    ) -> list[tuple[str, float]]:
        """``exact``: by a full scan, where the HNSW graph might miss a chunk."""

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]: ...

    def score_dense(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The dense score of each of these chunks, for those that the dense leg did not return."""

    def score_sparse(self, vector: SparseVector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The sparse score of each of these chunks that has one (absent means 0)."""

    def ids(self, project: str) -> Iterable[str]: ...

    def points(self, first: str = "") -> Iterator[Sequence[Point]]:
        """All points of all projects from the chunk ``first`` on, by number, in pages."""

    def count(self) -> int: ...

    def inspect(self, filters: Filters, sample: int = 0) -> CollectionFacts:
        """The engine's own figures about the points that these filters admit, with ``sample`` of those."""

    def flush(self) -> None: ...

    def optimize(self) -> None:
        """Build the HNSW graph. Blocking, may take minutes; search is correct without it."""

    def warm(self) -> None:
        """Begin to load into memory what searches read; failures are ignored."""

    def close(self) -> None: ...


ENGLISH = frozenset({"en"})


class Embedder(Protocol):
    """Text to unit vectors. ``fingerprint`` changes whenever the vectors would.

    ``languages`` (ISO 639-1) are those that the model understands, None where it understands them all.
    ``background`` is the usual cosine of texts that have nothing in common, 0 to 1; ``related`` that of a question
    and a text that answers it.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def languages(self) -> frozenset[str] | None: ...

    @property
    def background(self) -> float: ...

    @property
    def related(self) -> float: ...

    def embed(self, texts: Sequence[str]) -> Vector:
        """Passages, or texts to compare with each other: shape (len(texts), dimension), rows of length 1."""

    def embed_queries(self, queries: Sequence[str]) -> Vector:
        """The same for queries, which some models read in another way; to compare with passages."""


def above_background(cosines: Vector, background: float) -> Vector:
    """Cosines as similarities: 0 for unrelated texts and 1 for equal ones, so that a limit serves all models.

    Some models give unrelated texts 0.7. A model that knows no word of the texts of the measurement has no scale.
    """
    return (cosines - background) / (1 - background) if background < 1 else cosines


class Reranker(Protocol):
    """A second ranking stage that reads query and passage together. Safe to call from several threads."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The score of each text for the query, 0 to 1. May raise any exception; the ranking ignores it."""


class ContradictionModel(Protocol):
    """A model that reads two claims together. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Its name and a digest of its files."""

    def contradiction(self, one: str, other: str) -> float:
        """The probability that two texts contradict each other, 0 to 1. May raise any exception."""


ModelState = Literal["loading", "ready", "missing", "off"]


class EmbedderSource(Protocol):
    """A model that may be loading, missing or switched off; none of these is an error.

    ``state`` says which, ``why`` is a sentence for messages ("" once the model is ready).
    """

    @property
    def state(self) -> ModelState: ...

    @property
    def why(self) -> str: ...

    def ready(self) -> Embedder | None:
        """The model if it is loaded now; never waits."""

    def wait(self) -> Embedder | None:
        """The model once it is loaded, or None where there is none."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A document as the catalogue stores it: record, whole text, chunks, places, the state for change detection.

    ``origin`` is the file (below the source) that it was read from, or "". ``embedding`` is the fingerprint of
    the model that its vectors come from, or "". ``context_hash`` digests what every point of the document
    shares (title, filter values), and after a point what is indexed with its first chunk alone (front matter):
    where it and a chunk's id are unchanged, the point is unchanged. It is "" while a writer changes the points,
    and after a writer was interrupted there.
    """

    document: Document
    text: str
    chunks: tuple[Chunk, ...]
    origin: str = ""
    embedding: str = ""
    context_hash: str = ""
    places: tuple[Place, ...] = ()
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """The state of a document in the catalogue, without its text: enough to decide whether it changed."""

    id: str
    uri: str
    source: str
    origin: str
    content_hash: str
    context_hash: str
    embedding: str


@dataclass(frozen=True, slots=True)
class CatalogueChanges:
    """One atomic change of the catalogue: entries to write, ids to delete, stamps of files.

    ``stamps`` maps an origin to the stamp of its file (size, modification time, labels); None deletes it.
    """

    project: str
    source: str
    entries: Sequence[CatalogueEntry] = ()
    deleted: Sequence[str] = ()
    stamps: Mapping[str, str | None] = field(default_factory=dict)


class DocumentStore(TextStore, FilteredReads, ProjectReads, Protocol):
    """Documents, their text and their chunks; the truth about what is indexed.

    Implementers guarantee: ``apply`` is atomic and durable once it has returned; reads are safe from several
    threads and see whole changes only.
    """

    def passages(self, chunk_ids: Sequence[str], project: str) -> dict[str, Passage]:
        """The chunks that exist in this project, by id, each with its document."""

    def documents(self, project: str) -> list[Document]:
        """All documents of a project, by uri."""

    def text(self, document_id: str, project: str) -> str | None:
        """The whole text of a document, or None where there is none."""

    def chunks(self, document_id: str, project: str) -> list[Chunk]:
        """The chunks of a document in reading order."""

    def indexed_documents(self, project: str) -> list[IndexedDocument]: ...

    def sources(self, project: str) -> list[str]:
        """The folders and files that were ingested into the project, by absolute path."""

    def stamps(self, project: str, source: str) -> dict[str, str]: ...

    def stamp(self, project: str, source: str, origin: str) -> str | None:
        """The stamp of a file of a source from when it was read; None for a file that was not read."""

    def chunk_ids(self, project: str) -> list[str]: ...

    def chunk_count(self) -> int:
        """Chunks in all projects."""

    def apply(self, changes: CatalogueChanges) -> None:
        """Make one change; the generation grows where entries or deletions are among it."""

    def mark_dirty(self, document_ids: Sequence[str]) -> None:
        """Empty the ``context_hash`` of these documents: their points are about to be replaced by others."""

    def only_writer(self) -> AbstractContextManager[None]:
        """Keep other writers out, those of other processes too. Raises ``WinnowError("INDEX_HELD")``."""

    @property
    def is_trusted(self) -> bool:
        """Whether this writer found what was sealed, or has compared the documents with their digests since."""

    def trust(self) -> None:
        """Declare that every document was compared with its digest; only then may an unsealed store be sealed."""

    def mark_altered(self, document_ids: Sequence[str]) -> None:
        """Empty ``content_hash`` and ``context_hash`` of these documents: the next ingest reads their files."""

    def has_unfinished_write(self, project: str) -> bool:
        """Whether a writer began and did not reach ``finish_write``."""

    def begin_write(self, project: str) -> None:
        """Mark the project as being written, and create it if it is new."""

    def finish_write(self, project: str) -> None:
        """Remove the mark: the vector store and the catalogue agree."""
