"""Restores a backup into a store: checked as a whole first, and nothing that is there is lost.

Theory of operation. ``read_backup`` reads and checks every part; nothing is written yet. ``find_conflicts``
compares it with the store: what the store lacks, or has as the backup has it, is no conflict. Then each part is
written by one change of its own, in the order of ``restore``; a restore that was interrupted is completed by the
same command, because what it has written is no conflict any more. What is replaced is kept under another name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO, Literal

from winnow.server.backends.catalogue import Catalogue
from winnow.server.claims.exchange import check_lines, import_lines
from winnow.server.claims.notebook_heads import heads_path
from winnow.server.claims.sqlite_store import FOLDER, SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook
from winnow.server.errors import WinnowError
from winnow.server.ingest.references.references import has_suffix_of_bibliography
from winnow.server.jobs.job_files import JobFiles
from winnow.server.jobs.records import Job
from winnow.server.jobs.watching import sources as source_file
from winnow.server.jobs.watching.sources import WatchedSource
from winnow.server.projects.backup.archive import (
    JOBS,
    KEYS,
    PROJECTS,
    SOURCES,
    BackedProject,
    BackupArchive,
    JobsPart,
    KeysPart,
    ProjectsPart,
    SourcesPart,
)
from winnow.server.projects.backup.reading_options import ReadingFact
from winnow.server.projects.backup.references import pair_references
from winnow.server.readers.documents import UnreadableFile
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage.files.lock import ENGINE, HOLDER, RUNNER, WATCHER, WRITER, StoreLock
from winnow.server.storage.files.private_file import write_private
from winnow.server.storage.files.store_folder import CATALOGUE, map_os_errors
from winnow.server.storage.keys import key_file
from winnow.server.storage.keys.records import AccessKey

_HOLDS = (ENGINE, HOLDER, WRITER, WATCHER, RUNNER)
# The parts, as messages name them.
_SETTINGS, _SOURCES, _KEYS = "settings of projects", "watched sources", "access keys"
_JOBS, _CLAIMS = "jobs", "claims"
# "same": as in the backup, or of no matter to it; "absent": it lacks some of the backup, and loses nothing.
_State = Literal["same", "absent", "other"]


@dataclass(frozen=True, slots=True)
class BackedNotebook:
    """A notebook in a backup: its part, the digests of its changes in their order, and the ids of its entries."""

    part: str
    notebook: Notebook
    digests: tuple[str, ...]
    entries: frozenset[str]


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup whose every part was checked. ``archive`` must stay open until it is restored.

    ``references`` are by project those of ``pair_references``, ``read_with`` those of ``collect_facts``.
    """

    archive: BackupArchive
    settings: dict[str, ProjectSettings]
    ingested_from: dict[str, tuple[str, ...]]
    references: dict[str, Mapping[str, str]]
    read_with: dict[str, Mapping[str, tuple[ReadingFact, ...]]]
    sources: tuple[WatchedSource, ...]
    keys: tuple[AccessKey, ...]
    jobs: tuple[Job, ...]
    notebooks: tuple[BackedNotebook, ...]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The outcome of a restore, in the counts of ``BackupReport``. ``kept``: the new names of what was replaced.

    ``revoked`` are the names of keys that were active in the backup and stay revoked, because the store had them
    revoked or removed; ``reactivated`` those that are active again, because the store had lost its keys.
    """

    projects: int
    sources: int
    keys: int
    jobs: int
    notebooks: int
    kept: tuple[Path, ...]
    revoked: tuple[str, ...] = ()
    reactivated: tuple[str, ...] = ()


def read_backup(file: BinaryIO, name: str) -> Backup:
    """Read a backup and check all of it.

    Raises ``WinnowError("INVALID_REQUEST")`` where any of it is not as a backup has it.
    """
    archive = BackupArchive(file, name)
    projects = archive.part(PROJECTS, ProjectsPart).projects
    _refuse_twins(archive, PROJECTS, [one.name for one in projects])
    sources = archive.part(SOURCES, SourcesPart).sources
    _refuse_twins(archive, SOURCES, [one.id for one in sources])
    keys = archive.part(KEYS, KeysPart).keys
    _refuse_twins(archive, KEYS, [one.id for one in keys])
    jobs = archive.part(JOBS, JobsPart).jobs
    _refuse_twins(archive, JOBS, [one.id for one in jobs])
    return Backup(
        archive,
        {one.name: one.settings for one in projects if one.settings},
        {one.name: one.ingested_from for one in projects},
        {one.name: _references_of(one) for one in projects},
        {one.name: one.read_with for one in projects},
        sources,
        keys,
        jobs,
        _read_notebooks(archive),
    )


def _references_of(project: BackedProject) -> Mapping[str, str]:
    """The references of a backup without a note of them: bibliographies by their names; each folder has one."""
    if project.references is not None:
        return project.references
    sources = [source for source in project.ingested_from if Path(source).is_absolute()]
    bibliographies = [source for source in sources if has_suffix_of_bibliography(source)]
    rest = [source for source in sources if source not in bibliographies]
    return pair_references(rest if bibliographies else (), bibliographies)


def _refuse_twins(archive: BackupArchive, part: str, names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise archive.refusal(f"{part} names one of its records twice")


def _read_notebooks(archive: BackupArchive) -> tuple[BackedNotebook, ...]:
    notebooks, owners = list[BackedNotebook](), dict[str, str]()
    for name in archive.notebooks:
        try:
            notebook, changes = check_lines(archive.lines(name))
        except (WinnowError, UnreadableFile) as error:
            raise archive.refusal(
                f"{name}: {error.message if isinstance(error, WinnowError) else error}"
            ) from None
        entries = frozenset(change.entry_id for change in changes)
        if twin := next((entry for entry in entries if owners.setdefault(entry, name) != name), ""):
            raise archive.refusal(f"{name}: entry {twin} is in another notebook, too")
        notebooks.append(BackedNotebook(name, notebook, tuple(change.digest for change in changes), entries))
    if len({one.notebook for one in notebooks}) != len(notebooks):
        raise archive.refusal("it has one notebook twice")
    return tuple(notebooks)


@contextmanager
def hold_store(store: Path) -> Iterator[None]:
    """Keep servers, the engine, ingests and jobs away from the store; it is created if it is missing.

    Raises ``WinnowError("INDEX_HELD")`` while one of them has it.
    """
    with ExitStack() as stack:
        for kind in _HOLDS:
            stack.callback(StoreLock(store, kind).release)
        yield


def find_conflicts(store: Path, backup: Backup) -> tuple[str, ...]:
    """The parts of the store that restoring would replace, in words. Changes nothing."""
    return tuple(name for name, state in _states(store, backup).items() if state == "other")


def restore(store: Path, backup: Backup) -> RestoreReport:
    """Write into the store what it lacks of the backup, and replace what is otherwise there; that is kept.

    The caller holds the store. Raises ``WinnowError`` where the disk refuses.
    """
    keys = _keys_to_restore(store, backup.keys)
    states, kept = _states(store, backup), list[Path]()
    with map_os_errors(store):
        if states[_SETTINGS] != "same":
            kept += _restore_settings(store, backup, is_other=states[_SETTINGS] == "other")
        if states[_SOURCES] != "same":
            kept += _set_aside(store / source_file.FILE)
            source_file.replace_sources(store, backup.sources)
        if states[_KEYS] != "same":
            names = _key_names(store)
            kept += _set_aside(store / key_file.FILE)
            key_file.replace_keys(store, keys.keys, names)
        kept += _restore_jobs(store, backup.jobs)
        if states[_CLAIMS] != "same":
            if states[_CLAIMS] == "other":
                kept += _set_aside(store / FOLDER)
            if not claims_path(store).exists():  # what is restored takes its place
                heads_path(claims_path(store)).unlink(missing_ok=True)
            _restore_claims(store, backup)
    return RestoreReport(
        projects=len(backup.ingested_from),
        sources=len(backup.sources),
        keys=len(backup.keys),
        jobs=len(backup.jobs),
        notebooks=len(backup.notebooks),
        kept=tuple(kept),
        revoked=keys.revoked,
        reactivated=keys.reactivated,
    )


# --- what is there


def _states(store: Path, backup: Backup) -> Mapping[str, _State]:
    return {
        _SETTINGS: _settings_state(store, backup.settings),
        _SOURCES: _records_state(lambda: source_file.read_sources(store), backup.sources),
        _KEYS: _records_state(lambda: key_file.read_keys(store), _keys_to_restore(store, backup.keys).keys),
        _JOBS: "other"
        if any(JobFiles(store).read(job.id) for job in _other_jobs(store, backup.jobs))
        else "absent",
        _CLAIMS: _claims_state(store, backup.notebooks),
    }


@dataclass(frozen=True, slots=True)
class _RestoredKeys:
    """The keys that a restore writes, and the names of two kinds of them, as in ``RestoreReport``."""

    keys: tuple[AccessKey, ...]
    revoked: tuple[str, ...] = ()
    reactivated: tuple[str, ...] = ()


def _keys_to_restore(store: Path, wanted: Sequence[AccessKey]) -> _RestoredKeys:
    """The keys of the backup. What the store ended of them stays ended: a revocation is for good."""
    now = int(time.time())
    active = [key for key in wanted if key.state(now) == "active"]
    try:
        here = {key.id: key for key in key_file.read_keys(store)}
        is_known = key_file.state_of(store) is not None
    except WinnowError:  # damaged, or gone
        is_known = False
    if not is_known:  # nothing tells what was revoked
        return _RestoredKeys(tuple(wanted), reactivated=tuple(key.name for key in active))
    keys = tuple(_with_ends(key, here.get(key.id), now) for key in wanted)
    revoked = {key.id for key in keys if key.revoked_at is not None}
    return _RestoredKeys(keys, revoked=tuple(key.name for key in active if key.id in revoked))


def _key_names(store: Path) -> Mapping[str, str]:
    """The names of all keys that the store has and had, by id; none where it has lost them."""
    try:
        return key_file.read_key_names(store)
    except WinnowError:
        return {}


def _with_ends(key: AccessKey, here: AccessKey | None, now: int) -> AccessKey:
    """The key of a backup with its revocation and its later secret in the store; one that it lacks was removed."""
    if here is None:
        return key if key.revoked_at is not None else key.model_copy(update={"revoked_at": now})
    # The earlier secret ended; by the clock alone it would come back where that was set back meanwhile.
    is_former = any(each.digest == key.digest for each in here.former)
    if is_former or (here.rotated_at or 0) > (key.rotated_at or 0):
        fields = ("salt", "digest", "tail", "rotated_at", "former")
        key = key.model_copy(update={name: getattr(here, name) for name in fields})
    return key if here.revoked_at is None else key.model_copy(update={"revoked_at": here.revoked_at})


def _settings_state(store: Path, settings: Mapping[str, ProjectSettings]) -> _State:
    if not (store / CATALOGUE).exists():
        return "absent" if settings else "same"
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        here = {name: facts[0] for name, facts in catalogue.primary_facts().items()}
    if all(here.get(name) == wanted for name, wanted in settings.items()):
        return "same"
    differs = any(here.get(name) not in (None, wanted) for name, wanted in settings.items())
    return "other" if differs else "absent"


def _records_state(read: Callable[[], Sequence[object]], wanted: Sequence[object]) -> _State:
    try:
        here = read()
    except WinnowError:  # damaged, or lost
        return "other" if wanted else "same"
    if not wanted or tuple(here) == tuple(wanted):
        return "same"
    return "other" if here else "absent"


def _other_jobs(store: Path, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that the store lacks or has otherwise; not those that went on since: they would run once more."""
    files = JobFiles(store)
    return [job for job in jobs if not _is_later(files.read(job.id), job)]


