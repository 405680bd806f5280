"""Renames projects. Ids contain the project's name, so all of them change; vectors are copied, not embedded again.

Theory of operation. Ids are digests of the project's name, the path and the text, so that they are the same on
every machine. A project that was renamed has the ids that a fresh ingest under its new name would give, and the
next ingest finds nothing to do::

    the new name, hidden                one row; nobody else can take the name from here on
    copies of the points, new ids       killed here: nothing has changed; the same command completes it
    rows of the catalogue               one transaction: the project has its new name, the former one is hidden
    what the caller keeps by name       killed here: the same command calls it again
    the graph of the new name           killed here: the next ingest draws it
    what the former name left           as a removal does, see ``server.projects.removal``

A search sees the project under one of the two names at any moment, and under both at none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import Backends
from winnow.server.claims.projects import require_no_notebooks
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, chunk_of_point, document_id, point_id
from winnow.server.ingest.change_detection import indexed_document_of
from winnow.server.ingest.graph_update import GraphUpdate
from winnow.server.jobs.target import graph_target_of
from winnow.server.models import Chunk, Document
from winnow.server.projects.removal import finish_removal, remove_points, require_free_name, require_project
from winnow.server.settings.project_settings import check_name
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import Payload, Point, VectorStore, payload_of
from winnow.server.storage.project_states import check_state

OnStep = Callable[[str, int, int], None]


@dataclass(slots=True)
class _NewIds:
    """The new id of every document and chunk by the former one, and the new context hashes by the new id."""

    ids: dict[str, str] = field(default_factory=dict)
    contexts: dict[str, str] = field(default_factory=dict)
    payloads: dict[str, Payload] = field(default_factory=dict)


def rename_project(
    settings: Settings, opened: Backends, old: str, new: str, on_step: OnStep, on_moved: Callable[[], None]
) -> None:
    """Give a project another name; completes a renaming between these names that was interrupted.

    ``on_moved`` is called when the project has its new name, and again by a run that completes this one.

    Raises ``WinnowError``: "INVALID_PROJECT" if no project in use is called ``old``, "INVALID_REQUEST" if ``new``
    is no name, is taken, or ``old`` has an unfinished ingest, "INDEX_HELD" while an ingest runs.
    """
    catalogue = opened.catalogue
    check_name(new)
    with catalogue.only_writer():
        if not _is_moved(catalogue, old, new):
            _check(catalogue, old, new)
            require_no_notebooks(settings.store, new)
            catalogue.set_project_state(new, "renaming")
            found = _new_ids(catalogue, old, new)
            _copy_points(opened.store, old, found, on_step)
            catalogue.move_project(old, new, found.ids, found.contexts)
        on_moved()
        on_step("drawing the graph", 0, 1)
        if opened.graph:
            GraphUpdate(new, catalogue, graph_target_of(settings, opened.graph)).update()
        on_step("removing the former name", 0, 1)
        remove_points(opened.store, old)
        finish_removal(settings, catalogue, opened.graph, old)
        opened.store.optimize()
        opened.store.flush()


def _is_moved(catalogue: Catalogue, old: str, new: str) -> bool:
    """Whether an earlier run has given the project its new name and was interrupted later."""
    left = catalogue.hidden_projects().get(old)
    return left is not None and left.successor == new and not catalogue.project_state(new)


def _check(catalogue: Catalogue, old: str, new: str) -> None:
    require_project(catalogue, old)
    if catalogue.project_state(new) == "renaming":
        check_state(new, catalogue.project_state(new), "renaming")
    else:
        require_free_name(catalogue, new)
    if catalogue.has_unfinished_write(old):
        raise WinnowError(
            "INVALID_REQUEST",
            f"an ingest into project {old!r} was interrupted; run it again to complete it, and then rename",
        )


def _new_ids(catalogue: Catalogue, old: str, new: str) -> _NewIds:
    found = _NewIds()
    hashes = {known.id: (known.context_hash, known.origin) for known in catalogue.indexed_documents(old)}
    for document in catalogue.documents(old):
        moved = replace(document, id=document_id(new, document.uri), project=new)
        found.ids[document.id] = moved.id
        found.contexts[moved.id] = _new_context(document, moved, *hashes[document.id])
        payload = payload_of(moved)
        for chunk, id in _chunk_ids(moved, catalogue.chunks(document.id, old)):
            found.ids[chunk] = id
            found.payloads[chunk] = payload
    return found


def _new_context(document: Document, moved: Document, known: str, origin: str) -> str:
    """The context hash of the moved document; "" where the stored one is not as this version writes it.

    A document without it is read again at the next ingest.
    """
    is_current = indexed_document_of(document, origin, "").context_hash == known
    return indexed_document_of(moved, origin, "").context_hash if is_current else ""


def _chunk_ids(document: Document, chunks: list[Chunk]) -> Iterator[tuple[str, str]]:
    repetitions: Counter[tuple[tuple[str, ...], str]] = Counter()
    for chunk in chunks:
        key = chunk.heading_path, chunk.text
        yield chunk.id, chunk_id(document.project, document.uri, chunk.heading_path, chunk.text, repetitions[key])
        repetitions[key] += 1


def _pages(store: VectorStore) -> Iterator[Sequence[Point]]:
    """All points in pages. Between two of them the store can be written: no iterator of it is open."""
    first = ""
    while page := next(store.points(first), None):
        yield page
        first = chunk_of_point(point_id(page[-1].chunk_id) + 1)


def _copy_points(store: VectorStore, old: str, found: _NewIds, on_step: OnStep) -> None:
    """Write a copy of each point of the project under its new id; again it writes the same."""
    done, total = 0, len(found.payloads)
    for page in _pages(store):
        copies = [
            Point(found.ids[point.chunk_id], point.sparse, point.dense, found.payloads[point.chunk_id])
            for point in page
            if point.payload["project"] == old and point.chunk_id in found.payloads
        ]
        store.upsert(copies)
        done += len(copies)
        on_step("copying vectors", done, total)
    store.flush()
    if done < total:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the vectors hold {done:,} of {total:,} passages of project {old!r}; run: winnow reindex",
        )
