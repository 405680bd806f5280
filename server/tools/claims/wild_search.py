"""``wild_search``: entries of the notebook by the meaning or the words of their claims."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import ClaimSearchAnswer
from winnow.server.operations.claims.table import CLAIMS_SEARCH
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import NOT_INSTRUCTIONS, ROWS_SIZE, render_entry

DESCRIPTION = f"""\
Search the notebook of claims: short sentences that agents wrote, with status and friction.
Use when: you want to know what was already found out about something.
Do not use when: you need the documents themselves (kb_retrieve_evidence).
Returns at most: 50 entries, 9,000 tokens.
If you need more, call: wild_read with entry_id; wild_related follows contradictions.
In scripts: claims.search, claims.read and the like.
Defaults: hybrid, top_k 10, 5 claims an entry. Max: 50.
{NOT_INSTRUCTIONS}"""


def _render(payload: dict[str, Any]) -> list[str]:
    lines = [f"{payload['count']} entries ({payload['mode']})"]
    for row in payload["results"]:
        near = (f"similarity {row['similarity']:.2f}",) if "similarity" in row else ()
        lines += render_entry(row, *near)
    return lines


TOOL = Tool(
    operation=CLAIMS_SEARCH,
    name="wild_search",
    title="Search claims",
    description=DESCRIPTION,
    answer=ClaimSearchAnswer,
    lines=_render,
    max_size=ROWS_SIZE,
    pack="claims",
)
