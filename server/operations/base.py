"""What every operation is given and what it gives back."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from cachetools import LRUCache

from server import tiers
from server.contracts.base import Tier
from server.models import Document, Filters, Ranking
from server.scratch import Link, Session
from server.settings import Settings

if TYPE_CHECKING:  # they bring numerical libraries with them, which a handshake does not wait for
    from server.backends.base import DocumentStore, EmbedderSource
    from server.graph.base import GraphStore
    from server.graph.base import Scope as GraphScope
    from server.retrieval.hybrid import Retriever

_CACHED_RANKINGS = 512  # one is about 100 hits: 20 KiB
_CACHED_RUNS = 64  # scripts that run at once; one that lost its cache searches again


class Library(Protocol):
    """An open store: what is known, how it is ranked, and the model that embeds."""

    @property
    def catalogue(self) -> DocumentStore: ...

    @property
    def retriever(self) -> Retriever: ...

    @property
    def embedder(self) -> EmbedderSource: ...

    @property
    def graph(self) -> GraphStore | None:
        """What is connected to what; None where graphs are switched off."""

    def admits(self, filters: Filters, document: Document) -> bool:
        """Whether a search with these filters could return the document."""

    def admitted(self, filters: Filters) -> GraphScope:
        """The documents that a search with these filters could return, by id; None for all of the project."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Budget:
    """How large the payload of one answer may be."""

    tokens: Mapping[Tier, int]
    bytes: int
    is_direct: bool

    def of(self, tier: Tier) -> tiers.Size:
        """What an answer of this tier may take."""
        return tiers.Size(self.tokens[tier], self.bytes)


DIRECT = Budget(tiers.ANSWER_TOKENS, tiers.ANSWER_BYTES, is_direct=True)
# A script's answers never reach a model; what bounds them is the frame they travel in.
SCRIPT = Budget(
    MappingProxyType(dict.fromkeys(tiers.ANSWER_TOKENS, 10_000_000)), tiers.SCRIPT_ANSWER_BYTES, is_direct=False
)


class Rankings:
    """Ranked ids, kept per question and index generation. Every tier is rendered from them."""

    def __init__(self) -> None:
        self._entries: LRUCache[tuple[Any, ...], Ranking] = LRUCache(_CACHED_RANKINGS)
        self._lock = threading.Lock()

    def get(self, key: tuple[Any, ...]) -> Ranking | None:
        """What was found for this question, if it is still here."""
        with self._lock:
            return self._entries.get(key)

    def put(self, key: tuple[Any, ...], ranking: Ranking) -> None:
        """Keep what was found with both legs; the rest must not outlive the loading of the model."""
        if ranking.legs == "hybrid":
            with self._lock:
                self._entries[key] = ranking


class Caches:
    """The rankings of one knowledge base: one cache for all direct callers, one for each of the latest runs.

    A script has a cache of its own, or the time that its searches take would tell what others searched for.
    """

    def __init__(self) -> None:
        self._shared = Rankings()
        self._of_runs: LRUCache[str, Rankings] = LRUCache(_CACHED_RUNS)

    def of(self, run: str) -> Rankings:
        """The cache of this run; "" is nobody's and everybody's. Called from one thread."""
        if not run:
            return self._shared
        rankings: Rankings = self._of_runs.setdefault(run, Rankings())
        return rankings


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as far as an answer depends on it: plain data, so that it can be said over a wire.

    ``connection`` names the session; it comes from the transport, never from an argument. ``run`` names the run of
    a script, "" for a direct call (see ``Caches``).
    """

    connection: str
    budget: Budget
    run: str = ""


@dataclass(frozen=True, slots=True)
class Asking:
    """One question: who asks, of which open index, under which settings; the caller's session and its rankings."""

    index: Library
    settings: Settings
    caller: Caller
    session: Session
    rankings: Rankings


@dataclass(frozen=True, slots=True)
class Answer:
    """A payload, what it counts (rows of a tier, tokens), and what its reader should know.

    ``noted``: what the figures of the process count of it, by name (rows left out as duplicates, say).
    ``links``: passages of the payload that a client may be offered as resources.
    """

    payload: dict[str, Any]
    tier: Tier
    rows: int
    tokens: int
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False
    noted: Mapping[str, int] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
