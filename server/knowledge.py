"""THE seam: everything that is ever asked of the knowledge base goes through ``KnowledgeBase.call``.

Direct tools and sandboxed scripts name an operation of the table ``OPERATIONS`` and send plain arguments; the
same models validate both, the same scope is put on both, the same code answers both. They differ only in their
budget: a direct answer lands in a model's context and is kept short, an answer to a script does not.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from cachetools import LRUCache
from pydantic import BaseModel

from server import tiers
from server.contracts import MAX_TOP_K, Fetch, KbSearch, Mode, Scope, SearchFilters, SemanticSearch, parse
from server.errors import WinnowError
from server.models import Filters, Hit, Legs, Passage, Ranking
from server.settings import Settings
from server.spans import terms

if TYPE_CHECKING:  # they bring numerical libraries with them, which a handshake does not wait for
    from server.backends.base import DocumentStore
    from server.retrieval.hybrid import Retriever

SEARCH_SECONDS = 15.0
_CACHED_RANKINGS = 512  # one is about 100 hits: 20 KiB
_NO_GRAPH = "include_relationships: this knowledge base has no graph yet, so there are no relationships"


class Library(Protocol):
    """An open store: what is known, and how it is ranked."""

    @property
    def catalogue(self) -> DocumentStore: ...

    @property
    def retriever(self) -> Retriever: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Budget:
    """How large one answer may be."""

    tokens: Mapping[Mode, int]
    bytes: int


DIRECT = Budget(tiers.ANSWER_TOKENS, tiers.ANSWER_BYTES)
# A script's answers never reach a model; what bounds them is the frame they travel in.
SCRIPT = Budget(MappingProxyType(dict.fromkeys(tiers.ANSWER_TOKENS, 10_000_000)), 900 * 1024)


@dataclass(frozen=True, slots=True)
class Answer:
    """A payload, what it counts (rows of a tier, tokens), and what its reader should know."""

    payload: dict[str, Any]
    mode: Mode
    rows: int
    tokens: int
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Passages in order with their scores (None: fetched, not ranked), and how they were found."""

    passages: tuple[tuple[Passage, float | None], ...]
    search_mode: Legs | str
    fusion: str
    question: frozenset[str]
    generation: int
    warnings: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    cache_hit: bool = False


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Where an answer stopped: the row to go on from, what was asked, and the index it was asked of."""

    offset: int
    asked: str
    generation: int

    def encode(self) -> str:
        packed = json.dumps([self.offset, self.asked, self.generation], separators=(",", ":"))
        return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")

    @staticmethod
    def decode(text: str) -> _Cursor:
        try:
            offset, asked, generation = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (ValueError, TypeError, UnicodeDecodeError):
            raise _bad_cursor() from None
        if type(offset) is not int or type(asked) is not str or type(generation) is not int:
            raise _bad_cursor()
        if not 0 <= offset <= MAX_TOP_K:
            raise _bad_cursor()
        return _Cursor(offset, asked, generation)


def _bad_cursor() -> WinnowError:
    return WinnowError(
        "INVALID_CURSOR", "cursor: not one of ours for these arguments; repeat the call that gave it, or drop it"
    )


class Rankings:
    """Ranked ids, kept per question and index generation. Every tier is rendered from them."""

    def __init__(self) -> None:
        self._entries: LRUCache[tuple[Any, ...], Ranking] = LRUCache(_CACHED_RANKINGS)
        self._lock = threading.Lock()

    def get(self, key: tuple[Any, ...]) -> Ranking | None:
        with self._lock:
            return self._entries.get(key)

    def put(self, key: tuple[Any, ...], ranking: Ranking) -> None:
        # What was found while the model was loading must not outlive the loading.
        if ranking.legs == "hybrid":
            with self._lock:
                self._entries[key] = ranking


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who asks, as far as an answer depends on it."""

    budget: Budget
    rankings: Rankings


