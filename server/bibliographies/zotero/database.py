"""Reads Zotero's database, from a copy: Zotero holds a lock on the file while it is open.

The copy includes the journal or the write-ahead log, without which the last changes would be missing or the file
would be torn. A journal can name another one at its end, of a transaction of several databases, and SQLite deletes
the file of that name once it has rolled back: any file of this user. So in the copy something follows the name. It
is opened with a schema that is not trusted: only the tables that are named here are read, only
if they are tables, and no other statement than SELECT is possible. What is read has the form of the API's JSON and
is checked as such, so both transports have one conversion.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from winnow.server.bibliographies.zotero.objects import (
    MOST_OBJECTS,
    USER_LIBRARY,
    USER_LIBRARY_NAME,
    LibraryName,
    LibraryObjects,
    NotZotero,
    ZoteroObject,
    iso_date,
    read_collection,
    read_object,
    read_version,
)
from winnow.server.errors import WinnowError
from winnow.server.text.printable import one_line

DATABASE = "zotero.sqlite"
_JOURNAL = "-journal"
_PARTS = ("", "-wal", _JOURNAL)
# A library of 100,000 items with its full-text index has about 2 GiB.
_MOST_BYTES = 16 * 1024**3
_MOST_VALUE_BYTES = 64 * 1024**2
_BLOCK_BYTES = 1024**2
# After the name of another journal, which counts only at the very end of a file.
_AFTER_NAME = bytes(64)
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # not every system has all of them
    _FLAGS |= getattr(os, _name, 0)
_COPY_ATTEMPTS = 5
_ROWS_PER_OBJECT = 20
# Of a library as it is read. One value may be that of every item, so this is more than the file has. A library of
# 100,000 items has about 100 MiB without the pictures that older notes hold.
_MOST_TEXT_CHARS = 512 * 1024**2
_LINK_MODES = ("imported_file", "imported_url", "linked_file", "linked_url", "embedded_image")
_ANNOTATION, _STORED_PREFIX, _NOTE_WRAPPER, _NOTE_END = (
    "annotation",
    "storage:",
    '<div class="zotero-note',
    "</div>",
)
_DATE_NAMES = ("date", "dateDecided", "issueDate", "dateEnacted")
_FURTHER_DATE_NAMES = ("filingDate", "originalDate")
# "2019-03-00 March 2019": the date as Zotero read it, then as the user wrote it.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: |\Z)")

_REQUIRED = frozenset(
    (
        *("libraries", "groups", "items", "itemTypes", "itemData", "itemDataValues", "fields", "creators"),
        *("itemCreators", "creatorTypes", "tags", "itemTags", "collections", "collectionItems", "deletedItems"),
        *("itemNotes", "itemAttachments"),
    )
)
# Zotero 5 has no annotations, Zotero 6 no collections in the trash.
_OPTIONAL = frozenset(("itemAnnotations", "deletedCollections"))

_ITEMS = """
    SELECT items.itemID, key, typeName, {version} FROM items JOIN itemTypes USING (itemTypeID) WHERE libraryID = ?
"""
_FIELDS = """
    SELECT itemID, fieldName, value FROM items JOIN itemData USING (itemID) JOIN fields USING (fieldID)
    JOIN itemDataValues USING (valueID) WHERE libraryID = ?
"""
_CREATORS = """
    SELECT itemID, firstName, lastName, fieldMode, creatorType FROM items JOIN itemCreators USING (itemID)
    JOIN creators USING (creatorID) JOIN creatorTypes USING (creatorTypeID) WHERE libraryID = ?
    ORDER BY itemID, orderIndex
"""
_TAGS = "SELECT itemID, name FROM items JOIN itemTags USING (itemID) JOIN tags USING (tagID) WHERE libraryID = ?"
_IN_COLLECTIONS = """
    SELECT itemID, collections.key FROM collections JOIN collectionItems USING (collectionID)
    WHERE collections.libraryID = ?
"""
_NOTES = "SELECT itemID, parentItemID, note FROM items JOIN itemNotes USING (itemID) WHERE libraryID = ?"
_ATTACHMENTS = """
    SELECT itemID, parentItemID, linkMode, path FROM items JOIN itemAttachments USING (itemID) WHERE libraryID = ?
