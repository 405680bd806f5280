"""The graph as a caller sees it: resolving names to nodes, rendering nodes as rows, and pages of rows.

A caller names a node by its id, by a passage id of the session, or by its name. Nodes out of scope do not exist
here: neither as a row, nor in a count, nor as an end of a path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from winnow.server.bibliographies.locators import cited_fields
from winnow.server.contracts.base import Scope
from winnow.server.contracts.graph import MAX_WEIGHT, SNIPPET_CHARS
from winnow.server.errors import WinnowError
from winnow.server.ids import entity_id, is_chunk_id
from winnow.server.models import Filters, Passage
from winnow.server.operations.answers import budget, text_charges
from winnow.server.operations.answers.paging import AnswerPage, Cursor, build_page, fingerprint, resume
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.claims.claim_graph import ClaimGraph, is_claim_name, is_of_notebook
from winnow.server.operations.claims.claim_walks import ExpandOnce, concerns, expand, find_paths
from winnow.server.operations.claims.notebooks import open_notebook
from winnow.server.operations.claims.projection import claims_view
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.retrieval.graph.base import (
    MAX_NODES,
    PAGE_SIZE,
    Direction,
    GraphStore,
    Neighbourhood,
    NodeMatch,
    Paths,
    Types,
)
from winnow.server.retrieval.graph.base import Scope as Documents
from winnow.server.retrieval.graph.records import Edge, Label, Node, normalise_name
from winnow.server.text.printable import one_line, printable
from winnow.server.text.words.spans import preview, terms
from winnow.server.text.words.tokens import first_tokens

Item = TypeVar("Item")

MAX_PASSAGES = 2  # of one row
_MAX_TYPES = 12  # the most frequent types, whose counts an answer contains
_TITLE_TOKENS, _TYPE_TOKENS, _ANCHOR_TOKENS = 32, 10, 48
_ANCHOR_CHARS = 500
_MISSING_TOKENS = 20
_MAX_SIMILAR = 5

# A warning of answers that count what entities are mentioned by.
MENTIONS_ONLY = "counts recognised mentions only; scan counts every occurrence of a text"
_INSTEAD = "use kb_search and kb_retrieve_evidence"
_GRAPH_OFF = f"the graph is switched off (setting graph); {_INSTEAD}"
_NO_GRAPH = (
    "project {project!r} has no graph yet; its next winnow ingest draws one (or winnow graph rebuild), and it is "
    f"walked from then on; until then {_INSTEAD}"
)


@dataclass(frozen=True, slots=True)
class GraphView:
    """The graph as one caller sees it."""

    context: RequestContext
    store: GraphStore
    filters: Filters
    scope: Documents
    claims: ClaimGraph | None = None  # the caller's notebook, where its tools are listed and it has entries

    @property
    def project(self) -> str:
        """The project of the graph."""
        return self.filters.project

    def nodes(self, ids: Sequence[str]) -> dict[str, Node]:
        """The nodes with these ids, as far as they exist."""
        own = {} if self.claims is None else self.claims.nodes(ids)
        return {**own, **self.store.nodes(self.project, list(filter(is_chunk_id, ids)), self.scope)}

    def around(self, ids: Sequence[str], hops: int, types: Types, direction: Direction) -> Neighbourhood:
        """The neighbourhood within ``hops``, at most ``MAX_NODES`` nodes."""
        shared = [id for id in ids if not is_of_notebook(id)]
        around = self.store.expand(self.project, shared, hops, types, direction, self.scope, MAX_NODES)
        if self.claims is None or not concerns(types, ids):
            return around
        if shared == [*ids] and not self.claims.edges_of([reached.node.id for reached in around.nodes]):
            return around  # nothing of the notebook is near
        seeds = list(self.nodes(ids).values())
        return expand(self.claims, self._expand_once(direction), seeds, hops, types, direction, around)

    def _expand_once(self, direction: Direction) -> ExpandOnce:
        def once(ids: Sequence[str], types: Types) -> Neighbourhood:
            return self.store.expand(self.project, ids[:MAX_NODES], 1, types, direction, self.scope, MAX_NODES)

        return once

    def paths(
        self, sources: Sequence[Node], targets: Sequence[Node], max_hops: int, types: Types, most: int
    ) -> Paths:
        """The paths between nodes: see ``GraphStore.paths``."""

        def shared(starts: Sequence[str], ends: Sequence[str], hops: int, wanted: Types) -> Paths:
            return self.store.paths(self.project, starts, ends, hops, wanted, self.scope, most)

        ids = [node.id for node in sources], [node.id for node in targets]
        if self.claims is None or not concerns(types, [*ids[0], *ids[1]]):
            return shared(*ids, max_hops, types)
        return find_paths(self.claims, shared, sources, targets, max_hops, types, most)

    def count_claims(self) -> dict[Label, int]:
        """The numbers of entries and claims in the notebook, by label."""
        return {} if self.claims is None else self.claims.counts()

    def degrees(self, node: Node) -> dict[str, dict[str, int]]:
        """The numbers of the edges that leave a node ("out") and of those that reach it ("in"), by type."""
        counts: dict[str, dict[str, int]] = {"out": {}, "in": {}}
        for degree in self.store.degrees(self.project, node.id, self.scope) if is_chunk_id(node.id) else ():
            counts[degree.direction][degree.type] = degree.count
        for edge, _ in () if self.claims is None else self.claims.edges_of([node.id]):
            direction = counts["out" if edge.source == node.id else "in"]
            direction[edge.type] = direction.get(edge.type, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class NamedNodes:
    """The nodes that a caller named, in the given order, and the names without a node."""

    nodes: tuple[Node, ...]
    missing: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def ids(self) -> list[str]:
        """The nodes' ids."""
        return [node.id for node in self.nodes]

    @property
    def facts(self) -> dict[str, Any]:
        """The field ``missing_ids`` of an answer, if names have no node."""
        missing = [first_tokens(one_line(name), _MISSING_TOKENS) for name in self.missing]
        return {"missing_ids": missing} if missing else {}


