"""The vector store on a Qdrant server: the same vectors, filters and rankings as ``edge``.

One collection holds the projects of one catalogue. Every vector is stored as float32 and as int8: int8 vectors in
memory give the candidates, float32 vectors rescore them. A write that fails because the server is busy or briefly
unreachable is retried; a point has one id, so a repeated write has the same result. With more than one shard each
counts the words of its own chunks, so BM25 scores differ slightly from those of one shard.

``:memory:`` instead of a URL runs the client's emulation of a server, in Python and by brute force. It is for
tests, and unfit beyond 20,000 points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_of_point, point_id
from winnow.server.models import CollectionFacts, Filters
from winnow.server.runtime.deadlines import current_deadline
from winnow.server.runtime.remote import remote_backend
from winnow.server.settings.addresses import Address
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

MEMORY = ":memory:"
_TIMEOUT_SECONDS = 10
# Pauses between attempts to write, in seconds: a server that restarts is back within them.
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)
_RETRYABLE = frozenset({429, 500, 502, 503, 504})
_BATCH_POINTS = 256  # points in one request: about a megabyte
_INDEXES = {"keyword": models.PayloadSchemaType.KEYWORD, "float": models.PayloadSchemaType.FLOAT}

_INT8 = models.ScalarQuantization(
    scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=QUANTILE, always_ram=True)
)
_NEAREST = models.SearchParams(
    hnsw_ef=SEARCH_EF,
    quantization=models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING),
)
_EXACT = models.SearchParams(exact=True)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class CollectionLayout:
    """Shards and replicas of a collection, and whether float32 vectors and the graph stay on disk."""

    shards: int = 1
    replicas: int = 1
    on_disk: bool = True


DEFAULT_LAYOUT = CollectionLayout()


class QdrantStore:
    """A ``VectorStore`` in the collection ``collection`` of the server at ``url``, created where there is none.

    ``layout`` applies when the collection is created; an existing one keeps its own. Every method raises
    ``WinnowError("INDEX_UNAVAILABLE")`` where the server does not answer.
    """

    def __init__(
        self,
        url: str,
        dimension: int,
        *,
        collection: str = "winnow",
        api_key: str | None = None,
        layout: CollectionLayout = DEFAULT_LAYOUT,
    ) -> None:
        self._address = Address(url)
        self._remote = remote_backend("qdrant", f"the Qdrant server at {self._address}", "INDEX_UNAVAILABLE")
        self._layout = layout
        self._name = collection
        # Not a call: no request is made, so a server that hangs would count as one that answered.
        self._client = self._map_errors(lambda: _connect(url, api_key))
        try:
            self._call(lambda: self._prepare(dimension))
        except BaseException:
            self._client.close()
            raise

    def upsert(self, points: Sequence[Point]) -> None:
        """Write the points; a point with an existing id replaces it."""
        for start in range(0, len(points), _BATCH_POINTS):
            batch = [_qdrant_point(point) for point in points[start : start + _BATCH_POINTS]]
            self._write(lambda batch=batch: self._client.upsert(self._name, batch, wait=True))  # type: ignore[misc]

    def relabel(self, chunk_ids: Sequence[str], payload: Payload) -> None:
        """Replace the payload of the points; unknown ids are no error."""
        for start in range(0, len(chunk_ids), _BATCH_POINTS):
            batch: list[Any] = [point_id(chunk) for chunk in chunk_ids[start : start + _BATCH_POINTS]]
            where = models.Filter(must=[models.HasIdCondition(has_id=batch)])
            self._write(
                lambda at=where: self._client.overwrite_payload(  # type: ignore[misc]
                    self._name, stored_payload(payload), at, wait=True
                )
            )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete the points; unknown ids are no error."""
        if chunk_ids:
            points: list[Any] = [point_id(chunk) for chunk in chunk_ids]
            self._write(lambda: self._client.delete(self._name, models.PointIdsList(points=points), wait=True))

    def search_dense(
        self, vector: Vector, filters: Filters, limit: int, *, exact: bool = False
    ) -> list[tuple[str, float]]:
        """The ``limit`` nearest chunks by cosine, best first; ``exact``: by a full scan."""
        return self._search(vector.tolist(), DENSE, _filter(filters), limit, _EXACT if exact else _NEAREST)

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]:
        """The ``limit`` best chunks by BM25 that share a term, best first."""
        return self._search(_sparse(vector), LEXICAL, _filter(filters), limit) if vector.indices else []

    def score_dense(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The cosine of each of these chunks that has a vector."""
        return self._score(vector.tolist(), DENSE, chunk_ids)

    def score_sparse(self, vector: SparseVector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The BM25 score of each of these chunks that shares a term."""
        return self._score(_sparse(vector), LEXICAL, chunk_ids) if vector.indices else {}

    def ids(self, project: str) -> Iterable[str]:
        """Every chunk of the project, in the order of their numbers."""
        for page in self._pages(_filter(Filters(project)), None, PAGE, whole=False):
            yield from (_chunk(record.id) for record in page)

    def points(self, first: str = "") -> Iterator[Sequence[Point]]:
        """Every point of all projects from the chunk ``first`` on, in the order of their numbers, in pages."""
        for page in self._pages(None, point_id(first) if first else None, _BATCH_POINTS, whole=True):
            yield [_point_of(record) for record in page]

    def count(self) -> int:
        """Points in all projects."""
        return self._call(lambda: self._client.count(self._name, exact=True, timeout=_timeout())).count

    def inspect(self, filters: Filters, sample: int = 0) -> CollectionFacts:
        """The figures of the collection, as the server states them."""
        where, timeout = _filter(filters), _timeout()
        found = self._call(lambda: self._client.get_collection(self._name))
        size = self._call(lambda: self._client.count(self._name, where, exact=True, timeout=timeout)).count
        records = next(self._pages(where, None, sample, whole=True)) if sample else ()
        dense = _vectors_of(found.config).get(DENSE)
        graph = dense.hnsw_config if dense else None
        on_disk = graph.on_disk if graph and graph.on_disk is not None else found.config.hnsw_config.on_disk
        return CollectionFacts(
            size,
            frozenset((*_vectors_of(found.config), *(found.config.params.sparse_vectors or ()))),
            {key: index.data_type.value for key, index in found.payload_schema.items()},
            bool(dense and dense.on_disk),
            bool(on_disk),
            [(_chunk(record.id), record.payload or {}) for record in records],
        )

    def flush(self) -> None:
        """Nothing to do: every write returns after it is in the server's log."""

    def optimize(self) -> None:
        """Nothing to do: the server builds its graph itself."""

    def warm(self) -> None:
        """Nothing to do: the server manages its own memory."""

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _prepare(self, dimension: int) -> None:
        if not self._client.collection_exists(self._name):
            self._client.create_collection(
                self._name,
                vectors_config={
                    DENSE: models.VectorParams(
                        size=dimension, distance=models.Distance.COSINE, on_disk=self._layout.on_disk
                    ),
                },
                sparse_vectors_config={LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                hnsw_config=models.HnswConfigDiff(
                    m=HNSW_M,
                    ef_construct=HNSW_EF,
                    full_scan_threshold=EXACT_KB,
                    on_disk=self._layout.on_disk,
                ),
                quantization_config=_INT8,
                shard_number=self._layout.shards,
                replication_factor=self._layout.replicas,
            )
        if self._address.whole != MEMORY:  # the emulation has no payload indexes and warns
            self._index_payload()

    def _index_payload(self) -> None:
        """Create the payload indexes that are missing; a collection of an earlier version may lack some."""
        present = self._client.get_collection(self._name).payload_schema
        for key in PAYLOAD_KEYS.keys() - present.keys():
            self._client.create_payload_index(self._name, key, _INDEXES[PAYLOAD_KEYS[key]], wait=True)

    def _pages(
        self, where: models.Filter | None, offset: Any, size: int, *, whole: bool
    ) -> Iterator[Sequence[models.Record]]:
        while True:
            records, offset = self._call(
                lambda at=offset: self._client.scroll(  # type: ignore[misc]
                    self._name,
                    where,
                    limit=size,
                    offset=at,
                    with_payload=whole,
                    with_vectors=whole,
                    timeout=_timeout(),
                )
            )
            yield records
            if offset is None:
                return

    def _search(
        self,
        query: Any,
        using: str,
        where: models.Filter,
        limit: int,
        params: models.SearchParams | None = None,
    ) -> list[tuple[str, float]]:
        answer = self._call(
            lambda: self._client.query_points(
                self._name,
                query=query,
                using=using,
                query_filter=where,
                search_params=params if self._address.whole != MEMORY else None,  # the emulation always scans
                limit=limit,
                with_payload=False,
                with_vectors=False,
                timeout=_timeout(),
            )
        )
        return [(_chunk(point.id), point.score) for point in answer.points]

    def _score(self, query: Any, using: str, chunk_ids: Sequence[str]) -> dict[str, float]:
        if not chunk_ids:
            return {}
        points: list[Any] = [point_id(chunk) for chunk in chunk_ids]
        where = models.Filter(must=[models.HasIdCondition(has_id=points)])
        return dict(self._search(query, using, where, len(points), _EXACT if using == DENSE else None))

    def _write(self, write: Callable[[], R]) -> R:
        """Run a write, and retry it while the server is busy or unreachable: writes are idempotent."""

        def retry() -> R:
            for pause in _PAUSES:
                try:
                    return write()
                except Exception as error:
                    if (wait := _retry_wait(error, pause)) is None:
                        raise
                    time.sleep(wait)
            return write()

        return self._call(retry)

    def _call(self, request: Callable[[], R]) -> R:
        current_deadline().check()
        with self._remote.call():
            return self._map_errors(request)

    def _map_errors(self, request: Callable[[], R]) -> R:
        # The client raises its own, httpx's and gRPC's exceptions, and ValueError for a refused request.
        try:
            return request()
        except Exception as error:
            current_deadline().check()  # after the deadline the cause may be the short timeout, not the server
            raise WinnowError(
                "INDEX_UNAVAILABLE",
                f"the Qdrant server at {self._address} does not answer: "
                f"{self._address.without_credentials(error)}",
                retryable=_retry_wait(error, 0.0) is not None,
            ) from error


def _vectors_of(config: models.CollectionConfig) -> Mapping[str, models.VectorParams]:
    """The named dense vectors of a collection."""
    vectors = config.params.vectors
    return vectors if isinstance(vectors, dict) else {}


def _timeout() -> int:
    """Seconds until the server must have answered; it takes whole seconds only."""
    return max(1, math.ceil(current_deadline().at_most(_TIMEOUT_SECONDS)))


def _retry_wait(error: Exception, pause: float) -> float | None:
    """Seconds to wait before the next attempt; None where a retry would fail the same way."""
    match error:
        case ResourceExhaustedResponse():
            return min(float(error.retry_after_s), _PAUSES[-1])
        case UnexpectedResponse():
            return pause if error.status_code in _RETRYABLE else None
        case ResponseHandlingException():  # the connection: refused, reset, timed out
            return pause
        case _:
            return None


def _connect(url: str, api_key: str | None) -> QdrantClient:
    if url == MEMORY:
        return QdrantClient(MEMORY)
    return QdrantClient(url=url, api_key=api_key, timeout=_TIMEOUT_SECONDS, check_compatibility=False)


def _qdrant_point(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {LEXICAL: _sparse(point.sparse)}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    return models.PointStruct(id=point_id(point.chunk_id), vector=vectors, payload=stored_payload(point.payload))


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _point_of(record: models.Record) -> Point:
    return point_of(_chunk(record.id), record.vector, record.payload or {})


def _filter(filters: Filters) -> models.Filter:
    return models.Filter(must=[_condition(condition) for condition in conditions(filters)])


def _condition(condition: Condition) -> models.FieldCondition:
    match condition:
        case AnyOf(key, values):
            return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
        case AtLeast(key, number):
            return models.FieldCondition(key=key, range=models.Range(gte=number))
        case Below(key, number):
            return models.FieldCondition(key=key, range=models.Range(lt=number))


def _chunk(point: object) -> str:
    return chunk_of_point(int(str(point)))
