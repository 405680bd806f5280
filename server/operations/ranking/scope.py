"""Scope checks: what a caller may see is the scope of the settings, narrowed by the call's scope and filters.

Nothing here widens the scope. A call that names something outside it is an error, so that an agent learns of it.
The filters are applied inside the index.
"""

from __future__ import annotations

from collections.abc import Sequence

from server.contracts.base import Scope, SearchFilters
from server.errors import WinnowError
from server.models import Document, Filters
from server.operations.base import RequestContext
from server.retrieval.queries import with_spellings
from server.settings import Settings

_NAMED = 5  # names that an error lists


def filters_of(
    context: RequestContext, scope: Scope | None, filters: SearchFilters | None = None, vendor: str | None = None
) -> Filters:
    """The filters of one call, for the index.

    Raises:
        WinnowError: SCOPE_VIOLATION if the call names something out of scope, INVALID_PROJECT for a project
            without documents.
    """
    scope, filters = scope or Scope(), filters or SearchFilters()
    project = _require_reachable(context.settings, scope.project_id)
    narrowed = _narrow(context.settings, scope, filters)
    _require_indexed(context, project)
    asked = Filters(
        project=project,
        doc_tags=narrowed.doc_tags,
        environment=narrowed.environment,
        repositories=narrowed.repositories,
        tags=tuple(filters.tags),
        types=tuple(filters.types),
        vendor=vendor or "",
        path_prefix=filters.path_prefix or "",
        updated_after=filters.updated_after or "",
    )
    scoped = (scope.doc_tags or context.settings.doc_tags) and asked.doc_tags
    return _add_spellings(context, asked, () if scoped else asked.doc_tags)


def check_passage_scope(context: RequestContext, scope: Scope | None, project: str, document: Document) -> None:
    """Check that a stored passage is within the scope of a call.

    Raises:
        WinnowError: SCOPE_VIOLATION if the passage's document is outside.
    """
    scope = scope or Scope()
    named = _require_reachable(context.settings, scope.project_id or project)
    narrowed = _narrow(context.settings, scope, SearchFilters())
    if named != project or not context.index.admits(_in_project(narrowed, project), document):
        raise WinnowError(
            "SCOPE_VIOLATION",
            "the passage is outside scope; leave scope out, or give that of the search it came from",
        )


def _add_spellings(context: RequestContext, filters: Filters, doc_tags: Sequence[str]) -> Filters:
    """Add the spellings of these labels that documents in scope have, since filters ignore case.

    A scope, the server's or the call's, is compared exactly: other spellings would widen it.
    """
    asked = {"vendor": (filters.vendor,), "tags": filters.tags, "doc_tag": doc_tags}
    if not any(value for values in asked.values() for value in values):
        return filters
    reach = Filters(
        filters.project,
        doc_tags=() if doc_tags else filters.doc_tags,
        environment=filters.environment,
        repositories=filters.repositories,
    )
    labels = context.index.labels(reach)
    for name, values in asked.items():
        for value in filter(None, values):
            filters = with_spellings(filters, name, labels.spellings(name, value))
    return filters


def missing_label_warnings(filters: Filters) -> tuple[str, ...]:
    """The warning for a search without results that filters on labels, which documents may lack."""
    labels = {
        "vendor": filters.vendor,
        "tags": ", ".join(filters.tags),
        "environment": filters.environment,
        "repositories": ", ".join(filters.repositories),
        "doc_tags": ", ".join(filters.doc_tags),
    }
    named = [f"{name} {value}" for name, value in labels.items() if value]
    if not named:
        return ()
    return (f"nothing matches within {' and '.join(named)}; documents without such a label are never in there",)


def _in_project(narrowed: Filters, project: str) -> Filters:
    return Filters(
        project,
        doc_tags=narrowed.doc_tags,
        environment=narrowed.environment,
        repositories=narrowed.repositories,
    )


def _require_reachable(settings: Settings, asked: str | None) -> str:
    project = asked or settings.project
    if project not in settings.reachable:
        raise WinnowError(
            "SCOPE_VIOLATION", f"project {project!r} is out of scope; in reach: {_list_names(settings.reachable)}"
        )
    return project


def _require_indexed(context: RequestContext, project: str) -> None:
    """Raises INVALID_PROJECT for a project without documents. Projects out of the caller's reach are not named."""
    catalogue, reachable = context.index.catalogue, context.settings.reachable
    if catalogue.generation(project) == 0:
        known = _list_names([info.name for info in catalogue.projects() if info.name in reachable]) or "none yet"
        raise WinnowError(
            "INVALID_PROJECT",
            f"project {project!r} has no documents; projects in reach that have some: {known}. "
            f"Index some with: winnow ingest PATH --project {project}",
        )


def _narrow(settings: Settings, scope: Scope, filters: SearchFilters) -> Filters:
    """The labels that a document must have, from the settings, the scope and the filters."""
    doc_tags = _require_within("scope.doc_tags", scope.doc_tags, settings.doc_tags)
    environment = scope.environment or settings.environment
    if settings.environment and environment != settings.environment:
        raise WinnowError(
            "SCOPE_VIOLATION", f"scope.environment: this server is confined to {settings.environment!r}"
        )
    return Filters(
        project="",
        doc_tags=_intersect_tags(filters.doc_tag, doc_tags),
        environment=environment,
        repositories=_require_within("scope.repositories", scope.repositories, settings.repositories),
    )


def _require_within(name: str, asked: Sequence[str], bound: Sequence[str]) -> tuple[str, ...]:
    """The values asked for, or the bounds if there are none; raises if a value is out of bounds."""
    outside = [value for value in asked if bound and value not in bound]
    if outside:
        raise WinnowError(
            "SCOPE_VIOLATION",
            f"{name}: {_list_names(outside)} out of scope; this server is confined to {_list_names(bound)}",
        )
    return tuple(asked or bound)


def _intersect_tags(filtered: Sequence[str], scoped: Sequence[str]) -> tuple[str, ...]:
    """Tags that are in the filter and in scope."""
    if not scoped:
        return tuple(filtered)
    both = tuple(tag for tag in (_spelling_in(value, scoped) for value in filtered or scoped) if tag in scoped)
    if not both:
        raise WinnowError("SCOPE_VIOLATION", f"filters.doc_tag is outside scope.doc_tags ({_list_names(scoped)})")
    return both


def _spelling_in(value: str, bound: Sequence[str]) -> str:
    """The spelling in the bound of a value that differs from it only in case; otherwise the value."""
    return (
        next((name for name in bound if name.casefold() == value.casefold()), value)
        if value not in bound
        else value
    )


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(name[:80] for name in names[:_NAMED]) + more
