"""Scope checks: what a caller may see is the scope of the settings, narrowed by the call's scope and filters.

Nothing here widens the scope. A call that names something outside it is an error, so that an agent learns of it.
The filters are applied inside the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from winnow.server.contracts.base import Scope, SearchFilters
from winnow.server.errors import WinnowError
from winnow.server.models import Document, Filters, NumberRange
from winnow.server.operations.base import RequestContext
from winnow.server.operations.ranking.nearest import empty_filter_warnings, near_field
from winnow.server.retrieval.queries import with_spellings
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import FACTS, seconds_of
from winnow.server.storage.project_states import check_state
from winnow.server.text.matching import field_texts, find_spellings, fold_label
from winnow.server.text.printable import one_line

_NAMED = 5  # names that an error lists
_LOOKED_AT = 50  # other projects in reach, of which those with documents are named
_UNNAMED = "this answer is about project {project} alone; to look into another, name it with {argument}: {others}"


def filters_of(
    context: RequestContext,
    scope: Scope | None,
    filters: SearchFilters | None = None,
    path: str | None = None,
    where: Mapping[str, Any] | None = None,
    *,
    vendor: str | None = None,
) -> Filters:
    """The filters of one call. If no document matches them, the context gets a warning that names the nearest.

    ``path`` and ``where`` are those that an operation takes beside ``filters``.

    Raises:
        WinnowError: SCOPE_VIOLATION if the call names something out of scope, INVALID_PROJECT for a project
            without documents, INVALID_REQUEST for what is no date, a path that is given twice or a field with
            several meanings.
    """
    scope, filters = scope or Scope(), filters or SearchFilters()
    _check_date("filters.updated_after", filters.updated_after)
    project = choose_project(context, scope.project_id)
    narrowed = _narrow(context.settings, scope, filters)
    _require_indexed(context, project)
    bounds = _in_project(_narrow(context.settings, Scope(), SearchFilters()), project)
    reach = _in_project(_narrow(context.settings, scope, SearchFilters()), project)
    asked = replace(
        reach,
        doc_tags=narrowed.doc_tags,
        tags=tuple(filters.tags),
        types=tuple(filters.types),
        vendor=vendor or "",
        path_prefix=filters.path_prefix or "",
        updated_after=filters.updated_after or "",
        path=_one_path(filters.path, path),
        where=_whole_names(context, reach, {**filters.where, **(where or {})}),
    )
    scoped = reach.doc_tags and asked.doc_tags
    spelled = _add_spellings(context, asked, () if scoped else asked.doc_tags)
    context.warnings.extend(empty_filter_warnings(context.index, bounds, reach, spelled))
    return spelled


def _check_date(name: str, value: str | None) -> None:
    if value and seconds_of(value) is None:
        raise WinnowError(
            "INVALID_REQUEST",
            f"{name}: takes an ISO date such as 2026-11-21 (got {one_line(value, 60)!r})",
            details={"fields": [name]},
        )


def _one_path(inner: str | None, outer: str | None) -> str:
    if inner and outer and inner != outer:
        raise WinnowError("INVALID_REQUEST", "path is given twice: leave out path or filters.path")
    return outer or inner or ""


def _whole_names(
    context: RequestContext, reach: Filters, where: Mapping[str, Any]
) -> tuple[tuple[str, tuple[str, ...] | NumberRange], ...]:
    """The fields with their whole names, and folded values, "" for none, or a range of numbers.

    Raises if a name stands for several fields. Adds a warning for a name that no document has where its value is
    "": all documents match it, so nothing else tells of a misspelling.
    """
    known = context.index.fields(reach).union(FACTS) if where else frozenset()
    named = [(find_whole_name(name, known), _wanted(value)) for name, value in where.items()]
    unknown = [name for name, wanted in named if name not in known and isinstance(wanted, tuple) and "" in wanted]
    context.warnings.extend(near_field(context.index, reach, name) for name in unknown[:_NAMED])
    return tuple(named)


def _wanted(value: Any) -> tuple[str, ...] | NumberRange:
    if isinstance(value, Mapping):
        return NumberRange(value.get("from"), value.get("to"))
    return tuple(map(fold_label, field_texts(value) or ("",)))


def find_whole_name(name: str, known: frozenset[str]) -> str:
    """The field of this name, or whose last part it is, in any spelling; the name itself if there is none.

    Raises ``WinnowError("INVALID_REQUEST")`` if it stands for several fields.
    """
    if name in known:
        return name
    folded = {field: fold_label(field) for field in sorted(known)}
    asked = fold_label(name)
    same = [field for field, text in folded.items() if text == asked]
    same = same or [field for field, text in folded.items() if text.rpartition(".")[2] == asked]
    if len(same) > 1:
        raise WinnowError(
            "INVALID_REQUEST", f"{one_line(name, 80)!r} stands for several fields: {_list_names(same)}"
        )
    return same[0] if same else name


def check_passage_scope(context: RequestContext, scope: Scope | None, project: str, document: Document) -> None:
    """Check that a stored passage is within the scope of a call.

    Raises:
        WinnowError: SCOPE_VIOLATION if the passage's document is outside, INVALID_PROJECT if its project has no
            documents any more.
    """
    scope = scope or Scope()
    named = require_reachable(context.settings, scope.project_id or project)
    _require_indexed(context, named)
    narrowed = _narrow(context.settings, scope, SearchFilters())
    if named != project or not context.index.admits(_in_project(narrowed, project), document):
        raise WinnowError(
            "SCOPE_VIOLATION",
            "the passage is outside scope; leave scope out, or give that of the search it came from",
        )


def _add_spellings(context: RequestContext, filters: Filters, doc_tags: Sequence[str]) -> Filters:
    """Add the spellings of these labels that documents in scope have, since filters ignore case and spaces.

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
            filters = with_spellings(filters, name, find_spellings(labels.values.get(name, ()), value))
    return filters


