"""Walks over the shared graph and a notebook together: neighbourhoods and paths. Both ends may be of either.

A walk in the shared graph is that of its store. Where it comes to a passage that claims cite, or starts from a
claim, the edges of the notebook are added to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from winnow.server.operations.claims.claim_graph import CLAIM_EDGES, ClaimGraph, is_of_notebook
from winnow.server.retrieval.graph.base import (
    MAX_EDGES,
    MAX_NODES,
    Direction,
    Neighbourhood,
    Path,
    Paths,
    ReachedNode,
    Types,
)
from winnow.server.retrieval.graph.records import Edge, Node
from winnow.server.runtime.deadlines import check_deadline

_MOST_STEPS = 2_000  # nodes that a search for paths within the notebook steps on

ExpandOnce = Callable[[Sequence[str], Types], Neighbourhood]
FindPaths = Callable[[Sequence[str], Sequence[str], int, Types], Paths]


def shared_types(types: Types) -> Types:
    """Of these types, those of the shared graph; an empty set where none is."""
    return None if types is None else types - CLAIM_EDGES


def concerns(types: Types, ids: Iterable[str]) -> bool:
    """Whether a walk from these nodes over edges of these types may touch a notebook."""
    return types is None or bool(types & CLAIM_EDGES) or any(map(is_of_notebook, ids))


# --- neighbourhoods ---------------------------------------------------------------------------------------------


def expand(
    claims: ClaimGraph,
    once: ExpandOnce,
    seeds: Sequence[Node],
    hops: int,
    types: Types,
    direction: Direction,
    shared: Neighbourhood,
) -> Neighbourhood:
    """The nodes within ``hops`` of the seeds; ``once`` expands nodes of the shared graph by one hop.

    It ends with the hop at which ``MAX_NODES`` nodes are known: no node of a later one is shown. ``shared`` is the
    neighbourhood without the notebook, whose nodes are counted in any case.
    """
    reached = {node.id: ReachedNode(node, 0, 0.0) for node in seeds}
    edges: dict[tuple[str, str, str], Edge] = {}
    cut: Counter[str] = Counter()
    frontier = [node.id for node in seeds]
    for distance in range(1, hops + 1):
        if not frontier or len(reached) >= MAX_NODES:
            break
        check_deadline()
        hop = _one_hop(claims, once, frontier, types, direction)
        cut += hop.left_out
        edges |= {(edge.source, edge.target, edge.type): edge for edge in hop.edges}
        nodes, weights = _strongest(hop.reached, reached)
        reached |= {id: ReachedNode(node, distance, weights[id]) for id, node in nodes.items()}
        frontier = list(nodes)
    by_type = cut + Counter(each.node.type for each in reached.values())
    if by_type.total() < shared.total:
        by_type = Counter(dict(shared.by_type))
        by_type.update(each.node.type for each in reached.values() if is_of_notebook(each.node.id))
    return _neighbourhood(list(reached.values()), edges.values(), by_type)


def _strongest(
    found: Iterable[tuple[Node, float]], reached: Mapping[str, ReachedNode]
) -> tuple[dict[str, Node], dict[str, float]]:
    """The nodes that were not reached before, and the weight of the strongest edge to each."""
    nodes: dict[str, Node] = {}
    weights: dict[str, float] = {}
    for node, weight in found:
        if node.id not in reached:
            nodes[node.id] = node
            weights[node.id] = max(weights.get(node.id, 0.0), weight)
    return nodes, weights


def _neighbourhood(reached: list[ReachedNode], edges: Iterable[Edge], by_type: Counter[str]) -> Neighbourhood:
    reached.sort(key=lambda each: (each.distance, -each.weight, each.node.title, each.node.id))
    shown = reached[:MAX_NODES]
    ids = {each.node.id for each in shown}
    among = [edge for edge in edges if edge.source in ids and edge.target in ids]
    among.sort(key=lambda edge: (-edge.weight, edge.source, edge.target, edge.type))
    return Neighbourhood(tuple(shown), tuple(among[:MAX_EDGES]), by_type.total(), dict(by_type), len(among))


@dataclass(frozen=True, slots=True)
class _Hop:
    """Edges of one hop, the nodes at their ends with the weights, and the types of nodes that were cut off."""

    edges: list[Edge]
    reached: list[tuple[Node, float]]
    left_out: Counter[str]


def _one_hop(
    claims: ClaimGraph, once: ExpandOnce, frontier: Sequence[str], types: Types, direction: Direction
) -> _Hop:
    own = [
        (edge, node)
        for edge, node in claims.edges_of(frontier)
        if _is_followed(edge, node, direction) and (types is None or edge.type in types)
    ]
    edges, reached = [edge for edge, _ in own], [(node, edge.weight) for edge, node in own]
    shared, wanted = [id for id in frontier if not is_of_notebook(id)], shared_types(types)
    if not shared or (wanted is not None and not wanted):
        return _Hop(edges, reached, Counter())
    around = once(shared, wanted)
    left_out = Counter(dict(around.by_type)) - Counter(each.node.type for each in around.nodes)
    further = [(each.node, each.weight) for each in around.nodes if each.distance]
    return _Hop([*edges, *around.edges], [*reached, *further], left_out)


def _is_followed(edge: Edge, there: Node, direction: Direction) -> bool:
    return direction == "both" or (edge.target == there.id) is (direction == "out")


# --- paths ------------------------------------------------------------------------------------------------------


def find_paths(
    claims: ClaimGraph,
    shared: FindPaths,
    sources: Sequence[Node],
    targets: Sequence[Node],
    max_hops: int,
    types: Types,
    most: int,
) -> Paths:
    """Simple paths from sources to targets, shortest first.

    A path is one within the notebook, one of the shared graph, or both joined at a passage: from a claim to a
    passage that it cites, on through the shared graph, and maybe from a passage to a claim again.
    """
    inner = _NotebookPaths(claims, [*sources, *targets], max_hops, types)
    source_ids, target_ids = [node.id for node in sources], [node.id for node in targets]
    found = inner.between(source_ids, target_ids, max_hops)
    wanted, is_complete = shared_types(types), True
    if wanted is None or wanted:
        prefixes = [
            *_points(sources),
            *inner.between(filter(is_of_notebook, source_ids), inner.passages, max_hops),
        ]
        suffixes = [
            *_points(targets),
            *inner.between(filter(is_of_notebook, target_ids), inner.passages, max_hops),
        ]
        starts, ends = _by_last(prefixes), _by_last(suffixes)
        if starts and ends:
            middle = shared(list(starts), list(ends), max_hops, wanted)
            is_complete = middle.complete
            found += _join(starts, middle.paths, ends, max_hops)
    unique = {
        tuple(node.id for node in path.nodes): path for path in found if _is_proper(path, source_ids, target_ids)
    }
    ordered = sorted(unique.values(), key=_path_order)
    is_complete &= len(ordered) <= most and not claims.is_cut and not inner.is_cut
    return Paths(tuple(ordered[:most]), is_complete)


def _points(nodes: Sequence[Node]) -> list[Path]:
    """The paths without a step, from the nodes of the shared graph."""
    return [Path((node,), ()) for node in nodes if not is_of_notebook(node.id)]


def _by_last(paths: Iterable[Path]) -> dict[str, list[Path]]:
    grouped: dict[str, list[Path]] = {}
    for path in paths:
        grouped.setdefault(path.nodes[-1].id, []).append(path)
    return grouped


def _join(
    starts: Mapping[str, Sequence[Path]],
    middles: Iterable[Path],
    ends: Mapping[str, Sequence[Path]],
    max_hops: int,
) -> list[Path]:
    """The paths that lead to the first node of a middle, along it, and back along one that leads to its last."""
    joined = []
    for middle in middles:
        for start in starts[middle.nodes[0].id]:
            for end in ends[middle.nodes[-1].id]:
                nodes = (*start.nodes, *middle.nodes[1:], *end.nodes[-2::-1])
                if len(nodes) - 1 <= max_hops and len({node.id for node in nodes}) == len(nodes):
                    joined.append(Path(nodes, (*start.edges, *middle.edges, *end.edges[::-1])))
    return joined


def _is_proper(path: Path, sources: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether only the first node is a source and only the last a target; one that is both is a source."""
    inside = {node.id for node in path.nodes[1:-1]}
    return inside.isdisjoint(sources) and inside.isdisjoint(targets) and path.nodes[-1].id not in sources