"""
_ANNOTATIONS = """
    SELECT itemID, parentItemID, text, comment, color, sortIndex, position FROM items
    JOIN itemAnnotations USING (itemID) WHERE libraryID = ?
"""
_DELETED = "SELECT itemID FROM items JOIN deletedItems USING (itemID) WHERE libraryID = ?"
_COLLECTIONS = "SELECT collectionID, key, collectionName, parentCollectionID FROM collections WHERE libraryID = ?"
_DELETED_COLLECTIONS = "SELECT collectionID FROM deletedCollections"
_LIBRARIES = """
    SELECT libraryID, type, groupID, name FROM libraries LEFT JOIN groups USING (libraryID)
    WHERE type IN ('user', 'group') ORDER BY type DESC, groupID
"""

_NO_FOLDER = "{folder} {why}; name Zotero's data folder, which has zotero.sqlite, with --data-folder"
_NO_DATABASE = "{folder} has no Zotero database ({name}); name Zotero's data folder with --data-folder"
_TOO_LARGE = "{path} is larger than {most} GiB and is not read"
_CHANGING = "{path} changes all the time, Zotero is at work; try again later"
_NOT_A_FILE = "{path} is not a regular file and is not read; name the data folder that has the file itself"
_NO_COPY = "{path} cannot be copied to {folder} ({error}); the variable TMPDIR names another folder for copies"
_DAMAGED = (
    "{path} is not a Zotero database or is damaged ({error}); Zotero can repair it, or its backup is beside it"
)
_MISSING_TABLES = "{path} is not a Zotero database: it lacks the tables {names}"
_NO_TABLES = "{path} is not a Zotero database: {names} must be tables"
_TOO_MANY = "{path} has more than {most:,} {what} in a library and is not read"
_TOO_MUCH_TEXT = "{path} has more than {most:,} characters in a library and is not read"
_GONE = "{path} has no library {id}; list them with: winnow zotero libraries"

_Entry = dict[str, Any]
_Stamp = tuple[int, int] | None


class DatabaseTransport:
    """Libraries from the database in a data folder. A copy is used as long as the database is the same."""

    def __init__(self, data_folder: Path) -> None:
        self._path = data_folder / DATABASE
        self._copied: dict[str, _Stamp] = {}
        self._tables: _Tables | None = None

    def close(self) -> None:
        """Let go of the copy."""
        if self._tables is not None:
            self._tables.close()
            self._tables = None

    def libraries(self) -> tuple[LibraryName, ...]:
        """The user's own library, then those of groups. Raises ``WinnowError``."""
        with self._open() as tables:
            return tuple(name for name, _ in tables.libraries())

    def read(self, name: LibraryName, kept: LibraryObjects | None = None) -> LibraryObjects:
        """All objects of a library. ``kept`` has no use here. Raises ``WinnowError``."""
        with self._open() as tables:
            for found, number in tables.libraries():
                if found.id == name.id:
                    return tables.read(found, number)
        raise WinnowError("NOT_FOUND", _GONE.format(path=self._path, id=name.id))

    @contextmanager
    def _open(self) -> Iterator[_Tables]:
        try:
            yield self._current_tables()
        except (sqlite3.Error, OverflowError, NotZotero) as error:
            self.close()
            reason = one_line(str(error))
            raise WinnowError("INVALID_REQUEST", _DAMAGED.format(path=self._path, error=reason)) from None

    def _current_tables(self) -> _Tables:
        """The tables of the copy, of a new one if the database has changed."""
        if self._tables is None or self._stamps() != self._copied:
            self.close()
            # The folder is removed at once: a process that is killed leaves no copy of the library behind.
            with tempfile.TemporaryDirectory(prefix="winnow-zotero-") as folder:
                self._tables = _Tables(self._copy(Path(folder)), self._path)
        return self._tables

    def _copy(self, folder: Path) -> Path:
        """Copy the parts of the database as they are at one moment."""
        try:
            for _ in range(_COPY_ATTEMPTS):
                before = self._stamps()
                if before[""] is None:
                    _check_folder(self._path.parent)
                    raise WinnowError("NOT_FOUND", _NO_DATABASE.format(folder=self._path.parent, name=DATABASE))
                if sum(stamp[1] for stamp in before.values() if stamp) > _MOST_BYTES:
                    most = _MOST_BYTES // 1024**3
                    raise WinnowError("INVALID_REQUEST", _TOO_LARGE.format(path=self._path, most=most))
                for part, stamp in before.items():
                    target = folder / f"{DATABASE}{part}"
                    target.unlink(missing_ok=True)
                    if stamp is not None:
                        _copy_part(Path(f"{self._path}{part}"), target, stamp[1])
                        if part == _JOURNAL:
                            _end_journal(target)
                if self._stamps() == before:
                    self._copied = before
                    return folder / DATABASE
        except FileNotFoundError:
            pass  # the journal ended meanwhile
        except OSError as error:
            message = _NO_COPY.format(path=self._path, folder=folder.parent, error=error.strerror)
            raise WinnowError("SOURCE_UNAVAILABLE", message) from None
        raise WinnowError("SOURCE_UNAVAILABLE", _CHANGING.format(path=self._path), retryable=True)

    def _stamps(self) -> dict[str, _Stamp]:
        return {part: _stamp(Path(f"{self._path}{part}")) for part in _PARTS}


