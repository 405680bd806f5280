"""``list_projects``: the projects in reach, with the models that they can be searched with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.server.contracts.research import MAX_PROJECTS, ListProjects, ProjectsAnswer
from winnow.server.operations.answers import budget
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.operations.research.models import bound_models, collection_of, projects_in_reach
from winnow.server.text.sizes import count_of

_TOKENS = budget.ANSWER_TOKENS["metadata"]
_CUT = "{shown} of {found} projects are listed; name the first characters of the others in prefix"


def list_projects(context: RequestContext, request: ListProjects) -> Answer:
    """Answer with the projects in reach that exist, by name."""
    names = projects_in_reach(context)
    found = [name for name in names if name.startswith(request.prefix or "")]
    rows = [_build_row(context, name, names) for name in found[:MAX_PROJECTS]]
    fitted = budget.fit_rows(rows, _TOKENS, budget.ANSWER_BYTES)
    shown = len(fitted.rows)
    warnings = (_CUT.format(shown=shown, found=len(found)),) if shown < len(found) else ()
    return Answer({"projects": list(fitted.rows), "count": shown}, "metadata", shown, fitted.tokens, warnings)


def _build_row(context: RequestContext, project: str, names: Sequence[str]) -> dict[str, Any]:
    models = bound_models(context, project)
    return {
        "id": project,
        "collection": collection_of(project, names),
        "dense_model": models.dense,
        "sparse_model": models.sparse,
        "hybrid_enabled": models.has_both and context.index.catalogue.project_settings(project).hybrid,
    }


def render_projects(payload: dict[str, Any]) -> list[str]:
    """One line for each project."""
    return [_headline(payload), *map(_render_row, payload["projects"])]


def _headline(payload: dict[str, Any]) -> str:
    return count_of(payload["count"], "project")


def _render_row(row: dict[str, Any]) -> str:
    hybrid = "hybrid" if row["hybrid_enabled"] else "not hybrid"
    models = f"dense {row['dense_model'] or 'none'}, sparse {row['sparse_model'] or 'none'}"
    return f"[{row['id']}] {row['collection']} | {models} | {hybrid}"


_LIST_PROJECTS_DESCRIPTION = """\
List the projects that this server searches, with their models.
Use when: another tool asks for a project and you do not know its id.
Do not use when: you look for content (query).
Returns at most: 100 projects, 8,000 tokens.
If you need more, call: this with prefix.
Defaults: all projects. Max: 100."""
LIST_PROJECTS = Operation(
    "list_projects",
    ListProjects,
    list_projects,
    in_scripts=False,
    tool=ToolSpec(
        title="List projects",
        description=_LIST_PROJECTS_DESCRIPTION,
        answer=ProjectsAnswer,
        render=render_projects,
        max_size=budget.Size(_TOKENS + 1_000, budget.ANSWER_BYTES),
        is_repeatable=True,
        pack="research",
    ),
)
