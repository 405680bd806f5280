"""``wild_status``: how the notebook stands."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import NotebookStatusAnswer
from winnow.server.operations.claims.table import CLAIMS_STATUS
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import ROWS_SIZE

DESCRIPTION = """\
Show how the notebook stands: numbers of entries and claims by status, topics with most friction.
Use when: you want to know whether there is a notebook, and what state it is in.
Do not use when: you look for something (wild_search).
Returns at most: one object, 1,000 tokens.
If you need more, call: wild_topics or wild_friction.
Defaults: the server's project. Max: one notebook."""


def _render(payload: dict[str, Any]) -> list[str]:
    integration = ", ".join(f"{count} {status}" for status, count in payload["integration"].items())
    opposed = f"; {payload['contradictions']} contradictions" if payload.get("contradictions") else ""
    lines = [
        f"{payload['total_entries']} entries, {payload['total_claims']} claims ({integration}){opposed}",
        f"{payload['percent_distilled']}% distilled by agents; {payload['queue_depth']} to compare; "
        f"{payload['awaiting_review']} to approve; last sequence {payload['last_sequence']}; "
        f"semantic {'on' if payload['semantic'] else 'off'}; writes {'on' if payload['writes'] else 'off'}; "
        f"project {payload['project']}",
    ]
    for row in payload["top_friction"]:
        lines += frame_text(f"{row['topic']}: friction {row['avg_friction']:.2f}")
    return lines


TOOL = Tool(
    operation=CLAIMS_STATUS,
    name="wild_status",
    title="Notebook status",
    description=DESCRIPTION,
    answer=NotebookStatusAnswer,
    lines=_render,
    max_size=ROWS_SIZE,
    pack="claims",
)
