"""The knowledge graph: a node with its neighbours, as a drawing one can walk and as the same list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winnow.server.console.desk import OpenDesk
from winnow.server.console.drawings import HEIGHT, WIDTH, ring
from winnow.server.console.records import Asked, PageView
from winnow.server.errors import WinnowError
from winnow.server.operations.graph.phrases import PHRASES
from winnow.server.text.printable import shorten

_DRAWN = 20  # labels of more would lie on each other
_TITLE_CHARS = 30
_STARTS = 20  # documents to begin at


async def show_graph(asked: Asked) -> PageView:
    """The node that the query names with its neighbours; without one, counts and documents to begin at."""
    node, kind = asked.text("node"), asked.text("type")
    values: dict[str, Any] = {
        "node": node,
        "type": kind,
        "types": [*dict.fromkeys(type for type, _ in PHRASES)],
        "projects": asked.desk.settings.reachable,
        "project": asked.project,
        "width": WIDTH,
        "height": HEIGHT,
    }
    async with asked.desk.opened() as desk:
        if node:
            values |= await _describe(desk, asked, node, [kind] if kind else [])
            return PageView("node.html", values["row"]["title"], values)
        values |= await _count(desk, asked)
    return PageView("graph.html", "Graph", values)


async def _count(desk: OpenDesk, asked: Asked) -> dict[str, Any]:
    counted = (await desk.call("graph.describe", asked.scope)).payload
    documents = (await desk.call("kb.documents", {"limit": _STARTS, **asked.scope})).payload
    return {"counts": counted["graph"], "documents": documents["results"]}


async def _describe(desk: OpenDesk, asked: Asked, node: str, types: Sequence[str]) -> dict[str, Any]:
    """The node, others of its name, and its strongest neighbours with their places in the drawing."""
    described = await desk.call("graph.describe", {"ids": [node], "include_snippet": True, **asked.scope})
    rows = described.payload["results"]
    if not rows:
        raise WinnowError("NOT_FOUND", "nothing in the graph has this name or id; a search finds by meaning")
    row, *others = rows
    cursor = asked.text("cursor")
    arguments = {"ids": [row["id"]], "types": types, "page_size": _DRAWN, **asked.scope}
    expanded = await desk.call("graph.expand", {**arguments, **({"cursor": cursor} if cursor else {})})
    neighbours = [_neighbour(each) for each in expanded.payload["results"]]
    return {
        "row": row,
        "others": others,
        "neighbours": neighbours,
        "drawn": [*zip(neighbours, ring(len(neighbours)), strict=True)],
        "total": expanded.payload.get("total"),
        "next_cursor": expanded.payload["next_cursor"],
        "warnings": [*dict.fromkeys((*described.warnings, *expanded.warnings))],
    }


def _neighbour(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the wording of its relation, and its title as it fits into the drawing."""
    relation = str(row.get("relation", ""))
    phrase = PHRASES.get((relation, str(row.get("direction", "out"))), relation.replace("_", " ").lower())
    return {**row, "phrase": phrase, "short": shorten(row["title"], _TITLE_CHARS)}