class KnowledgeBase:
    """A store that opens in the background and answers operations by name.

    ``open_library`` is called in a thread on ``start`` or on the first call; where it fails (another process
    holds the index, say) that call gets the error and the next call tries again.
    """

    def __init__(self, open_library: Callable[[], Library], settings: Settings) -> None:
        self._open_library = open_library
        self._settings = settings
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="winnow-open")
        self._opening: Future[Library] | None = None
        self._rankings = Rankings()

    def start(self) -> None:
        """Begin to open the store; returns at once."""
        self._library()

    def close(self) -> None:
        """Close the store, if it was ever opened."""
        self._opener.shutdown(wait=True)
        if self._opening is not None and not self._opening.exception():
            self._opening.result().close()

    async def call(
        self, operation: str, arguments: Mapping[str, Any], budget: Budget, rankings: Rankings | None = None
    ) -> Answer:
        """Validate and answer one operation of ``OPERATIONS``.

        ``rankings``: where the caller keeps what it has found; direct calls share one. A script brings its own, or
        the time that its searches take would tell what others have searched for.

        Raises:
            WinnowError: for everything a caller can act on; the message says how.
        """
        known = OPERATIONS.get(operation)
        if known is None:
            raise WinnowError("INVALID_REQUEST", f"no operation {operation!r}; known: {', '.join(OPERATIONS)}")
        request, warnings = parse(known.request, arguments)
        library = await asyncio.shield(asyncio.wrap_future(self._library()))
        try:
            async with asyncio.timeout(SEARCH_SECONDS):
                asking = _Asking(budget, rankings or self._rankings)
                answer = await asyncio.to_thread(known.answer, self, library, request, asking)
        except TimeoutError:
            raise WinnowError(
                "TIMEOUT", f"no answer within {SEARCH_SECONDS:.0f} s; try again with fewer results", retryable=True
            ) from None
        return replace(answer, warnings=warnings + answer.warnings) if warnings else answer

    def _library(self) -> Future[Library]:
        failed = self._opening is not None and self._opening.done() and self._opening.exception() is not None
        if self._opening is None or failed:
            self._opening = self._opener.submit(self._open_library)
        return self._opening

    # The operations. They run in worker threads: no event loop from here on.

    def semantic_search(self, library: Library, request: SemanticSearch, asking: _Asking) -> Answer:
        """Ranked chunks, or chunks by id, at the tier that was asked for."""
        filters = self._filters(library, request.scope, request.filters, request.vendor_filter)
        mode = self._mode(request)
        if request.filter_ids:
            ranked = self._by_id(library, request, filters, asking)
        else:
            ranked = self._ranked(library, request.query or "", filters, asking, request.top_k, request.min_score)
        if request.include_relationships:
            ranked = replace(ranked, warnings=(*ranked.warnings, _NO_GRAPH))
        return self._page(ranked, request, mode, asking.budget)

    def kb_search(self, library: Library, request: KbSearch, asking: _Asking) -> Answer:
        """Previews of the best chunks, at most ``max_per_doc`` of each document."""
        filters = self._filters(library, request.scope, request.filters, None)
        ranked = self._ranked(library, request.query, filters, asking, MAX_TOP_K)
        kept = _at_most_per_document(ranked.passages, request.max_per_doc)[: request.top_k]
        same = SemanticSearch(query=request.query, top_k=request.top_k, response_mode="preview")
        return self._page(replace(ranked, passages=kept), same, "preview", asking.budget)

    def fetch(self, library: Library, request: Fetch, asking: _Asking) -> Answer:
        """Chunks by id, in the given order."""
        search = SemanticSearch(filter_ids=request.ids, response_mode=request.level, scope=request.scope)
        return self.semantic_search(library, search, asking)

    def _mode(self, request: SemanticSearch) -> Mode:
        asked = request.response_mode or self._settings.default_response_mode
        return "ids_only" if asked == "ids" else asked

    def _filters(
        self, library: Library, scope: Scope | None, filters: SearchFilters | None, vendor: str | None
    ) -> Filters:
        scope, filters = scope or Scope(), filters or SearchFilters()
        doc_tags = tuple(filters.doc_tag)
        if scope.doc_tags:
            doc_tags = tuple(tag for tag in doc_tags or scope.doc_tags if tag in scope.doc_tags)
            if not doc_tags:
                raise WinnowError(
                    "SCOPE_VIOLATION", f"filters.doc_tag is outside scope.doc_tags ({', '.join(scope.doc_tags)})"
                )
        return Filters(
            project=self._project(library, scope.project_id),
            doc_tags=doc_tags,
            tags=tuple(filters.tags),
            types=tuple(filters.types),
            vendor=vendor or "",
            path_prefix=filters.path_prefix or "",
            updated_after=filters.updated_after or "",
        )

    def _project(self, library: Library, asked: str | None) -> str:
        project = asked or self._settings.project
        reachable = self._settings.reachable
        if project not in reachable:
            raise WinnowError(
                "SCOPE_VIOLATION", f"project {project!r} is out of scope; in reach: {', '.join(reachable)}"
            )
        if library.catalogue.generation(project) == 0:
            known = ", ".join(info.name for info in library.catalogue.projects()) or "none yet"
            raise WinnowError(
                "INVALID_PROJECT",
                f"project {project!r} has no documents; projects in this store: {known}. "
                f"Index some with: winnow ingest PATH --project {project}",
            )
        return project

    def _ranking(
        self, library: Library, query: str, filters: Filters, asking: _Asking
    ) -> tuple[Ranking, int, bool]:
        generation = library.catalogue.generation(filters.project)
        key = (query, filters, self._settings.fusion, generation)
        cached = asking.rankings.get(key)
        if cached is not None:
            return cached, generation, True
        ranking = library.retriever.search(query, filters, MAX_TOP_K, fusion=self._settings.fusion)
        asking.rankings.put(key, ranking)
        return ranking, generation, False

    def _ranked(
        self,
        library: Library,
        query: str,
        filters: Filters,
        asking: _Asking,
        limit: int,
        min_score: float = 0.0,
    ) -> _Ranked:
        ranking, generation, cache_hit = self._ranking(library, query, filters, asking)
        hits = [hit for hit in ranking.hits[:limit] if hit.score >= min_score]
        return _Ranked(
            passages=_in_order(library, hits, filters.project),
            search_mode=ranking.legs,
            fusion=ranking.fusion,
            question=terms(query),
            generation=generation,
            warnings=ranking.warnings,
            cache_hit=cache_hit,
        )

    def _by_id(self, library: Library, request: SemanticSearch, filters: Filters, asking: _Asking) -> _Ranked:
        found = library.catalogue.passages(request.filter_ids, filters.project)
        scores: dict[str, float] = {}
        if request.query:
            ranking, _, _ = self._ranking(library, request.query, filters, asking)
            scores = {hit.chunk_id: hit.score for hit in ranking.hits}
        wanted = [chunk_id for chunk_id in request.filter_ids if chunk_id in found]
        least = request.min_score if request.query else 0.0
        return _Ranked(
            passages=tuple(
                (found[chunk_id], scores.get(chunk_id))
                for chunk_id in wanted
                if not least or scores.get(chunk_id, 0.0) >= least
            ),
            search_mode="by-id",
            fusion="none",
            question=terms(request.query or ""),
            generation=library.catalogue.generation(filters.project),
            missing=tuple(chunk_id for chunk_id in request.filter_ids if chunk_id not in found),
        )

    def _page(self, ranked: _Ranked, request: SemanticSearch, mode: Mode, budget: Budget) -> Answer:
        asked = _fingerprint(request)
        offset, warnings = _resume(request.cursor, asked, ranked.generation)
        rest = ranked.passages[offset:]
        rows = [tiers.row(passage, mode, score, ranked.question) for passage, score in rest]
        page = tiers.fit(rows, budget.tokens[mode], budget.bytes)
        after = offset + len(page.rows)
        payload: dict[str, Any] = {"mode": mode, "count": len(page.rows)}
        payload["ids" if mode == "ids_only" else "results"] = list(page.rows)
        payload |= {
            "estimated_tokens": page.tokens,
            "search_mode": ranked.search_mode,
            "fusion": ranked.fusion,
            "partial": page.limit_reason != "none",
            "limit_reason": page.limit_reason,
        }
        if after < len(ranked.passages):
            payload["next_cursor"] = _Cursor(after, asked, ranked.generation).encode()
        if ranked.missing is not None:
            payload["missing_ids"] = list(ranked.missing)
        return Answer(
            payload, mode, len(page.rows), page.tokens, (*warnings, *ranked.warnings), cache_hit=ranked.cache_hit
        )


