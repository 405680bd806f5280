"""The results of the dense and the lexical leg, and their fusion into one ranking, with the graph's scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from winnow.server.models import Hit, Legs, RankingStep
from winnow.server.retrieval.fusion import (
    FOREIGN_SPARSE_WEIGHT,
    SPARSE_WEIGHT,
    ScoredChunks,
    Shares,
    add_shares,
    convex_shares,
    divide_by_maximum,
    reciprocal_rank_shares,
    sort_by_score,
)
from winnow.server.retrieval.graph_expansion import WalkResult, combine_scores, graph_shares
from winnow.server.runtime.deadlines import check_deadline

Fusion = Literal["convex", "rrf"]

# Where many chunks share the score at the cut, a leg searches deeper by this factor, repeatedly, up to the
# maximum.
_DEPTH_FACTOR, _MAX_DEPTH = 4, 6_400


@dataclass(frozen=True, slots=True)
class Leg:
    """The result of one leg: scores by chunk, best first, and a function that scores other chunks.

    ``is_foreign``: the embedding model does not cover the query's language. ``background``: what chunks score that
    have nothing in common with the query.
    """

    scores: Mapping[str, float]
    score: Callable[[list[str]], dict[str, float]]
    is_foreign: bool = False
    background: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchLegs:
    """The legs that answered, at least one."""

    dense: Leg | None
    lexical: Leg | None

    def with_scores(self, fused: FusedRanking) -> SearchLegs:
        """The same legs with the scores that were filled in, so that they are not computed again."""
        if self.dense is None or self.lexical is None:
            return self
        return SearchLegs(replace(self.dense, scores=fused.dense), replace(self.lexical, scores=fused.lexical))


@dataclass(frozen=True, slots=True)
class FusedRanking:
    """The fused scores of chunks, best first, with the scores of each leg.

    ``shares``: what each leg adds to a fused score. ``facts``: the weights of the fusion.
    """

    scores: ScoredChunks
    dense: Mapping[str, float]
    lexical: Mapping[str, float]
    legs: Legs
    fusion: str
    shares: Mapping[str, Shares]
    facts: Mapping[str, float] = field(default_factory=dict)

    def hits(self, limit: int) -> list[Hit]:
        """The best ``limit`` chunks as hits."""
        return [
            Hit(chunk, score, self.dense.get(chunk), self.lexical.get(chunk))
            for chunk, score in self.scores[:limit]
        ]


@dataclass(frozen=True, slots=True)
class GraphRanking:
    """A ranking with the graph's scores: its best hits, and the fusion with the graph's candidates."""

    hits: list[Hit]
    fused: FusedRanking


def search_with_ties(depth: int, search: Callable[[int], list[tuple[str, float]]], spare: int = 1) -> ScoredChunks:
    """Search the ``depth`` best chunks, and all that tie with the last of them.

    ``search`` returns as many as requested; the first request is for ``spare`` more than ``depth``.
    """
    requested = depth + spare
    while True:
        check_deadline()
        scored = sort_by_score(search(requested))
        if len(scored) <= depth:
            return scored
        last = scored[depth - 1][1]
        if len(scored) < requested or scored[-1][1] < last or requested >= _MAX_DEPTH:
            return [pair for pair in scored if pair[1] >= last]
        requested *= _DEPTH_FACTOR


def fuse_legs(
    legs: SearchLegs, fusion: Fusion, others: Sequence[str] = (), sparse_weight: float | None = None
) -> FusedRanking:
    """Fuse all chunks that the legs returned, and ``others``."""
    if legs.dense is None or legs.lexical is None:
        return _rank_by_one_leg(legs, others)
    if fusion == "rrf":
        dense, lexical = dict(legs.dense.scores), dict(legs.lexical.scores)
        ranked = reciprocal_rank_shares(list(dense)), reciprocal_rank_shares(list(lexical))
        shares = {"dense": ranked[0], "lexical": ranked[1]}
        return FusedRanking(add_shares(ranked), dense, lexical, "hybrid", fusion, shares)
    dense = _fill_in(legs.dense, [*legs.lexical.scores, *others])
    lexical = _fill_in(legs.lexical, [*legs.dense.scores, *others])
    if sparse_weight is None:
        sparse_weight = FOREIGN_SPARSE_WEIGHT if legs.dense.is_foreign else SPARSE_WEIGHT
    weighed = convex_shares(dense, lexical, sparse_weight, legs.dense.background)
    facts = {"lexical_weight": sparse_weight, "background": legs.dense.background}
    shares = {"dense": weighed[0], "lexical": weighed[1]}
    return FusedRanking(add_shares(weighed), dense, lexical, "hybrid", fusion, shares, facts)


def _rank_by_one_leg(legs: SearchLegs, others: Sequence[str]) -> FusedRanking:
    if legs.dense is not None:
        dense = sort_by_score(_fill_in(legs.dense, others).items())
        clipped = [(chunk, min(max(score, 0.0), 1.0)) for chunk, score in dense]
        return FusedRanking(clipped, dict(dense), {}, "semantic-only", "none", {"dense": dict(clipped)})
    scores = divide_by_maximum(_fill_in(legs.lexical, others)) if legs.lexical else {}
    lexical = sort_by_score(scores.items())
    clipped = [(chunk, min(score, 1.0)) for chunk, score in lexical]
    return FusedRanking(clipped, {}, dict(lexical), "lexical-only", "none", {"lexical": dict(clipped)})


def add_graph_scores(
    legs: SearchLegs, fused: FusedRanking, walk: WalkResult, fusion: Fusion, weight: float, limit: int
) -> GraphRanking:
    """The best hits after the graph's candidates and scores are added, best first."""
    known = {chunk for chunk, _ in fused.scores}
    added = walk.candidates(known)
    expanded = fuse_legs(legs.with_scores(fused), fusion, added)
    before = dict.fromkeys(added, 0.0) | dict(expanded.scores)
    graph_scores = walk.graph_scores(before)
    scores = sort_by_score(
        (chunk, combine_scores(score, graph_scores.get(chunk, 0.0), weight)) for chunk, score in before.items()
    )
    hits = [
        Hit(
            chunk,
            score,
            expanded.dense.get(chunk),
            expanded.lexical.get(chunk),
            graph_scores.get(chunk),
            is_expanded=chunk not in known,
            before=before[chunk],
        )
        for chunk, score in scores[:limit]
    ]
    return GraphRanking(hits, expanded)


