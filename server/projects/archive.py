"""Project archives: one ZIP file with the settings, the names of the sources and the documents of a project.

An archive has three entries::

    manifest.json      format, version, the project's name, the number of documents, the digest of documents.jsonl
    project.json       its settings, and the sources that were watched for it (for the reader: none is added)
    documents.jsonl    a document in each line: its text, facts, labels, places, and how it was read

An archive may come from anybody. It is read with the bounds of ``server.readers.common.archives``, every
value against a model that admits nothing else, and as a whole before the first document is used.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from winnow.server.models import PROJECT_NAME, DocumentType, HiddenReason, Place, PlaceKind, Reading
from winnow.server.projects.checked_archive import MANIFEST, ArchiveKind, CheckedArchive
from winnow.server.readers.common.archives import LARGEST_ENTRY_BYTES, Archive, open_archive
from winnow.server.readers.documents import RawDocument, UnreadableFile
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage.files.private_file import create_private

FORMAT: Final = "winnow-project"
VERSION: Final = 1
PROJECT, DOCUMENTS = "project.json", "documents.jsonl"
LARGEST_ARCHIVE_BYTES = 16 * 1024 * 1024 * 1024  # when it is decompressed
_KIND = ArchiveKind(
    name="project archive",
    format=FORMAT,
    version=VERSION,
    most_bytes=LARGEST_ARCHIVE_BYTES,
    most_small_bytes=4 * 1024 * 1024,
    unread="imported",
    other_version="export it with this version of winnow, or import it with the one that wrote it",
)
_DATE = (1980, 1, 1, 0, 0, 0)  # equal projects make equal archives

_STRICT = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, strict=True, allow_inf_nan=False)
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Text = Annotated[str, Field(max_length=100_000)]
_Scalar = str | int | float | bool | None
T = TypeVar("T", bound=BaseModel)


class Manifest(BaseModel):
    """The manifest of an archive."""

    model_config = _STRICT

    format: Literal["winnow-project"]
    version: Literal[1]
    project: Annotated[str, Field(pattern=PROJECT_NAME)]
    documents: Annotated[int, Field(ge=0, le=10_000_000)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ArchivedSource(BaseModel):
    """A source that was watched where the archive was written."""

    model_config = _STRICT

    id: Annotated[str, Field(max_length=100)]
    paths: Annotated[list[_Text], Field(max_length=100)]


class ArchivedProject(BaseModel):
    """The settings of a project, and the sources that were watched for it."""

    model_config = _STRICT

    # As in the catalogue: lists stand for tuples.
    settings: Annotated[ProjectSettings, Field(strict=False)]
    sources: Annotated[list[ArchivedSource], Field(max_length=100)] = []


class _Place(BaseModel):
    model_config = _STRICT

    start: _Count
    kind: PlaceKind
    number: _Count
    label: _Text = ""
    rows: Annotated[list[_Count], Field(min_length=2, max_length=2)] | None = None


class _Reading(BaseModel):
    model_config = _STRICT

    reader: _Text
    pages: _Count = 0
    hidden_runs: _Count = 0
    hidden_kept: bool = False
    needs_ocr: list[_Count] = []
    ocr_pages: _Count = 0
    attachments: list[_Text] = []
    notes: list[_Text] = []
    hidden_reasons: dict[HiddenReason, _Count] = {}


class _ArchivedDocument(BaseModel):
    model_config = _STRICT

    uri: Annotated[str, Field(min_length=1, max_length=4096)]
    type: DocumentType
    title: _Text
    text: str
    vendor: _Text = ""
    doc_tag: _Text = ""
    tags: list[_Text] = []
    created: _Text = ""
    metadata: dict[_Text, _Scalar | list[_Scalar]] = {}
    environment: _Text = ""
    repository: _Text = ""
    language: Annotated[str, Field(max_length=3, pattern=r"^[a-z]*$")] = ""
    body_start: _Count = 0
    places: list[_Place] = []
    reading: _Reading | None = None


def write_archive(
    path: Path, project: str, facts: ArchivedProject, documents: Callable[[], Iterable[RawDocument]], count: int
) -> None:
    """Write an archive beside ``path`` and then in its place, so that no half of one is ever there.

    ``documents`` returns the ``count`` documents; it is called again where they shrink so much that the reader
    would take the archive for a bomb. Raises ``OSError``.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            _write_entries(temporary, compression, project, facts, documents(), count)
            if _is_readable(temporary):
                break
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


