"""Graph expansion of a ranking: personalised PageRank from the best hits over mentions, links and structure.

Theory of operation. A personalised PageRank (Haveliwala 2002) starts at the best chunk of each of the best
documents, the seeds. The graph score of a chunk is its PageRank, less the restart probability of a seed, which
adds nothing to the legs' scores. The best chunk of a document also gets the PageRank of the document and its
sections, so that a page that is linked to as a whole counts with the passage that answers. The hits down to the
last seed have graph score 1, so that they keep their order; so has the best chunk of the other documents, and
every other chunk in proportion. The graph score g is combined with the fused score s as (s + weight * sqrt(g)) /
(1 + weight). The weight is small in ``hybrid_local``, which must not make questions about one page worse, and
large in ``multi_hop``, where the answer is some hops away; that mode has fewer seeds, which leaves more room for
the documents that they lead to.

A chunk that only the walk reaches gets a fused score like every other candidate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import Literal, TypeVar

from winnow.server.errors import WinnowError
from winnow.server.retrieval.graph.base import GraphStore, RankQuery, Scope, Types
from winnow.server.retrieval.graph.records import EDGE_TYPES
from winnow.server.runtime.deadlines import check_deadline

T = TypeVar("T")
Walk = Literal["none", "auto", "hybrid_local", "multi_hop"]


@dataclass(frozen=True, slots=True)
class WalkMode:
    """The number of documents at which a walk starts, and the weight of the graph score."""

    seeds: int
    weight: float


# docs/decisions/0009-graph-in-search.md has the measurements.
_LOCAL = WalkMode(seeds=5, weight=0.5)
WALK_MODES: Mapping[Walk, WalkMode] = MappingProxyType(
    {"auto": _LOCAL, "hybrid_local": _LOCAL, "multi_hop": WalkMode(seeds=3, weight=2.0)}
)
# Reading order is not a relation, and co-occurrence repeats the mentions: with them, fewer multi-hop questions are
# answered.
_WALKED_TYPES: Types = frozenset(EDGE_TYPES) - {"NEXT", "CO_OCCURS"}
_DAMPING = 0.5
# A ninth iteration would add 0.2 % of the total mass.
_ITERATIONS = 8
# The seeds are selected among so many hits.
_SEED_DEPTH = 50
# Nodes that a walk returns; chunks that it adds to the candidates, in all and of one document.
_MAX_REACHED = 300
_MAX_ADDED = 50
_MAX_ADDED_PER_DOCUMENT = 3
# A store that does not answer costs a search seconds, so it is not called for a while.
_COOL_DOWN_SECONDS = 10.0


class GraphCircuitBreaker:
    """A circuit breaker: a graph store that failed is not called again for ``_COOL_DOWN_SECONDS``."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._failed: tuple[float, WinnowError] | None = None

    def call(self, operation: Callable[[GraphStore], T]) -> T:
        """Call ``operation`` with the store. Raises what it raises, or what it raised last."""
        if self._failed and time.monotonic() - self._failed[0] < _COOL_DOWN_SECONDS:
            raise self._failed[1]
        try:
            return operation(self._store)
        except WinnowError as error:
            check_deadline()  # if the deadline of the call passed, the store is not at fault
            self._failed = time.monotonic(), error
            raise


@dataclass(frozen=True, slots=True)
class WalkResult:
    """The scores of a walk: by chunk, by document (with its sections), and the document of each chunk.

    ``first`` are the hits down to the last seed; ``seeds`` are the documents of the seeds.
    """

    chunks: Mapping[str, float]
    documents: Mapping[str, float]
    document_of: Mapping[str, str]
    first: frozenset[str] = frozenset()
    seeds: frozenset[str] = frozenset()

    def candidates(self, known: Iterable[str]) -> list[str]:
        """The chunks to add to the ``known`` ones, those of the documents with the highest scores first."""
        known = set(known)
        document_scores, chunks_of = dict(self.documents), dict[str, list[str]]()
        for chunk, score in self.chunks.items():
            document = self.document_of[chunk]
            document_scores[document] = document_scores.get(document, 0.0) + score
            if chunk not in known:
                chunks_of.setdefault(document, []).append(chunk)
        added: list[str] = []
        for document in sorted(chunks_of, key=lambda id: (-document_scores[id], id)):
            best = sorted(chunks_of[document], key=lambda id: (-self.chunks[id], id))
            added += best[:_MAX_ADDED_PER_DOCUMENT]
            if len(added) >= _MAX_ADDED:
                break
        return added[:_MAX_ADDED]

    def graph_scores(self, fused: Mapping[str, float]) -> dict[str, float]:
        """The graph scores, 0 to 1, of the chunks that the walk reached. ``fused``: chunks and their scores."""
        scores = {chunk: self.chunks[chunk] for chunk in fused if chunk in self.chunks}
        best: dict[str, str] = {}
        for chunk in sorted(scores, key=lambda id: (-fused[id], -scores[id], id)):
            best.setdefault(self.document_of[chunk], chunk)
        for document, chunk in best.items():
            scores[chunk] += self.documents.get(document, 0.0)
        others = [score for chunk, score in scores.items() if self.document_of[chunk] not in self.seeds]
        greatest = max(others, default=0.0)
        scaled = {chunk: min(score / greatest, 1.0) if greatest > 0 else 0.0 for chunk, score in scores.items()}
        return scaled | {chunk: 1.0 for chunk in self.first if chunk in fused}


def load_graph(store: GraphStore, project: str) -> None:
    """Load what the walks of searches read, so that the first one is fast."""
    store.load(project, _WALKED_TYPES)


def walk_from_hits(
    store: GraphStore, project: str, fused: Mapping[str, float], scope: Scope, max_seeds: int
) -> WalkResult | None:
    """Walk from the best of these chunks (sorted, best first); None if none of them is in the graph."""
    best = [chunk for chunk, _ in zip(fused, range(_SEED_DEPTH), strict=False)]
    seeds: dict[str, str] = {}
    for id, node in store.nodes(project, best, scope).items():
        if len(seeds) < max_seeds and fused[id] > 0:
            seeds.setdefault(node.document_id, id)
    if not seeds:
        return None
    starts = {id: fused[id] for id in seeds.values()}
    total = sum(starts.values())
    # the restart probability of the seeds is subtracted from their scores
    chunks = {id: -(1 - _DAMPING) * share / total for id, share in starts.items()}
    document_of = {id: document for document, id in seeds.items()}
    documents: dict[str, float] = {}
    query = RankQuery(starts, _WALKED_TYPES, _DAMPING, _ITERATIONS, _MAX_REACHED)
    for id, label, document, score in store.owned_ranks(project, query, scope):
        if label == "Chunk":
            chunks[id], document_of[id] = chunks.get(id, 0.0) + score, document
        else:
            documents[document] = documents.get(document, 0.0) + score
    chunks |= {id: max(chunks[id], 0.0) for id in starts}
    last = max(best.index(id) for id in starts)
    return WalkResult(chunks, documents, document_of, frozenset(best[: last + 1]), frozenset(seeds))


def combine_scores(fused: float, graph_score: float, weight: float) -> float:
    """Combine a fused score and a graph score into one score from 0 to 1."""
    return sum(graph_shares(fused, graph_score, weight))


def graph_shares(fused: float, graph_score: float, weight: float) -> tuple[float, float]:
    """The addends of the fused score and of the graph score in the score of ``combine_scores``."""
    return fused / (1 + weight), weight * sqrt(graph_score) / (1 + weight)
