"""How fast are the graph stores? A power-law graph, imported and walked; prints JSON, asserts nothing.

    python -m tests.bench.graph [--nodes 100000] [--edges 1000000] [--asked 500] [--neo4j]

Figures are milliseconds (p50 and p95 over random starts, warm), on the clock and of this process's processor time,
which others on the machine lengthen less. "import" is apply, derive and the first read, in seconds, both ways.
With ``--neo4j`` the same graph and the same questions go to a Neo4j server as well (see tests/neo4j).
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from server.backends.graph_sqlite import SqliteGraph
from server.backends.neo4j import Neo4jGraph
from server.graph.base import GraphStore
from server.graph.records import DocumentGraph, Edge, Node
from server.ids import chunk_id, document_id, entity_id
from server.retrieval.evaluation import percentile
from tests.neo4j.running import neo4j_server

PROJECT = "bench"
CHUNKS_EACH = 24
BATCH = 50
TYPES = ("term", "identifier", "product")


def main() -> None:
    """Fill each store with the same graph and ask each the same."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--nodes", type=int, default=100_000)
    asked.add_argument("--edges", type=int, default=1_000_000)
    asked.add_argument("--asked", type=int, default=500)
    asked.add_argument("--neo4j", action="store_true")
    options = asked.parse_args()
    graphs = list(_graphs(options.nodes, options.edges))
    figures: dict[str, Any] = {
        "nodes": len({node.id for graph in graphs for node in graph.nodes}),
        "edges": sum(len(graph.edges) for graph in graphs),
        "documents": len(graphs),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.sqlite3"
        store = SqliteGraph(path)
        figures["embedded"] = _measured(store, graphs, options.asked)
        figures["embedded"]["disk_mb"] = round(path.stat().st_size / 1e6, 1)
        store.close()
    figures["embedded"]["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if options.neo4j:
        with neo4j_server(("-Xmx4g",)) as url:
            server = Neo4jGraph(url, query_seconds=120)
            figures["neo4j"] = _measured(server, graphs, options.asked // 5)
            server.close()
    print(json.dumps(figures, indent=2))


def _graphs(nodes: int, edges: int) -> Iterator[DocumentGraph]:
    """Documents of 24 chunks that mention and link to what is popular already: about ``edges`` edges in all."""
    generator = np.random.default_rng(0)
    documents = nodes // 2 // (CHUNKS_EACH + 1)
    entities = nodes - documents * (CHUNKS_EACH + 1)
    own = [document_id(PROJECT, f"doc{at}.md") for at in range(documents)]
    names = [
        Node(entity_id(PROJECT, f"name {at}"), "Entity", TYPES[at % 3], f"name {at}") for at in range(entities)
    ]
    each = (edges - documents * (2 * CHUNKS_EACH - 1)) // documents
    for at, id in enumerate(own):
        chunks = [chunk_id(PROJECT, id, (), "", number) for number in range(CHUNKS_EACH)]
        mentioned = _popular(generator, entities, each * 45 // 100)
        calls = _popular(generator, entities, each * 45 // 100), generator.integers(0, entities, each * 45 // 100)
        linked = _popular(generator, documents, each - 2 * (each * 45 // 100))
        said = [Edge(chunk, id, "PART_OF", 1.0, 1.0, (chunk,), id) for chunk in chunks]
        said += [Edge(a, b, "NEXT", 1.0, 1.0, (a, b), id) for a, b in pairwise(chunks)]
        for number, name in enumerate(mentioned.tolist()):
            chunk = chunks[number % CHUNKS_EACH]
            said.append(Edge(chunk, names[name].id, "MENTIONS", number % 7 / 4, 0.8, (chunk,), id))
        for one, other in zip(*(ends.tolist() for ends in calls), strict=True):
            said.append(Edge(names[other].id, names[one].id, "CALLS", 1.0, 0.9, (chunks[0],), id))
        said += [Edge(chunks[k % CHUNKS_EACH], own[k], "LINKS_TO", 1.0, 1.0, (), id) for k in linked.tolist()]
        touched = np.unique(np.concatenate([mentioned, *calls])).tolist()
        yield DocumentGraph(
            id,
            (
                Node(id, "Document", "markdown", f"Document {at}", anchor=f"doc{at}.md", document_id=id),
                *(Node(chunk, "Chunk", "chunk", f"Chunk {chunk}", document_id=id) for chunk in chunks),
                *(names[name] for name in touched),
            ),
            tuple(said),
        )


def _popular(generator: np.random.Generator, size: int, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places below ``size``, the first of them far more often: the density falls as the square root."""
    return (generator.random(count) ** 2 * size).astype(np.int64)


def _measured(store: GraphStore, graphs: Sequence[DocumentGraph], asked: int) -> dict[str, Any]:
    began, working = time.perf_counter(), time.process_time()
    for start in range(0, len(graphs), BATCH):
        store.apply(PROJECT, graphs[start : start + BATCH])
    applied = time.perf_counter()
    store.derive(PROJECT)
    derived = time.perf_counter()
    counts = store.counts(PROJECT)
    store.neighbours(PROJECT, [graphs[0].document_id])
    read, worked = time.perf_counter(), time.process_time()
    generator = np.random.default_rng(1)
    ids = [node.id for graph in graphs for node in graph.nodes]
    picked = [ids[at] for at in generator.integers(0, len(ids), 2 * asked).tolist()]
    starts, ends = picked[:asked], picked[asked:]
    pairs = list(zip(starts, ends, strict=True))
    return {
        "import_s": round(read - began, 2),
        "import_cpu_s": round(worked - working, 2),
        "apply_s": round(applied - began, 2),
        "derive_s": round(derived - applied, 2),
        "first_read_s": round(read - derived, 2),
        "edges_by_type": dict(counts.edge_types),
        "1 hop, page of 25": _timed(lambda pair: store.neighbours(PROJECT, [pair[0]]), pairs),
        "2 hops, page of 50": _timed(lambda pair: store.expand(PROJECT, [pair[0]], 2, limit=50), pairs),
        "shortest path <= 6": _timed(lambda pair: store.paths(PROJECT, [pair[0]], [pair[1]], 6, limit=1), pairs),
        "ranks of 5 seeds": _timed(lambda pair: store.ranks(PROJECT, {pair[0]: 1.0, pair[1]: 0.5}), pairs[:50]),
    }


def _timed(ask: Callable[[tuple[str, str]], object], pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    for pair in pairs[:10]:
        ask(pair)
    took, worked = [], []
    for pair in pairs:
        began, working = time.perf_counter(), time.process_time()
        ask(pair)
        worked.append((time.process_time() - working) * 1000)
        took.append((time.perf_counter() - began) * 1000)
    return {
        "p50": round(percentile(took, 0.5), 3),
        "p95": round(percentile(took, 0.95), 3),
        "cpu_p50": round(percentile(worked, 0.5), 3),
        "cpu_p95": round(percentile(worked, 0.95), 3),
    }


if __name__ == "__main__":
    main()
