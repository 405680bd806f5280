"""The graph as a caller sees it: what a caller may call a node, how a node is shown, how many rows a page holds.

A node is named by its id, by the id of a passage that the session was shown, or by its name. What is out of scope
does not exist here: not as a row, not in a count, not as an end of a path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from server import tiers
from server.contracts.base import Scope
from server.contracts.graph import MAX_WEIGHT, SNIPPET_CHARS
from server.errors import WinnowError
from server.graph.base import MAX_NODES, PAGE_SIZE, Direction, GraphStore, Neighbourhood, NodeMatch, Types
from server.graph.base import Scope as Documents
from server.graph.records import Edge, Node, normalise_name
from server.ids import entity_id, is_chunk_id
from server.models import Filters
from server.operations.base import Answer, RequestContext
from server.operations.paging import Cursor, build_page, fingerprint, resume
from server.operations.ranking.scope import filters_of
from server.text.printable import one_line, printable
from server.text.spans import preview, terms
from server.text.tokens import first_tokens

Item = TypeVar("Item")

MAX_PASSAGES = 2  # of each row
_MAX_TYPES = 12  # types that an answer counts one by one
_TITLE_TOKENS, _TYPE_TOKENS, _ANCHOR_TOKENS = 32, 10, 48
_ANCHOR_CHARS = 500
_MISSING_TOKENS = 20
_MAX_SIMILAR = 5

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

    @property
    def project(self) -> str:
        """Whose graph it is."""
        return self.filters.project

    def nodes(self, ids: Sequence[str]) -> dict[str, Node]:
        """Those of these nodes that exist."""
        return self.store.nodes(self.project, ids, self.scope)

    def around(self, ids: Sequence[str], hops: int, types: Types, direction: Direction) -> Neighbourhood:
        """As many as there may be of what is within ``hops``."""
        return self.store.expand(self.project, ids, hops, types, direction, self.scope, MAX_NODES)


@dataclass(frozen=True, slots=True)
class NamedNodes:
    """The nodes that a caller named, in the order named, and what leads nowhere."""

    nodes: tuple[Node, ...]
    missing: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def ids(self) -> list[str]:
        """The nodes' ids."""
        return [node.id for node in self.nodes]

    @property
    def facts(self) -> dict[str, Any]:
        """What an answer says of names that lead nowhere."""
        missing = [first_tokens(one_line(one), _MISSING_TOKENS) for one in self.missing]
        return {"missing_ids": missing} if missing else {}


def view_of(context: RequestContext, scope: Scope | None) -> GraphView:
    """The graph within the scope of a call.

    Raises:
        WinnowError: GRAPH_UNAVAILABLE where it is off or not drawn yet, and whatever a scope is refused for.
    """
    filters = filters_of(context, scope)
    graph = context.index.graph
    if graph is None:
        raise WinnowError("GRAPH_UNAVAILABLE", _GRAPH_OFF)
    if not graph.generation(filters.project):
        raise WinnowError("GRAPH_UNAVAILABLE", _NO_GRAPH.format(project=filters.project))
    return GraphView(context, graph, filters, context.index.admitted(filters))


# --- names to nodes ---------------------------------------------------------------------------------------------


def resolve_nodes(view: GraphView, given: Sequence[str]) -> NamedNodes:
    """The nodes that are meant: by id, by passage id, or by name.

    Raises:
        WinnowError: NOT_FOUND where nothing of it leads anywhere.
    """
    meant = {one: _possible_ids(view, one) for one in given}
    known = view.nodes([id for ids in meant.values() for id in ids])
    nodes: dict[str, Node] = {}
    missing: list[str] = []
    warnings: list[str] = []
    for one, ids in meant.items():
        found = next((known[id] for id in ids if id in known), None)
        if found is None:
            found, advice = _find_by_name(view, one)
            warnings += advice
        if found is None:
            missing.append(one)
        else:
            nodes.setdefault(found.id, found)
    if not nodes:
        raise _not_found_error(given, warnings)
    return NamedNodes(tuple(nodes.values()), tuple(missing), tuple(warnings))


def _possible_ids(view: GraphView, one: str) -> list[str]:
    """The ids that a text may stand for, best first."""
    stored = view.context.session.get(one)
    passage = [stored.passage.chunk.id] if stored else []
    return [*passage, *([one] if is_chunk_id(one) else []), entity_id(view.project, normalise_name(one))]


def _find_by_name(view: GraphView, name: str) -> tuple[Node | None, list[str]]:
    """The node of this name, entities first, and what to say where there are several or none."""
    matches = view.store.find(view.project, name, None, view.scope)
    exact = [match.node for match in matches if match.how != "prefix"]
    exact.sort(key=lambda node: node.label != "Entity")
    if not exact:
        return None, [f"{_quote(name)} is no name of a node; {_list_matches(matches)}"] if matches else []
    if len(exact) == 1:
        return exact[0], []
    others = ", ".join(f"{node.id} ({node.label})" for node in exact[1 : _MAX_SIMILAR + 1])
    return exact[0], [f"{_quote(name)} names several nodes; took {exact[0].id} ({exact[0].label}), not {others}"]


