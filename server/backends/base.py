"""What the rest of the server expects of a store and of a model. Vendors live in the files beside this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from server.models import Filters

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
