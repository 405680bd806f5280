"""A project as the research tools see it: whether it exists, its settings, its models and its collection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from winnow.server.errors import WinnowError
from winnow.server.models import SPARSE_MODEL, Filters
from winnow.server.operations.base import RequestContext
from winnow.server.operations.ranking.scope import require_reachable
from winnow.server.settings.project_settings import ProjectSettings, unknown_project
from winnow.server.storage.project_states import check_state
from winnow.server.text.printable import one_line

_MODEL_CHARS = 200
_HYBRID_OFF = (
    "hybrid search is switched off for project {project!r}; call query, or switch it on: "
    "winnow project set {project} --hybrid"
)


@dataclass(frozen=True, slots=True)
class BoundModels:
    """The models that a project is searched with; ``dense`` is None where no model can search its vectors."""

    dense: str | None
    sparse: str | None

    @property
    def has_both(self) -> bool:
        """Whether both legs of a hybrid search can answer."""
        return self.dense is not None and self.sparse is not None


def require_project(context: RequestContext, name: str) -> ProjectSettings:
    """The settings of a project that the caller names.

    Raises:
        WinnowError: SCOPE_VIOLATION for a project that this server does not search, whether it exists or not;
            INVALID_PROJECT, with the projects that there are, for one that it would search.
    """
    require_reachable(context.settings, name)
    if not context.index.catalogue.has_project(name):
        check_state(name, context.index.catalogue.project_state(name))
        names = [info.name for info in context.index.catalogue.existing_projects()]
        is_confined, reachable = bool(context.settings.projects), context.settings.reachable
        raise unknown_project(name, [each for each in names if each in reachable or not is_confined])
    return context.index.catalogue.project_settings(name)


def require_hybrid(own: ProjectSettings, project: str) -> None:
    """Raise ``WinnowError("HYBRID_NOT_SUPPORTED")`` if the project's settings have hybrid search off."""
    if not own.hybrid:
        raise WinnowError("HYBRID_NOT_SUPPORTED", _HYBRID_OFF.format(project=project))


def collection_of(project: str, others: Iterable[str]) -> str:
    """The name of the project's collection, which no project of ``others`` has.

    >>> collection_of("citeloom/clean-arch", ["citeloom/other"])
    'proj-citeloom-clean-arch'
    >>> collection_of("thesis/lit", ["thesis/lit", "thesis-lit"])
    'proj-thesis-lit-c0458f'
    """
    name = _slug(project)
    is_shared = any(other != project and _slug(other) == name for other in others)
    return f"{name}-{_digest(project)}" if is_shared and "/" in project else name


def _slug(project: str) -> str:
    return f"proj-{project.replace('/', '-')}"


def _digest(project: str) -> str:
    return blake2b(project.encode(), digest_size=3).hexdigest()


def projects_in_reach(context: RequestContext) -> list[str]:
    """The projects that exist and that the caller reaches, by name."""
    reachable = frozenset(context.settings.reachable)
    return [info.name for info in context.index.catalogue.existing_projects() if info.name in reachable]


def has_documents(context: RequestContext, project: str) -> bool:
    """Whether the project holds any document; a created one may hold none."""
    return context.index.catalogue.has_documents(Filters(project))


def bound_models(context: RequestContext, project: str) -> BoundModels:
    """The models of a project, none for one without documents. A model that is still loading counts as bound."""
    embedding, embedder = context.index.catalogue.embedding(project), context.index.embedder
    model = embedder.ready()
    is_usable = model.fingerprint == embedding if model else embedder.state == "loading"
    sparse = SPARSE_MODEL if has_documents(context, project) else None
    return BoundModels(one_line(embedding, _MODEL_CHARS) if embedding and is_usable else None, sparse)