def _in_project(narrowed: Filters, project: str) -> Filters:
    return Filters(
        project,
        doc_tags=narrowed.doc_tags,
        environment=narrowed.environment,
        repositories=narrowed.repositories,
    )


def choose_project(context: RequestContext, asked: str | None, argument: str = "scope.project_id") -> str:
    """The project of a call, the server's own if the call names none.

    Where the caller reaches others that have documents, a call that names none gets a warning with their names.
    ``argument`` is where the call may name one. Raises ``WinnowError("SCOPE_VIOLATION")``.
    """
    project = require_reachable(context.settings, asked)
    if not asked and (others := _list_others(context, project)):
        context.warnings.append(
            _UNNAMED.format(project=one_line(project, 80), argument=argument, others=_list_names(others))
        )
    return project


def _list_others(context: RequestContext, project: str) -> list[str]:
    """Other projects in reach that have documents, of as many as one call looks at."""
    others = [name for name in context.settings.reachable if name != project][:_LOOKED_AT]
    return [name for name in others if context.index.catalogue.generation(name)]


def require_reachable(settings: Settings, asked: str | None) -> str:
    """The project, the server's own if none is named. Raises ``WinnowError("SCOPE_VIOLATION")``."""
    project = asked or settings.project
    if project not in settings.reachable:
        raise WinnowError(
            "SCOPE_VIOLATION", f"project {project!r} is out of scope; in reach: {_list_names(settings.reachable)}"
        )
    return project


def _require_indexed(context: RequestContext, project: str) -> None:
    """Raises INVALID_PROJECT for a project without documents, with the projects in reach that have some.

    Where neither the server nor the caller's key is confined to projects, those of the store are named: the
    operator may have forgotten to choose one.
    """
    catalogue, reachable = context.index.catalogue, context.settings.reachable
    if catalogue.generation(project) == 0:
        check_state(project, catalogue.project_state(project))
        projects = [info.name for info in catalogue.projects()]
        known = _list_names([name for name in projects if name in reachable]) or "none yet"
        if projects and not context.settings.projects:
            known += f" (others of its store: {_list_names(projects)}; a server takes one as --project NAME)"
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
    """The spelling in the bound of a value that is the same label; otherwise the value."""
    return value if value in bound else next(iter(find_spellings(bound, value)), value)


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(one_line(name, 80) for name in names[:_NAMED]) + more
