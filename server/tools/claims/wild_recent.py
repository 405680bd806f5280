"""``wild_recent``: what changed in the notebook."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import RecentAnswer
from winnow.server.operations.claims.table import CLAIMS_RECENT
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import NOT_INSTRUCTIONS, ROWS_SIZE, render_entry

DESCRIPTION = f"""\
List the entries that changed since a sequence, with claims; drifted: a quote no longer stands in its document.
Use when: you come back to a notebook, or others write to it.
Do not use when: you look for something (wild_search).
Returns at most: 50 entries, each with its last change, 9,000 tokens.
If you need more, call: this with since_sequence = next_sequence.
Defaults: from the beginning, 20 changes. Max: 50.
{NOT_INSTRUCTIONS}"""


def _render(payload: dict[str, Any]) -> list[str]:
    lines = [f"{payload['count']} changes; next_sequence {payload['next_sequence']}"]
    for row in payload["changes"]:
        lines += render_entry(row, f"{row['kind']} {row['at']} ({row['sequence']})")
    return lines


TOOL = Tool(
    operation=CLAIMS_RECENT,
    name="wild_recent",
    title="Recent changes",
    description=DESCRIPTION,
    answer=RecentAnswer,
    lines=_render,
    max_size=ROWS_SIZE,
    pack="claims",
)
