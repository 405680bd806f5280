"""Personalized PageRank on a graph with more nodes than a step expands."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.ids import document_id, entity_id
from winnow.server.retrieval.graph.base import RankQuery
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node


def test_where_a_walk_spreads_wide_the_likeliest_nodes_are_those_of_a_whole_pagerank(tmp_path: Path) -> None:
    """2,000 nodes around some hubs: eight steps reach nearly all of them, most with almost no weight."""
    wide = nx.barabasi_albert_graph(2_000, 3, seed=5)
    names = {at: entity_id("p", f"name {at}") for at in wide.nodes}
    owner = document_id("p", "a.md")
    nodes = [Node(owner, "Document", "markdown", "A", anchor="a.md", document_id=owner)]
    nodes += [Node(id, "Entity", "term", f"name {at}") for at, id in names.items()]
    edges = [Edge(names[one], names[other], "CALLS", document_id=owner) for one, other in wide.edges]
    store = SqliteGraph(tmp_path / "graph.sqlite3")
    store.apply("p", [DocumentGraph(owner, tuple(nodes), tuple(edges))])
    found = dict(store.ranks("p", RankQuery({names[1_500]: 2.0, names[700]: 1.0}, iterations=8, limit=50)))
    whole = nx.pagerank(wide, alpha=0.5, personalization={1_500: 2.0, 700: 1.0}, tol=1e-10)
    likeliest = sorted(whole, key=lambda at: -whole[at])[:10]
    assert [names[at] for at in likeliest] == list(found)[:10]
    assert [found[names[at]] for at in likeliest] == pytest.approx([whole[at] for at in likeliest], rel=0.05)
    store.close()
