"""``list_projects``: the projects in reach, with the models that they can be searched with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.server.contracts.research import MAX_PROJECTS, ListProjects
from winnow.server.operations.answers import tiers
from winnow.server.operations.base import Answer, Operation, RequestContext
from winnow.server.operations.research.models import bound_models, collection_of, projects_in_reach

_TOKENS = tiers.ANSWER_TOKENS["metadata"]
_CUT = "{shown} of {found} projects are listed; name the first characters of the others in prefix"


def list_projects(context: RequestContext, request: ListProjects) -> Answer:
    """Answer with the projects in reach that exist, by name."""
    names = projects_in_reach(context)
    found = [name for name in names if name.startswith(request.prefix or "")]
    rows = [_build_row(context, name, names) for name in found[:MAX_PROJECTS]]
    fitted = tiers.fit_rows(rows, _TOKENS, tiers.ANSWER_BYTES)
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


LIST_PROJECTS = Operation("list_projects", ListProjects, list_projects, in_scripts=False)
