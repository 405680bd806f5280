"""Deletes projects, brings them back, and frees the space of those that are not wanted any more.

Theory of operation. To delete a project is to hide it: one durable change of one row in the catalogue, which every
search, list and ingest reads. Its documents and vectors stay, so ``restore`` is the same change backwards. The
space is freed later (``purge``, also by a reindexing)::

    rows of the catalogue        one transaction; from here on nothing can be restored
    points of the vector store   killed before this: points without a chunk, which no search returns
    graph, facts, sources,       killed before this: graphs and claims that no operation can reach
    claims
    the row of the project       its name is free from here on

The row stays until the rest is done, so a purge that was killed is completed by the next one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import Backends, open_fact_store, open_graph
from winnow.server.claims.projects import move_notebooks
from winnow.server.errors import WinnowError
from winnow.server.jobs.watching.sources import change_sources, read_sources
from winnow.server.retrieval.graph.base import GraphStore
from winnow.server.settings.project_settings import unknown_project
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import VectorStore
from winnow.server.storage.project_states import check_state

_BATCH_POINTS = 1_000
_WAIT_SECONDS, _POLL_SECONDS = 30.0, 0.2


@contextmanager
def patient_writer(catalogue: Catalogue) -> Iterator[None]:
    """The catalogue's only writer, for half a minute waited for: a watcher's ingests are short.

    Raises ``WinnowError("INDEX_HELD")``.
    """
    until = time.monotonic() + _WAIT_SECONDS
    while True:
        writer = catalogue.only_writer()
        try:
            writer.__enter__()
            break
        except WinnowError as error:
            if error.reason != "INDEX_HELD" or time.monotonic() > until:
                raise
            time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        writer.__exit__(None, None, None)


def delete_project(catalogue: Catalogue, name: str) -> bool:
    """Hide a project at once; whether it can be restored (an unfinished import cannot).

    Raises ``WinnowError``: "INVALID_PROJECT" if there is none in use, "INDEX_HELD" while an ingest runs.
    """
    with patient_writer(catalogue):
        if catalogue.project_state(name) == "importing":
            catalogue.set_project_state(name, "removing")
            return False
        require_project(catalogue, name)
        catalogue.set_project_state(name, "deleted")
        return True


def restore_project(catalogue: Catalogue, name: str) -> None:
    """Show a deleted project again. Raises ``WinnowError("INVALID_PROJECT")`` if it is not a deleted one."""
    state = catalogue.project_state(name)
    if not state:
        require_project(catalogue, name)
        raise WinnowError("INVALID_PROJECT", f"project {name!r} is not deleted", details={"project": name})
    check_state(name, state, "deleted")
    catalogue.set_project_state(name, "")


def require_project(catalogue: Catalogue, name: str, *, can_create: bool = False) -> None:
    """Raise ``WinnowError("INVALID_PROJECT")`` with what to do if no project in use has this name.

    ``can_create``: whether creating it is among what to do.
    """
    check_state(name, catalogue.project_state(name))
    if not catalogue.has_project(name):
        raise unknown_project(name, (info.name for info in catalogue.existing_projects()), can_create=can_create)


def require_free_name(catalogue: Catalogue, name: str) -> None:
    """Raise ``WinnowError`` if a project has this name, in use or hidden."""
    check_state(name, catalogue.project_state(name))
    if catalogue.has_project(name):
        raise WinnowError("INVALID_REQUEST", f"project {name!r} exists already; see: winnow project show {name}")


def purge_projects(settings: Settings, opened: Backends) -> tuple[str, ...]:
    """Remove all hidden projects but unfinished imports, and give their space back; returns their names.

    Raises ``WinnowError("INDEX_HELD")`` while an ingest runs.
    """
    with opened.catalogue.only_writer():
        names = clear_hidden(opened.catalogue)
        for name in names:
            remove_points(opened.store, name)
            finish_removal(settings, opened.catalogue, opened.graph, name)
        if names:
            opened.store.optimize()
            opened.store.flush()
        opened.catalogue.compact()
    return names


def clear_hidden(catalogue: Catalogue) -> tuple[str, ...]:
    """Delete the rows of all hidden projects but unfinished imports; returns their names.

    The caller is the catalogue's only writer.
    """
    hidden = catalogue.hidden_projects().values()
    names = tuple(one.name for one in hidden if one.state != "importing")
    for name in names:
        catalogue.clear_project(name)
    return names


def check_no_import(catalogue: Catalogue) -> None:
    """Raise ``WinnowError("INVALID_PROJECT")`` if an import is unfinished."""
    for one in catalogue.hidden_projects().values():
        check_state(one.name, one.state if one.state == "importing" else "")


def forget_removed(settings: Settings, catalogue: Catalogue, names: Sequence[str]) -> None:
    """Complete the removal of cleared projects that have no points any more."""
    graph = open_graph(settings) if names else None
    try:
        for name in names:
            finish_removal(settings, catalogue, graph, name)
    finally:
        if graph is not None:
            graph.close()


def remove_points(store: VectorStore, name: str) -> None:
    """Delete the points of a project from the vector store."""
    ids = iter(list(store.ids(name)))
    while batch := list(islice(ids, _BATCH_POINTS)):
        store.delete(batch)
    store.flush()


def finish_removal(settings: Settings, catalogue: Catalogue, graph: GraphStore | None, name: str) -> None:
    """Remove the graph, the sources and the claims of a cleared project without points, and then its row.

    Sources and claims go to the successor of a project that was renamed.
    """
    if graph is not None:
        _remove_graph(settings, graph, name)
    successor = catalogue.hidden_projects()[name].successor
    _move_sources(settings.store, name, successor)
    move_notebooks(settings.store, name, successor)
    catalogue.forget_project(name)


def _remove_graph(settings: Settings, graph: GraphStore, name: str) -> None:
    documents: Sequence[str] = sorted(graph.documents(name))
    if documents:
        graph.apply(name, deleted=documents)
        graph.derive(name)
    facts = open_fact_store(settings)
    facts.apply(name, {}, list(facts.stamps(name)))


def _move_sources(store: Path, name: str, successor: str) -> None:
    """Give the sources of a project to its successor, or remove them where there is none."""
    if all(one.project != name for one in read_sources(store)):
        return
    if successor:
        change_sources(
            store,
            lambda before: [
                one.model_copy(update={"project": successor}) if one.project == name else one for one in before
            ],
        )
    else:
        change_sources(store, lambda before: [one for one in before if one.project != name])
