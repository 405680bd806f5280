"""``list_projects``: every project that this server may search."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts import parse
from winnow.server.contracts.research import ListProjects, ProjectsAnswer
from winnow.server.errors import WinnowError
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.runtime.sessions.host_words import error_for
from winnow.server.tools.base import Context, Tool, ToolResult

DESCRIPTION = """\
List the projects that this server searches, with their models.
Use when: another tool asks for a project and you do not know its id.
Do not use when: you look for content (query).
Returns at most: 100 projects, 8,000 tokens.
If you need more, call: this with prefix.
Defaults: all projects. Max: 100."""
_OPERATION = "list_projects"


async def _answer(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """List the projects. A store that cannot be read has none, and a warning says why: this call never fails."""
    parse(ListProjects, arguments)
    try:
        answer = await context.kb.call(_OPERATION, arguments, context.caller)
    except WinnowError as error:
        payload: dict[str, Any] = {"projects": [], "count": 0}
        headline = _headline(payload)
        why = error_for(error, context.caller.connection).message
        return ToolResult(payload, headline, headline, warnings=(f"{error.reason}: {why}",))
    lines = render_projects(answer.payload)
    return ToolResult(
        answer.payload, "\n".join(lines), lines[0], warnings=answer.warnings, payload_tokens=answer.counted
    )


def render_projects(payload: dict[str, Any]) -> list[str]:
    """One line for each project."""
    return [_headline(payload), *map(_render_row, payload["projects"])]


def _headline(payload: dict[str, Any]) -> str:
    return f"{payload['count']} projects"


def _render_row(row: dict[str, Any]) -> str:
    hybrid = "hybrid" if row["hybrid_enabled"] else "not hybrid"
    models = f"dense {row['dense_model'] or 'none'}, sparse {row['sparse_model'] or 'none'}"
    return f"[{row['id']}] {row['collection']} | {models} | {hybrid}"


TOOL = Tool(
    name="list_projects",
    title="List projects",
    description=DESCRIPTION,
    arguments=ListProjects,
    answer=ProjectsAnswer,
    handler=_answer,
    max_size=Size(ANSWER_TOKENS["metadata"] + 1_000, ANSWER_BYTES),
    pack="research",
)
