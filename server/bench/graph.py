"""How fast the graph stores are: one graph of a power law, written to each store and asked the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from server.bench.figures import percentiles
from server.errors import WinnowError
from server.graph.base import GraphStore
from server.graph.records import DocumentGraph, Edge, Node
from server.ids import chunk_id, document_id, entity_id

PROJECT = "bench"
CHUNKS_EACH = 24
# Documents in one change: an ingest's are of this order.
_BATCH = 50
_TYPES = ("term", "identifier", "product")
_WARMUP = 10
# Ranks read the most, and say the same after fewer questions.
_RANKED = 50


def graphs(nodes: int, edges: int) -> Iterator[DocumentGraph]:
    """Documents of 24 chunks that mention, call and link to what is popular: about so many nodes and edges in all.

    Raises ``WinnowError("INVALID_REQUEST")`` where the nodes are too few for two documents, or the edges for them.
    """
    generator = np.random.default_rng(0)
    documents = nodes // 2 // (CHUNKS_EACH + 1)
    entities = nodes - documents * (CHUNKS_EACH + 1)
    own = [document_id(PROJECT, f"doc{at}.md") for at in range(documents)]
    names = [
        Node(entity_id(PROJECT, f"name {at}"), "Entity", _TYPES[at % 3], f"name {at}") for at in range(entities)
    ]
    each = edges // max(documents, 1) - (2 * CHUNKS_EACH - 1)
    if documents < 2 or each < 1:
        raise WinnowError("INVALID_REQUEST", "a graph to measure needs 100 nodes and as many edges, or more")
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
    """Places below ``size``; the first are the most frequent, the density falls as the square root does."""
    return (generator.random(count) ** 2 * size).astype(np.int64)


def size(graphs: Sequence[DocumentGraph]) -> dict[str, int]:
    """How much there is: documents, different nodes, edges."""
    return {
        "documents": len(graphs),
        "nodes": len({node.id for graph in graphs for node in graph.nodes}),
        "edges": sum(len(graph.edges) for graph in graphs),
    }


def measure(
    store: GraphStore,
    graphs: Sequence[DocumentGraph],
    questions: int,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Seconds of the import, and milliseconds of each operation over ``questions`` random starts, warm.

    ``import_s`` is writing, deriving and the first read; ``cpu`` is the processor time of this process alone.
    ``progress`` is told how many documents are written. What was written is taken out again.
    """
    try:
        return {**_imported(store, graphs, progress), **_asked(store, graphs, questions)}
    finally:
        _take_out(store, sorted(store.documents(PROJECT)))


def _imported(
    store: GraphStore, graphs: Sequence[DocumentGraph], progress: Callable[[int], None]
) -> dict[str, float]:
    began, working = time.perf_counter(), time.process_time()
    for start in range(0, len(graphs), _BATCH):
        store.apply(PROJECT, graphs[start : start + _BATCH])
        progress(min(start + _BATCH, len(graphs)))
    applied = time.perf_counter()
    store.derive(PROJECT)
    derived = time.perf_counter()
    store.neighbours(PROJECT, [graphs[0].document_id])
    read, worked = time.perf_counter(), time.process_time()
    return {
        "import_s": round(read - began, 2),
        "import_cpu_s": round(worked - working, 2),
        "apply_s": round(applied - began, 2),
        "derive_s": round(derived - applied, 2),
        "first_read_s": round(read - derived, 2),
    }


def _asked(store: GraphStore, graphs: Sequence[DocumentGraph], questions: int) -> dict[str, Any]:
    ids = [node.id for graph in graphs for node in graph.nodes]
    picked = np.random.default_rng(1).integers(0, len(ids), 2 * questions).tolist()
    pairs = [(ids[one], ids[other]) for one, other in zip(picked[:questions], picked[questions:], strict=True)]
    operations: dict[str, Callable[[str, str], object]] = {
        "1 hop, page of 25": lambda one, other: store.neighbours(PROJECT, [one]),
        "2 hops, page of 50": lambda one, other: store.expand(PROJECT, [one], 2, limit=50),
        "shortest path <= 6 hops": lambda one, other: store.paths(PROJECT, [one], [other], 6, limit=1),
        "ranks of 2 seeds": lambda one, other: store.ranks(PROJECT, {one: 1.0, other: 0.5}),
    }
    few = {"ranks of 2 seeds": pairs[:_RANKED]}
    return {"ms": {name: _timed(ask, few.get(name, pairs)) for name, ask in operations.items()}}


def _timed(ask: Callable[[str, str], object], pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    for pair in pairs[:_WARMUP]:
        ask(*pair)
    took, worked = [], []
    for pair in pairs:
        began, working = time.perf_counter(), time.process_time()
        ask(*pair)
        worked.append((time.process_time() - working) * 1000)
        took.append((time.perf_counter() - began) * 1000)
    return {**percentiles(took), "cpu": percentiles(worked)}


def _take_out(store: GraphStore, ids: Sequence[str]) -> None:
    for start in range(0, len(ids), _BATCH):
        store.apply(PROJECT, (), ids[start : start + _BATCH])
