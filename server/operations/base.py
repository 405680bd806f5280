"""The input and output of every operation: the request context, the answer, budgets and caches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from winnow.server.contracts.base import Mode, Tier
from winnow.server.models import Document, Filters, Labels, Legs, Ranking
from winnow.server.operations.answers import budget
from winnow.server.operations.answers.text_charges import ChargedText
from winnow.server.runtime.caches import Cache, CacheCounters
from winnow.server.runtime.reports.store_figures import StoreFigures
from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.runtime.sessions.passage_store import PassageLink, Session
from winnow.server.runtime.sessions.result_store import ResultStore
from winnow.server.runtime.sessions.saved_values import SavedValues
from winnow.server.runtime.waits import WaitSummary
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:  # they bring numerical libraries with them, which a handshake does not wait for
    from winnow.server.claims.library import ClaimLibrary
    from winnow.server.ingest.children.page_drawing import PageDrawing
    from winnow.server.jobs.queue import JobQueue
    from winnow.server.operations.ranking.recording import RankingRecord
    from winnow.server.retrieval.graph.base import GraphStore
    from winnow.server.retrieval.graph.base import Scope as GraphScope
    from winnow.server.retrieval.hybrid import Retriever
    from winnow.server.storage.base import ContradictionModel, DocumentStore, EmbedderSource, Reranker, Vector

_CACHED_RANKINGS = 512  # one is about 100 hits: 20 KiB
_CACHED_VECTORS = 2_048  # one is 1.5 KiB
# Tier -> answers that are kept, and for how many seconds. A full answer has up to 160 KiB with its text, a
# page of metadata 20.
_VIEWS: Mapping[Mode, tuple[int, float]] = MappingProxyType(
    {"ids_only": (512, 3600.0), "metadata": (512, 3600.0), "preview": (256, 3600.0), "full": (64, 1800.0)}
)
_CACHED_PREVIEWS = 512  # one is 0.4 KiB, and the text it is of, up to 8 KiB
_CACHED_RUNS = 32  # scripts that run at once; one that lost its cache searches again
# Of each cache a run has so many entries: its answers are longer, and 32 runs share a process with all others.
_ENTRIES_OF_RUN = 16
# Access keys whose clients call in the same hour; one that lost its cache searches again.
_CACHED_KEYS, _ENTRIES_OF_KEY = 16, 64


# Time limits of operations: what does not search may read or scan a whole project.
OTHER_SECONDS = 30.0
SEARCH_SECONDS = 15.0  # also of the order for an ingest, which goes on after its answer
DENSE_SECONDS = 8.0
GRAPH_SECONDS = 5.0  # also of the inspection of a collection


class Store(Protocol):
    """An open store: catalogue, retriever, embedding model, graph."""

    @property
    def catalogue(self) -> DocumentStore: ...

    @property
    def retriever(self) -> Retriever: ...

    @property
    def embedder(self) -> EmbedderSource: ...

    @property
    def graph(self) -> GraphStore | None:
        """The graph store; None if graphs are switched off."""

    @property
    def claims(self) -> ClaimLibrary:
        """The entries that agents wrote."""

    def reranker(self) -> Reranker | None:
        """The reranking model, if one is configured. Raises what its loading raises."""

    def nli_model(self) -> ContradictionModel | None:
        """The model that judges claims, if one is configured. Raises what its loading raises."""

    def admits(self, filters: Filters, document: Document) -> bool:
        """Whether a search with these filters could return the document."""

    def admitted(self, filters: Filters) -> GraphScope:
        """The ids of the documents that a search with these filters could return; None for all of the project."""

    def labels(self, filters: Filters) -> Labels:
        """The labels of the documents that match these filters, regardless of dates."""

    def fields(self, filters: Filters) -> frozenset[str]:
        """The names of the metadata of the documents that match these filters, regardless of dates."""

    def has_documents(self, filters: Filters) -> bool:
        """Whether any document matches these filters."""

    def waits(self) -> Mapping[str, WaitSummary]:
        """The times that reads waited for writers, by lock."""

    def figures(self, projects: Sequence[str]) -> StoreFigures:
        """Figures of the store about these projects. Reads the catalogue: not for the event loop."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Budget:
    """The size limits of the payload of one answer."""

    tokens: Mapping[Tier, int]
    bytes: int
    is_direct: bool

    def of(self, tier: Tier) -> budget.Size:
        """The size limit of an answer of this tier."""
        return budget.Size(self.tokens[tier], self.bytes)


DIRECT = Budget(budget.ANSWER_TOKENS, budget.ANSWER_BYTES, is_direct=True)
# A script's answers do not reach a model; their limit is the size of a frame.
SCRIPT = Budget(
    MappingProxyType(dict.fromkeys(budget.ANSWER_TOKENS, 10_000_000)), budget.SCRIPT_ANSWER_BYTES, is_direct=False
)


