"""Rank fusion: the dense and the lexical ranking become one. Pure; ties are broken by chunk id.

``convex_shares`` (Bruch, Gai & Ingber 2023) compares scores: each leg is divided by its maximum, and the two
are added with weights. It measures about a point of nDCG@10 better than ranks (docs/decisions/0003-retrieval.md),
but needs a score from both legs for every candidate; the caller fills in missing scores. Of a cosine only the part
above the background counts, the cosine that the model gives texts with nothing in common (Arampatzis & Kamps 2009:
a score less what noise would score): some models give unrelated texts 0.7.
``reciprocal_rank_fusion`` (Cormack, Clarke & Buettcher 2009) compares ranks only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

# The best on SciFact's training queries; 0.4 and 0.6 are within half a point of it.
SPARSE_WEIGHT = 0.5
# The weight if the embedding model does not cover the query's language. Its scores still carry some information:
# languages share names and word pieces. 0.8 is better than words alone in German, Russian and Chinese.
FOREIGN_SPARSE_WEIGHT = 0.8
# Cormack, Clarke & Buettcher 2009. Ranks count from 0.
RRF_K = 60
# Stores agree on a score to about this many digits; scores equal to so many are ordered by id.
SCORE_DIGITS = 6

ScoredChunks = list[tuple[str, float]]
# What one leg adds to the fused scores of chunks.
Shares = Mapping[str, float]


def convex_shares(
    dense: Mapping[str, float],
    sparse: Mapping[str, float],
    sparse_weight: float = SPARSE_WEIGHT,
    background: float = 0.0,
) -> tuple[Shares, Shares]:
    """The addends of the weighted sum of dense and sparse scores; the sums lie in 0..1.

    An absent or negative score counts as 0. ``background`` is subtracted from the dense scores.

    >>> add_shares(convex_shares({"a": 0.5, "b": 0.25}, {"b": 8.0}))
    [('b', 0.75), ('a', 0.5)]
    >>> add_shares(convex_shares({"a": 0.5, "b": 0.25}, {"b": 8.0}, background=0.25))
    [('a', 0.5), ('b', 0.5)]
    """
    above = {chunk: score - background for chunk, score in dense.items()}
    return (
        {chunk: (1 - sparse_weight) * score for chunk, score in divide_by_maximum(above).items()},
        {chunk: sparse_weight * score for chunk, score in divide_by_maximum(sparse).items()},
    )


def reciprocal_rank_fusion(rankings: Iterable[Sequence[str]], k: int = RRF_K) -> ScoredChunks:
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over the rankings with a chunk; ranks count from 0.

    >>> reciprocal_rank_fusion([["a", "b"], ["b"]])[0][0]
    'b'
    """
    return add_shares(reciprocal_rank_shares(ranking, k) for ranking in rankings)


def reciprocal_rank_shares(ranking: Sequence[str], k: int = RRF_K) -> Shares:
    """The addends of one ranking in the sums of ``reciprocal_rank_fusion``."""
    return {chunk: 1 / (k + rank) for rank, chunk in enumerate(ranking)}


def add_shares(shares: Iterable[Shares]) -> ScoredChunks:
    """The sums of the shares of each chunk, best first."""
    fused: dict[str, float] = {}
    for share in shares:
        for chunk, score in share.items():
            fused[chunk] = fused.get(chunk, 0.0) + score
    return sort_by_score(fused.items())


def divide_by_maximum(scores: Mapping[str, float]) -> dict[str, float]:
    """Each score divided by the greatest, at least 0; all 0 if the greatest is not positive."""
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(scores, 0.0)
    return {chunk: score / best if score > 0 else 0.0 for chunk, score in scores.items()}


def sort_by_score(scores: Iterable[tuple[str, float]]) -> ScoredChunks:
    """Sort best first; scores that are equal to ``SCORE_DIGITS`` digits are ordered by id."""
    rounded = [(chunk, round(score, SCORE_DIGITS)) for chunk, score in scores]
    return sorted(rounded, key=lambda pair: (-pair[1], pair[0]))
