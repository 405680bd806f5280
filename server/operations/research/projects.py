"""``list_projects``: the projects in reach, with the models that they can be searched with."""

from __future__ import annotations

from typing import Any

from server import tiers
from server.contracts.research import MAX_PROJECTS, ListProjects
from server.operations.base import Answer, RequestContext
from server.operations.research.models import bound_models, collection_of

_TOKENS = tiers.ANSWER_TOKENS["metadata"]
_CUT = "{shown} of {found} projects are listed; name the first characters of the others in prefix"


def list_projects(context: RequestContext, request: ListProjects) -> Answer:
    """Answer with the projects in reach that exist, by name."""
    reachable = frozenset(context.settings.reachable)
    found = [
        info.name
        for info in context.index.catalogue.existing_projects()
        if info.name in reachable and info.name.startswith(request.prefix or "")
    ]
    rows = [_build_row(context, name) for name in found[:MAX_PROJECTS]]
    fitted = tiers.fit_rows(rows, _TOKENS, tiers.ANSWER_BYTES)
    shown = len(fitted.rows)
    warnings = (_CUT.format(shown=shown, found=len(found)),) if shown < len(found) else ()
    return Answer({"projects": list(fitted.rows), "count": shown}, "metadata", shown, fitted.tokens, warnings)


def _build_row(context: RequestContext, project: str) -> dict[str, Any]:
    models = bound_models(context, project)
    return {
        "id": project,
        "collection": collection_of(project),
        "dense_model": models.dense,
        "sparse_model": models.sparse,
        "hybrid_enabled": models.has_both and context.index.catalogue.project_settings(project).hybrid,
    }
