"""Every graph store answers the same, row for row, and as the definitions in ``graph_oracle`` have it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.backends.graph_sqlite import SqliteGraph
from server.errors import WinnowError
from server.graph.base import GraphStore
from server.graph.records import DocumentGraph, Edge, Node
from server.ids import chunk_id, document_id, entity_id
from tests.contract import graph_worlds as worlds
from tests.contract.graph_oracle import Oracle, oracle

P = worlds.PROJECT


@pytest.fixture(scope="module", params=["embedded"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphStore]:
    opened = SqliteGraph(tmp_path_factory.mktemp("graph") / "graph.sqlite3")
    yield opened
    opened.close()


def fill(store: GraphStore, graphs: list[DocumentGraph], project: str = P) -> None:
    store.apply(project, graphs, sorted(store.documents(project)))
    store.derive(project)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_answer_is_what_the_definitions_say(store: GraphStore, data: st.DataObject) -> None:
    """One graph, every operation, against loops and networkx."""
    graphs = data.draw(worlds.graphs())
    fill(store, graphs)
    for _ in range(2):
        scope = data.draw(worlds.scopes)
        expected = oracle(graphs, scope)
        assert store.nodes(P, worlds.IDS, scope) == expected.nodes
        assert store.counts(P, scope) == expected.counts()
        _compare(store, expected, scope, data)


def _compare(store: GraphStore, expected: Oracle, scope: Any, data: st.DataObject) -> None:
    ids, other = data.draw(worlds.ids), data.draw(worlds.ids)
    types, direction = data.draw(worlds.types), data.draw(worlds.directions)
    limit, hops = data.draw(st.sampled_from((1, 3, 50))), data.draw(st.integers(1, 4))
    offset = data.draw(st.integers(0, 3))
    name = data.draw(worlds.titles)
    kinds = data.draw(st.none() | st.frozensets(st.sampled_from((*worlds.KINDS, "markdown"))))
    assert [store.degrees(P, id, scope) for id in ids] == [expected.degrees(id) for id in ids]
    assert store.find(P, name[:9], kinds, scope, limit) == expected.find(name[:9], kinds, limit)
    asked = (ids, direction, types)
    assert store.neighbours(P, *asked, scope, limit, offset) == expected.neighbours(*asked, limit, offset)
    assert store.expand(P, ids, hops, types, direction, scope, limit) == expected.expand(
        ids, hops, types, direction, limit
    )
    assert store.paths(P, ids, other, hops, types, scope, limit) == expected.paths(ids, other, hops, types, limit)
    seeds = {id: 1.0 + at for at, id in enumerate(ids)}
    ranks = store.ranks(P, seeds, types, scope, iterations=60)
    found = dict.fromkeys(expected.nodes, 0.0) | dict(ranks)
    assert found == pytest.approx(expected.ranks(seeds, types, 0.5), abs=1e-4)
    assert ranks == sorted(ranks, key=lambda rank: (-rank[1], expected.nodes[rank[0]].title, rank[0]))
