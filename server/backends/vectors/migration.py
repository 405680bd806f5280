"""Moves an index to another store: copies, resumes after an interruption, and compares before the target is used.

Theory of operation. A store is a catalogue, optionally a graph and its document facts (SQLite files in one
folder), and vectors, in the same folder or on a server. The steps of a move, each of which may be killed::

    1. mark             a file in the target's folder: from here on no process opens the target
    2. files            SQLite's backup of each, unless the target keeps the source's folder
    3. vectors          page by page in the order of their numbers; the mark records the next one
    4. surplus          points of the target that the source lacks (an ingest between two runs) are deleted
    5. build            the target's search graph
    6. verify           equal counts, and equal rankings for a sample of the stored chunks
    7. unmark

A run that finds the mark copies the files again and continues step 3 where the earlier run was. The source is only
read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from winnow.server.backends.catalogue import assign_identity
from winnow.server.errors import WinnowError
from winnow.server.models import Filters
from winnow.server.storage.base import Point, SparseVector, VectorStore
from winnow.server.storage.files.store_folder import CATALOGUE, FILES, prepare_store
from winnow.server.storage.sqlite import copy_database

# How many chunks' vectors are searched for in both stores, and how deep the rankings are compared.
QUESTIONS = 50
DEPTH = 10
TOLERANCE = 1e-5
# Requested rows: enough to include ties with the last row that is compared.
_SEARCH_LIMIT = 5 * DEPTH
_DIFFERENT = (
    "the two stores rank differently for chunk {chunk}, so the target stays closed; run winnow migrate again"
)

OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class MoveMark:
    """An unfinished move. ``to``: the server that the vectors go to, "" for the folder of the mark.

    ``origin`` identifies the source store and its state. ``first``: the chunk to continue with, "" for all.
    """

    to: str
    origin: str
    first: str = ""

    @property
    def name(self) -> str:
        """The name of the mark's file."""
        return _mark_name(self.to)


@dataclass(frozen=True, slots=True)
class MoveReport:
    """The result of a move. ``streamed``: points copied by this run; ``removed``: points that only the target had.

    ``identical`` of ``compared`` rankings had equal ids in order, the others differed only among ties.
    ``reweighted``: how many words have another weight in the target, because deleted chunks may still count in the
    source, and each shard of a server counts its own.
    """

    points: int
    streamed: int
    removed: int
    compared: int
    identical: int
    reweighted: int


def read_mark(folder: Path, to: str) -> MoveMark | None:
    """The unfinished move into this target, if there is one."""
    try:
        return MoveMark(**json.loads((folder / _mark_name(to)).read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):  # written by another version: unfinished, progress unknown
        return MoveMark(to, "")


def check_finished(folder: Path, to: str) -> None:
    """Raise ``WinnowError("INDEX_UNAVAILABLE")`` where a move into this target is unfinished."""
    if read_mark(folder, to):
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the move to {to or folder} is not finished; run winnow migrate --to {to or folder} again, "
            "with the settings of the store that it moves",
        )


def begin(folder: Path, to: str, origin: str) -> MoveMark:
    """Mark the target; the mark of an earlier run of the same move is kept, with its progress."""
    prepare_store(folder)
    earlier = read_mark(folder, to)
    mark = earlier if earlier and earlier.origin == origin else MoveMark(to, origin)
    _write_mark(folder, mark)
    return mark


def finish(folder: Path, mark: MoveMark) -> None:
    """Remove the mark: from here on the target can be opened."""
    (folder / mark.name).unlink()


def copy_files(source: Path, target: Path, step: OnStep) -> None:
    """Copy everything but the vectors, as far as it exists. Files of a killed run are overwritten."""
    for name in filter(lambda name: (source / name).exists(), FILES):
        copy_database(source / name, target / name, partial(step, f"copying {name}"))
    assign_identity(target / CATALOGUE)


def move_vectors(
    source: VectorStore, target: VectorStore, folder: Path, mark: MoveMark, step: OnStep
) -> MoveReport:
    """Steps 3 to 6. Raises ``WinnowError("INDEX_UNAVAILABLE")`` where source and target differ at the end."""
    streamed = _stream(source, target, folder, mark, step)
    removed = _remove_surplus(source, target) if target.count() != source.count() else 0
    target.flush()
    step("building", 0, 1)
    target.optimize()
    target.flush()
    points = _check_counts(source, target)
    compared, identical, reweighted = _compare(source, target, step)
    return MoveReport(points, streamed, removed, compared, identical, reweighted)