def _copy_part(path: Path, target: Path, size: int) -> None:
    """Copy so many bytes of a part of the database: what stands in its place could be without an end.

    A link is not followed: SQLite would look for the other parts beside what it leads to. Raises ``OSError``, and
    ``WinnowError("INVALID_REQUEST")`` for what is not a regular file.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, a socket
            raise WinnowError("INVALID_REQUEST", _NOT_A_FILE.format(path=path)) from None
        raise
    with open(descriptor, "rb") as source, target.open("wb") as copy:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise WinnowError("INVALID_REQUEST", _NOT_A_FILE.format(path=path))
        while size > 0 and (block := source.read(min(size, _BLOCK_BYTES))):
            size -= len(block)
            copy.write(block)


def _end_journal(path: Path) -> None:
    """Append to the copy of a journal, so that SQLite does not look for the name of another one in it."""
    with path.open("ab") as file:
        file.write(_AFTER_NAME)


def _check_folder(folder: Path) -> None:
    """Raise ``WinnowError("NOT_FOUND")`` if this is no folder."""
    if not folder.is_dir():
        why = "is not a folder" if folder.exists() else "does not exist"
        raise WinnowError("NOT_FOUND", _NO_FOLDER.format(folder=folder, why=why))


def _stamp(path: Path) -> _Stamp:
    """When a file changed, in nanoseconds, and its size in bytes; None where there is none."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_mtime_ns, status.st_size


def database_stamp(data_folder: Path) -> str:
    """A text that changes when the database changes, while Zotero is open or closed; "" without a database."""
    stamps = [_stamp(data_folder / f"{DATABASE}{part}") for part in _PARTS]
    return " ".join(f"{stamp[0]}/{stamp[1]}" if stamp else "-" for stamp in stamps) if stamps[0] else ""


