"""Search by meaning: compares the vector of a query with the vectors of a notebook's claims, by cosine.

Vectors are stored with the entries (float32, rows of length 1). Those of the notebooks that were searched last are
held in memory; vectors that any process has written since are read before each search. If a notebook has more
claims than fit, the latest claims are searched.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from winnow.server.claims.records import MAX_CLAIMS, Entry
from winnow.server.claims.sqlite_store import SqliteClaimStore, StoredVector
from winnow.server.claims.store import Notebook, View
from winnow.server.storage.base import Embedder, above_background

# 100,000 claims with 384 numbers each take 154 MB.
MOST_CLAIMS, _HELD = 100_000, 4
_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class NearestClaim:
    """The claim of an entry that is nearest to a query; ``similarity`` is the cosine."""

    entry_id: str
    claim_id: str
    similarity: float


@dataclass(frozen=True, slots=True)
class NearEntry:
    """An entry, the ids of its claims, and their vectors in the same order."""

    entry_id: str
    claim_ids: tuple[str, ...]
    vectors: Any


@dataclass(slots=True)
class _Matrix:
    """The vectors of a notebook: ``rows`` has room for more than ``size``; the entry -1 marks a removed row."""

    rows: Any
    numbers: Any
    claims: list[tuple[str, str]] = field(default_factory=list)
    size: int = 0
    through: int = 0


class ClaimVectors:
    """The vectors of the claims of a store. Safe to use from several threads."""

    def __init__(self, store: SqliteClaimStore) -> None:
        self.store = store
        self._held: OrderedDict[tuple[Notebook, str], _Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, embedder: Embedder, entries: Sequence[Entry]) -> None:
        """Store the vectors of the claims of these entries."""
        texts = [claim.text for entry in entries for claim in entry.claims]
        if not texts:
            return
        rows = np.asarray(embedder.embed(texts), dtype=np.float32)
        first = 0
        for entry in entries:
            own = rows[first : first + len(entry.claims)]
            first += len(entry.claims)
            pairs = [(claim.id, row.tobytes()) for claim, row in zip(entry.claims, own, strict=True)]
            self.store.save_vectors(entry.id, embedder.fingerprint, pairs)

    def embed_missing(self, embedder: Embedder, notebook: Notebook, limit: int) -> bool:
        """Embed at most ``limit`` entries that were written without this model; return whether none are left."""
        missing = self.store.without_vectors(notebook, embedder.fingerprint, limit)
        self.embed(embedder, missing)
        return len(missing) < limit

    def nearest(
        self, embedder: Embedder, view: View, query: str, limit: int, min_similarity: float = 0.0
    ) -> list[NearestClaim]:
        """The entries of the view whose claims are nearest to the query, each with its nearest claim, in order."""
        (vector,) = np.asarray(embedder.embed_queries([query]), dtype=np.float32)
        allowed = np.asarray(self.store.entry_numbers(view), dtype=np.int64)
        with self._lock:
            matrix = self._current(view.notebook, embedder)
            numbers = matrix.numbers[: matrix.size]
            similarities = above_background(matrix.rows[: matrix.size] @ vector, embedder.background)
            scores = np.where(np.isin(numbers, allowed), similarities, -np.inf)
            return _best(matrix, scores, limit, min_similarity)

    def neighbours(self, embedder: Embedder, view: View, entry: Entry, limit: int) -> list[NearEntry]:
        """The entries of the view with claims nearest to those of this one, the nearest first, and their vectors.

        The first is the entry itself, whose vectors must be stored.
        """
        allowed = np.asarray(self.store.entry_numbers(view), dtype=np.int64)
        with self._lock:
            matrix = self._current(view.notebook, embedder)
            numbers = matrix.numbers[: matrix.size]
            latest = reversed(range(matrix.size))  # the latest rows are at the end
            own = next(int(numbers[at]) for at in latest if numbers[at] >= 0 and matrix.claims[at][0] == entry.id)
            rows = {own: np.flatnonzero(numbers == own)}
            best = (matrix.rows[: matrix.size] @ matrix.rows[rows[own]].T).max(axis=1)
            best = np.where(np.isin(numbers, allowed) & (numbers != own), best, -2.0)
            for at in _descending(best, limit * MAX_CLAIMS):
                if len(rows) > limit or best[at] < -1.5:
                    break
                rows.setdefault(int(numbers[at]), np.flatnonzero(numbers == numbers[at]))
            return [
                NearEntry(matrix.claims[held[0]][0], tuple(matrix.claims[at][1] for at in held), matrix.rows[held])
                for held in rows.values()
            ]

    def _current(self, notebook: Notebook, embedder: Embedder) -> _Matrix:
        key = (notebook, embedder.fingerprint)
        matrix = self._held.get(key)
        if matrix is None or matrix.size > 2 * MOST_CLAIMS:  # mostly rows of earlier states
            matrix = _Matrix(np.zeros((0, embedder.dimension), np.float32), np.zeros(0, np.int64))
        added = self.store.vectors(notebook, embedder.fingerprint, matrix.through, MOST_CLAIMS)
        if added:
            _append(matrix, added)
        self._held[key] = matrix
        self._held.move_to_end(key)
        while len(self._held) > 1 and (
            len(self._held) > _HELD or sum(held.size for held in self._held.values()) > MOST_CLAIMS
        ):
            self._held.popitem(last=False)
        return matrix


def _append(matrix: _Matrix, added: Sequence[StoredVector]) -> None:
    """Append the rows of whole entries, and remove the rows of the entries' earlier states."""
    entries = np.asarray([row.entry for row in added], dtype=np.int64)
    numbers = matrix.numbers[: matrix.size]
    numbers[np.isin(numbers, entries)] = -1
    size = matrix.size + len(added)
    if size > len(matrix.rows):
        room = int(size * _GROWTH) - matrix.size
        matrix.rows = np.concatenate(
            [matrix.rows[: matrix.size], np.zeros((room, matrix.rows.shape[1]), np.float32)]
        )
        matrix.numbers = np.concatenate([numbers, np.full(room, -1, np.int64)])
    matrix.rows[matrix.size : size] = np.frombuffer(b"".join(row.vector for row in added), np.float32).reshape(
        len(added), -1
    )
    matrix.numbers[matrix.size : size] = entries
    matrix.claims += [(row.entry_id, row.claim_id) for row in added]
    matrix.size, matrix.through = size, added[-1].number


def _best(matrix: _Matrix, scores: Any, limit: int, min_similarity: float) -> list[NearestClaim]:
    found: dict[str, NearestClaim] = {}
    for at in _descending(scores, limit * MAX_CLAIMS):
        similarity = float(scores[at])
        if len(found) == limit or similarity < min_similarity or similarity == -np.inf:
            break
        entry_id, claim_id = matrix.claims[at]
        if entry_id not in found:
            found[entry_id] = NearestClaim(entry_id, claim_id, min(max(similarity, 0.0), 1.0))
    return list(found.values())


def _descending(scores: Any, most: int) -> Any:
    """The positions of the ``most`` largest scores, the largest first; equal scores in their order."""
    if len(scores) > most:
        least = np.partition(scores, -most)[-most]
        best = np.flatnonzero(scores >= least)
        return best[np.argsort(-scores[best], kind="stable")]
    return np.argsort(-scores, kind="stable")