def _in_order(library: Library, hits: Sequence[Hit], project: str) -> tuple[tuple[Passage, float | None], ...]:
    found = library.catalogue.passages([hit.chunk_id for hit in hits], project)
    return tuple((found[hit.chunk_id], hit.score) for hit in hits if hit.chunk_id in found)


def _at_most_per_document(
    passages: Sequence[tuple[Passage, float | None]], limit: int
) -> tuple[tuple[Passage, float | None], ...]:
    seen: dict[str, int] = {}
    kept = []
    for passage, score in passages:
        seen[passage.document.id] = seen.get(passage.document.id, 0) + 1
        if seen[passage.document.id] <= limit:
            kept.append((passage, score))
    return tuple(kept)


def _fingerprint(request: SemanticSearch) -> str:
    asked = request.model_dump_json(exclude={"cursor"})
    return blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _resume(cursor: str | None, asked: str, generation: int) -> tuple[int, tuple[str, ...]]:
    if cursor is None:
        return 0, ()
    at = _Cursor.decode(cursor)
    if at.asked != asked:
        raise _bad_cursor()
    moved = at.generation != generation
    return at.offset, ("the index changed since the last page; rows may repeat or be missing",) if moved else ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked: the model of its arguments and the method that answers."""

    request: type[BaseModel]
    answer: Callable[[KnowledgeBase, Library, Any, _Asking], Answer]


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "semantic_search": Operation(SemanticSearch, KnowledgeBase.semantic_search),
        "kb.search": Operation(KbSearch, KnowledgeBase.kb_search),
        "fetch": Operation(Fetch, KnowledgeBase.fetch),
    }
)
