"""Two legs into one ranking. Pure; scores in, scores out, ties broken by chunk id.

``convex`` compares scores: each leg is divided by its best, and the two are mixed. It measures about a point
of nDCG@10 better than ranks (docs/decisions/0003-retrieval.md), but wants a score from both legs for every
candidate; the caller fills in what a leg did not return. ``reciprocal_rank_fusion`` compares ranks only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

# The best on SciFact's training queries; 0.4 and 0.6 are within half a point of it.
SPARSE_WEIGHT = 0.5
# The same where the embedding model does not read the query's language. What it says then is little, but not
# nothing: names and word pieces are shared. 0.8 is better than words alone in German, Russian and Chinese.
FOREIGN_SPARSE_WEIGHT = 0.8
# Cormack, Clarke & Buettcher 2009. Ranks count from 0.
RRF_K = 60
# Engines agree on a score to about this many digits; below it the id decides, so that rankings are equal.
DIGITS = 6

Scored = list[tuple[str, float]]


def convex(
    dense: Mapping[str, float], sparse: Mapping[str, float], sparse_weight: float = SPARSE_WEIGHT
) -> Scored:
    """Mix two sets of scores, best first; every score is in 0..1. An absent or negative score counts as 0.

    >>> convex({"a": 0.5, "b": 0.25}, {"b": 8.0})
    [('b', 0.75), ('a', 0.5)]
    """
    legs = ((1 - sparse_weight, normalised(dense)), (sparse_weight, normalised(sparse)))
    joined: dict[str, float] = {}
    for weight, scores in legs:
        for chunk, score in scores.items():
            joined[chunk] = joined.get(chunk, 0.0) + weight * score
    return ranked(joined.items())


def reciprocal_rank_fusion(rankings: Iterable[Sequence[str]], k: int = RRF_K) -> Scored:
    """Sum 1 / (k + rank) over the rankings that hold a chunk, best first; ranks count from 0.

    >>> reciprocal_rank_fusion([["a", "b"], ["b"]])[0][0]
    'b'
    """
    joined: dict[str, float] = {}
    for ranking in rankings:
        for rank, chunk in enumerate(ranking):
            joined[chunk] = joined.get(chunk, 0.0) + 1 / (k + rank)
    return ranked(joined.items())


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Each score divided by the best one, nothing below 0; all 0 where the best is not above it."""
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(scores, 0.0)
    return {chunk: score / best if score > 0 else 0.0 for chunk, score in scores.items()}


def ranked(scores: Iterable[tuple[str, float]]) -> Scored:
    """Best first; what is equal to ``DIGITS`` digits is ordered by id."""
    rounded = [(chunk, round(score, DIGITS)) for chunk, score in scores]
    return sorted(rounded, key=lambda pair: (-pair[1], pair[0]))
