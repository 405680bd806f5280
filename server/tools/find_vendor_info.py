"""``find_vendor_info``: everything around one vendor."""

from __future__ import annotations

from typing import Any

from server.contracts import FindVendorInfo, VendorAnswer
from server.tools.base import Context, Tool
from server.tools.graph import MOST, counted, endings, node_lines
from server.tools.kb import paged

DESCRIPTION = """\
Documents, products, people and tags around one vendor.
Use when: you ask about a vendor.
Do not use when: you want passages (semantic_search with vendor_filter).
Returns at most: 2,000 tokens; 8,000 with include_content.
If you need more, call: this with cursor.
Defaults: max_results 50. Max: 100."""


def _offered(context: Context) -> bool:
    """Whether there may be a graph to ask."""
    return context.settings.graph != "off"


def lines_of(payload: dict[str, Any]) -> list[str]:
    """Entities, then their relations by id."""
    cut = f", {payload['cut']} cut" if payload["cut"] else ""
    lines = [
        f"{payload['vendor']} [{payload['vendor_id']}]: {payload['entity_count']} of {payload['total']} "
        f"entities{cut} ({payload['mode']}){paged(payload)}, about {payload['estimated_tokens']} tokens"
    ]
    if payload["counts"]:
        lines.append(f"counts: {counted(payload['counts'])}")
    lines.extend(node_lines(payload["entities"]))
    lines.extend(
        f"{one['source_id']} {one['relationship_type']} {one['target_id']} (confidence {one['confidence']:.3f})"
        for one in payload["relationships"]
    )
    return [*lines, *endings(payload)]


TOOL = Tool(
    name="find_vendor_info",
    title="Find what is around a vendor",
    description=DESCRIPTION,
    arguments=FindVendorInfo,
    answer=VendorAnswer,
    operation="find_vendor_info",
    lines=lines_of,
    most=MOST,
    offered=_offered,
)