class _Tables:
    """The tables of a copy, which stays open without its name. Raises ``sqlite3.Error`` and ``WinnowError``.

    ``path`` is that of the original, for messages.
    """

    def __init__(self, copy: Path, path: Path) -> None:
        self._path = path
        self._left_chars = _MOST_TEXT_CHARS
        self._connection = sqlite3.connect(copy, isolation_level=None)
        try:
            self._columns = self._prepare()
        except (sqlite3.Error, WinnowError):
            self.close()
            raise

    def close(self) -> None:
        """Close the copy."""
        self._connection.close()

    def _prepare(self) -> Mapping[str, frozenset[str]]:
        """Apply the journal or the log to the copy, and let only SELECT through from then on."""
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE_BYTES)
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "journal_mode = DELETE"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        columns = self._check()
        self._connection.set_authorizer(_allow_reading)
        return columns

    def _check(self) -> Mapping[str, frozenset[str]]:
        """The columns of the tables. Raises ``WinnowError`` where a table is missing or is none."""
        named = self._connection.execute(
            "SELECT name, type = 'table' AND sql LIKE 'CREATE TABLE %' FROM sqlite_master"
        ).fetchmany(MOST_OBJECTS)
        kinds = {str(name): bool(is_table) for name, is_table in named if name in _REQUIRED | _OPTIONAL}
        if missing := sorted(_REQUIRED - kinds.keys()):
            raise WinnowError("INVALID_REQUEST", _MISSING_TABLES.format(path=self._path, names=", ".join(missing)))
        if others := sorted(name for name, is_table in kinds.items() if not is_table):
            raise WinnowError("INVALID_REQUEST", _NO_TABLES.format(path=self._path, names=", ".join(others)))
        return {
            name: frozenset(row[1] for row in self._connection.execute(f"PRAGMA table_info({name})"))
            for name in kinds
        }

    def libraries(self) -> list[tuple[LibraryName, int]]:
        """The libraries and their numbers."""
        found = []
        for number, kind, group, name in self._rows(_LIBRARIES):
            if kind == "user":
                found.append((LibraryName(USER_LIBRARY, USER_LIBRARY_NAME), number))
            elif type(group) is int:
                found.append((LibraryName(f"groups/{group}", one_line(str(name))), number))
        return found

    def read(self, name: LibraryName, library: int) -> LibraryObjects:
        """The objects of the library with this number, those in the trash left out."""
        self._left_chars = _MOST_TEXT_CHARS
        version = self._version_column("libraries")
        stated = next(self._rows(f"SELECT {version} FROM libraries WHERE libraryID = ?", library))
        return LibraryObjects(
            name, read_version(stated[0]), tuple(self._items(library)), self._collections(library)
        )

    def _rows(self, statement: str, *values: int, what: str = "rows", most: int = MOST_OBJECTS) -> Iterator[Any]:
        for count, row in enumerate(self._connection.execute(statement, values)):
            if count >= most:
                raise WinnowError("INVALID_REQUEST", _TOO_MANY.format(path=self._path, most=most, what=what))
            self._left_chars -= sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if self._left_chars < 0:
                message = _TOO_MUCH_TEXT.format(path=self._path, most=_MOST_TEXT_CHARS)
                raise WinnowError("INVALID_REQUEST", message)
            yield row

    def _version_column(self, table: str) -> str:
        """Zotero 10 counts changes that are not synchronized in a column of its own."""
        return f"{table}.{'clientVersion' if 'clientVersion' in self._columns[table] else 'version'}"

    def _collections(self, library: int) -> tuple[Any, ...]:
        trashed = (
            {id for (id,) in self._rows(_DELETED_COLLECTIONS)} if "deletedCollections" in self._columns else set()
        )
        rows = list(self._rows(_COLLECTIONS, library, what="collections"))
        keys = {id: key for id, key, _, _ in rows}
        return tuple(
            read_collection({"key": key, "data": {"name": name, "parentCollection": keys.get(parent)}})
            for id, key, name, parent in rows
            if id not in trashed
        )

    def _items(self, library: int) -> Iterator[ZoteroObject]:
        statement = _ITEMS.format(version=self._version_column("items"))
        rows = self._rows(statement, library, what="items")
        entries: dict[int, _Entry] = {
            id: {"key": key, "version": version, "data": {"itemType": kind}, "meta": {}}
            for id, key, kind, version in rows
        }
        parents: dict[int, int] = {}
        fillers: tuple[Callable[[int, dict[int, _Entry], dict[int, int]], None], ...] = (
            *(self._fill_fields, self._fill_lists, self._fill_notes, self._fill_attachments),
            self._fill_annotations,
        )
        for fill in fillers:
            fill(library, entries, parents)
        trashed = {id for (id,) in self._rows(_DELETED, library)}
        for id, entry in entries.items():
            if not _is_in_trash(id, parents, trashed):
                yield read_object(entry)

    def _parts(
        self, statement: str, library: int, entries: dict[int, _Entry]
    ) -> Iterator[tuple[_Entry, list[Any]]]:
        """The data of the item that each row belongs to, and the values of the row after it."""
        most = MOST_OBJECTS * _ROWS_PER_OBJECT
        for id, *values in self._rows(statement, library, what="parts of items", most=most):
            if entry := entries.get(id):
                yield entry, values

    def _fill_fields(self, library: int, entries: dict[int, _Entry], parents: dict[int, int]) -> None:
        for entry, (name, value) in self._parts(_FIELDS, library, entries):
            if name in _DATE_NAMES and isinstance(value, str) and (match := _DATE.match(value)):
                entry["meta"]["parsedDate"] = iso_date(match[0])
                value = value[match.end() :]
            elif name in _FURTHER_DATE_NAMES and isinstance(value, str) and (match := _DATE.match(value)):
                value = value[match.end() :] or iso_date(match[0])
            elif name == "accessDate" and isinstance(value, str):
                value = value.replace(" ", "T") + "Z" * (" " in value)  # as the API has it
            entry["data"][name] = value

    def _fill_lists(self, library: int, entries: dict[int, _Entry], parents: dict[int, int]) -> None:
        for entry, (given, family, mode, role) in self._parts(_CREATORS, library, entries):
            name = {"name": family} if mode == 1 else {"firstName": given, "lastName": family}
            entry["data"].setdefault("creators", []).append({**name, "creatorType": role})
        for entry, (tag,) in self._parts(_TAGS, library, entries):
            entry["data"].setdefault("tags", []).append({"tag": tag})
        for entry, (key,) in self._parts(_IN_COLLECTIONS, library, entries):
            entry["data"].setdefault("collections", []).append(key)

    def _fill_notes(self, library: int, entries: dict[int, _Entry], parents: dict[int, int]) -> None:
        for id, parent, note in self._rows(_NOTES, library):
            if entry := entries.get(id):
                entry["data"]["note"] = _unwrap(note)
                _set_parent(entry, id, parent, entries, parents)

    def _fill_attachments(self, library: int, entries: dict[int, _Entry], parents: dict[int, int]) -> None:
        for id, parent, mode, path in self._rows(_ATTACHMENTS, library):
            if entry := entries.get(id):
                known = type(mode) is int and 0 <= mode < len(_LINK_MODES)
                entry["data"]["linkMode"] = _LINK_MODES[mode] if known else ""
                entry["data"]["path"] = path.removeprefix(_STORED_PREFIX) if isinstance(path, str) else path
                _set_parent(entry, id, parent, entries, parents)

    def _fill_annotations(self, library: int, entries: dict[int, _Entry], parents: dict[int, int]) -> None:
        if "itemAnnotations" not in self._columns:
            return
        for id, parent, text, comment, color, order, position in self._rows(_ANNOTATIONS, library):
            if entry := entries.get(id):
                entry["data"] |= {"annotationText": text, "annotationComment": comment, "annotationColor": color}
                entry["data"] |= {"annotationSortIndex": order, "annotationPosition": position}
                _set_parent(entry, id, parent, entries, parents)


