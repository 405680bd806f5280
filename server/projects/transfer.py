"""Exports a project into an archive, and imports one: without the files that its documents were read from.

Theory of operation. An archive holds texts, not passages and not vectors, so that it can be imported into a store
with another model. An import checks the whole archive first. Then the project is created hidden, its documents go
through the pipeline of every ingest, and one change shows it::

    the project, hidden       killed here or later: nothing is seen; the same command resumes
    documents, in batches     as an ingest: what is finished is not done again
    settings, and shown       one after the other; from here on the project is in use

Sources are not added: an archive must not decide which folders of this machine are read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import Backends
from winnow.server.errors import WinnowError
from winnow.server.ingest.file_discovery import IMPORTED
from winnow.server.ingest.inspection.stored_documents import read_documents
from winnow.server.ingest.pipeline import ingest_documents
from winnow.server.ingest.report import IngestReport, OnProgress
from winnow.server.jobs.target import target_of
from winnow.server.jobs.watching.sources import read_sources
from winnow.server.projects.archive import ArchivedProject, ArchivedSource, ProjectArchive, write_archive
from winnow.server.projects.removal import patient_writer, require_free_name, require_project
from winnow.server.settings.project_settings import ProjectSettings, check_name
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import Embedder


def export_project(settings: Settings, catalogue: Catalogue, name: str, path: Path) -> int:
    """Write a project into an archive at this path; returns the number of its documents.

    Ingests wait meanwhile. Raises ``WinnowError``: "INVALID_PROJECT" if there is no such project,
    "INVALID_REQUEST" if the path cannot be written, "INDEX_HELD" while an ingest runs for long.
    """
    require_project(catalogue, name)
    watched = [one for one in read_sources(settings.store) if one.project == name]
    facts = ArchivedProject(
        settings=catalogue.project_settings(name),
        sources=[ArchivedSource(id=one.id, paths=list(one.paths)) for one in watched],
    )
    with patient_writer(catalogue):
        documents = catalogue.documents(name)
        try:
            write_archive(path, name, facts, lambda: read_documents(catalogue, documents), len(documents))
        except OSError as error:
            raise WinnowError("INVALID_REQUEST", f"{path} cannot be written: {error.strerror}") from None
    return len(documents)


def import_project(
    settings: Settings, opened: Backends, archive: ProjectArchive, name: str, progress: OnProgress
) -> IngestReport:
    """Create a project of this name from an archive, or fill one without documents, which keeps its own settings.

    Resumes an import into this name that was interrupted.

    Raises ``WinnowError``: "INVALID_REQUEST" if the archive is not as this version writes it, or the name is taken
    or none; "EMBEDDING_MISMATCH" if its settings name another model than this store's; as ``ingest_documents``.
    """
    catalogue, embedder = opened.catalogue, opened.embedder.wait()
    check_name(name)
    if catalogue.project_state(name) != "importing" and not _is_empty(catalogue, name):
        require_free_name(catalogue, name)
    chosen = catalogue.project_settings(name) if catalogue.has_settings(name) else archive.project.settings
    _check_model(chosen, name, embedder)
    for _ in archive.documents():
        pass
    target = target_of(settings.model_copy(update={"project": name}), opened, embedder)
    catalogue.set_project_state(name, "importing")
    report = ingest_documents(
        replace(target, state="importing"),
        f"{IMPORTED}{archive.manifest.project}",
        archive.documents(),
        total=archive.manifest.documents,
        progress=progress,
    )
    if report.failures:
        first = report.failures[0]
        raise WinnowError(
            "INVALID_REQUEST",
            f"{len(report.failures):,} documents of the archive cannot be indexed, so the project stays hidden: "
            f"{first.name}: {first.reason}; give it up with: winnow project delete {name}",
        )
    catalogue.save_project_settings(name, chosen)
    catalogue.set_project_state(name, "")
    return report


def _is_empty(catalogue: Catalogue, name: str) -> bool:
    """Whether there is such a project in use, and no document in it."""
    return catalogue.has_project(name) and name not in (info.name for info in catalogue.projects())


def _check_model(chosen: ProjectSettings, name: str, embedder: Embedder | None) -> None:
    bound, ours = chosen.embedder, embedder.fingerprint if embedder else ""
    if bound not in ("", ours):
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"the project takes only vectors of {bound}, and the model now is {ours or 'none'}; "
            "give that model as --embedder, or export it after: winnow project set NAME --reset embedder",
            details={"project": name, "bound_to": bound, "model": ours},
        )