def _path_order(path: Path) -> tuple[int, str, str, list[tuple[float, str, str]]]:
    steps = zip(path.edges, path.nodes[1:], strict=True)
    first = path.nodes[0]
    return len(path.edges), first.title, first.id, [(-edge.weight, node.title, node.id) for edge, node in steps]


class _NotebookPaths:
    """The part of a notebook around some nodes, and the paths within it."""

    def __init__(self, claims: ClaimGraph, nodes: Sequence[Node], hops: int, types: Types) -> None:
        self.is_cut = False
        self._nodes = {node.id: node for node in nodes}
        self._near: dict[str, list[tuple[Edge, Node]]] = {}
        self._steps = 0
        frontier = list(self._nodes)
        for _ in range(hops):
            check_deadline()
            self._near |= {id: [] for id in frontier}
            for edge, node in claims.edges_of(frontier) if frontier else ():
                here = edge.source if edge.target == node.id else edge.target
                if types is None or edge.type in types:
                    self._near[here].append((edge, node))
                    self._nodes[node.id] = node
            frontier = [id for id in self._nodes if id not in self._near]

    @property
    def passages(self) -> list[str]:
        """The ids of the nodes of the shared graph in this part."""
        return [id for id in self._nodes if not is_of_notebook(id)]

    def between(self, sources: Iterable[str], targets: Iterable[str], max_hops: int) -> list[Path]:
        """The simple paths from these nodes to those, within this part."""
        wanted = set(targets)
        return [
            Path(tuple(self._nodes[id] for id in ids), tuple(edges))
            for source in sources
            for ids, edges in self._walk([source], [], wanted - {source}, max_hops)
        ]

    def _walk(
        self, ids: list[str], edges: list[Edge], wanted: set[str], left: int
    ) -> Iterable[tuple[list[str], list[Edge]]]:
        if edges and ids[-1] in wanted:
            yield ids, edges
        self._steps += 1
        if self._steps > _MOST_STEPS:
            self.is_cut = True
            return
        for edge, node in self._near.get(ids[-1], ()) if left else ():
            if node.id not in ids:
                yield from self._walk([*ids, node.id], [*edges, edge], wanted, left - 1)
