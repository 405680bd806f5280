"""``wild_topics``: the topics of the notebook."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.claims.answers import TopicsAnswer
from winnow.server.operations.claims.table import CLAIMS_TOPICS
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import ROWS_SIZE

DESCRIPTION = """\
List the topics of the notebook, with numbers of entries and mean friction.
Use when: you want to see what the notebook is about before you search it.
Do not use when: you look for something (wild_search).
Returns at most: 200 topics, 9,000 tokens.
If you need more, call: this with prefix.
Defaults: all topics. Max: 200."""


def _render(payload: dict[str, Any]) -> list[str]:
    lines = [f"{payload['count']} topics"]
    for row in payload["topics"]:
        lines += frame_text(f"{row['topic']}: {row['entry_count']} entries, friction {row['avg_friction']:.2f}")
    return lines


TOOL = Tool(
    operation=CLAIMS_TOPICS,
    name="wild_topics",
    title="Topics",
    description=DESCRIPTION,
    answer=TopicsAnswer,
    lines=_render,
    max_size=ROWS_SIZE,
    pack="claims",
)
