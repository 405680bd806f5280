"""``wild_read``: one entry with everything that is known of it."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import ReadEntryAnswer
from winnow.server.operations.claims.table import CLAIMS_READ
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import ENTRY_SIZE, NOT_INSTRUCTIONS, render_checked_claim

DESCRIPTION = f"""\
Read one entry: content, claims with their quotes and the status of each, comparisons, history.
Use when: you rely on a claim and want to see its evidence.
Do not use when: claims are enough (wild_claims). To see what decides, name the claims: content is left out.
Returns at most: 8,000 characters of content, 20 claims, 20,000 tokens.
If you need more, call: this with start_char = next_start_char; graph_paths from "claim:ENTRY.N".
Defaults: from the beginning. Max: one entry.
{NOT_INSTRUCTIONS}"""


def _render(payload: dict[str, Any]) -> list[str]:
    head = f"entry {payload['entry_id']}, revision {payload['revision']}: {payload['integration_status']}"
    if is_whole := bool(payload["revisions"]):
        head += f" ({payload['status_why']}), friction {payload['max_friction']:.2f}, {payload['claims_status']}"
    named = ("topic", "title", "source", "author", "revised_by") if is_whole else ("topic",)
    lines = [head, *frame_text("; ".join(f"{name}: {payload[name]}" for name in named if payload.get(name)))]
    for claim in payload["claims"]:
        lines += render_checked_claim(claim)
    for row in payload["comparisons"]:
        lines.append(f"beside [{row['entry_id']}]: entropy {row['entropy']:.2f}, friction {row['friction']:.2f}")
        lines += frame_text(row["nearest_text"]) if "nearest_text" in row else []
    if payload["references"]:
        lines.append(f"refers to {', '.join(payload['references'])}")
    if is_whole:
        history = ", ".join(f"{row['kind']} {row['at']} ({row['sequence']})" for row in payload["revisions"])
        lines.append(f"history: {history}")
        if len({row.get("by") for row in payload["revisions"]}) > 1:
            named_by = (f"{row['by']} ({row['sequence']})" for row in payload["revisions"] if "by" in row)
            lines += frame_text(f"by {', '.join(named_by)}")
    if payload["content"]:
        lines += ["content:", *frame_text(payload["content"])]
    if is_whole and payload["next_start_char"] is not None:
        lines.append(f"more: start_char {payload['next_start_char']}")
    return lines


TOOL = Tool(
    operation=CLAIMS_READ,
    name="wild_read",
    title="Read an entry",
    description=DESCRIPTION,
    answer=ReadEntryAnswer,
    lines=_render,
    max_size=ENTRY_SIZE,
    pack="claims",
)