def _set_parent(entry: _Entry, id: int, parent: Any, entries: dict[int, _Entry], parents: dict[int, int]) -> None:
    if parent is not None:
        parents[id] = parent
        # A parent in another library is none of this one.
        entry["data"]["parentItem"] = entries[parent]["key"] if parent in entries else _NO_SUCH_KEY


# A key that no item has: the signs 0 and 1 are not among those of keys.
_NO_SUCH_KEY = "00000000"


def _unwrap(note: Any) -> Any:
    """The HTML of a note without the element around it, as the API has it."""
    if isinstance(note, str) and note.startswith(_NOTE_WRAPPER):
        return note.partition(">")[2].removesuffix(_NOTE_END)
    return note


def _is_in_trash(id: int, parents: Mapping[int, int], trashed: set[int]) -> bool:
    """Whether an item or one above it is in the trash."""
    seen: set[int] = set()
    while id not in seen:
        if id in trashed:
            return True
        seen.add(id)
        id = parents.get(id, id)
    return False


_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ))


def _allow_reading(
    action: int, first: str | None, second: str | None, database: str | None, by: str | None
) -> int:
    """Let SELECT statements read columns, and nothing that a view or trigger asks for."""
    return sqlite3.SQLITE_OK if action in _READING and by is None else sqlite3.SQLITE_DENY
