"""``wild_claims``: all claims of some entries, without their contents."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import EntryClaimsAnswer
from winnow.server.operations.claims.table import CLAIMS_CLAIMS
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import NOT_INSTRUCTIONS, ROWS_SIZE, render_entry, render_share

DESCRIPTION = f"""\
Get all claims of several entries at once, without contents.
Use when: rows of wild_search show only some of the claims.
Do not use when: you need evidence or content (wild_read).
Returns at most: 50 entries, 9,000 tokens.
If you need more, call: wild_read with entry_id.
Defaults: none. Max: 50 entry_ids.
{NOT_INSTRUCTIONS}"""


def _render(payload: dict[str, Any]) -> list[str]:
    lines = [f"{len(payload['entries'])} entries"]
    for row in payload["entries"]:
        differ = len({claim["confidence"] for claim in row["claims"]}) > 1
        lines += render_entry(row, *[f"confidence {render_share(row['confidence_avg'])}"] * differ)
    if payload["missing_ids"]:
        lines.append(f"unknown: {', '.join(payload['missing_ids'])}")
    return lines


TOOL = Tool(
    operation=CLAIMS_CLAIMS,
    name="wild_claims",
    title="Claims of entries",
    description=DESCRIPTION,
    answer=EntryClaimsAnswer,
    lines=_render,
    max_size=ROWS_SIZE,
    pack="claims",
)
