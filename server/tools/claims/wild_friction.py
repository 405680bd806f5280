"""``wild_friction``: entries that are contradicted."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import FrictionAnswer
from winnow.server.operations.claims.table import CLAIMS_FRICTION
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import NOT_INSTRUCTIONS, ROWS_SIZE, render_contradiction

DESCRIPTION = f"""\
Find what is contested: entries whose evidence or verdicts contradict each other, the most first; \
unquoted: one side has no verified quote.
Use when: you look for contradictions to resolve.
Do not use when: you want what contradicts one entry (wild_related).
Returns at most: 50 entries, 9,000 tokens.
If you need more, call: wild_read with entry_id; wild_revise records a verdict, where writing is on.
Defaults: friction .3 or more or a recorded contradiction, 10 entries. Max: 50.
{NOT_INSTRUCTIONS}"""


def _render(payload: dict[str, Any]) -> list[str]:
    lines = [f"{payload['count']} entries"]
    for row in payload["results"]:
        several = f" | {row['contradiction_count']} contradictions" if row["contradiction_count"] > 1 else ""
        lines.append(
            f"[{row['entry_id']}] {row['integration_status']} | friction {row['max_friction']:.2f}{several}"
        )
        lines += frame_text(row["topic"])
        if top := row.get("top_contradiction"):
            lines += render_contradiction(top)
    return lines


TOOL = Tool(
    operation=CLAIMS_FRICTION,
    name="wild_friction",
    title="Find friction",
    description=DESCRIPTION,
    answer=FrictionAnswer,
    lines=_render,
    max_size=ROWS_SIZE,
    pack="claims",
)