def _mark_name(to: str) -> str:
    return f"moving-{blake2b(to.encode(), digest_size=4).hexdigest()}.json"


def _write_mark(folder: Path, mark: MoveMark) -> None:
    temporary = folder / f"{mark.name}.new"
    temporary.write_text(json.dumps(asdict(mark)), "utf-8")
    os.replace(temporary, folder / mark.name)


def _stream(source: VectorStore, target: VectorStore, folder: Path, mark: MoveMark, step: OnStep) -> int:
    streamed, total = 0, source.count()
    for page in source.points(mark.first):
        if page:
            target.upsert(page)
            target.flush()
            streamed += len(page)
            _write_mark(folder, replace(mark, first=page[-1].chunk_id))
            step("vectors", min(streamed, total), total)
    return streamed


def _remove_surplus(source: VectorStore, target: VectorStore) -> int:
    kept = {point.chunk_id for page in source.points() for point in page}
    surplus = [point.chunk_id for page in target.points() for point in page if point.chunk_id not in kept]
    target.delete(surplus)
    return len(surplus)


def _check_counts(source: VectorStore, target: VectorStore) -> int:
    expected, actual = source.count(), target.count()
    if expected != actual:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the source holds {expected:,} points, the target {actual:,}; run winnow migrate again",
        )
    return actual


# --- comparison of rankings


def _compare(source: VectorStore, target: VectorStore, step: OnStep) -> tuple[int, int, int]:
    """The numbers of compared rankings, of identical ones, and of words with another weight."""
    compared, identical, reweighted = 0, 0, 0
    for number, point in enumerate(_sample(source)):
        for search in _searches(point):
            expected, actual = search(source), search(target)
            if not _is_equal_ranking(expected.ordered, actual.ordered):
                raise WinnowError("INDEX_UNAVAILABLE", _DIFFERENT.format(chunk=point.chunk_id))
            compared += 1
            identical += expected.ids == actual.ids
            reweighted += abs(expected.best - actual.best) > TOLERANCE * expected.best
        step("verifying", number + 1, QUESTIONS)
    return compared, identical, reweighted


def _sample(source: VectorStore) -> Iterator[Point]:
    """An evenly spaced sample of points: numbers are digests, so it is as good as a random one."""
    every = max(source.count() // QUESTIONS, 1)
    points = (point for page in source.points() for point in page)
    return islice(points, 0, every * QUESTIONS, every)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """A ranking whose scores are divided by the best one, ``best``."""

    ordered: list[tuple[str, float]]
    best: float

    @property
    def ids(self) -> list[str]:
        return [id for id, _ in self.ordered[:DEPTH]]


def _searches(point: Point) -> Iterator[Callable[[VectorStore], _Ranking]]:
    """Searches for a point: by its dense vector, and by the word with the largest weight in it.

    One word at a time, because its weight cancels out in relative scores; scores of several words are sums.
    """
    filters = Filters(str(point.payload["project"]))
    if point.dense is not None:
        vector = point.dense
        yield lambda store: _ranking_of(store.search_dense(vector, filters, _SEARCH_LIMIT, exact=True))
    if point.sparse.indices:
        _, word = max(zip(point.sparse.values, point.sparse.indices, strict=True))
        yield lambda store: _ranking_of(store.search_sparse(SparseVector((word,), (1.0,)), filters, _SEARCH_LIMIT))


def _ranking_of(scored: Sequence[tuple[str, float]]) -> _Ranking:
    """Scores that are equal to five digits are ordered by id, because stores order ties arbitrarily."""
    best = max((score for _, score in scored), default=0.0)
    relative = [(id, score / best if best else 0.0) for id, score in scored]
    return _Ranking(sorted(relative, key=lambda pair: (-round(pair[1], 5), pair[0])), best)


def _is_equal_ranking(one: Sequence[tuple[str, float]], other: Sequence[tuple[str, float]]) -> bool:
    """Whether the first ``DEPTH`` rows have equal scores, and equal ids except among ties."""
    scores = dict(other)
    if len(one) != len(other):
        return False
    return all(
        abs(mine - theirs) <= TOLERANCE and abs(scores.get(id, theirs) - mine) <= TOLERANCE
        for (id, mine), (_, theirs) in zip(one[:DEPTH], other[:DEPTH], strict=True)
    )
