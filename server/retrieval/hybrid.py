r"""Query to ranking: two legs and the graph, joined; a leg alone where the other is down, legs where the graph is.

::

    query -> terms  -> BM25 over the sparse index  --\
          -> vector -> cosine over the dense index --- fill in missing scores -> fuse -> walk the graph -> cut

Filters are conditions inside the index, so every leg returns its best chunks *of those that match*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from server.backends.base import Embedder, EmbedderSource, Vector, VectorStore, conditions
from server.errors import WinnowError
from server.graph.base import GraphStore, Scope
from server.models import Filters, Hit, Legs, Ranking
from server.retrieval import fusion as fuse
from server.retrieval.graph import MANNERS, GraphCircuitBreaker, Walk, WalkResult, load, reached
from server.retrieval.graph import joined as with_graph
from server.retrieval.lexical import query_vector
from server.retrieval.relevance import NOTHING, is_nothing, relevance
from server.retrieval.stages import SearchNotes
from server.runtime.caches import Cache
from server.runtime.deadlines import check_deadline
from server.text.languages import is_covered, is_english

Mode = Literal["hybrid", "lexical", "dense"]
Fusion = Literal["convex", "rrf"]

# Each leg looks at least this deep: what one leg ranks 60th the other may rank first. With missing scores filled
# in, 50, 100 and 200 give the same nDCG@10 on SciFact's training queries.
DEPTH = 100
# Where many share the score at which a leg is cut, it looks so many times as deep, again and again, down to here.
_DEEPER, _DEEPEST = 4, 6_400

_LANGUAGE = "the embedding model does not read the language of this query, so it is ranked {how}"
_BY_WORDS, _MOSTLY_BY_WORDS = "by words alone", "mostly by words"
_NO_VECTORS = (
    "project {project!r} was indexed without the embedding model, so it is ranked by words alone; "
    "ingest it again to add vectors"
)
_OTHER_MODEL = (
    "project {project!r} was indexed with another embedding model ({theirs}), so it is ranked by words alone; "
    "set the embedder that it was indexed with, or change the store to {ours}: winnow reindex"
)
_GRAPH_OFF = "the graph is switched off (setting graph), so this is ranked without it"
_NO_GRAPH = (
    "project {project!r} has no graph yet, so this is ranked without it; its next ingest draws one "
    "(or winnow graph rebuild)"
)


@dataclass(frozen=True, slots=True)
class _Leg:
    """What one leg returned: scores by chunk, best first, and how to score a chunk that it did not return.

    ``is_foreign``: the model does not read the query's language.
    """

    scores: Mapping[str, float]
    score: Callable[[list[str]], dict[str, float]]
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class _Legs:
    """The legs that answered: one at least."""

    dense: _Leg | None
    lexical: _Leg | None

    def knowing(self, joined: _Joined) -> _Legs:
        """The same with the scores that were filled in, so that nobody asks for them again."""
        if self.dense is None or self.lexical is None:
            return self
        return _Legs(replace(self.dense, scores=joined.dense), replace(self.lexical, scores=joined.lexical))


@dataclass(frozen=True, slots=True)
class _Joined:
    """Both legs as one: scores of chunks, best first, with what each leg says of them."""

    scores: fuse.Scored
    dense: Mapping[str, float]
    lexical: Mapping[str, float]
    legs: Legs
    fusion: str

    def hits(self, limit: int) -> list[Hit]:
        """The best of them."""
        return [
            Hit(chunk, score, self.dense.get(chunk), self.lexical.get(chunk))
            for chunk, score in self.scores[:limit]
        ]


def _everything(filters: Filters) -> Scope:
    return None


def _english(project: str) -> Mapping[str, int]:
    return {"en": 1}


class Retriever:
    """Ranks the chunks of a store for a query. Safe to call from several threads.

    ``embedding_of`` gives the fingerprint of the model that a project was indexed with, or "". ``graph`` is None
    where none is kept; ``admitted`` gives the documents that filters leave of it; ``languages_of`` counts a
    project's documents by language.
    """

    def __init__(
        self,
        store: VectorStore,
        embedder: EmbedderSource,
        embedding_of: Callable[[str], str],
        fusion: Fusion = "convex",
        graph: GraphStore | None = None,
        admitted: Callable[[Filters], Scope] = _everything,
        languages_of: Callable[[str], Mapping[str, int]] = _english,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._embedding_of = embedding_of
        self._fusion = fusion
        self._graph = GraphCircuitBreaker(graph) if graph else None
        self._admitted = admitted
        self._languages_of = languages_of

    def generation(self, project: str) -> int:
        """Grows with every change of the project's graph; 0 where there is none, or it does not answer."""
        try:
            return self._graph.ask(lambda graph: graph.generation(project)) if self._graph else 0
        except WinnowError:
            return 0

    def warm(self) -> None:
        """Have the index read what searches need, so that the first ones need not."""
        self._store.warm()

    def load(self, project: str) -> None:
        """Load the project's graph, if there is one, so that the first search need not; raises what it raises."""
        if self._graph:
            self._graph.ask(lambda graph: load(graph, project))

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
    ) -> Ranking:
        """The ``limit`` best chunks, the same in every run over the same index.

        Scores lie in 0..1: the fused score, or a single leg's own (cosine; BM25 divided by its best), and joined
        with the graph's unless ``walk`` is "none". "auto" is "hybrid_local" where there is a graph. Where a leg
        cannot answer the other one does, where the graph cannot the legs do, and ``legs``, ``walked`` and
        ``warnings`` say so, also for ``mode="dense"``. ``vectors`` keeps those of queries. ``sparse_weight``:
        the share of words in a convex fusion where it is not the usual one, 0 to 1; not for walks. Raises what the
        store raises where no leg can answer, and ``WinnowError("INVALID_REQUEST")`` for a filter that is none.
        """
        conditions(filters)
        notes = SearchNotes()
        fusion = fusion or self._fusion
        check_deadline()
        legs = self._legs(query, filters, max(DEPTH, limit), mode, fusion, vectors, notes)
        likely = self._relevance(query, legs, notes.warnings)
        with notes.stage("fuse"):
            joined = _joined(legs, fusion, sparse_weight=sparse_weight)
        with notes.stage("walk"):
            found = self._reached(walk, filters, joined, notes.warnings)
            hits = (
                _walked(legs, joined, found, fusion, MANNERS[walk].weight, limit) if found else joined.hits(limit)
            )
        return Ranking(
            tuple(hits),
            joined.legs,
            joined.fusion,
            tuple(notes.warnings),
            found is not None,
            notes.stages,
            likely,
        )

    def rate(
        self,
        query: str,
        filters: Filters,
        chunks: Sequence[str],
        *,
        vectors: Cache[Vector] | None = None,
    ) -> Ranking:
        """These chunks with the scores that a search by both legs gives them, however deep in it they lie.

        Scores are convex where ranks are added otherwise: what no leg returned has no rank.
        """
        conditions(filters)
        notes = SearchNotes()
        legs = self._legs(query, filters, DEPTH, "hybrid", "convex", vectors, notes)
        joined = _joined(legs, "convex", chunks)
        wanted = frozenset(chunks)
        scores = [(chunk, score) for chunk, score in joined.scores if chunk in wanted]
        hits = replace(joined, scores=scores).hits(len(scores))
        return Ranking(tuple(hits), joined.legs, joined.fusion, tuple(notes.warnings), stages=notes.stages)

    def score(self, query: str, project: str, chunks: Sequence[str]) -> Ranking:
        """These chunks against each other, by both legs: best first, every score relative to the best of them.

        By words alone where the model cannot answer, which ``legs`` and ``warnings`` say.
        """
        notes, ids, documents = SearchNotes(), list(chunks), self._languages_of(project)
        words = query_vector(query, documents, is_english=is_english(query, documents))
        near = _Leg(self._store.score_sparse(words, ids), lambda _: {})
        far = None
        embedder = self._usable(project, notes)
        if embedder is not None:
            meaning: Vector = embedder.embed([query])[0]
            reads = is_covered(query, documents, embedder.languages)
            far = _Leg(self._store.score_dense(meaning, ids), lambda _: {}, is_foreign=not reads)
        joined = _joined(_Legs(far, near), "convex")
        return Ranking(tuple(joined.hits(len(ids))), joined.legs, joined.fusion, tuple(notes.warnings))

    def _legs(
        self,
        query: str,
        filters: Filters,
        depth: int,
        mode: Mode,
        fusion: Fusion,
        vectors: Cache[Vector] | None,
        notes: SearchNotes,
    ) -> _Legs:
        """What the legs return; at least one of them."""
        is_mixed = mode == "hybrid" and fusion == "convex"
        dense = (
            None if mode == "lexical" else self._dense(query, filters, depth, vectors, notes, is_mixed=is_mixed)
        )
        if dense is not None and mode == "dense":
            return _Legs(dense, None)
        try:
            lexical = self._lexical(query, filters, depth, notes)
            is_noise = dense is not None and dense.is_foreign and not lexical.scores
            return _Legs(None if is_noise else dense, lexical)
        except WinnowError as error:
            if dense is None:
                raise
            notes.warnings.append(f"the lexical leg is down, so this is ranked by meaning alone: {error.message}")
            return _Legs(dense, None)

    def _relevance(self, query: str, legs: _Legs, warnings: list[str]) -> float | None:
        """How likely anything is relevant; None where the semantic leg cannot tell."""
        if legs.dense is None or legs.dense.is_foreign or not legs.dense.scores:
            return None
        best = max(legs.dense.scores.values())
        if is_nothing(query, best):
            warnings.append(NOTHING)
        return relevance(best)

    def _reached(self, walk: Walk, filters: Filters, joined: _Joined, warnings: list[str]) -> WalkResult | None:
        """Where the graph leads from the best hits; None where it was not asked, or has nothing to say."""
        if walk == "none":
            return None
        check_deadline()
        if self._graph is None:
            warnings.extend((_GRAPH_OFF,) if walk != "auto" else ())
            return None
        try:
            if self._graph.ask(lambda graph: graph.generation(filters.project)) == 0:
                warnings.extend((_NO_GRAPH.format(project=filters.project),) if walk != "auto" else ())
                return None
            fused = dict(joined.scores)
            scope = self._admitted(filters)
            return self._graph.ask(
                lambda graph: reached(graph, filters.project, fused, scope, MANNERS[walk].seeds)
            )
        except WinnowError as error:
            warnings.append(f"the graph is down, so this is ranked without it: {error.message}")
            return None

    def _lexical(self, query: str, filters: Filters, depth: int, notes: SearchNotes) -> _Leg:
        def score(chunks: list[str]) -> dict[str, float]:
            with notes.stage("fill"):
                return self._store.score_sparse(vector, chunks)

        with notes.stage("analyse"):
            documents = self._languages_of(filters.project)
            vector = query_vector(query, documents, is_english=is_english(query, documents))
        with notes.stage("sparse"):
            found = _down_to(depth, partial(self._store.search_sparse, vector, filters), spare=depth // 4)
        return _Leg(dict(found), score)

    def _dense(
        self,
        query: str,
        filters: Filters,
        depth: int,
        vectors: Cache[Vector] | None,
        notes: SearchNotes,
        *,
        is_mixed: bool,
    ) -> _Leg | None:
        """``is_mixed``: scores are joined by weight, so what the model hardly reads may still say a little."""
        embedder = self._usable(filters.project, notes)
        if embedder is None:
            return None

        def score(chunks: list[str]) -> dict[str, float]:
            with notes.stage("fill"):
                return self._store.score_dense(vector, chunks)

        with notes.stage("analyse"):
            reads = is_covered(query, self._languages_of(filters.project), embedder.languages)
        if not reads:
            notes.warnings.append(_LANGUAGE.format(how=_MOSTLY_BY_WORDS if is_mixed else _BY_WORDS))
            if not is_mixed:
                return None
        try:
            with notes.stage("embed"):
                vector = _embedded(query, embedder, vectors)
            with notes.stage("dense"):
                found = _down_to(depth, partial(self._store.search_dense, vector, filters))
        except Exception as error:  # whatever it is, the lexical leg must still answer
            message = error.message if isinstance(error, WinnowError) else type(error).__name__
            notes.warnings.append(f"the semantic leg is down, so this is ranked by words alone: {message}")
            return None
        return _Leg(dict(found), score, is_foreign=not reads)

    def _usable(self, project: str, notes: SearchNotes) -> Embedder | None:
        """The model, if it is there and made the project's vectors."""
        embedder = self._embedder.ready()
        if embedder is None:
            notes.warnings.append(f"ranked by words alone: {self._embedder.why}")
            return None
        theirs = self._embedding_of(project)
        if theirs != embedder.fingerprint:
            template = _OTHER_MODEL if theirs else _NO_VECTORS
            notes.warnings.append(template.format(project=project, theirs=theirs, ours=embedder.fingerprint))
            return None
        return embedder


def _down_to(depth: int, search: Callable[[int], list[tuple[str, float]]], spare: int = 1) -> fuse.Scored:
    """The ``depth`` best, and all that share the score of the last of them, whose order means nothing.

    ``search`` gives as many as it is asked for, which at first are ``spare`` more.
    """
    wanted = depth + spare
    while True:
        check_deadline()
        found = fuse.ranked(search(wanted))
        if len(found) <= depth:
            return found
        last = found[depth - 1][1]
        if len(found) < wanted or found[-1][1] < last or wanted >= _DEEPEST:
            return [one for one in found if one[1] >= last]
        wanted *= _DEEPER


def _embedded(query: str, embedder: Embedder, vectors: Cache[Vector] | None) -> Vector:
    key = (embedder.fingerprint, query)
    known = vectors.get(key) if vectors else None
    if known is not None:
        return known
    vector: Vector = embedder.embed([query])[0]
    if vectors:
        vectors.put(key, vector)
    return vector


def _joined(legs: _Legs, fusion: Fusion, more: Sequence[str] = (), sparse_weight: float | None = None) -> _Joined:
    """All that the legs returned, and what they say of ``more``."""
    if legs.dense is None or legs.lexical is None:
        return _alone(legs, more)
    if fusion == "rrf":
        far, near = dict(legs.dense.scores), dict(legs.lexical.scores)
        return _Joined(fuse.reciprocal_rank_fusion([list(far), list(near)]), far, near, "hybrid", fusion)
    far = _filled(legs.dense, [*legs.lexical.scores, *more])
    near = _filled(legs.lexical, [*legs.dense.scores, *more])
    usual = fuse.FOREIGN_SPARSE_WEIGHT if legs.dense.is_foreign else fuse.SPARSE_WEIGHT
    return _Joined(
        fuse.convex(far, near, usual if sparse_weight is None else sparse_weight), far, near, "hybrid", fusion
    )


def _alone(legs: _Legs, more: Sequence[str]) -> _Joined:
    if legs.dense is not None:
        far = fuse.ranked(_filled(legs.dense, more).items())
        clipped = [(chunk, min(max(score, 0.0), 1.0)) for chunk, score in far]
        return _Joined(clipped, dict(far), {}, "semantic-only", "none")
    near = fuse.ranked((fuse.normalised(_filled(legs.lexical, more)) if legs.lexical else {}).items())
    return _Joined([(chunk, min(score, 1.0)) for chunk, score in near], {}, dict(near), "lexical-only", "none")


def _walked(
    legs: _Legs, before: _Joined, found: WalkResult, fusion: Fusion, weight: float, limit: int
) -> list[Hit]:
    """The best hits with what the graph brings and says, best first."""
    known = {chunk for chunk, _ in before.scores}
    brought = found.candidates(known)
    after = _joined(legs.knowing(before), fusion, brought)
    fused = dict.fromkeys(brought, 0.0) | dict(after.scores)
    worth = found.worth(fused)
    scores = fuse.ranked(
        (chunk, with_graph(score, worth.get(chunk, 0.0), weight)) for chunk, score in fused.items()
    )
    return [
        Hit(
            chunk,
            score,
            after.dense.get(chunk),
            after.lexical.get(chunk),
            worth.get(chunk),
            is_expanded=chunk not in known,
            before=fused[chunk],
        )
        for chunk, score in scores[:limit]
    ]


def _filled(leg: _Leg, others: Iterable[str]) -> dict[str, float]:
    missing = [chunk for chunk in others if chunk not in leg.scores]
    return {**leg.scores, **leg.score(missing)} if missing else dict(leg.scores)
