r"""Hybrid search: dense and lexical legs, their fusion, and graph expansion; each part works without the others.

::

    query -> terms  -> BM25 over the sparse index  --\
          -> vector -> cosine over the dense index --- fill in missing scores -> fuse -> walk the graph -> cut

Filters are conditions inside the index, so every leg returns its best chunks *of those that match*.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from winnow.server.errors import WinnowError
from winnow.server.models import CollectionFacts, Filters, Ranking
from winnow.server.retrieval.fusion import ScoredChunks, sort_by_score
from winnow.server.retrieval.graph.base import GraphStore, Scope
from winnow.server.retrieval.graph_expansion import (
    WALK_MODES,
    GraphCircuitBreaker,
    Walk,
    WalkResult,
    load_graph,
    walk_from_hits,
)
from winnow.server.retrieval.legs import (
    FusedRanking,
    Fusion,
    Leg,
    SearchLegs,
    add_graph_scores,
    fuse_legs,
    record_fusion,
    record_legs,
    record_walk,
    search_with_ties,
)
from winnow.server.retrieval.lexical import build_query_vector, build_term_vector
from winnow.server.retrieval.relevance import IRRELEVANT_WARNING, is_irrelevant, relevance_probability
from winnow.server.retrieval.search_notes import SearchNotes
from winnow.server.runtime.caches import Cache
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.storage.base import Embedder, EmbedderSource, Vector, VectorStore, conditions
from winnow.server.text.words.languages import is_covered, is_english

Mode = Literal["hybrid", "lexical", "dense"]

# The least depth of a leg: what one leg ranks 60th the other may rank first. With missing scores filled in, 50,
# 100 and 200 give the same nDCG@10 on SciFact's training queries.
DEPTH = 100

# The most documents that path and where may select for a search, and the most characters of their paths: 20,000
# values take a leg 45 ms, on a Qdrant server up to 330, and the server takes requests of 32 MiB.
MOST_PATHS, MOST_PATH_CHARS = 20_000, 5_000_000
_TOO_MANY_PATHS = (
    "path and where match {found:,} documents, and a search takes at most {most:,} with paths of {chars:,} "
    "characters together: narrow them, or use a folder (path_prefix) or a label (doc_tag, tags, vendor); "
    "kb.documents and kb.scan take any number"
)

_LANGUAGE = "the embedding model does not read the language of this query, so it is ranked {how}"
_BY_WORDS, _MOSTLY_BY_WORDS = "by words alone", "mostly by words"
_SO_BY_WORDS = ", so it is ranked by words alone"
_NO_VECTORS = "project {project!r} was indexed without the embedding model{so}; ingest it again to add vectors"
_OTHER_MODEL = (
    "project {project!r} was indexed with another embedding model ({theirs}){so}; "
    "set the embedder that it was indexed with, or change the store to {ours}: winnow reindex"
)
_LOOK_SECONDS = 0.02  # between two looks at a model that is loading
_GRAPH_OFF = "the graph is switched off (setting graph), so this is ranked without it"
_NO_GRAPH = (
    "project {project!r} has no graph yet, so this is ranked without it; its next ingest draws one "
    "(or winnow graph rebuild)"
)


def _no_scope(filters: Filters) -> Scope:
    return None


def _only_english(project: str) -> Mapping[str, int]:
    return {"en": 1}


class Retriever:
    """Ranks the chunks of a store for a query. Safe to call from several threads.

    ``embedding_of`` returns the fingerprint of the model that a project was indexed with, or "". ``graph`` is None
    if the graph is off; ``admitted`` returns the documents that match filters; ``languages_of`` counts a project's
    documents by language; ``paths_of`` returns the paths of the documents that filters match.
    """

    def __init__(
        self,
        store: VectorStore,
        embedder: EmbedderSource,
        embedding_of: Callable[[str], str],
        fusion: Fusion = "convex",
        graph: GraphStore | None = None,
        admitted: Callable[[Filters], Scope] = _no_scope,
        languages_of: Callable[[str], Mapping[str, int]] = _only_english,
        paths_of: Callable[[Filters], tuple[str, ...]] | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._embedding_of = embedding_of
        self._fusion = fusion
        self._graph = GraphCircuitBreaker(graph) if graph else None
        self._admitted = admitted
        self._languages_of = languages_of
        self._paths_of = paths_of

    def generation(self, project: str) -> int:
        """The generation of the project's graph; 0 if there is none, or its store does not answer."""
        try:
            return self._graph.call(lambda graph: graph.generation(project)) if self._graph else 0
        except WinnowError:
            return 0

    def warm(self) -> None:
        """Load what searches read of the index, so that the first search is fast."""
        self._store.warm()

    def load(self, project: str) -> None:
        """Load the project's graph, if any, so that the first search is fast. Raises what the store raises."""
        if self._graph:
            self._graph.call(lambda graph: load_graph(graph, project))

    def search(
        self,
        query: str,
        filters: Filters,
        limit: int,
        *,
        mode: Mode = "hybrid",
        walk: Walk = "none",
        fusion: Fusion | None = None,
        vectors: Cache[Vector] | None = None,
        sparse_weight: float | None = None,
        records: bool = False,
    ) -> Ranking:
        """The ``limit`` best chunks; deterministic for the same index.

        Scores lie in 0..1: the fused score, or a single leg's (cosine; BM25 divided by its maximum), combined with
        the graph score unless ``walk`` is "none". "auto" is "hybrid_local" if there is a graph. If a leg fails the
        other one answers alone, also for ``mode="dense"``; if the graph fails the legs answer alone; ``legs``,
        ``walked`` and ``warnings`` of the ranking report it. ``vectors`` caches query vectors. ``sparse_weight``
        (0 to 1) replaces the lexical leg's usual weight in a convex fusion; not for walks. ``records``: the
        ranking has its ``steps``. Raises what the store raises if no leg answers, and
        ``WinnowError("INVALID_REQUEST")`` for an invalid filter.
        """
        conditions(filters)
        notes = SearchNotes(steps=[] if records else None)
        fusion = fusion or self._fusion
        check_deadline()
        within = self._for_index(filters)
        depth = max(DEPTH, limit)
        legs = self._search_legs(query, within, depth, mode, fusion, vectors, notes)
        relevance = self._estimate_relevance(query, legs, notes.warnings)
        with notes.stage("fuse"):
            fused = fuse_legs(legs, fusion, sparse_weight=sparse_weight)
        with notes.stage("walk"):
            walked = self._walk_graph(walk, filters, fused, notes.warnings)
            if walked is None:
                hits = fused.hits(limit)
            else:
                with_graph = add_graph_scores(legs, fused, walked, fusion, WALK_MODES[walk].weight, limit)
                hits, fused = with_graph.hits, with_graph.fused
        if notes.steps is not None:
            notes.steps += (*record_legs(legs, depth), record_fusion(fused))
            if walked is not None:
                notes.steps.append(record_walk(hits, walked, WALK_MODES[walk].weight))
        return Ranking(
            tuple(hits),
            fused.legs,
            fused.fusion,
            tuple(notes.warnings),
            walked is not None,
            notes.stages,
            relevance,
            tuple(notes.steps or ()),
        )

    def rate(
        self,
        query: str,
        filters: Filters,
        chunks: Sequence[str],
        *,
        mode: Mode = "hybrid",
        vectors: Cache[Vector] | None = None,
    ) -> Ranking:
        """Score these chunks as a search by these legs scores them, whatever their rank.

        The fusion is always convex: a chunk that no leg returned has no rank.
        """
        conditions(filters)
        notes = SearchNotes()
        legs = self._search_legs(query, self._for_index(filters), DEPTH, mode, "convex", vectors, notes)
        fused = fuse_legs(legs, "convex", chunks)
        wanted = frozenset(chunks)
        scores = [(chunk, score) for chunk, score in fused.scores if chunk in wanted]
        hits = replace(fused, scores=scores).hits(len(scores))
        return Ranking(tuple(hits), fused.legs, fused.fusion, tuple(notes.warnings), stages=notes.stages)

    def score(self, query: str, project: str, chunks: Sequence[str], *, mode: Mode = "hybrid") -> Ranking:
        """Rank these chunks among themselves by the legs of ``mode``, best first.

        Scores are relative to the best of them where words count. Without the embedding model the ranking is
        lexical, and ``legs`` and ``warnings`` report it.
        """
        notes, ids, documents = SearchNotes(), list(chunks), self._languages_of(project)
        lexical = dense = None
        embedder = self._usable_embedder(project, notes)
        if embedder is not None:
            vector: Vector = embedder.embed_queries([query])[0]
            has_language = is_covered(query, documents, embedder.languages)
            cosines = self._store.score_dense(vector, ids)
            dense = Leg(cosines, lambda _: {}, is_foreign=not has_language, background=embedder.background)
        if dense is None or mode == "hybrid":
            words = build_query_vector(query, documents, is_english=is_english(query, documents))
            lexical = Leg(self._store.score_sparse(words, ids), lambda _: {})
        fused = fuse_legs(SearchLegs(dense, lexical), "convex")
        return Ranking(tuple(fused.hits(len(ids))), fused.legs, fused.fusion, tuple(notes.warnings))

    def rank_by_vectors(
        self,
        query: str,
        filters: Filters,
        limit: int,
        *,
        chunks: Sequence[str] | None = None,
        vectors: Cache[Vector] | None = None,
    ) -> ScoredChunks:
        """The ``limit`` nearest chunks by cosine, best first; never ranked by words instead.

        ``chunks``: only these. Waits for a model that is still loading. Raises ``WinnowError``:
        "MODEL_UNAVAILABLE" without a model, "EMBEDDING_MISMATCH" if the project has no vectors of this model, and
        what the store raises.
        """
        vector = _embed_query(query, self._require_embedder(filters.project), vectors)
        search = partial(self._store.search_dense, vector, self._for_index(filters))
        return _rank(search, partial(self._store.score_dense, vector), limit, chunks)

    def rank_by_words(
        self, query: str, filters: Filters, limit: int, *, chunks: Sequence[str] | None = None
    ) -> ScoredChunks:
        """The ``limit`` best chunks by BM25, best first. ``chunks``: only these. Raises what the store raises."""
        documents = self._languages_of(filters.project)
        vector = build_query_vector(query, documents, is_english=is_english(query, documents))
        search = partial(self._store.search_sparse, vector, self._for_index(filters))
        return _rank(search, partial(self._store.score_sparse, vector), limit, chunks)

    def inspect(self, filters: Filters, sample: int) -> CollectionFacts:
        """The vector engine's report on the points that these filters admit. Raises what the store raises."""
        return self._store.inspect(self._for_index(filters), sample)

    def score_terms(self, terms: Collection[str], chunks: Sequence[str]) -> Mapping[str, float]:
        """The lexical scores of these chunks, those that have one of these terms. Raises what the store raises."""
        return self._store.score_sparse(build_term_vector(terms), chunks)

    def best_term_scores(self, words: Iterable[Collection[str]], filters: Filters) -> Iterator[float]:
        """The greatest lexical score of a chunk that has one of the terms of a word, for each word; 0 if none has.

        Chunks are those that the filters admit. Each word is looked up when its score is requested. Raises what
        the store raises.
        """
        within = self._for_index(filters)
        for terms in words:
            found = self._store.search_sparse(build_term_vector(terms), within, 1)
            yield max((score for _, score in found), default=0.0)

    def _for_index(self, filters: Filters) -> Filters:
        """The filters as an index applies them: ``path`` and ``where`` as the paths of the documents they match.

        Raises ``WinnowError("INVALID_REQUEST")`` if those are too many.
        """
        if self._paths_of is None or not (filters.path or filters.where):
            return filters
        paths = self._paths_of(filters)
        if len(paths) > MOST_PATHS or sum(map(len, paths)) > MOST_PATH_CHARS:
            message = _TOO_MANY_PATHS.format(found=len(paths), most=MOST_PATHS, chars=MOST_PATH_CHARS)
            raise WinnowError("INVALID_REQUEST", message)
        return replace(filters, within=paths)

    def _search_legs(
        self,
        query: str,
        filters: Filters,
        depth: int,
        mode: Mode,
        fusion: Fusion,
        vectors: Cache[Vector] | None,
        notes: SearchNotes,
    ) -> SearchLegs:
        """Search with the legs of ``mode``; at least one answers."""
        is_mixed = mode == "hybrid" and fusion == "convex"
        dense = (
            None
            if mode == "lexical"
            else self._search_dense(query, filters, depth, vectors, notes, is_mixed=is_mixed)
        )
        if dense is not None and mode == "dense":
            return SearchLegs(dense, None)
        try:
            lexical = self._search_lexical(query, filters, depth, notes)
            is_noise = dense is not None and dense.is_foreign and not lexical.scores
            return SearchLegs(None if is_noise else dense, lexical)
        except WinnowError as error:
            if dense is None:
                raise
            notes.warnings.append(f"the lexical leg is down, so this is ranked by meaning alone: {error.message}")
            return SearchLegs(dense, None)

    def _estimate_relevance(self, query: str, legs: SearchLegs, warnings: list[str]) -> float | None:
        """The probability that anything is relevant; None if the dense leg does not tell."""
        if legs.dense is None or legs.dense.is_foreign or not legs.dense.scores:
            return None
        best = max(legs.dense.scores.values())
        if is_irrelevant(query, best):
            warnings.append(IRRELEVANT_WARNING)
        return relevance_probability(best)

    def _walk_graph(
        self, walk: Walk, filters: Filters, fused: FusedRanking, warnings: list[str]
    ) -> WalkResult | None:
        """Walk the graph from the best hits; None if ``walk`` is "none", or there is nothing to walk."""
        if walk == "none":
            return None
        check_deadline()
        if self._graph is None:
            warnings.extend((_GRAPH_OFF,) if walk != "auto" else ())
            return None
        try:
            if self._graph.call(lambda graph: graph.generation(filters.project)) == 0:
                warnings.extend((_NO_GRAPH.format(project=filters.project),) if walk != "auto" else ())
                return None
            scores, scope = dict(fused.scores), self._admitted(filters)
            return self._graph.call(
                lambda graph: walk_from_hits(graph, filters.project, scores, scope, WALK_MODES[walk].seeds)
            )
        except WinnowError as error:
            warnings.append(f"the graph is down, so this is ranked without it: {error.message}")
            return None

    def _search_lexical(self, query: str, filters: Filters, depth: int, notes: SearchNotes) -> Leg:
        def score(chunks: list[str]) -> dict[str, float]:
            with notes.stage("fill"):
                return self._store.score_sparse(vector, chunks)

        with notes.stage("analyse"):
            documents = self._languages_of(filters.project)
            vector = build_query_vector(query, documents, is_english=is_english(query, documents))
        with notes.stage("sparse"):
            search = partial(self._store.search_sparse, vector, filters)
            scored = search_with_ties(depth, search, spare=depth // 4)
        return Leg(dict(scored), score)

    def _search_dense(
        self,
        query: str,
        filters: Filters,
        depth: int,
        vectors: Cache[Vector] | None,
        notes: SearchNotes,
        *,
        is_mixed: bool,
    ) -> Leg | None:
        """Search by vectors. ``is_mixed``: the fusion has weights, so queries in other languages count too."""
        embedder = self._usable_embedder(filters.project, notes)
        if embedder is None:
            return None

        def score(chunks: list[str]) -> dict[str, float]:
            with notes.stage("fill"):
                return self._store.score_dense(vector, chunks)

        with notes.stage("analyse"):
            has_language = is_covered(query, self._languages_of(filters.project), embedder.languages)
        if not has_language:
            notes.warnings.append(_LANGUAGE.format(how=_MOSTLY_BY_WORDS if is_mixed else _BY_WORDS))
            if not is_mixed:
                return None
        try:
            with notes.stage("embed"):
                vector = _embed_query(query, embedder, vectors)
            with notes.stage("dense"):
                scored = search_with_ties(depth, partial(self._store.search_dense, vector, filters))
        except Exception as error:  # the lexical leg answers in any case
            message = error.message if isinstance(error, WinnowError) else type(error).__name__
            notes.warnings.append(f"the semantic leg is down, so this is ranked by words alone: {message}")
            return None
        return Leg(dict(scored), score, is_foreign=not has_language, background=embedder.background)

    def _require_embedder(self, project: str) -> Embedder:
        """The embedding model that made the project's vectors. Raises as ``rank_by_vectors`` does."""
        while (model := self._embedder.ready()) is None and self._embedder.state == "loading":
            check_deadline()
            time.sleep(_LOOK_SECONDS)
        if model is None:
            raise WinnowError("MODEL_UNAVAILABLE", f"{self._embedder.why}; kb_search also ranks by words alone")
        if mismatch := self._find_mismatch(project, model):
            raise WinnowError("EMBEDDING_MISMATCH", mismatch)
        return model

    def _usable_embedder(self, project: str, notes: SearchNotes) -> Embedder | None:
        """The embedding model, if it is loaded and made the project's vectors."""
        embedder = self._embedder.ready()
        if embedder is None:
            notes.warnings.append(f"ranked by words alone: {self._embedder.why}")
            return None
        if mismatch := self._find_mismatch(project, embedder, _SO_BY_WORDS):
            notes.warnings.append(mismatch)
            return None
        return embedder

    def _find_mismatch(self, project: str, embedder: Embedder, so: str = "") -> str:
        """Why this model cannot search the project's vectors, and what to do; "" if it can."""
        theirs, ours = self._embedding_of(project), embedder.fingerprint
        template = _OTHER_MODEL if theirs else _NO_VECTORS
        return "" if theirs == ours else template.format(project=project, theirs=theirs, ours=ours, so=so)


def _rank(
    search: Callable[[int], list[tuple[str, float]]],
    score: Callable[[Sequence[str]], dict[str, float]],
    limit: int,
    chunks: Sequence[str] | None,
) -> ScoredChunks:
    """The best by ``search``, or those of ``chunks`` by ``score``; equal scores are ordered by id."""
    check_deadline()
    return (search_with_ties(limit, search) if chunks is None else sort_by_score(score(chunks).items()))[:limit]


def _embed_query(query: str, embedder: Embedder, vectors: Cache[Vector] | None) -> Vector:
    key = (embedder.fingerprint, query)
    cached = vectors.get(key) if vectors else None
    if cached is not None:
        return cached
    vector: Vector = embedder.embed_queries([query])[0]
    if vectors:
        vectors.put(key, vector)
    return vector
