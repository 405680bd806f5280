"""Makes a backup of a store, while servers read and write it.

Each part is read in one transaction, or is a file that is only ever replaced as a whole, so each is a state that
the store had. Nothing waits for an ingest, and no ingest waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from winnow.server.backends.catalogue import Catalogue
from winnow.server.claims.exchange import export_lines
from winnow.server.claims.notebook_heads import were_written
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook
from winnow.server.errors import WinnowError
from winnow.server.ingest.file_discovery import IMPORTED
from winnow.server.ingest.references.references import has_entry, has_suffix_of_bibliography
from winnow.server.jobs.job_files import JobFiles
from winnow.server.jobs.watching.sources import WatchedSource, read_sources
from winnow.server.models import Filters
from winnow.server.projects.backup.archive import (
    JOBS,
    KEYS,
    PROJECTS,
    SOURCES,
    BackedProject,
    BackupArchive,
    BackupWriter,
    JobsPart,
    KeysPart,
    ProjectsPart,
    SourcesPart,
)
from winnow.server.projects.backup.reading_options import collect_facts
from winnow.server.projects.backup.references import pair_references
from winnow.server.storage.files.private_file import create_private
from winnow.server.storage.files.store_folder import CATALOGUE, require_catalogue
from winnow.server.storage.keys.key_file import read_keys


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The contents of a backup, and what it lacks.

    ``imported``: projects with documents that no file on this machine has any more. ``damaged_jobs``: the names of
    records of jobs that cannot be read.
    """

    projects: int
    sources: int
    keys: int
    jobs: int
    notebooks: int
    imported: tuple[str, ...]
    damaged_jobs: tuple[str, ...]
    bytes: int


def make_backup(store: Path, path: Path) -> BackupReport:
    """Write a backup of the store into a new file, private to this user, all or nothing.

    Raises ``WinnowError``: "INVALID_REQUEST" for a file that exists or cannot be written; as reading each part
    does, for one that is damaged.
    """
    if os.path.lexists(path):
        raise WinnowError("INVALID_REQUEST", f"{path} exists already; name a new file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with create_private(temporary) as file:
            with BackupWriter(file, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())) as writer:
                report = _write(store, writer)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            BackupArchive(file, str(path))  # what cannot be restored is no backup
            size = os.fstat(file.fileno()).st_size
        os.link(temporary, path)  # unlike a rename, it replaces nothing
        return replace(report, bytes=size)
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _write(store: Path, writer: BackupWriter) -> BackupReport:
    sources, keys, listing = read_sources(store), read_keys(store), JobFiles(store).list_jobs()
    projects = _read_projects(store, sources)
    writer.add_part(PROJECTS, ProjectsPart(projects=projects))
    writer.add_part(SOURCES, SourcesPart(sources=sources))
    writer.add_part(KEYS, KeysPart(keys=keys))
    writer.add_part(JOBS, JobsPart(jobs=listing.jobs))
    notebooks = _write_claims(store, writer)
    writer.finish()
    imported = tuple(
        one.name for one in projects if any(source.startswith(IMPORTED) for source in one.ingested_from)
    )
    return BackupReport(
        len(projects),
        len(sources),
        len(keys),
        len(listing.jobs),
        notebooks,
        imported,
        listing.damaged,
        bytes=0,  # known when the file is whole
    )


def _read_projects(store: Path, watched: Sequence[WatchedSource]) -> tuple[BackedProject, ...]:
    require_catalogue(store)
    if not (store / CATALOGUE).exists():
        return ()
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        return tuple(
            BackedProject(
                name=name,
                settings=settings,
                ingested_from=sources,
                references=_read_references(catalogue, name, sources, watched),
                read_with=collect_facts(catalogue.readings_within(Filters(project=name))),
            )
            for name, (settings, sources) in sorted(catalogue.primary_facts().items())
        )


def _read_references(
    catalogue: Catalogue, project: str, sources: Sequence[str], watched: Sequence[WatchedSource]
) -> dict[str, str]:
    """The bibliographies of these sources. That of a library of Zotero is the library."""
    stamps = {each: catalogue.stamps(project, each).values() for each in sources if Path(each).is_absolute()}
    return dict(
        pair_references(
            [source for source, marks in stamps.items() if any(map(has_entry, marks))],
            # The entries of a bibliography are no files that have stamps, unlike those of a collection.
            [source for source, marks in stamps.items() if has_suffix_of_bibliography(source) and not marks],
            [str(one.request.references) for one in watched if one.project == project and one.request.references],
        )
    )


def _write_claims(store: Path, writer: BackupWriter) -> int:
    path = claims_path(store)
    if not were_written(path):
        return 0
    with closing(SqliteClaimStore(path)) as claims, claims.database.snapshot():
        notebooks = claims.notebooks()
        for number, notebook in enumerate(notebooks):
            if (flaw := claims.first_flaw(notebook)) is not None:
                raise WinnowError(
                    "INDEX_UNAVAILABLE",
                    f"{path} is damaged: change {flaw} of the notebook of project {notebook.project!r} is not as "
                    "it was written, so there is no backup of it; winnow claims check shows more",
                )
            writer.add(f"claims/{number}.jsonl", _lines(claims, notebook))
    return len(notebooks)


def _lines(claims: SqliteClaimStore, notebook: Notebook) -> Iterator[bytes]:
    for line in export_lines(claims, notebook):
        yield line.encode() + b"\n"
