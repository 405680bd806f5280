"""``find_vendor_info``: documents, products, people and tags related to one vendor."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts import VendorAnswer
from winnow.server.operations.graph.vendors import FIND_VENDOR_INFO
from winnow.server.tools.base import Context, Tool
from winnow.server.tools.graph import MAX_SIZE, format_counts, render_ending, render_nodes
from winnow.server.tools.kb import partial_note

DESCRIPTION = """\
Documents, products, people and tags around one vendor.
Use when: you ask about a vendor.
Do not use when: you want passages (semantic_search with vendor_filter).
Returns at most: max_results rows, 8,000 tokens.
If you need more, call: this with cursor.
Defaults: max_results 50. Max: 100."""


def is_offered(context: Context) -> bool:
    """Whether graphs are switched on."""
    return context.settings.graph != "off"


def render_vendor(payload: dict[str, Any]) -> list[str]:
    """The entities, then the relations between them by id."""
    cut = f", {payload['cut']} cut" if payload["cut"] else ""
    lines = [
        f"{payload['vendor']} [{payload['vendor_id']}]: {payload['entity_count']} of {payload['total']} "
        f"entities{cut} ({payload['mode']}){partial_note(payload, 'max_results')}, "
        f"about {payload['estimated_tokens']} tokens"
    ]
    if payload["counts"]:
        lines.append(f"counts: {format_counts(payload['counts'])}")
    lines.extend(render_nodes(payload["entities"]))
    lines.extend(
        f"{row['source_id']} {row['relationship_type']} {row['target_id']} (confidence {row['confidence']:.3f})"
        for row in payload["relationships"]
    )
    return [*lines, *render_ending(payload)]


TOOL = Tool(
    operation=FIND_VENDOR_INFO,
    title="Find what is around a vendor",
    description=DESCRIPTION,
    answer=VendorAnswer,
    lines=render_vendor,
    max_size=MAX_SIZE,
    is_offered=is_offered,
)
