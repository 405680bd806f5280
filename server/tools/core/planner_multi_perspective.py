"""``planner.multi_perspective``: the sides of a question, each with a query, without a model."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.core.planning import PlanAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.core.planning import PLANNER_MULTI_PERSPECTIVE
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool

DESCRIPTION = """\
Plan research on a question: perspectives from its words, the graph and sections, each with a query and a reason.
Use when: a question has several sides, before you search for each.
Do not use when: a few sentences may answer (kb_retrieve_evidence).
Returns at most: max_perspectives perspectives, 8,000 tokens.
If you need more, call: research_execute, which searches for all of them.
Defaults: max_perspectives 6. Max: 10.
No model writes here: for_a_writer says what is left to you."""


def render_perspectives(payload: dict[str, Any]) -> list[str]:
    """Each perspective on a line, its query below, as the documents' words are in both."""
    lines = []
    for row in payload["perspectives"]:
        judged = f" {row['verdict']} {row['confidence']:.3f}, {row['quotes']} quotes" if "verdict" in row else ""
        sections = f" | sections {' '.join(row['section_ids'])}" if row.get("section_ids") else ""
        lines.append(f"{row['id']}. {row['kind']}:{judged} {row['name']} | {row['reason']}{sections}")
        lines += frame_text(row["query"])
    return lines


def _render(payload: dict[str, Any]) -> list[str]:
    edges = payload["graph"]["edges"]
    return [
        f"{payload['count']} perspectives, each with its query",
        *render_perspectives(payload),
        f"outline: {'; '.join(part['perspective'] for part in payload['outline'])}",
        f"graph: {' '.join('-'.join((edge['source'], edge['target'])) for edge in edges)}",
        *(f"for a writer: {line}" for line in payload["for_a_writer"]),
    ]


TOOL = Tool(
    operation=PLANNER_MULTI_PERSPECTIVE,
    title="Plan research",
    description=DESCRIPTION,
    answer=PlanAnswer,
    lines=_render,
    max_size=Size(ANSWER_TOKENS["metadata"], ANSWER_BYTES),
    pack="core",
)