class RankingCache:
    """Caches of rankings (by query and index generation), of query vectors and of rendered answers.

    ``vectors`` are query vectors by model and text; ``views`` are answers rendered from a ranking, by tier;
    ``previews`` are those of ``kb.search``, by text, terms and length. ``most`` limits the entries of each cache.
    """

    def __init__(self, most: int = _CACHED_VECTORS) -> None:
        self._rankings: Cache[Ranking] = Cache(min(_CACHED_RANKINGS, most))
        self.vectors: Cache[Vector] = Cache(min(_CACHED_VECTORS, most))
        self.previews: Cache[str] = Cache(min(_CACHED_PREVIEWS, most))
        self.views: Mapping[Mode, Cache[Answer]] = MappingProxyType(
            {tier: Cache(min(size, most), seconds) for tier, (size, seconds) in _VIEWS.items()}
        )

    def get(self, key: tuple[Any, ...]) -> Ranking | None:
        """The cached ranking, or None."""
        return self._rankings.get(key)

    def put(self, key: tuple[Any, ...], ranking: Ranking, legs: Legs) -> None:
        """Cache a ranking by these legs; another must not outlive the loading of the model or a failure."""
        if ranking.legs == legs:
            self._rankings.put(key, ranking)

    def counters(self) -> dict[str, CacheCounters]:
        """Hits and misses, by cache."""
        views = {f"views.{tier}": cache.counters for tier, cache in self.views.items()}
        return {
            "rankings": self._rankings.counters,
            "query_vectors": self.vectors.counters,
            "previews": self.previews.counters,
            **views,
        }


class RankingCaches:
    """The rankings of one knowledge base: one cache for all direct callers without an access key, and others.

    Each of the latest runs of scripts and each of the latest access keys has a cache of its own, or the time that
    its searches take would tell what others searched for.
    """

    def __init__(self) -> None:
        self.shared = RankingCache()
        self._of_runs: OrderedDict[str, RankingCache] = OrderedDict()
        self._of_keys: OrderedDict[str, RankingCache] = OrderedDict()
        self._former: dict[str, CacheCounters] = {}  # of caches that were dropped

    def of(self, caller: Caller) -> RankingCache:
        """The cache for this caller; one of its own where its answer is from no cache. Called from one thread."""
        if caller.is_fresh:
            return RankingCache()
        if caller.run:
            return self._latest(self._of_runs, caller.run, _CACHED_RUNS, _ENTRIES_OF_RUN)
        identity = identity_of(caller.connection)
        if identity.access_key:
            return self._latest(self._of_keys, identity.access_key, _CACHED_KEYS, _ENTRIES_OF_KEY)
        return self.shared

    def counters(self) -> dict[str, CacheCounters]:
        """Hits and misses of all callers since the start, and the entries of all caches, by kind of cache."""
        total = dict(self._former)
        for cache in (self.shared, *self._of_runs.values(), *self._of_keys.values()):
            _add(total, cache.counters())
        return total

    def _latest(self, caches: OrderedDict[str, RankingCache], name: str, most: int, entries: int) -> RankingCache:
        """The cache with this name, of at most ``most`` that are kept, each with ``entries``."""
        if name not in caches:
            caches[name] = RankingCache(entries)
        caches.move_to_end(name)
        if len(caches) > most:
            _, dropped = caches.popitem(last=False)
            _add(self._former, {kind: each.without_entries() for kind, each in dropped.counters().items()})
        return caches[name]


def _add(total: dict[str, CacheCounters], counters: Mapping[str, CacheCounters]) -> None:
    for kind, each in counters.items():
        total[kind] = total[kind] + each if kind in total else each


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, as far as an answer depends on it: plain data that can be sent to another process.

    ``connection`` names the session; it comes from the transport, never from an argument. ``run`` names the run of
    a script, "" for a direct call (see ``RankingCaches``). ``is_fresh``: its answer is from no cache.
    """

    connection: str
    budget: Budget
    run: str = ""
    is_fresh: bool = False


class SessionStores(Protocol):
    """The leavings of the scripts of sessions: results that were too large to be sent, and saved values."""

    @property
    def results(self) -> ResultStore: ...

    @property
    def saved(self) -> SavedValues: ...


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The context of one request: open index, settings, caller, session and caches.

    ``results`` has the large results of scripts, by connection, and ``saved`` the values they saved. ``jobs`` are
    those of the store, None in a process that runs none.
    ``generations`` are the generations of projects at their first use in this request, so that the whole answer
    has the same. ``warnings`` are those about the request itself, such as a filter that matches no document.
    ``page_drawing`` draws pages of files, None in a process that draws none. ``record`` is that of the request's
    rankings, None where they are not to be explained.
    """

    index: Store
    settings: Settings
    caller: Caller
    session: Session
    rankings: RankingCache
    results: ResultStore
    saved: SavedValues
    jobs: JobQueue | None = None
    generations: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    page_drawing: PageDrawing | None = None
    record: RankingRecord | None = None


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A payload as text for a model to read, and the sizes of both as they are sent: as JSON."""

    text: str
    payload_size: budget.Size
    text_size: budget.Size


@dataclass(frozen=True, slots=True)
class Image:
    """An image beside a payload, for people and for models that see."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A payload, its numbers of rows and tokens, and warnings for the caller.

    ``noted`` are increments of the process's metrics, by name. ``links`` are passages of the payload that a client
    may be offered as resources. ``row_field`` names the field of the payload that has the rows: ``tokens`` counts
    the rows in this field. Where ``row_field`` is "", ``tokens`` counts something else.
    ``charged_text`` is the text of documents that a run is charged for (``answers/text_charges.py``).
    ``images`` are sent beside the payload. ``file_url`` is the address of the file on this machine, for clients on
    this machine alone.
    """

    payload: dict[str, Any]
    tier: Tier
    rows: int
    tokens: int
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False
    noted: Mapping[str, int] = field(default_factory=dict)
    links: tuple[PassageLink, ...] = ()
    rendered: AnswerText | None = None
    row_field: str = ""
    charged_text: ChargedText = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    file_url: str = ""
