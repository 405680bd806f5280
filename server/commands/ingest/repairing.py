"""``winnow ingest --repair``: damaged files are set aside, what can be read is kept, what is lost is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.ingest.inspection.stored_documents import AlteredDocument

_SHOWN = 20
_SETTINGS_LOST = (
    "settings of projects could not all be read: set them anew (winnow project set NAME), or bring them back from "
    "a backup (winnow restore FILE --replace)"
)
_NOTHING_READ = (
    "nothing of the former catalogue could be read: its projects, their settings and documents are lost; winnow "
    "restore FILE --replace brings projects and settings back from a backup; ingest every other folder of "
    "this store again"
)


def repair_store(settings: Settings) -> tuple[str, ...]:
    """Set damaged files aside, and keep what can be read of the catalogue; returns what was done."""
    from winnow.server.storage.files.damaged_files import rename_damaged
    from winnow.server.storage.files.lock import ENGINE, HOLDER, StoreLock, find_holder
    from winnow.server.storage.files.store_folder import CATALOGUE

    if holder := find_holder(settings.store, ENGINE):
        raise WinnowError("INDEX_HELD", f"{settings.store} is shared by {holder}; run: winnow engine stop")
    if not settings.store.is_dir():
        return ()
    lock = StoreLock(settings.store, HOLDER)
    try:
        renamed = rename_damaged(settings.store)
        messages = [f"{path.name} is the damaged file; delete it when you no longer need it" for path in renamed]
        for path in renamed:
            if path.name.startswith(CATALOGUE):
                messages += _salvage(settings, path)
        messages += _rebuild_vectors(settings)
    finally:
        lock.release()
    return tuple(messages)


def _salvage(settings: Settings, damaged: Path) -> Iterator[str]:
    """Make a new catalogue of what can be read of the damaged one; yields what was kept and what is lost."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.backends.salvage import salvage_catalogue
    from winnow.server.ingest.inspection.stored_documents import find_altered
    from winnow.server.storage.files.damaged_files import remove_vectors

    salvage = salvage_catalogue(damaged, catalogue_path(settings))
    if not salvage.is_bound:
        remove_vectors(settings.store)
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        altered = [*find_altered(catalogue)]
        _delete(catalogue, altered)
        kept = catalogue.primary_facts()
        if not kept:
            yield _NOTHING_READ
            return
        counts = {info.name: info.documents for info in catalogue.existing_projects()}
    for name in [*kept][:_SHOWN]:
        settings_kept = "" if kept[name][0] is None else " and its settings"
        yield f"kept of project {name}: {count_of(counts.get(name, 0), 'document')}{settings_kept}"
    if len(kept) > _SHOWN:
        yield f"kept: {len(kept) - _SHOWN:,} more projects"
    for project, source in sorted({(each.project, each.source) for each in altered})[:_SHOWN]:
        lost = sum((each.project, each.source) == (project, source) for each in altered)
        yield f"lost of project {project}: {count_of(lost, 'document')} of {source}"
    if "project_settings" in salvage.unread:
        yield _SETTINGS_LOST
    if {"projects", "documents", "texts", "chunks"} & {*salvage.unread}:
        yield "lost: documents whose names cannot be read any more"
    for project, (_, sources) in kept.items():
        for source in sources[:_SHOWN]:
            yield f"ingest again, so that nothing is missing: winnow ingest {source} --project {project}"


def _delete(catalogue: Catalogue, altered: list[AlteredDocument]) -> None:
    from winnow.server.storage.base import CatalogueChanges

    for project in sorted({each.project for each in altered}):
        ids = [each.id for each in altered if each.project == project]
        catalogue.apply(CatalogueChanges(project, "", (), ids, {}))


def _rebuild_vectors(settings: Settings) -> Iterator[str]:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.commands.reindex import run_reindex
    from winnow.server.storage.files.damaged_files import is_intact

    if not catalogue_path(settings).exists():
        return
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        folder = settings.store / catalogue.binding.vectors
        is_whole = settings.qdrant_url is not None or is_intact(folder) or not catalogue.chunk_count()
    if not is_whole:
        done = run_reindex(settings)
        yield f"the vectors of {done.report.chunks:,} chunks were rebuilt"