def view_of(context: RequestContext, scope: Scope | None, *, with_claims: bool = False) -> GraphView:
    """The graph within the scope of a call; ``with_claims``: and the caller's notebook beside it.

    Raises:
        WinnowError: GRAPH_UNAVAILABLE if the graph is off or not built yet; also the errors of ``filters_of``.
    """
    filters = filters_of(context, scope)
    graph = context.index.graph
    if graph is None:
        raise WinnowError("GRAPH_UNAVAILABLE", _GRAPH_OFF)
    if not graph.generation(filters.project):
        raise WinnowError("GRAPH_UNAVAILABLE", _NO_GRAPH.format(project=filters.project))
    view = GraphView(context, graph, filters, context.index.admitted(filters))
    if not with_claims or claims_view(context, filters.project) is None:
        return view
    return replace(view, claims=ClaimGraph(open_notebook(context, filters.project), view.nodes))


# --- names to nodes ---------------------------------------------------------------------------------------------


def resolve_nodes(view: GraphView, given: Sequence[str]) -> NamedNodes:
    """Find the named nodes: by id, by passage id, or by name.

    Raises:
        WinnowError: NOT_FOUND if none of the names has a node.
    """
    ids_by_name = {name: _possible_ids(view, name) for name in given}
    known = view.nodes([id for ids in ids_by_name.values() for id in ids])
    nodes: dict[str, Node] = {}
    missing: list[str] = []
    warnings: list[str] = []
    for name, ids in ids_by_name.items():
        node = next((known[id] for id in ids if id in known), None)
        if node is None:
            node, advice = _find_by_name(view, name)
            warnings += advice
        elif node.id == ids[-1] != name:  # an entity, found by the name alone
            warnings += _list_others(view, name, node)
        if node is None:
            missing.append(name)
        else:
            nodes.setdefault(node.id, node)
    if not nodes:
        raise _not_found_error(given, warnings)
    return NamedNodes(tuple(nodes.values()), tuple(missing), tuple(warnings))


def _possible_ids(view: GraphView, name: str) -> list[str]:
    """The ids that ``name`` may refer to, best first."""
    stored = view.context.session.get(name)
    passage = [stored.passage.chunk.id] if stored else []
    is_id = is_chunk_id(name) or (view.claims is not None and is_claim_name(name))
    return [*passage, *([name] if is_id else []), entity_id(view.project, normalise_name(name))]


