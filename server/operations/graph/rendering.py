"""Answers of the graph as text, and what all descriptions of its tools say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from winnow.server.bibliographies.locators import cite_place
from winnow.server.operations.answers.budget import ANSWER_BYTES, MOST_GRAPH_TOKENS, Size
from winnow.server.operations.answers.rendering import partial_note
from winnow.server.text.framing import frame_text

# Every description of a graph tool contains these sentences verbatim.
RULES = """\
Use after `kb.search` to explore relationships between the top 1–3 candidates. Do not call if \
`neo4j_disabled=true` (use `kb.search`/`kb.retrieve_evidence` only). Do not fetch text until you have \
narrowed to ≤3 passages."""
MAX_SIZE = Size(MOST_GRAPH_TOKENS, ANSWER_BYTES)


def render_reached(payload: dict[str, Any]) -> list[str]:
    """Counts by type, then one line for each node."""
    cut = f", {payload['cut']} cut" if payload["cut"] else ""
    lines = [f"{len(payload['results'])} of {payload['total']} nodes{cut}{partial_note(payload)}"]
    if payload["counts"]:
        lines.append(f"counts: {format_counts(payload['counts'])}")
    return [*lines, *render_nodes(payload["results"]), *render_ending(payload)]


def render_nodes(rows: list[dict[str, Any]]) -> Iterator[str]:
    """One line for each node: its facts, how it was reached, its sections; then its snippet or content."""
    for row in rows:
        parts = (_render_node(row), _render_arrival(row), _render_edge_counts(row), render_sections(row))
        yield " | ".join(filter(None, parts))
        for text in ("snippet", "content"):
            if text in row:
                yield from frame_text(row[text])


def render_sections(row: Mapping[str, Any]) -> str:
    """The passages of a row or a step of a path, the first with its file and place."""
    first, *others = row["section_ids"] or ["none"]
    return " ".join(filter(None, ("sections", first, cite_place(row), *others)))


def render_ending(payload: Mapping[str, Any]) -> list[str]:
    """The last lines of an answer: ids that were not found, and the next cursor."""
    missing = [f"missing_ids: {', '.join(payload['missing_ids'])}"] if payload.get("missing_ids") else []
    cursor = [f"next_cursor: {payload['next_cursor']}"] if payload["next_cursor"] else []
    return [*missing, *cursor]


def format_counts(counts: Mapping[str, int]) -> str:
    """Counts by name, as one line."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _render_node(row: Mapping[str, Any]) -> str:
    more = [f"{name} {row[name]}" for name in ("level", "tokens", "doc_tag", "anchor") if name in row]
    return ", ".join([f"[{row['id']}] {row['title']} ({row['label']} {row['type']})", *more])


def _render_arrival(row: Mapping[str, Any]) -> str:
    relation = [f"{row['relation']} {row.get('direction', '')}".strip()] if "relation" in row else []
    facts = {name: row[name] for name in ("distance", "weight", "from_id") if name in row}
    facts |= {"confidence": f"{row['confidence']:.3f}"} if "confidence" in row else {}
    entities = [f"entities {' '.join(row['entity_ids'])}"] if "entity_ids" in row else []
    return ", ".join([*relation, *(f"{name} {value}" for name, value in facts.items()), *entities])


def _render_edge_counts(row: Mapping[str, Any]) -> str:
    directions = ((name, row[f"edges_{name}"]) for name in ("out", "in") if f"edges_{name}" in row)
    return "; ".join(f"{name}: {format_counts(counts)}" for name, counts in directions)


def render_description(payload: dict[str, Any]) -> list[str]:
    """Nodes with their counts, or the counts of the whole graph."""
    if "graph" in payload:
        parts = payload["graph"].items()
        return ["the whole graph", *(f"{name}: {format_counts(counts)}" for name, counts in parts)]
    headline = f"{len(payload['results'])} nodes{partial_note(payload)}"
    return [headline, *render_nodes(payload["results"]), *render_ending(payload)]


def render_paths(payload: dict[str, Any]) -> list[str]:
    """Paths, one line for each node and each step."""
    others = "no others" if payload["complete"] else "there may be others"
    lines = [
        f"{len(payload['results'])} of {payload['total']} paths{partial_note(payload, 'limit')}; "
        f"{others} within max_hops"
    ]
    for number, path in enumerate(payload["results"], start=1):
        lines.append(f"{number}. {path['hops']} hops")
        lines.extend(f"   {line}" for line in _render_path(path))
    return [*lines, *render_ending(payload)]


def _render_path(path: dict[str, Any]) -> Iterator[str]:
    for node, edge in zip(path["nodes"], [*path["edges"], None], strict=True):
        yield f"[{node['id']}] {node['title']} ({node['label']} {node['type']})"
        if edge:
            facts = f"weight {edge['weight']}, confidence {edge['confidence']:.3f}"
            yield f"  {edge['relation']} {edge.get('direction', '')}, {facts} | {render_sections(edge)}"
