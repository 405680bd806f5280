"""An index from one store to another: copied, streamed, resumed where it was cut off, compared before it counts.

Theory of operation. A store is a catalogue, beside it perhaps a graph and its ledger (SQLite files in one folder),
and vectors, in the same folder or on a server. The steps of a move, each of which may be killed::

    1. mark             a file in the target's folder: from here on nobody opens the target
    2. files            SQLite's own backup of each, unless the target keeps the source's folder
    3. vectors          page by page in the order of their numbers; the mark says from which on
    4. surplus          points of the target that the source does not have (somebody ingested between two runs)
    5. build            the target's graph of vectors
    6. verify           equal counts, and equal rankings for a sample of what is stored
    7. unmark

A run that finds the mark goes on at step 3 where the other one was. The source is read, never written.
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

from server.backends.base import Point, SparseVector, VectorStore
from server.backends.catalogue import assign_identity
from server.backends.files.private_folder import make_private
from server.backends.files.store_folder import CATALOGUE, FILES
from server.backends.sqlite import copy_database
from server.errors import WinnowError
from server.models import Filters

# Chunks whose own vectors are asked for in both stores, and how deep their rankings are compared.
QUESTIONS = 50
DEPTH = 10
TOLERANCE = 1e-5
# Asked for, so that what is tied with the last one compared is among it.
_REACH = 5 * DEPTH
_UNLIKE = "the two stores rank differently for chunk {chunk}, so the target stays closed; run winnow migrate again"

OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class MoveMark:
    """An unfinished move. ``to``: the server that the vectors go to, "" for the folder that the mark lies in.

    ``origin`` says what is moved: the store and its state. ``first``: the chunk to go on with, "" for all.
    """

    to: str
    origin: str
    first: str = ""

    @property
    def name(self) -> str:
        """The file that it is kept in."""
        return _name(self.to)


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move did. ``streamed``: points of this run; ``removed``: those that only the target had.

    ``identical`` of ``compared`` rankings had equal ids in order, the others differed where scores are tied.
    ``reweighted``: how many words weigh otherwise in the target, as chunks that were deleted may still count in a
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
        return MoveMark(**json.loads((folder / _name(to)).read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):  # of another version: it is unfinished, and nobody knows how far it came
        return MoveMark(to, "")


def check_finished(folder: Path, to: str) -> None:
    """Raises ``WinnowError("INDEX_UNAVAILABLE")`` where a move into this target has not come to its end."""
    if read_mark(folder, to):
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the move to {to or folder} is not finished; run winnow migrate --to {to or folder} again, "
            "with the settings of the store that it moves",
        )


def begin(folder: Path, to: str, origin: str) -> MoveMark:
    """Mark the target; the mark of an earlier run of the same move stays, with how far that came."""
    make_private(folder)
    found = read_mark(folder, to)
    mark = found if found and found.origin == origin else MoveMark(to, origin)
    _write(folder, mark)
    return mark


def finish(folder: Path, mark: MoveMark) -> None:
    """The target is whole: from here on it can be opened."""
    (folder / mark.name).unlink()


def copy_files(source: Path, target: Path, step: OnStep) -> None:
    """Everything but the vectors, as far as it is there. What a killed run left of a file is written over."""
    for name in filter(lambda name: (source / name).exists(), FILES):
        copy_database(source / name, target / name, partial(step, f"copying {name}"))
    assign_identity(target / CATALOGUE)


def move_vectors(
    source: VectorStore, target: VectorStore, folder: Path, mark: MoveMark, step: OnStep
) -> MoveReport:
    """Steps 3 to 6. Raises ``WinnowError("INDEX_UNAVAILABLE")`` where source and target differ at the end."""
    streamed = _stream(source, target, folder, mark, step)
    removed = _without_surplus(source, target) if target.count() != source.count() else 0
    target.flush()
    step("building", 0, 1)
    target.optimize()
    target.flush()
    points = _counted(source, target)
    compared, identical, reweighted = _compared(source, target, step)
    return MoveReport(points, streamed, removed, compared, identical, reweighted)


def _name(to: str) -> str:
    return f"moving-{blake2b(to.encode(), digest_size=4).hexdigest()}.json"


def _write(folder: Path, mark: MoveMark) -> None:
    made = folder / f"{mark.name}.new"
    made.write_text(json.dumps(asdict(mark)), "utf-8")
    os.replace(made, folder / mark.name)


def _stream(source: VectorStore, target: VectorStore, folder: Path, mark: MoveMark, step: OnStep) -> int:
    streamed, of = 0, source.count()
    for page in source.points(mark.first):
        if page:
            target.upsert(page)
            target.flush()
            streamed += len(page)
            _write(folder, replace(mark, first=page[-1].chunk_id))
            step("vectors", of - max(of - streamed, 0), of)
    return streamed


def _without_surplus(source: VectorStore, target: VectorStore) -> int:
    kept = {point.chunk_id for page in source.points() for point in page}
    surplus = [point.chunk_id for page in target.points() for point in page if point.chunk_id not in kept]
    target.delete(surplus)
    return len(surplus)


def _counted(source: VectorStore, target: VectorStore) -> int:
    expected, actual = source.count(), target.count()
    if expected != actual:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the source holds {expected:,} points, the target {actual:,}; run winnow migrate again",
        )
    return actual


# --- do both rank alike?


def _compared(source: VectorStore, target: VectorStore, step: OnStep) -> tuple[int, int, int]:
    """How many rankings were compared, how many had the same ids in order, how many words another weight."""
    compared, identical, reweighted = 0, 0, 0
    for number, point in enumerate(_spread(source)):
        for search in _searches(point):
            one, other = search(source), search(target)
            if not _alike(one.ordered, other.ordered):
                raise WinnowError("INDEX_UNAVAILABLE", _UNLIKE.format(chunk=point.chunk_id))
            compared += 1
            identical += one.ids == other.ids
            reweighted += abs(one.best - other.best) > TOLERANCE * one.best
        step("verifying", number + 1, QUESTIONS)
    return compared, identical, reweighted


def _spread(source: VectorStore) -> Iterator[Point]:
    """Some points, evenly spread: their numbers are digests, so every so many of them is as good as chance."""
    every = max(source.count() // QUESTIONS, 1)
    points = (point for page in source.points() for point in page)
    return islice(points, 0, every * QUESTIONS, every)


@dataclass(frozen=True, slots=True)
class _Found:
    """A ranking, its scores divided by the best one, which ``best`` is."""

    ordered: list[tuple[str, float]]
    best: float

    @property
    def ids(self) -> list[str]:
        return [id for id, _ in self.ordered[:DEPTH]]


def _searches(point: Point) -> Iterator[Callable[[VectorStore], _Found]]:
    """What to ask both stores: what is like this point, and what has the word that weighs most in it.

    One word at a time: the scores of several are sums of theirs, and with one the weight of the word cancels out.
    """
    filters = Filters(str(point.payload["project"]))
    if point.dense is not None:
        vector = point.dense
        yield lambda store: _found(store.search_dense(vector, filters, _REACH, exact=True))
    if point.sparse.indices:
        _, word = max(zip(point.sparse.values, point.sparse.indices, strict=True))
        yield lambda store: _found(store.search_sparse(SparseVector((word,), (1.0,)), filters, _REACH))


def _found(scored: Sequence[tuple[str, float]]) -> _Found:
    """What is equal to five digits is ordered by id, for engines order it as they like."""
    best = max((score for _, score in scored), default=0.0)
    relative = [(id, score / best if best else 0.0) for id, score in scored]
    return _Found(sorted(relative, key=lambda pair: (-round(pair[1], 5), pair[0])), best)


def _alike(one: Sequence[tuple[str, float]], other: Sequence[tuple[str, float]]) -> bool:
    """Whether the first ``DEPTH`` have equal scores, and equal ids but where a score is tied."""
    scores = dict(other)
    if len(one) != len(other):
        return False
    return all(
        abs(mine - theirs) <= TOLERANCE and abs(scores.get(id, theirs) - mine) <= TOLERANCE
        for (id, mine), (_, theirs) in zip(one[:DEPTH], other[:DEPTH], strict=True)
    )