def _list_matches(matches: Sequence[NodeMatch]) -> str:
    begun = ", ".join(f"{_quote(match.node.title)} ({match.node.id})" for match in matches[:_MAX_SIMILAR])
    return f"names that begin with it: {begun}"


def _not_found_error(given: Sequence[str], warnings: Sequence[str]) -> WinnowError:
    shown = ", ".join(_quote(one) for one in given[:3])
    advice = "; ".join(warnings[:3]) or (
        "ids are section_id of kb_search results or id of graph rows, names are as the documents write them"
    )
    return WinnowError("NOT_FOUND", f"no node {shown} in the graph; {advice}")


def _quote(text: str) -> str:
    return repr(first_tokens(one_line(text), _MISSING_TOKENS))


# --- rows -------------------------------------------------------------------------------------------------------


def render_node(node: Node) -> dict[str, Any]:
    """A node as every answer shows it: what it has of the eight fields, in bounded tokens."""
    optional = {
        "level": node.level,
        "tokens": node.tokens,
        "doc_tag": shorten(node.doc_tag, _TITLE_TOKENS),
        "anchor": shorten(node.anchor, _ANCHOR_TOKENS)[:_ANCHOR_CHARS],
    }
    facts = {"id": node.id, "label": node.label, "title": shorten(node.title), "type": render_type(node)}
    return {**facts, **{name: value for name, value in optional.items() if value}}


def render_type(node: Node) -> str:
    """A node's type, as long as it may be."""
    return shorten(node.type, _TYPE_TOKENS)


def shorten(text: str, tokens: int = _TITLE_TOKENS) -> str:
    """The beginning of a text, as long as a title may be in an answer."""
    return first_tokens(one_line(text), tokens)


def passages_of(view: GraphView, node: Node) -> list[str]:
    """Chunks that show a node: itself, or those behind its strongest relations."""
    if node.label == "Chunk":
        return [node.id]
    around = view.store.neighbours(view.project, [node.id], scope=view.scope, limit=4 * MAX_PASSAGES)
    return select_evidence((row.edge, row.node) for row in around.rows)


def select_evidence(related: Iterable[tuple[Edge, Node]]) -> list[str]:
    """The first chunks that the relations bring: those at their ends, and their evidence."""
    chunks = (
        id for edge, node in related for id in ([node.id] if node.label == "Chunk" else []) + [*edge.evidence]
    )
    return list(islice(dict.fromkeys(chunks), MAX_PASSAGES))


def weight_of(weight: float) -> float:
    """A weight as rows show it."""
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
    at = resume(request.cursor, request)
    here = Cursor(at.offset, fingerprint(request), view.store.generation(view.project), "")
    with_snippets = getattr(request, "include_snippet", False)
    rows = [row(item) for item in items[at.offset : at.offset + size]]
    rows = _add_snippets(view, rows) if with_snippets else rows
    allowed = size_limit(view.context, size, usual)
    shown = build_page(rows, dict(facts), allowed, here, more=len(items) > at.offset + size)
    return Answer(
        {**facts, "results": list(shown.rows), "next_cursor": shown.next_cursor, **shown.ending},
        "preview" if with_snippets else "metadata",
        len(shown.rows),
        shown.tokens,
        (*at.moved(here.generation, ""), *warnings),
        noted={"cursors": int(request.cursor is not None)},
    )


def size_limit(context: RequestContext, size: int, usual: int) -> tiers.Size:
    """What an answer with this many rows may take."""
    allowed = context.caller.budget.of("metadata")
    if not context.caller.budget.is_direct:
        return allowed
    wanted = max(tiers.GRAPH_TOKENS, tiers.GRAPH_TOKENS * size // usual)
    return tiers.Size(min(tiers.MOST_GRAPH_TOKENS, wanted), allowed.bytes)


def texts_of(view: GraphView, chunk_ids: Sequence[str]) -> dict[str, str]:
    """The texts of those of these chunks that the catalogue, which is the truth, still knows and admits."""
    library = view.context.index
    known = library.catalogue.passages(chunk_ids, view.project)
    return {
        id: printable(one.chunk.text) for id, one in known.items() if library.admits(view.filters, one.document)
    }


def _add_snippets(view: GraphView, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    texts = texts_of(view, [id for row in rows for id in row["section_ids"][:1]])
    shown = [texts.get(next(iter(row["section_ids"]), ""), "") for row in rows]
    return [
        {**row, "snippet": preview(text, terms(row["title"]), SNIPPET_CHARS)} if text else row
        for row, text in zip(rows, shown, strict=True)
    ]
