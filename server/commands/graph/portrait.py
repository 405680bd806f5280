"""A node of the graph with its strongest neighbours, by type of relation.

The name of a passage says little, so relations to passages are grouped by document, with the number of passages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from winnow.server.errors import WinnowError
from winnow.server.operations.graph.phrases import PHRASES
from winnow.server.retrieval.graph.base import MAX_NODES, Degree, GraphStore, MatchKind, Neighbour, Scope
from winnow.server.retrieval.graph.records import EdgeType, Node

# At most so many relations to passages are grouped by document; the strongest come first.
_MOST_COUNTED = 2_000
_OTHERS = 5
_MOST_EVIDENCE = 3  # passages of a row whose places are shown
_MATCH_KINDS = get_args(MatchKind)

_ORDER = list(PHRASES)
# Shown for the node only: for its neighbours it would be a table of contents.
_STRUCTURE = frozenset({"PART_OF", "NEXT"})


@dataclass(frozen=True, slots=True)
class NeighbourRow:
    """A neighbour: its node, its file ("" for entities), the weight, the number of passages as evidence.

    ``evidence`` are the ids of the first of those passages, ``locators`` their places in files with pages or the
    like, in words; those of an entity with the file.
    """

    node: Node
    where: str
    weight: float
    passages: int
    evidence: tuple[str, ...] = ()
    locators: tuple[str, ...] = ()
    groups: tuple[RelationGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationGroup:
    """A type of relation: its wording, the strongest rows, and the number of all rows."""

    type: EdgeType
    direction: Literal["out", "in", "both"]
    phrase: str
    rows: tuple[NeighbourRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Portrait:
    """A node with its neighbours; ``others`` are further nodes that match the name."""

    node: Node
    groups: tuple[RelationGroup, ...]
    others: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class PortraitQuery:
    """A project of a graph store, a scope, and the number of rows for each type of relation.

    ``locate`` returns file and place of passages in words, by their ids, for those that have a place.
    """

    graph: GraphStore
    project: str
    scope: Scope
    rows: int
    locate: Callable[[Sequence[str]], Mapping[str, tuple[str, str]]]


def build_portrait(query: PortraitQuery, name: str, hops: int) -> Portrait:
    """The neighbours of the node with this name or id, up to ``hops`` (1 or 2) away.

    Raises ``WinnowError("NOT_FOUND")`` where nothing has the name.
    """
    matches = query.graph.find(query.project, name, scope=query.scope)
    # A page often has the name of its subject, which has more neighbours than the page.
    matches.sort(key=lambda match: (_MATCH_KINDS.index(match.how), match.node.label != "Entity"))
    by_id = query.graph.nodes(query.project, [name], query.scope)
    nodes = [*by_id.values(), *(match.node for match in matches)]
    if not nodes:
        raise WinnowError(
            "NOT_FOUND",
            f"nothing in the graph of project {query.project!r} is called {name[:80]!r}; "
            "winnow graph stats shows what there is, winnow search finds by meaning",
        )
    node, *others = nodes
    return Portrait(node, _build_groups(query, node, hops, frozenset({node.id})), tuple(others[:_OTHERS]))


def _build_groups(query: PortraitQuery, node: Node, hops: int, seen: frozenset[str]) -> tuple[RelationGroup, ...]:
    degrees = _merge_directions(query.graph.degrees(query.project, node.id, query.scope))
    degrees.sort(key=lambda degree: _ORDER.index((degree[0], _phrase_direction(degree[1]))))
    groups = [_build_group(query, node, *degree, hops, seen) for degree in degrees]
    return tuple(group for group in groups if group.rows)


def _merge_directions(degrees: list[Degree]) -> list[tuple[EdgeType, Literal["out", "in", "both"], int]]:
    """Counts by relation and direction; co-occurrence has no direction and is one row."""
    counts: dict[tuple[str, str], int] = {}
    for degree in degrees:
        direction = "both" if degree.type == "CO_OCCURS" else degree.direction
        counts[degree.type, direction] = counts.get((degree.type, direction), 0) + degree.count
    return [(type, direction, count) for (type, direction), count in counts.items()]  # type: ignore[misc]


def _build_group(
    query: PortraitQuery,
    node: Node,
    type: EdgeType,
    direction: Literal["out", "in", "both"],
    count: int,
    hops: int,
    seen: frozenset[str],
) -> RelationGroup:
    phrase = PHRASES[type, _phrase_direction(direction)]
    neighbours = list(_read_neighbours(query, node, type, direction))
    rows = _build_rows(query, [neighbour for neighbour in neighbours if neighbour.node.id not in seen])
    total = len(rows) if len(neighbours) == count else count
    shown = _add_locators(query, rows[: query.rows])
    if hops > 1:
        known = seen | {row.node.id for row in shown}
        nearer = replace(query, rows=max(query.rows // 2, 1))
        shown = [
            replace(row, groups=_without_structure(_build_groups(nearer, row.node, hops - 1, known)))
            for row in shown
        ]
    return RelationGroup(type, direction, phrase, tuple(shown), total)


def _add_locators(query: PortraitQuery, rows: Sequence[NeighbourRow]) -> list[NeighbourRow]:
    places = query.locate([id for row in rows for id in row.evidence])

    def locators(row: NeighbourRow) -> Iterator[str]:
        for file, locator in (places[id] for id in row.evidence if id in places):
            yield locator if row.where else f"{file}, {locator}"

    return [replace(row, locators=tuple(dict.fromkeys(locators(row)))) for row in rows]


def _without_structure(groups: tuple[RelationGroup, ...]) -> tuple[RelationGroup, ...]:
    return tuple(group for group in groups if group.type not in _STRUCTURE)


def _phrase_direction(direction: Literal["out", "in", "both"]) -> Literal["out", "in"]:
    return "in" if direction == "in" else "out"


def _read_neighbours(
    query: PortraitQuery, node: Node, type: EdgeType, direction: Literal["out", "in", "both"]
) -> Iterator[Neighbour]:
    for offset in range(0, _MOST_COUNTED, MAX_NODES):
        page = query.graph.neighbours(
            query.project, [node.id], direction, frozenset({type}), query.scope, MAX_NODES, offset
        )
        yield from page.rows
        if offset + len(page.rows) >= page.total:
            break


def _build_rows(query: PortraitQuery, neighbours: list[Neighbour]) -> list[NeighbourRow]:
    """A row for each neighbour, passages grouped by document, the strongest first."""
    document_ids = sorted({neighbour.node.document_id for neighbour in neighbours if neighbour.node.document_id})
    documents = {
        id: document
        for at in range(0, len(document_ids), MAX_NODES)
        for id, document in query.graph.nodes(
            query.project, document_ids[at : at + MAX_NODES], query.scope
        ).items()
    }
    rows: dict[str, NeighbourRow] = {}
    for neighbour in neighbours:
        document = documents.get(neighbour.node.document_id)
        node = document if neighbour.node.label == "Chunk" and document else neighbour.node
        where = document.anchor if document else ""
        evidence = (neighbour.node.id,) if neighbour.node.label == "Chunk" else tuple(neighbour.edge.evidence)
        row = rows.get(node.id) or NeighbourRow(node, where, neighbour.edge.weight, 0)
        rows[node.id] = replace(
            row,
            passages=row.passages + len(evidence),
            weight=max(row.weight, neighbour.edge.weight),
            evidence=(*row.evidence, *evidence)[:_MOST_EVIDENCE],
        )
    return sorted(rows.values(), key=_sort_key)


def _sort_key(row: NeighbourRow) -> tuple[float, float, str, str]:
    by_passages = row.passages if row.node.label != "Entity" else 0
    return -by_passages, -row.weight, row.node.title, row.node.id