def _find_by_name(view: GraphView, name: str) -> tuple[Node | None, list[str]]:
    """The node with this name, preferably an entity, and warnings if there are several or none."""
    matches = view.store.find(view.project, name, None, view.scope)
    exact = [match.node for match in matches if match.how != "prefix"]
    exact.sort(key=lambda node: node.label != "Entity")
    if not exact:
        return None, [f"{_quote(name)} is no name of a node; {_list_matches(matches)}"] if matches else []
    return exact[0], _warn_of_others(name, exact[0], exact[1:])


def _list_others(view: GraphView, name: str, taken: Node) -> list[str]:
    """A warning if nodes beside the one that was taken have this name."""
    matches = view.store.find(view.project, name, None, view.scope)
    others = [match.node for match in matches if match.how != "prefix" and match.node.id != taken.id]
    return _warn_of_others(name, taken, others)


def _warn_of_others(name: str, taken: Node, others: Sequence[Node]) -> list[str]:
    listed = ", ".join(f"{node.id} ({node.label})" for node in others[:_MAX_SIMILAR])
    warning = f"{_quote(name)} names several nodes; took {taken.id} ({taken.label}), not {listed}"
    return [warning] if others else []


def _list_matches(matches: Sequence[NodeMatch]) -> str:
    names = ", ".join(f"{_quote(match.node.title)} ({match.node.id})" for match in matches[:_MAX_SIMILAR])
    return f"names that begin with it: {names}"


def _not_found_error(given: Sequence[str], warnings: Sequence[str]) -> WinnowError:
    names = ", ".join(_quote(name) for name in given[:3])
    advice = "; ".join(warnings[:3]) or (
        "ids are section_id of kb_search results or id of graph rows, names are as the documents write them"
    )
    return WinnowError("NOT_FOUND", f"no node {names} in the graph; {advice}")


def _quote(text: str) -> str:
    return repr(first_tokens(one_line(text), _MISSING_TOKENS))


# --- rows -------------------------------------------------------------------------------------------------------


def render_node(node: Node) -> dict[str, Any]:
    """Render a node: those of its eight fields that have a value, each with bounded tokens."""
    optional = {
        "level": node.level,
        "tokens": node.tokens,
        "doc_tag": shorten(node.doc_tag, _TITLE_TOKENS),
        "anchor": shorten(node.anchor, _ANCHOR_TOKENS)[:_ANCHOR_CHARS],
    }
    facts = {"id": node.id, "label": node.label, "title": shorten(node.title), "type": render_type(node)}
    return {**facts, **{name: value for name, value in optional.items() if value}}


def render_type(node: Node) -> str:
    """A node's type, shortened."""
    return shorten(node.type, _TYPE_TOKENS)


def shorten(text: str, tokens: int = _TITLE_TOKENS) -> str:
    """The beginning of a text as one line, by default as long as a title may be."""
    return first_tokens(one_line(text), tokens)


def passages_of(view: GraphView, node: Node) -> list[str]:
    """The chunks that are evidence of a node: itself, or those of its strongest relations."""
    if node.label == "Chunk":
        return [node.id]
    if view.claims is not None and is_of_notebook(node.id):
        return view.claims.passages_of(node, MAX_PASSAGES)
    around = view.store.neighbours(view.project, [node.id], scope=view.scope, limit=4 * MAX_PASSAGES)
    return select_evidence((row.edge, row.node) for row in around.rows)


def select_evidence(related: Iterable[tuple[Edge, Node]]) -> list[str]:
    """The first chunks of these relations: the nodes at their ends that are chunks, and their evidence."""
    chunks = (
        id for edge, node in related for id in ([node.id] if node.label == "Chunk" else []) + [*edge.evidence]
    )
    return list(islice(dict.fromkeys(chunks), MAX_PASSAGES))


def weight_of(weight: float) -> float:
    """A weight, capped and rounded for a row."""
    return round(min(weight, MAX_WEIGHT), 3)


