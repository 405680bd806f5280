"""The default vector store: Qdrant's engine inside this process, on a folder.

Its queries mean what a Qdrant server's mean, so the two stores rank alike. One process holds the folder at a
time (``lock``). An upsert is in the engine's write-ahead log before it returns; ``flush`` moves it to disk.
Up to ``EXACT_KB`` of vectors every search is an exact scan, which is as fast there and complete; above that
``optimize`` builds an HNSW graph over vectors of one byte a number, and a filter that leaves fewer than that is
scanned again. What the bytes find is scored once more with the whole vectors, which stay on disk.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import qdrant_edge as qdrant

from server.backends.base import (
    DENSE,
    EXACT_KB,
    HNSW_EF,
    HNSW_M,
    LEXICAL,
    OVERSAMPLING,
    PAGE,
    PAYLOAD_KEYS,
    QUANTILE,
    SEARCH_EF,
    AnyOf,
    AtLeast,
    Below,
    Condition,
    Point,
    SparseVector,
    Vector,
    conditions,
    point_of,
)
from server.backends.files import seal
from server.backends.files.lock import HOLDER, StoreLock
from server.backends.files.seal import SealCheck
from server.backends.files.store_folder import folder_error
from server.backends.files.temporary_folders import CREATING, temporary_folder
from server.errors import WinnowError
from server.ids import chunk_of_point, point_id
from server.models import Filters
from server.runtime.deadlines import check_deadline

# Bytes find twice what is asked for, whole vectors say which half of it stays.
_NEAREST = qdrant.SearchParams(
    hnsw_ef=SEARCH_EF,
    quantization=qdrant.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING),
)
_EXACT = qdrant.SearchParams(exact=True)
# What is not built yet is held in memory, and a graph is built from a copy, so an ingest of any size builds as it
# goes, and no part of an index grows beyond what can be built: with 4,096 MB every 100,000 points, and parts of
# 260,000. Pages of files that are mapped are not counted: the system takes them back when it needs them.
MEMORY_MB = 4_096
_POINTS_A_MB = 25
_SEGMENT_KB_A_MB = 100
# What is mapped opens at once; what is pinned is copied value by value, seconds for a million chunks.
_INDEXES: Mapping[str, qdrant.KeywordIndexParams | qdrant.FloatIndexParams] = {
    "keyword": qdrant.KeywordIndexParams(memory=qdrant.Memory.Cached),
    "float": qdrant.FloatIndexParams(memory=qdrant.Memory.Cached),
}
_KEPT_READY = ("quantized.", "vector_index", "payload_index", "id_tracker")
_WHOLE = "vector_storage-" + DENSE
_WARM_BYTES_A_MB = 1 << 19
_PROJECT = "project"  # the key of the payload that every point has
_ANEW = "make it anew from the text that the store keeps: winnow reindex"
_PANIC = "PanicException"  # of the engine's language; no module has it
_ROOM_BYTES = 48 << 20
_TOO_MANY_OPEN = ("TooManyOpenFiles", "Too many open files")
_READERS = 4
_READ_BYTES = 1 << 20


def points_between_builds(memory_mb: int) -> int:
    """How many points may be written before their graph is built."""
    return memory_mb * _POINTS_A_MB


class EdgeStore:
    """A ``VectorStore`` in the folder ``vectors`` of ``store``; vectors have ``dimension`` numbers.

    ``memory_mb``: memory for writing, without the points themselves. ``is_unlocked``: open without the store's
    lock, because the caller holds it or no other process knows of these vectors yet. ``is_built_by_caller``: the
    caller decides when the search graph is built.

    Raises ``WinnowError("INDEX_HELD")`` where another process has it open.
    """

    def __init__(
        self,
        store: Path,
        dimension: int,
        memory_mb: int = MEMORY_MB,
        *,
        vectors: str = "vectors",
        is_unlocked: bool = False,
        is_built_by_caller: bool = False,
    ) -> None:
        self._lock = None if is_unlocked else StoreLock(store, HOLDER)
        self._folder, self._memory_mb = store / vectors, memory_mb
        self._build_every, self._unbuilt = None if is_built_by_caller else points_between_builds(memory_mb), 0
        self._is_warmed, self._is_closing = False, threading.Event()
        self._is_changed = False
        try:
            self._watch = SealCheck(self._folder, _damaged)
            with seal.keep_sealed(self._folder, self._files), self._asked():
                self._shard = _open(self._folder, _config(dimension, memory_mb))
                self._projects = _projects(self._shard)
            self._watch.start()
        except BaseException:
            self._release()
            raise

    def upsert(self, points: Sequence[Point]) -> None:
        """Put the points in; a point with a known id replaces it."""
        if not points:
            return
        _check_room(self._folder)
        self._projects |= {str(point.payload[_PROJECT]) for point in points}  # before a search can find them
        with self._changing():
            self._shard.update(qdrant.UpdateOperation.upsert_points([_point(point) for point in points]))
        self._unbuilt += len(points)
        if self._build_every is not None and self._unbuilt >= self._build_every:
            self.optimize()

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Take the points out; unknown ids are no error."""
        if chunk_ids:
            points: list[Any] = [point_id(chunk) for chunk in chunk_ids]
            with self._changing():
                self._shard.update(qdrant.UpdateOperation.delete_points(points))

    def search_dense(
        self, vector: Vector, filters: Filters, limit: int, *, exact: bool = False
    ) -> list[tuple[str, float]]:
        """The ``limit`` nearest chunks by cosine, best first; ``exact``: by a scan, so that none is missed."""
        return self._search_within(filters, _dense(vector), limit, _EXACT if exact else _NEAREST)

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]:
        """The ``limit`` best chunks by BM25, best first; only such as share a term."""
        if not vector.indices:
            return []
        return self._search_within(filters, _lexical(vector), limit)

    def score_dense(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The cosine of each of these chunks that has a vector."""
        return self._score(_dense(vector), chunk_ids, _EXACT)

    def score_sparse(self, vector: SparseVector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The BM25 score of each of these chunks that shares a term."""
        return self._score(_lexical(vector), chunk_ids) if vector.indices else {}

    def ids(self, project: str) -> Iterable[str]:
        """Every chunk of the project, in the order of their numbers."""
        for page in self._pages(_filter(Filters(project)), None, whole=False):
            yield from (_chunk(record.id) for record in page)

    def points(self, first: str = "") -> Iterator[Sequence[Point]]:
        """Every point of all projects from the chunk ``first`` on, in the order of their numbers, in pages."""
        for page in self._pages(None, point_id(first) if first else None, whole=True):
            yield [_kept(record) for record in page]

    def count(self) -> int:
        """Points in all projects."""
        with self._asked():
            return self._shard.count(qdrant.CountRequest(exact=True))

    def flush(self) -> None:
        """Return once everything upserted so far survives the machine."""
        with self._asked():
            self._shard.flush()

    def optimize(self) -> None:
        """Build the HNSW graph where the collection is large enough to want one, and seal what is there then."""
        self._unbuilt = 0
        with self._changing():
            self._shard.optimize()
            self._shard.flush()  # until then the engine keeps, and maps, what it has replaced
        self._seal()

    def warm(self) -> None:
        """Begin to read the whole vectors into the system's cache, where half of ``memory_mb`` has room for them.

        A search scores hundreds of them, here and there in their files: from a cold disk that takes longer than
        all the rest of it. Once is enough: what is written later is in the cache already.
        """
        if self._is_warmed:
            return
        self._is_warmed = True
        files = [file for file in self._folder.rglob(f"*{_WHOLE}/*") if file.is_file()]
        if sum(file.stat().st_size for file in files) <= self._memory_mb * _WARM_BYTES_A_MB:
            threading.Thread(target=self._warm, args=(files,), name="winnow-warm", daemon=True).start()

    def close(self) -> None:
        """Flush and let the next process in."""
        self._is_closing.set()
        self._watch.close()
        self._shard.close()
        if self._is_changed:
            self._seal()
        self._release()

    def _warm(self, files: Sequence[Path]) -> None:
        for file in files:
            with suppress(OSError):  # an ingest that built it anew has put it away
                _read(file, self._is_closing.is_set)

    def _seal(self) -> None:
        with suppress(OSError):  # without a seal it opens, too
            seal.write(self._folder, self._files())
            self._is_changed = False

    def _files(self) -> list[Path]:
        return [file for file in self._folder.rglob("*") if _is_sealable(file)]

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Around every call of the engine, which has no exceptions of its own: what went wrong, and where."""
        self._watch.raise_damage()
        try:
            yield
        except WinnowError:
            raise
        except Exception as error:
            _check_open_files(self._folder, error)
            why = f"the index in {self._folder} cannot be used: {error}"
            raise WinnowError("INDEX_UNAVAILABLE", f"{why}; {_ANEW}") from error
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            raise _damaged(self._folder, str(error)) from error

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._is_changed = True
        seal.unseal(self._folder)
        with self._asked():
            yield

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _pages(self, where: qdrant.Filter | None, offset: Any, *, whole: bool) -> Iterator[list[qdrant.Record]]:
        while True:
            check_deadline()
            request = qdrant.ScrollRequest(offset, PAGE, where, with_payload=whole, with_vector=whole)
            with self._asked():
                records, offset = self._shard.scroll(request)
            yield records
            if offset is None:
                return

    def _search_within(
        self, filters: Filters, query: qdrant.Query, limit: int, params: qdrant.SearchParams | None = None
    ) -> list[tuple[str, float]]:
        """What ``filters`` leave of the answer.

        The engine looks up every point that a condition admits, which takes as long as all the rest, so the
        condition that every point meets, that it is of this project, is left out where there is no other project;
        where one came meanwhile, the search is made again.
        """
        projects = self._projects
        found = self._search(query, _filter(filters, is_alone=projects <= {filters.project}), limit, params)
        if self._projects == projects:
            return found
        return self._search(query, _filter(filters), limit, params)

    def _search(
        self, query: qdrant.Query, where: qdrant.Filter, limit: int, params: qdrant.SearchParams | None = None
    ) -> list[tuple[str, float]]:
        check_deadline()
        request = qdrant.QueryRequest(
            limit=limit, query=query, filter=where, params=params, with_payload=False, with_vector=False
        )
        with self._asked():
            found: list[Any] = self._shard.query(request)  # their ids are numbers: we gave them
        return [(chunk_of_point(one.id), one.score) for one in found]

    def _score(
        self, query: qdrant.Query, chunk_ids: Sequence[str], params: qdrant.SearchParams | None = None
    ) -> dict[str, float]:
        if not chunk_ids:
            return {}
        points: set[Any] = {point_id(chunk) for chunk in chunk_ids}
        where = qdrant.Filter(must=[qdrant.HasIdCondition(points)])
        return dict(self._search(query, where, len(points), params))


def _open(folder: Path, config: qdrant.EdgeConfig) -> qdrant.EdgeShard:
    try:
        if not folder.exists():
            _create(folder, config)
        _read_ahead(folder)
        shard = qdrant.EdgeShard.load(str(folder))
        if not _is_so(folder, config):
            # What was built in another way is built again by the next optimize. Only a shard that opens by itself
            # comes here: with a configuration the engine would take an empty folder for an empty index.
            shard.close()
            shard = qdrant.EdgeShard.load(str(folder), config)
        return _indexed(shard)
    except OSError as error:
        raise folder_error(folder.parent, error) from error
    except Exception as error:  # the engine has no exceptions of its own
        _check_open_files(folder, error)
        raise WinnowError("INDEX_UNAVAILABLE", f"the index in {folder} does not open: {error}; {_ANEW}") from error


def _damaged(path: Path, why: str) -> WinnowError:
    details = {"damaged": path.name}
    return WinnowError("INDEX_UNAVAILABLE", f"{path} is damaged: {why}; {_ANEW}", details=details)


def _check_room(folder: Path) -> None:
    """The engine writes into maps of files that have no room yet: a disk that is full then kills the process."""
    free = shutil.disk_usage(folder).free
    if free < _ROOM_BYTES:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the disk is nearly full: {free >> 20:,} MB are free in {folder}, writing the index takes at least "
            f"{_ROOM_BYTES >> 20}; make room there, then run the same command again",
        )


def _check_open_files(folder: Path, error: Exception) -> None:
    """Nothing is wrong with the files where the process may only open no more of them."""
    if any(words in str(error) for words in _TOO_MANY_OPEN):
        raise folder_error(folder.parent, OSError(errno.EMFILE, os.strerror(errno.EMFILE))) from error


def _is_sealable(file: Path) -> bool:
    return file.is_file() and file.name not in (seal.NAME, f".{seal.NAME}")


def _read_ahead(folder: Path) -> None:
    """Have the system's cache hold what the engine wants to be there when it opens.

    The engine asks for the same pages, but of maps that it has declared to be read in no order: from a cold disk
    they come one by one.
    """
    files = [
        file
        for file in folder.rglob("*")
        if file.is_file() and any(part in str(file.relative_to(folder)) for part in _KEPT_READY)
    ]
    with ThreadPoolExecutor(_READERS) as readers:
        list(readers.map(_read, files))


def _read(file: Path, is_enough: Callable[[], bool] = lambda: False) -> None:
    page = bytearray(_READ_BYTES)
    with file.open("rb", buffering=0) as opened:
        while not is_enough() and opened.readinto(page):
            pass


def _is_so(folder: Path, config: qdrant.EdgeConfig) -> bool:
    """Whether the shard has this configuration, as far as versions and settings of winnow differ in it."""
    kept = json.loads((folder / "edge_config.json").read_text("utf-8"))
    optimizers = config.optimizers
    wanted = optimizers.max_segment_size if optimizers else None
    return "quantization_config" in kept["vectors"][DENSE] and kept["optimizers"]["max_segment_size"] == wanted


def _create(folder: Path, config: qdrant.EdgeConfig) -> None:
    """Make an empty shard elsewhere and rename it: a folder that exists is whole."""
    with temporary_folder(folder.parent, CREATING) as elsewhere:
        made = elsewhere / folder.name
        made.mkdir()
        shard = qdrant.EdgeShard.create(str(made), config)
        _indexed(shard).close()
        made.rename(folder)


def _indexed(shard: qdrant.EdgeShard) -> qdrant.EdgeShard:
    """The shard with an index on every key of a filter; one from before may lack some."""
    for key in PAYLOAD_KEYS.keys() - shard.info().payload_schema.keys():
        shard.update(qdrant.UpdateOperation.create_field_index(key, _INDEXES[PAYLOAD_KEYS[key]]))
    return shard


def _config(dimension: int, memory_mb: int) -> qdrant.EdgeConfig:
    memory = qdrant.Memory.Cached
    graph = qdrant.HnswIndexConfig(HNSW_M, HNSW_EF, full_scan_threshold=EXACT_KB, memory=memory)
    dense = qdrant.EdgeVectorParams(
        dimension,
        qdrant.Distance.Cosine,
        hnsw_config=graph,
        quantization_config=qdrant.ScalarQuantizationConfig(qdrant.ScalarType.Int8, QUANTILE, memory=memory),
        memory=qdrant.Memory.Cold,
    )
    return qdrant.EdgeConfig(
        vectors={DENSE: dense},
        sparse_vectors={LEXICAL: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf, memory=memory)},
        hnsw_config=graph,
        optimizers=qdrant.EdgeOptimizersConfig(
            indexing_threshold=EXACT_KB, max_segment_size=memory_mb * _SEGMENT_KB_A_MB
        ),
    )


def _point(point: Point) -> qdrant.Point:
    vectors: dict[str, Any] = {LEXICAL: qdrant.SparseVector(list(point.sparse.indices), list(point.sparse.values))}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    payload = {key: list(value) if isinstance(value, tuple) else value for key, value in point.payload.items()}
    return qdrant.Point(point_id(point.chunk_id), vectors, payload)


def _kept(record: qdrant.Record) -> Point:
    return point_of(_chunk(record.id), record.vector, record.payload or {})


def _projects(shard: qdrant.EdgeShard) -> frozenset[str]:
    """The projects of all points, or two of them: what is only estimated is how many points each one has."""
    counted = shard.facet(qdrant.FacetRequest(_PROJECT, limit=2, exact=False))
    return frozenset(str(hit.value) for hit in counted.hits)


def _filter(filters: Filters, *, is_alone: bool = False) -> qdrant.Filter:
    """``is_alone``: there are points of this project only."""
    wanted = [one for one in conditions(filters) if not (is_alone and one.key == _PROJECT)]
    return qdrant.Filter(must=[_condition(condition) for condition in wanted])


def _condition(condition: Condition) -> Any:
    match condition:
        case AnyOf(key, values):
            return qdrant.FieldCondition(key, match=qdrant.MatchAny(list(values)))
        case AtLeast(key, number):
            return qdrant.FieldCondition(key, range=qdrant.RangeFloat(gte=number))
        case Below(key, number):
            return qdrant.FieldCondition(key, range=qdrant.RangeFloat(lt=number))


def _dense(vector: Vector) -> qdrant.Query:
    return qdrant.Query.Nearest(vector.tolist(), using=DENSE)


def _lexical(vector: SparseVector) -> qdrant.Query:
    return qdrant.Query.Nearest(qdrant.SparseVector(list(vector.indices), list(vector.values)), using=LEXICAL)


def _chunk(point: object) -> str:
    return chunk_of_point(int(str(point)))
