"""Personalised PageRank (Haveliwala 2002) over a graph in memory, truncated to the likeliest nodes. Pure."""

from __future__ import annotations

import numpy as np

from winnow.server.retrieval.graph.base import NodeRank, RankQuery
from winnow.server.retrieval.graph.csr_graph import Flags, Floats, Graph, Ints
from winnow.server.runtime.deadlines import check_deadline

# A step continues from the nodes with the most mass: at most this many (and those equal to the last of them), each
# with at least this share of the whole. Mass that has spread over more nodes barely changes the ranking.
_MAX_FRONTIER = 200
_LEAST_MASS = 1e-5
_DIGITS = 9


def ranks(graph: Graph, query: RankQuery) -> list[tuple[str, float]]:
    """See ``GraphStore.ranks``."""
    best, scores = _rank_nodes(graph, query)
    return [(graph.nodes[node].id, score) for node, score in zip(best.tolist(), scores.tolist(), strict=True)]


def owned_ranks(graph: Graph, query: RankQuery) -> list[NodeRank]:
    """See ``GraphStore.owned_ranks``."""
    best, scores = _rank_nodes(graph, query)
    owned = graph.owned[best]
    nodes = map(graph.nodes.__getitem__, best[owned].tolist())
    return [
        NodeRank(node.id, node.label, node.document_id, score)
        for node, score in zip(nodes, scores[owned].tolist(), strict=True)
    ]


def _rank_nodes(graph: Graph, query: RankQuery) -> tuple[Ints, Floats]:
    """The first ``query.limit`` positions by (-score, title, id), and their scores."""
    all_scores, _ = compute_scores(graph, query)
    nodes = np.flatnonzero(all_scores)
    scores = all_scores[nodes].round(_DIGITS)
    # What is below the score at the limit need not be sorted.
    least = np.partition(scores, -query.limit)[-query.limit] if len(scores) > query.limit else 0.0
    among = np.flatnonzero((scores >= least) & (scores > 0))
    order = among[np.lexsort((graph.title_rank[nodes[among]], -scores[among]))][: query.limit]
    return nodes[order], scores[order]


def compute_scores(graph: Graph, query: RankQuery) -> tuple[Floats, Flags]:
    """The score of every node, and the nodes whose rows were read to compute it.

    The scores are a power series over the number of steps since the last restart: each step carries on ``damping``
    of the mass of the one before, so that fewer nodes matter the longer the walk is. Mass at a node without edges
    restarts, which is as if every walk that ended there were left out: the sum is normalised at the end.
    """
    read = np.zeros(len(graph.nodes), np.bool_)
    mass = np.zeros(len(graph.nodes))
    for id, share in query.seeds.items():
        if id in graph.positions and share > 0:
            mass[graph.positions[id]] = share
    if not mass.any():
        return mass, read
    mass /= mass.sum()
    scores = mass.copy()
    transitions = graph.transitions(query.types)
    for _ in range(query.iterations):
        check_deadline()
        frontier = _select_frontier(mass)
        if not len(frontier):
            break
        read[frontier] = True
        mass = query.damping * transitions.step(frontier, mass[frontier])
        scores += mass
    return scores / scores.sum(), read


def _select_frontier(mass: Floats) -> Ints:
    """The nodes from which a step continues."""
    nodes = np.flatnonzero(mass >= _LEAST_MASS)
    if len(nodes) > _MAX_FRONTIER:
        least = np.partition(mass[nodes], -_MAX_FRONTIER)[-_MAX_FRONTIER]
        nodes = nodes[mass[nodes] >= least]
    return nodes
