"""Reads the chosen libraries of Zotero through a transport, and keeps what the next run can reuse by versions.

A library that cannot be read as a whole is left out with its reason, and loses nothing; the others go on.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.bibliographies.zotero.database import database_stamp
from winnow.server.bibliographies.zotero.objects import LibraryName, LibraryObjects, pack, unpack
from winnow.server.bibliographies.zotero.opening import Zotero, open_zotero
from winnow.server.bibliographies.zotero.profiles import find_places
from winnow.server.bibliographies.zotero.records import ZoteroLibrary
from winnow.server.bibliographies.zotero.selection import choose_libraries
from winnow.server.bibliographies.zotero.works import make_library
from winnow.server.errors import WinnowError
from winnow.server.ingest.report import IngestFailure, failure_of
from winnow.server.storage.files.private_file import UntrustedFile, read_private, write_private

_FOLDER = "zotero"
_KEPT_BYTES = 2 * 1024**3
_NOT_READ = "{why}; its documents were kept"


@dataclass(frozen=True, slots=True)
class FoundLibraries:
    """The libraries that were read, and those that were not, with the reasons.

    ``unread`` are ids of libraries that exist. ``by`` is the transport, "api" or "database"; ``note`` why it is
    not the API, "" where it is or where the database was asked for.
    """

    libraries: tuple[ZoteroLibrary, ...]
    unread: tuple[str, ...]
    failures: tuple[IngestFailure, ...]
    by: str
    note: str

    @property
    def files(self) -> int:
        """The number of files on this machine."""
        return sum(file.path is not None for each in self.libraries for work in each.works for file in work.files)


def read_libraries(choice: ZoteroChoice, store: Path) -> FoundLibraries:
    """The chosen libraries with all their works; what is kept of them is in the folder ``store``.

    Raises ``WinnowError`` where there is no Zotero, it has no such library, or none can be read.
    """
    with _open(choice) as zotero:
        names = zotero.transport.libraries()
        chosen = choose_libraries(names, choice.libraries)
        libraries: list[ZoteroLibrary] = []
        errors: list[tuple[LibraryName, WinnowError]] = []
        for name in chosen:
            try:
                libraries.append(make_library(_read_objects(zotero, name, store), zotero.places))
            except WinnowError as error:
                errors.append((name, error))
        if errors and not libraries:
            raise errors[0][1]
        read = {library.id for library in libraries}
        return FoundLibraries(
            tuple(libraries),
            tuple(name.id for name in names if name.id not in read),
            tuple(failure_of(name.name, _NOT_READ.format(why=error.message)) for name, error in errors),
            zotero.by,
            zotero.note,
        )


def check_libraries(choice: ZoteroChoice) -> None:
    """Raise ``WinnowError`` where there is no Zotero, or it has no such library."""
    with _open(choice) as zotero:
        choose_libraries(zotero.transport.libraries(), choice.libraries)


def change_mark(choice: ZoteroChoice) -> str:
    """A text that changes when Zotero writes its database; "" where that is not on this machine."""
    try:
        return database_stamp(find_places(_folder_of(choice)).data)
    except (WinnowError, OSError):
        return ""


def _open(choice: ZoteroChoice) -> AbstractContextManager[Zotero]:
    return open_zotero(_folder_of(choice), choice.api or None, use_api=choice.uses_api)


def _folder_of(choice: ZoteroChoice) -> Path | None:
    return Path(choice.data_folder).expanduser() if choice.data_folder else None


def _read_objects(zotero: Zotero, name: LibraryName, store: Path) -> LibraryObjects:
    """The objects of a library; those of the last run are used where versions tell what changed since."""
    path = store / _FOLDER / f"{name.id.replace('/', '-')}.json"
    kept = _read_kept(path)
    objects = zotero.transport.read(name, kept)
    if objects.server and objects != kept:
        _keep(path, objects)
    return objects


def _read_kept(path: Path) -> LibraryObjects | None:
    try:
        return unpack(read_private(path, _KEPT_BYTES))
    except (OSError, UntrustedFile):
        return None


def _keep(path: Path, objects: LibraryObjects) -> None:
    """Keep the objects; where that fails, the next run reads the library as a whole."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, path.with_name(f".{path.name}"), pack(objects))
    except OSError:
        path.unlink(missing_ok=True)