def _is_later(here: Job | None, job: Job) -> bool:
    """Whether the store has this job as it is, or as it became."""
    if here is None or here == job:
        return here is not None
    is_further = here.is_final or (here.state == "running" and job.state == "queued")
    return here.request == job.request and is_further and not job.is_final


def _claims_state(store: Path, notebooks: Sequence[BackedNotebook]) -> _State:
    path = claims_path(store)
    if not notebooks:
        return "same"
    try:
        if not path.exists():
            return "absent"
        with closing(SqliteClaimStore(path)) as claims:
            if any(claims.notebooks_of(one.entries) - {one.notebook} for one in notebooks):
                return "other"
            pairs = [([each.digest for each in claims.history(one.notebook)], one.digests) for one in notebooks]
    except WinnowError:
        return "other"
    if all(tuple(here[: len(wanted)]) == wanted for here, wanted in pairs):
        return "same"
    common = ((here, wanted, min(len(here), len(wanted))) for here, wanted in pairs)
    return "absent" if all(tuple(here[:n]) == wanted[:n] for here, wanted, n in common) else "other"


# --- writing


def _restore_settings(store: Path, backup: Backup, *, is_other: bool) -> list[Path]:
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        facts = catalogue.primary_facts()
        catalogue.restore_projects(backup.settings)
    if not is_other:
        return []
    former = tuple(BackedProject(name=name, settings=settings) for name, (settings, _) in sorted(facts.items()))
    path = _free_name(store / PROJECTS)
    write_private(path, path.with_name(f".{path.name}"), ProjectsPart(projects=former).model_dump_json(indent=1))
    return [path]


def _restore_jobs(store: Path, jobs: Sequence[Job]) -> list[Path]:
    files, wanted = JobFiles(store), _other_jobs(store, jobs)
    former = tuple(here for job in wanted if (here := files.read(job.id)))
    kept = [_free_name(store / JOBS)] if former else []
    for path in kept:
        write_private(path, path.with_name(f".{path.name}"), JobsPart(jobs=former).model_dump_json(indent=1))
    for job in wanted:
        files.write(job)
    return kept


def _restore_claims(store: Path, backup: Backup) -> None:
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        for one in backup.notebooks:
            import_lines(claims, backup.archive.lines(one.part))


def _set_aside(path: Path) -> list[Path]:
    """Rename what is there, so that it can be looked at and put back; returns the new name."""
    if not os.path.lexists(path):
        return []
    target = _free_name(path)
    os.rename(path, target)
    return [target]


def _free_name(path: Path) -> Path:
    """The name under which what is replaced is kept."""
    base = f"{path.name}.replaced-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    names = chain([base], (f"{base}-{number}" for number in count(2)))
    return next(path.with_name(name) for name in names if not os.path.lexists(path.with_name(name)))
