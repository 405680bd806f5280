"""What the graph adds to a ranking: a walk from the best hits over what they mention, link to and belong to.

Theory of operation. A personalised PageRank starts at the best chunk of each of the best documents, the seeds. A
chunk is worth what the walk leaves at it, but for the starts themselves, which say nothing that the legs did
not; the best chunk of a document also gets what is left at the document and its sections, so that a page that is
linked to as a whole counts with the piece that answers. The hits down to the last seed are worth 1, so that they
keep their order; so is the best of the other documents, and every other chunk in proportion. The worth w joins
the fused score s as (s + weight * sqrt(w)) / (1 + weight): the weight is small in ``hybrid_local``, where a
question about one page must lose nothing, and large in ``multi_hop``, where the way is the question; there it
starts at fewer documents, which leaves more room for where they lead.

What the walk reaches and the legs did not return gets its own fused score, as every other candidate has one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import Literal, TypeVar

from server.errors import WinnowError
from server.graph.base import GraphStore, Scope, Types
from server.graph.records import EDGE_TYPES
from server.runtime.deadlines import check_deadline

T = TypeVar("T")
Walk = Literal["none", "auto", "hybrid_local", "multi_hop"]


@dataclass(frozen=True, slots=True)
class WalkMode:
    """At how many documents a walk starts, and the weight of what it says."""

    seeds: int
    weight: float


# docs/decisions/0009-graph-in-search.md has what was measured.
_LOCAL = WalkMode(seeds=5, weight=0.5)
MANNERS: Mapping[Walk, WalkMode] = MappingProxyType(
    {"auto": _LOCAL, "hybrid_local": _LOCAL, "multi_hop": WalkMode(seeds=3, weight=2.0)}
)
# The order of reading is no relation, and what is named together is what the mentions say already: with it, fewer
# questions of several steps are answered.
_WALKED: Types = frozenset(EDGE_TYPES) - {"NEXT", "CO_OCCURS"}
_DAMPING = 0.5
# What a ninth step would carry is 0.2 % of the whole.
_STEPS = 8
# Among so many hits the best documents are looked for.
_SEEDS_AMONG = 50
# Nodes that a walk brings back, and chunks that it adds to the candidates, of one document and in all.
_REACHED = 300
_BROUGHT = 50
_BROUGHT_PER_DOCUMENT = 3
# A server that does not answer costs a search seconds, so it is left alone for a while.
_REST_SECONDS = 10.0


class GraphCircuitBreaker:
    """A graph store that is not asked again for ``_REST_SECONDS`` after it did not answer."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._failed: tuple[float, WinnowError] | None = None

    def ask(self, question: Callable[[GraphStore], T]) -> T:
        """What the store answers. Raises what it raises, or what it last raised."""
        if self._failed and time.monotonic() - self._failed[0] < _REST_SECONDS:
            raise self._failed[1]
        try:
            return question(self._store)
        except WinnowError as error:
            check_deadline()  # a store that had no time to answer is not one that does not answer
            self._failed = time.monotonic(), error
            raise


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Where the walk ended: worth by chunk, worth of document and sections by document, document by chunk.

    ``first``: the hits down to the last seed; ``seeds`` are the documents that the walk started from.
    """

    chunks: Mapping[str, float]
    documents: Mapping[str, float]
    document_of: Mapping[str, str]
    first: frozenset[str] = frozenset()
    seeds: frozenset[str] = frozenset()

    def candidates(self, known: Iterable[str]) -> list[str]:
        """Chunks that are none of the known ones, those of the documents first that the walk led to most."""
        known = set(known)
        whole, chunks_of = dict(self.documents), dict[str, list[str]]()
        for chunk, worth in self.chunks.items():
            document = self.document_of[chunk]
            whole[document] = whole.get(document, 0.0) + worth
            if chunk not in known:
                chunks_of.setdefault(document, []).append(chunk)
        brought: list[str] = []
        for document in sorted(chunks_of, key=lambda one: (-whole[one], one)):
            best = sorted(chunks_of[document], key=lambda one: (-self.chunks[one], one))
            brought += best[:_BROUGHT_PER_DOCUMENT]
            if len(brought) >= _BROUGHT:
                break
        return brought[:_BROUGHT]

    def worth(self, fused: Mapping[str, float]) -> dict[str, float]:
        """The worth of each of these chunks that has one, 0 to 1. ``fused``: their scores."""
        worth = {chunk: self.chunks[chunk] for chunk in fused if chunk in self.chunks}
        best: dict[str, str] = {}
        for chunk in sorted(worth, key=lambda one: (-fused[one], -worth[one], one)):
            best.setdefault(self.document_of[chunk], chunk)
        for document, chunk in best.items():
            worth[chunk] += self.documents.get(document, 0.0)
        most = max((one for chunk, one in worth.items() if self.document_of[chunk] not in self.seeds), default=0.0)
        others = {chunk: min(one / most, 1.0) if most > 0 else 0.0 for chunk, one in worth.items()}
        return others | {chunk: 1.0 for chunk in self.first if chunk in fused}


def load(store: GraphStore, project: str) -> None:
    """Have at hand what the walks of searches read, so that the first one does not wait."""
    store.load(project, _WALKED)


def reached(
    store: GraphStore, project: str, fused: Mapping[str, float], scope: Scope, seeds_wanted: int
) -> WalkResult | None:
    """Where the walk from the best of these chunks (best first) ends; None where none is in the graph."""
    among = [chunk for chunk, _ in zip(fused, range(_SEEDS_AMONG), strict=False)]
    seeds: dict[str, str] = {}
    for id, node in store.nodes(project, among, scope).items():
        if len(seeds) < seeds_wanted and fused[id] > 0:
            seeds.setdefault(node.document_id, id)
    if not seeds:
        return None
    starts = {id: fused[id] for id in seeds.values()}
    whole = sum(starts.values())
    # what the starts get for being starts is taken off what the walk leaves there
    chunks = {id: -(1 - _DAMPING) * share / whole for id, share in starts.items()}
    document_of = {id: document for document, id in seeds.items()}
    documents: dict[str, float] = {}
    for id, label, document, score in store.owned_ranks(
        project, starts, _WALKED, scope, _DAMPING, _STEPS, _REACHED
    ):
        if label == "Chunk":
            chunks[id], document_of[id] = chunks.get(id, 0.0) + score, document
        else:
            documents[document] = documents.get(document, 0.0) + score
    chunks |= {id: max(chunks[id], 0.0) for id in starts}
    last = max(among.index(id) for id in starts)
    return WalkResult(chunks, documents, document_of, frozenset(among[: last + 1]), frozenset(seeds))


def joined(fused: float, worth: float, weight: float) -> float:
    """A fused score and what the graph says of the chunk, as one score from 0 to 1."""
    return (fused + weight * sqrt(worth)) / (1 + weight)