def record_legs(legs: SearchLegs, depth: int) -> Iterator[RankingStep]:
    """The steps of the legs that answered: what each returned, without the scores that are filled in later."""
    facts = {"depth": depth}
    if legs.dense is not None:
        yield RankingStep("dense", legs.dense.scores, facts=facts)
    if legs.lexical is not None:
        yield RankingStep("lexical", legs.lexical.scores, facts=facts)


def record_fusion(fused: FusedRanking) -> RankingStep:
    """The step of the fusion."""
    return RankingStep("fusion", dict(fused.scores), fused.shares, {"method": fused.fusion, **fused.facts})


def record_walk(hits: Sequence[Hit], walk: WalkResult, weight: float) -> RankingStep:
    """The step of the walk over the graph, from hits that have its scores."""
    shares = {hit.chunk_id: graph_shares(hit.before or 0.0, hit.graph or 0.0, weight) for hit in hits}
    parts = {
        "fusion": {chunk: of_fusion for chunk, (of_fusion, _) in shares.items()},
        "graph": {chunk: of_graph for chunk, (_, of_graph) in shares.items()},
    }
    facts = {"weight": weight, "documents_walked_from": len(walk.seeds)}
    return RankingStep("graph", {hit.chunk_id: hit.score for hit in hits}, parts, facts)


def _fill_in(leg: Leg, others: Iterable[str]) -> dict[str, float]:
    missing = [chunk for chunk in others if chunk not in leg.scores]
    return {**leg.scores, **leg.score(missing)} if missing else dict(leg.scores)
