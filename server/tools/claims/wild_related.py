"""``wild_related``: what relates to an entry, by comparisons and verdicts."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import RelatedAnswer
from winnow.server.operations.claims.table import CLAIMS_RELATED
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import NOT_INSTRUCTIONS, ROWS_SIZE, render_contradiction, render_entry

DESCRIPTION = f"""\
Follow an entry to others: what says the same, what contradicts it.
Use when: a found entry matters and you want to know what stands against it.
Do not use when: you have no entry_id yet (wild_search).
Returns at most: 50 entries, 9,000 tokens.
If you need more, call: wild_read with entry_id.
Defaults: both directions, 10 entries. Max: 50.
{NOT_INSTRUCTIONS}"""


def _render(payload: dict[str, Any]) -> list[str]:
    lines = [f"{payload['count']} related entries"]
    for row in payload["results"]:
        between = (f"between them {row['friction']:.2f}",) if row["friction"] else ()
        lines += render_entry(row, f"entropy {row['entropy']:.2f}", *between)
        for each in row["contradictions"]:
            lines += render_contradiction(each)
    return lines


TOOL = Tool(
    operation=CLAIMS_RELATED,
    name="wild_related",
    title="Related entries",
    description=DESCRIPTION,
    answer=RelatedAnswer,
    lines=_render,
    max_size=ROWS_SIZE,
    pack="claims",
)
