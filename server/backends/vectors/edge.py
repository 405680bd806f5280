"""The default vector store: Qdrant Edge, embedded in this process, on a folder.

Queries mean the same as on a Qdrant server, so the two stores rank alike. One process holds the folder at a time
(``lock``). An upsert is in Qdrant's write-ahead log before it returns; ``flush`` moves it to disk. Up to
``EXACT_KB`` of vectors every search is an exact scan, which is as fast there and complete; above that ``optimize``
builds an HNSW graph over int8 vectors, and filtered searches below that size still scan. Candidates from the int8
vectors are rescored with the float32 vectors, which stay on disk.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import qdrant_edge as qdrant

from winnow.server.backends.vectors.edge_files import (
    REINDEX,
    ROOM_TO_DELETE_BYTES,
    check_open_files,
    check_room,
    list_files,
    read_file,
    vector_damage_error,
    warm_page_cache,
)
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_of_point, point_id
from winnow.server.models import CollectionFacts, Filters
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.storage.base import (
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
    Payload,
    Point,
    SparseVector,
    Vector,
    conditions,
    point_of,
    stored_payload,
)
from winnow.server.storage.files import seal
from winnow.server.storage.files.disk_use import ROOM_BYTES
from winnow.server.storage.files.lock import HOLDER, StoreLock
from winnow.server.storage.files.seal import SealCheck
from winnow.server.storage.files.store_folder import folder_error, map_os_errors
from winnow.server.storage.files.temporary_folders import CREATING, temporary_folder

# int8 vectors find twice as many candidates as asked for, float32 vectors choose among them.
_NEAREST = qdrant.SearchParams(
    hnsw_ef=SEARCH_EF,
    quantization=qdrant.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING),
)
_EXACT = qdrant.SearchParams(exact=True)
# Points outside the graph are held in memory, and a graph is built from a copy, so an ingest of any size builds as
# it goes, and no segment grows beyond what can be built: with 4,096 MB every 100,000 points, and segments of
# 260,000. Pages of mapped files are not counted: the system reclaims them when it needs memory.
MEMORY_MB = 4_096
_POINTS_A_MB = 25
_SEGMENT_KB_A_MB = 100
# Mapped indexes open at once; pinned ones are copied value by value, seconds for a million chunks.
_INDEXES: Mapping[str, qdrant.KeywordIndexParams | qdrant.FloatIndexParams] = {
    "keyword": qdrant.KeywordIndexParams(memory=qdrant.Memory.Cached),
    "float": qdrant.FloatIndexParams(memory=qdrant.Memory.Cached),
}
_KINDS = {str(getattr(qdrant.PayloadSchemaType, kind.title())): kind for kind in _INDEXES}
_ON_DISK = "cold"  # in the stored configuration
_FLOAT_VECTORS = "vector_storage-" + DENSE
_WARM_BYTES_A_MB = 1 << 19
_PROJECT = "project"  # the key of the payload that every point has
_PANIC = "PanicException"  # a Rust panic; no Python module exports the class


def points_between_builds(memory_mb: int) -> int:
    """The number of points that may be written before their graph is built."""
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
            self._seal_check = SealCheck(self._folder, vector_damage_error)
            with seal.keep_sealed(self._folder, lambda: list_files(self._folder)), self._map_errors():
                self._shard = _open(self._folder, _config(dimension, memory_mb))
                self._projects = _projects(self._shard)
            self._seal_check.start()
        except BaseException:
            self._release()
            raise

    def upsert(self, points: Sequence[Point]) -> None:
        """Write the points; a point with an existing id replaces it."""
        if not points:
            return
        self._projects |= {str(point.payload[_PROJECT]) for point in points}  # before a search can return them
        with self._write_access():
            self._shard.update(qdrant.UpdateOperation.upsert_points([_qdrant_point(point) for point in points]))
        self._unbuilt += len(points)
        if self._build_every is not None and self._unbuilt >= self._build_every:
            self.optimize()

    def relabel(self, chunk_ids: Sequence[str], payload: Payload) -> None:
        """Replace the payload of the points; unknown ids are no error."""
        if chunk_ids:
            where = qdrant.Filter(must=[qdrant.HasIdCondition(set(map(point_id, chunk_ids)))])
            with self._write_access():
                self._shard.update(
                    qdrant.UpdateOperation.overwrite_payload_by_filter(where, stored_payload(payload))
                )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete the points; unknown ids are no error."""
        if chunk_ids:
            points: list[Any] = [point_id(chunk) for chunk in chunk_ids]
            with self._write_access(ROOM_TO_DELETE_BYTES):
                self._shard.update(qdrant.UpdateOperation.delete_points(points))

    def search_dense(
        self, vector: Vector, filters: Filters, limit: int, *, exact: bool = False
    ) -> list[tuple[str, float]]:
        """The ``limit`` nearest chunks by cosine, best first; ``exact``: by a full scan."""
        return self._search_within(filters, _dense(vector), limit, _EXACT if exact else _NEAREST)

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]:
        """The ``limit`` best chunks by BM25 that share a term, best first."""
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
            yield [_point_of(record) for record in page]

    def count(self) -> int:
        """Points in all projects."""
        with self._map_errors():
            return self._shard.count(qdrant.CountRequest(exact=True))

    def inspect(self, filters: Filters, sample: int = 0) -> CollectionFacts:
        """The figures of the shard and of its stored configuration.

        ``Memory.Cold`` means that a part is read from disk; other parts are held in the page cache.
        """
        where = _filter(filters)
        stored = self._stored_config()
        dense = stored["vectors"].get(DENSE, {})
        with self._map_errors():
            records, _ = self._shard.scroll(qdrant.ScrollRequest(None, sample or 1, where, with_payload=True))
            return CollectionFacts(
                self._shard.count(qdrant.CountRequest(exact=True, filter=where)),
                frozenset((*stored["vectors"], *stored["sparse_vectors"])),
                {key: _KINDS[str(index.data_type)] for key, index in self._shard.info().payload_schema.items()},
                dense.get("memory") == _ON_DISK,
                dense.get("hnsw_config", {}).get("memory") == _ON_DISK,
                [(_chunk(record.id), record.payload or {}) for record in records[:sample]],
            )

    def _stored_config(self) -> dict[str, Any]:
        with map_os_errors(self._folder):
            return dict(json.loads((self._folder / "edge_config.json").read_text("utf-8")))

    def flush(self) -> None:
        """Return once everything upserted so far survives the machine."""
        with self._map_errors():
            self._shard.flush()

    def optimize(self) -> None:
        """Build the HNSW graph if the collection is large enough, and seal the files."""
        self._unbuilt = 0
        with self._write_access():
            self._shard.optimize()
            self._shard.flush()  # until then Qdrant keeps, and maps, the files that it has replaced
        self._seal()

    def warm(self) -> None:
        """Begin to read the float32 vectors into the page cache, if they fit in half of ``memory_mb``.

        A search rescores hundreds of them, scattered over their files: from a cold disk that takes longer than the
        rest of the search. Once is enough: later writes are in the cache already.
        """
        if self._is_warmed:
            return
        self._is_warmed = True
        files = [file for file in self._folder.rglob(f"*{_FLOAT_VECTORS}/*") if file.is_file()]
        if sum(file.stat().st_size for file in files) <= self._memory_mb * _WARM_BYTES_A_MB:
            threading.Thread(target=self._warm, args=(files,), name="winnow-warm", daemon=True).start()

    def close(self) -> None:
        """Flush, and release the store's lock."""
        self._is_closing.set()
        self._seal_check.close()
        self._shard.close()
        if self._is_changed:
            self._seal()
        self._release()

    def _warm(self, files: Sequence[Path]) -> None:
        for file in files:
            with suppress(OSError):  # an ingest may have replaced the file
                read_file(file, self._is_closing.is_set)

    def _seal(self) -> None:
        with suppress(OSError):  # an index without a seal opens too
            seal.write(self._folder, list_files(self._folder))
            self._is_changed = False

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        """Around every call of Qdrant, which raises bare exceptions: they become ``WinnowError``."""
        self._seal_check.raise_damage()
        try:
            yield
        except WinnowError:
            raise
        except Exception as error:
            check_open_files(self._folder, error)
            why = f"the index in {self._folder} cannot be used: {error}"
            raise WinnowError("INDEX_UNAVAILABLE", f"{why}; {REINDEX}") from error
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            raise vector_damage_error(self._folder, str(error)) from error

    @contextmanager
    def _write_access(self, room: int = ROOM_BYTES) -> Iterator[None]:
        check_room(self._folder, room)
        self._seal_check.finish()
        self._is_changed = True
        seal.unseal(self._folder)
        with self._map_errors():
            yield

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _pages(self, where: qdrant.Filter | None, offset: Any, *, whole: bool) -> Iterator[list[qdrant.Record]]:
        while True:
            check_deadline()
            request = qdrant.ScrollRequest(offset, PAGE, where, with_payload=whole, with_vector=whole)
            with self._map_errors():
                records, offset = self._shard.scroll(request)
            yield records
            if offset is None:
                return

    def _search_within(
        self, filters: Filters, query: qdrant.Query, limit: int, params: qdrant.SearchParams | None = None
    ) -> list[tuple[str, float]]:
        """Search with these filters.

        Qdrant looks up every point that a condition admits, which takes as long as the rest of the search. So the
        condition on the project is left out while the store holds no other project; if one is added meanwhile, the
        search is repeated.
        """
        projects = self._projects
        hits = self._search(query, _filter(filters, is_only_project=projects <= {filters.project}), limit, params)
        if self._projects == projects:
            return hits
        return self._search(query, _filter(filters), limit, params)

    def _search(
        self, query: qdrant.Query, where: qdrant.Filter, limit: int, params: qdrant.SearchParams | None = None
    ) -> list[tuple[str, float]]:
        check_deadline()
        request = qdrant.QueryRequest(
            limit=limit, query=query, filter=where, params=params, with_payload=False, with_vector=False
        )
        with self._map_errors():
            points: list[Any] = self._shard.query(request)  # ids are always our numbers
        return [(chunk_of_point(point.id), point.score) for point in points]

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
        warm_page_cache(folder)
        shard = qdrant.EdgeShard.load(str(folder))
        if not _has_config(folder, config):
            # The next optimize rebuilds with the new configuration. It is given only to a shard that opened
            # without one: with a configuration Qdrant would take an empty folder for an empty index.
            shard.close()
            shard = qdrant.EdgeShard.load(str(folder), config)
        return _create_indexes(shard, folder)
    except WinnowError:
        raise
    except OSError as error:
        raise folder_error(folder.parent, error) from error
    except Exception as error:  # Qdrant raises bare exceptions
        check_open_files(folder, error)
        raise WinnowError(
            "INDEX_UNAVAILABLE", f"the index in {folder} does not open: {error}; {REINDEX}"
        ) from error