class ProjectArchive:
    """An archive that is open for reading. Its manifest and settings are valid; ``documents`` checks the rest.

    Raises ``WinnowError("INVALID_REQUEST")`` that says what is wrong with the archive.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._archive = CheckedArchive(file, name, _KIND)
        self._refusal = self._archive.refusal
        if sorted(self._archive.names) != sorted((MANIFEST, PROJECT, DOCUMENTS)):
            raise self._refusal(f"it has other entries than {MANIFEST}, {PROJECT} and {DOCUMENTS}")
        self.manifest = self._archive.manifest(Manifest)
        self.project = self._archive.parse(ArchivedProject, self._archive.read(PROJECT), PROJECT)

    def documents(self) -> Iterator[RawDocument]:
        """The documents one by one, each checked; at the end their number and digest are."""
        digest, count, seen = sha256(), 0, set[str]()
        for line in self._lines():
            digest.update(line)
            count += 1
            if count > self.manifest.documents:
                break
            document = self._archive.parse(_ArchivedDocument, line, f"{DOCUMENTS}, line {count:,}")
            self._check_uri(document.uri, seen, count)
            yield _raw_document(document)
        if (count, digest.hexdigest()) != (self.manifest.documents, self.manifest.digest):
            raise self._refusal("its documents are not those that its manifest names")

    def _check_uri(self, uri: str, seen: set[str], line: int) -> None:
        path = uri.partition("#")[0]
        if path.startswith("/") or ".." in path.split("/") or "\0" in uri:
            raise self._refusal(f"{DOCUMENTS}, line {line:,}: {uri[:80]!r} is no path below a folder")
        if uri in seen:
            raise self._refusal(f"{DOCUMENTS}, line {line:,}: {uri[:80]!r} is there twice")
        seen.add(uri)

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for block in self._archive.blocks(DOCUMENTS):
            *lines, rest = (rest + block).split(b"\n")
            yield from (line + b"\n" for line in lines)
            if len(rest) > LARGEST_ENTRY_BYTES:
                raise self._refusal(f"a document is larger than {LARGEST_ENTRY_BYTES >> 20} MiB")
        if rest:
            raise self._refusal(f"{DOCUMENTS} ends in the middle of a document")


def _raw_document(document: _ArchivedDocument) -> RawDocument:
    fields: dict[str, Any] = document.model_dump(exclude={"places", "reading", "tags"})
    places = tuple(
        Place(
            place.start,
            place.kind,
            place.number,
            place.label,
            (place.rows[0], place.rows[1]) if place.rows else None,
        )
        for place in document.places
    )
    return RawDocument(**fields, tags=tuple(document.tags), places=places, reading=_reading(document.reading))


def _reading(reading: _Reading | None) -> Reading | None:
    if reading is None:
        return None
    fields: dict[str, Any] = reading.model_dump()
    lists: dict[str, Any] = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Reading(**(fields | lists))


def _write_entries(
    path: Path,
    compression: int,
    project: str,
    facts: ArchivedProject,
    documents: Iterable[RawDocument],
    count: int,
) -> None:
    path.unlink(missing_ok=True)  # another user may have made it, to read what is written into it
    digest = sha256()
    with create_private(path) as file, zipfile.ZipFile(file, "w", compression) as archive:
        with archive.open(_entry(DOCUMENTS, compression), "w", force_zip64=True) as entry:
            for document in documents:
                line = json.dumps(asdict(document), ensure_ascii=False).encode() + b"\n"
                digest.update(line)
                entry.write(line)
        archive.writestr(_entry(PROJECT, compression), facts.model_dump_json())
        manifest = Manifest(
            format=FORMAT, version=VERSION, project=project, documents=count, digest=digest.hexdigest()
        )
        archive.writestr(_entry(MANIFEST, compression), manifest.model_dump_json())


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = compression
    return entry


def _is_readable(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            archive: Archive = open_archive(file, _KIND.name, LARGEST_ARCHIVE_BYTES)
        except UnreadableFile:
            return False
        return archive.has(MANIFEST)