def most_frequent(counts: Mapping[str, int]) -> dict[str, int]:
    """The largest counts, largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {shorten(type, _TYPE_TOKENS): count for type, count in ordered[:_MAX_TYPES]}


# --- pages ------------------------------------------------------------------------------------------------------


def build_page_answer(
    view: GraphView,
    request: Any,
    size: int,
    items: Sequence[Item],
    row: Callable[[Item], dict[str, Any]],
    facts: Mapping[str, Any],
    warnings: tuple[str, ...],
    usual: int = PAGE_SIZE,
) -> Answer:
    """One page of rows, with ``facts``. Requests for more rows than ``usual`` get a larger token budget."""
    cursor = resume(request.cursor, request)
    here = Cursor(cursor.offset, fingerprint(request), view.store.generation(view.project), "")
    with_snippets = getattr(request, "include_snippet", False)
    rows = [row(item) for item in items[cursor.offset : cursor.offset + size]]
    rows = _add_snippets(view, rows) if with_snippets else rows
    rows = add_places(view, rows)
    allowed = size_limit(view.context, size, usual)
    page = build_page(rows, dict(facts), allowed, here, more=len(items) > cursor.offset + size)
    return Answer(
        {
            **facts,
            "results": list(page.rows),
            "next_cursor": page.next_cursor,
            **end_of_page(page, facts.get("cut", 0)),
        },
        "preview" if with_snippets else "metadata",
        len(page.rows),
        page.tokens,
        (*cursor.moved(here.generation, ""), *warnings),
        noted={"cursors": int(request.cursor is not None)},
        charged_text=text_charges.total(
            text_charges.piece(row["section_ids"][0], row["snippet"])
            for row in page.rows
            if isinstance(row, dict) and "snippet" in row
        ),
    )


def end_of_page(page: AnswerPage, cut: int) -> dict[str, Any]:
    """Whether rows are missing, and why. ``cut``: how many no page shows; the last page is partial for them."""
    if cut and page.limit_reason == "none":
        return {"partial": True, "limit_reason": "page_size"}
    return page.ending


def size_limit(context: RequestContext, size: int, usual: int) -> budget.Size:
    """The maximum size of an answer with this many rows."""
    allowed = context.caller.budget.of("metadata")
    if not context.caller.budget.is_direct:
        return allowed
    wanted = max(budget.GRAPH_TOKENS, budget.GRAPH_TOKENS * size // usual)
    return budget.Size(min(budget.MOST_GRAPH_TOKENS, wanted), allowed.bytes)


def texts_of(view: GraphView, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The text of the first passage of each row, by its id."""
    return {id: printable(passage.chunk.text) for id, passage in _passages(view, _first_passages(rows)).items()}


def add_places(view: GraphView, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, and the steps of those that are paths, with the place and the work of their first passage."""
    parts = [part for row in rows for part in row.get("edges", [row])]
    located = view.context.index.catalogue.cited_chunks(_first_passages(parts))
    if not located:  # as in an index of text without a bibliography: nothing else is read
        return [*rows]
    places = {id: cited_fields(passage) for id, passage in _passages(view, sorted(located)).items()}

    def placed(part: dict[str, Any]) -> dict[str, Any]:
        return {**part, **places.get(next(iter(part["section_ids"]), ""), {})}

    return [{**row, "edges": [*map(placed, row["edges"])]} if "edges" in row else placed(row) for row in rows]


def _first_passages(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return [id for row in rows for id in row["section_ids"][:1]]


def _passages(view: GraphView, chunk_ids: Sequence[str]) -> dict[str, Passage]:
    """The chunks that the catalogue still has and the filters admit."""
    store = view.context.index
    passages = store.catalogue.passages(chunk_ids, view.project)
    return {id: passage for id, passage in passages.items() if store.admits(view.filters, passage.document)}


def _add_snippets(view: GraphView, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    texts = texts_of(view, rows)
    row_texts = [texts.get(next(iter(row["section_ids"]), ""), "") for row in rows]
    return [
        {**row, "snippet": preview(text, terms(row["title"]), SNIPPET_CHARS)} if text else row
        for row, text in zip(rows, row_texts, strict=True)
    ]