def _has_config(folder: Path, config: qdrant.EdgeConfig) -> bool:
    """Whether the shard has this configuration, in what differs between versions and settings of winnow."""
    stored = json.loads((folder / "edge_config.json").read_text("utf-8"))
    optimizers = config.optimizers
    wanted = optimizers.max_segment_size if optimizers else None
    return "quantization_config" in stored["vectors"][DENSE] and stored["optimizers"]["max_segment_size"] == wanted


def _create(folder: Path, config: qdrant.EdgeConfig) -> None:
    """Create an empty shard in a temporary folder and rename it: a folder that exists is complete."""
    check_room(folder.parent)
    with temporary_folder(folder.parent, CREATING) as temporary:
        created = temporary / folder.name
        created.mkdir()
        shard = qdrant.EdgeShard.create(str(created), config)
        _create_indexes(shard, created).close()
        created.rename(folder)


def _create_indexes(shard: qdrant.EdgeShard, folder: Path) -> qdrant.EdgeShard:
    """Create the payload indexes that are missing; a shard of an earlier version may lack some."""
    missing = PAYLOAD_KEYS.keys() - shard.info().payload_schema.keys()
    if missing:
        check_room(folder)
    for key in missing:
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


def _qdrant_point(point: Point) -> qdrant.Point:
    vectors: dict[str, Any] = {LEXICAL: qdrant.SparseVector(list(point.sparse.indices), list(point.sparse.values))}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    return qdrant.Point(point_id(point.chunk_id), vectors, stored_payload(point.payload))


def _point_of(record: qdrant.Record) -> Point:
    return point_of(_chunk(record.id), record.vector, record.payload or {})


def _projects(shard: qdrant.EdgeShard) -> frozenset[str]:
    """The projects of all points, or two of them. Inexact counts are enough: only the names are used."""
    facets = shard.facet(qdrant.FacetRequest(_PROJECT, limit=2, exact=False))
    return frozenset(str(hit.value) for hit in facets.hits)


def _filter(filters: Filters, *, is_only_project: bool = False) -> qdrant.Filter:
    """``is_only_project``: the store holds points of this project only."""
    needed = [each for each in conditions(filters) if not (is_only_project and each.key == _PROJECT)]
    return qdrant.Filter(must=[_condition(condition) for condition in needed])


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
