"""The file of a backup: a ZIP archive with a manifest, and an entry for each kind of primary data.

An archive has these entries, and no others::

    manifest.json      format, version, time, and the size and SHA-256 of every other entry
    projects.json      the projects: their settings, and what was ingested into them
    sources.json       the watched folders, files and libraries of Zotero
    keys.json          the access keys, as the store has them: salts and digests, no key
    jobs.json          the ingests that agents asked for
    claims/N.jsonl     a notebook of claims, with its whole history

Entries are not compressed, so no size is stated that reading does not yield. A file of this kind may come from
anybody: it is read within the bounds of ``server.readers.common.archives``, nothing in it is a path that is
written to, every value is held against a model that admits nothing else, and all of it is checked before the first
part is used. The digests find damage; they are no signature.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Annotated, BinaryIO, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from winnow.server.claims.exchange import MAX_LINE_BYTES
from winnow.server.jobs.records import Job
from winnow.server.jobs.watching.sources import WatchedSource
from winnow.server.models import PROJECT_NAME
from winnow.server.projects.backup.reading_options import ReadingFact
from winnow.server.projects.checked_archive import MANIFEST, ArchiveKind, CheckedArchive
from winnow.server.readers.documents import UnreadableFile
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage.keys.records import MAX_KEYS, AccessKey

FORMAT: Final = "winnow-backup"
VERSION: Final = 1
PROJECTS, SOURCES, KEYS, JOBS = "projects.json", "sources.json", "keys.json", "jobs.json"
PARTS = (PROJECTS, SOURCES, KEYS, JOBS)
# A notebook of 10,000 entries takes about 40 MB.
LARGEST_BACKUP_BYTES = 4 * 1024 * 1024 * 1024
_KIND = ArchiveKind(
    name="backup",
    format=FORMAT,
    version=VERSION,
    most_bytes=LARGEST_BACKUP_BYTES,
    most_small_bytes=64 * 1024 * 1024,
    unread="restored",
    other_version="restore it with the version of winnow that wrote it, or a later one",
)
_NOTEBOOK = re.compile(r"claims/(0|[1-9][0-9]{0,4})\.jsonl")
_DATE = (1980, 1, 1, 0, 0, 0)  # the time is in the manifest
_TIME_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"

_STRICT = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
_Name = Annotated[str, Field(pattern=PROJECT_NAME)]
_Source = Annotated[str, Field(max_length=5_000)]
T = TypeVar("T", bound=BaseModel)


class EntryFacts(BaseModel):
    """Size and digest of an entry."""

    model_config = _STRICT

    bytes: Annotated[int, Field(ge=0, le=LARGEST_BACKUP_BYTES)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class BackupManifest(BaseModel):
    """The manifest of a backup."""

    model_config = _STRICT

    format: Literal["winnow-backup"]
    version: Literal[1]
    made_at: Annotated[str, Field(pattern=_TIME_TEXT)]
    entries: Annotated[dict[Annotated[str, Field(max_length=100)], EntryFacts], Field(max_length=20_000)]


class BackedProject(BaseModel):
    """A project: its settings, and the names of the sources that its documents came from.

    ``references``: see ``pair_references``; None in a backup of a version that did not note them. ``read_with``:
    see ``collect_facts``.
    """

    model_config = _STRICT

    name: _Name
    settings: ProjectSettings | None = None
    ingested_from: Annotated[tuple[_Source, ...], Field(max_length=100_000)] = ()
    references: Annotated[dict[_Source, _Source], Field(max_length=100_000)] | None = None
    read_with: Annotated[dict[_Source, tuple[ReadingFact, ...]], Field(max_length=100_000)] = {}


class ProjectsPart(BaseModel):
    """The projects of a store."""

    model_config = _STRICT

    projects: Annotated[tuple[BackedProject, ...], Field(max_length=100_000)] = ()


class SourcesPart(BaseModel):
    """The watched sources of a store."""

    model_config = _STRICT

    sources: Annotated[tuple[WatchedSource, ...], Field(max_length=100)] = ()


class KeysPart(BaseModel):
    """The access keys of a store."""

    model_config = _STRICT

    keys: Annotated[tuple[AccessKey, ...], Field(max_length=MAX_KEYS)] = ()


class JobsPart(BaseModel):
    """The jobs of a store."""

    model_config = _STRICT

    jobs: Annotated[tuple[Job, ...], Field(max_length=100_000)] = ()


class BackupWriter:
    """Writes an archive into an open file, in a ``with``: each entry once, and ``finish`` at the end."""

    def __init__(self, file: BinaryIO, made_at: str) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._made_at = made_at
        self._entries: dict[str, EntryFacts] = {}

    def __enter__(self) -> BackupWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def add(self, name: str, blocks: Iterable[bytes]) -> None:
        """Write an entry."""
        digest, size = sha256(), 0
        with self._zip.open(zipfile.ZipInfo(name, _DATE), "w", force_zip64=True) as entry:
            for block in blocks:
                digest.update(block)
                size += len(block)
                entry.write(block)
        self._entries[name] = EntryFacts(bytes=size, digest=digest.hexdigest())

    def add_part(self, name: str, part: BaseModel) -> None:
        """Write one of ``PARTS``."""
        self.add(name, [part.model_dump_json(indent=1).encode()])

    def finish(self) -> None:
        """Write the manifest: the backup is complete."""
        manifest = BackupManifest(format=FORMAT, version=VERSION, made_at=self._made_at, entries=self._entries)
        self._zip.writestr(zipfile.ZipInfo(MANIFEST, _DATE), manifest.model_dump_json(indent=1))


class BackupArchive:
    """A backup that is open for reading. The constructor compares all entries with their digests.

    Raises ``WinnowError("INVALID_REQUEST")`` that says what is wrong with the archive.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._archive = CheckedArchive(file, name, _KIND)
        self.refusal = self._archive.refusal
        self.manifest = self._archive.manifest(BackupManifest)
        self._check_names()
        for entry, facts in self.manifest.entries.items():
            self._compare(entry, facts)

    @property
    def notebooks(self) -> tuple[str, ...]:
        """The names of the entries with notebooks of claims."""
        return tuple(name for name in self.manifest.entries if name not in PARTS)

    def part(self, name: str, model: type[T]) -> T:
        """One of ``PARTS``; its defaults where the backup has none."""
        if name not in self.manifest.entries:
            return model()
        return self._archive.parse(model, self._archive.read(name), name)

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of an entry, none longer than a change of a notebook may be. Raises ``UnreadableFile``."""
        rest = b""
        for block in self._archive.blocks(name):
            *lines, rest = (rest + block).split(b"\n")
            if any(len(line) > MAX_LINE_BYTES for line in (*lines, rest)):
                raise UnreadableFile(f"it has a line of more than {MAX_LINE_BYTES:,} bytes")
            yield from lines
        if rest:
            raise UnreadableFile("it ends in the middle of a line")

    def _check_names(self) -> None:
        names = self._archive.names
        if len(set(names)) != len(names) or sorted(names) != sorted((MANIFEST, *self.manifest.entries)):
            raise self.refusal("its entries are not those that its manifest names")
        if other := next((name for name in self.manifest.entries if not _is_known(name)), ""):
            raise self.refusal(f"it has an entry {other[:80]!r}, which no backup has")

    def _compare(self, name: str, facts: EntryFacts) -> None:
        digest, size = sha256(), 0
        for block in self._archive.blocks(name):
            digest.update(block)
            size += len(block)
        if (size, digest.hexdigest()) != (facts.bytes, facts.digest):
            raise self.refusal(f"{name} is damaged: it is not what was written")


def _is_known(name: str) -> bool:
    return name in PARTS or _NOTEBOOK.fullmatch(name) is not None
