"""What the ``graph.*`` tools share: when they are offered, what they say of when to call them, rows as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from server.text.framing import framed
from server.tiers import ANSWER_BYTES, MOST_GRAPH_TOKENS, Size
from server.tools.base import Context
from server.tools.kb import paged

# Every description of a graph tool holds these sentences as they are.
RULES = """\
Use after `kb.search` to explore relationships between the top 1–3 candidates. Do not call if \
`neo4j_disabled=true` (use `kb.search`/`kb.retrieve_evidence` only). Do not fetch text until you have \
narrowed to ≤3 passages."""
MOST = Size(MOST_GRAPH_TOKENS, ANSWER_BYTES)


def offered(context: Context) -> bool:
    """Whether this server lists them: beside the ``kb.*`` tools that they lead to and from.

    Also before there is a graph: the next ingest draws one while the server runs, and hosts list tools once.
    """
    return context.settings.graph != "off" and context.settings.kb_v2_enabled


def reached_lines(payload: dict[str, Any]) -> list[str]:
    """Counts by type, then a line for each node."""
    cut = f", {payload['cut']} cut" if payload["cut"] else ""
    lines = [f"{len(payload['results'])} of {payload['total']} nodes{cut}{paged(payload)}"]
    if payload["counts"]:
        lines.append(f"counts: {counted(payload['counts'])}")
    return [*lines, *node_lines(payload["results"]), *endings(payload)]


def node_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Rows of nodes: what they are, how they were reached, where they are shown."""
    for row in rows:
        yield " | ".join(filter(None, (_node(row), _reached(row), _edges(row), f"sections {_ids(row)}")))
        for text in ("snippet", "content"):
            if text in row:
                yield from framed(row[text])


def endings(payload: Mapping[str, Any]) -> list[str]:
    """Where to go on, and what led nowhere."""
    missing = [f"missing_ids: {', '.join(payload['missing_ids'])}"] if payload.get("missing_ids") else []
    cursor = [f"next_cursor: {payload['next_cursor']}"] if payload["next_cursor"] else []
    return [*missing, *cursor]


def counted(counts: Mapping[str, int]) -> str:
    """Counts by name."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _node(row: Mapping[str, Any]) -> str:
    more = [f"{name} {row[name]}" for name in ("level", "tokens", "doc_tag", "anchor") if name in row]
    return ", ".join([f"[{row['id']}] {row['title']} ({row['label']} {row['type']})", *more])


def _reached(row: Mapping[str, Any]) -> str:
    way = [f"{row['relation']} {row.get('direction', '')}".strip()] if "relation" in row else []
    facts = {name: row[name] for name in ("distance", "weight", "from_id") if name in row}
    facts |= {"confidence": f"{row['confidence']:.3f}"} if "confidence" in row else {}
    asked = [f"entities {' '.join(row['entity_ids'])}"] if "entity_ids" in row else []
    return ", ".join([*way, *(f"{name} {value}" for name, value in facts.items()), *asked])


def _edges(row: Mapping[str, Any]) -> str:
    ways = ((way, row[f"edges_{way}"]) for way in ("out", "in") if f"edges_{way}" in row)
    return "; ".join(f"{way}: {counted(counts)}" for way, counts in ways)


def _ids(row: Mapping[str, Any]) -> str:
    return " ".join(row["section_ids"]) or "none"
