"""Writes a synthetic Zotero as its database: the tables and columns of Zotero's schema that hold items.

``schema`` 129 is that of Zotero 10, whose objects have a version for changes that are not synchronized; 125 is
that of Zotero 9, which has none.
"""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.zotero_library import DATE_FIELDS, Entry, Library, Zotero

NAME = "zotero.sqlite"
LINK_MODES = ("imported_file", "imported_url", "linked_file", "linked_url", "embedded_image")
ANNOTATION_TYPES = ("", "highlight", "note", "image", "ink", "underline", "text")
_CLIENT_VERSION = ", clientVersion INT NOT NULL DEFAULT 0"
_TABLES = {
    "version": "schema TEXT PRIMARY KEY, version INT NOT NULL",
    "settings": "setting TEXT, key TEXT, value, PRIMARY KEY (setting, key)",
    "libraries": "libraryID INTEGER PRIMARY KEY, type TEXT NOT NULL, editable INT, filesEditable INT, "
    "version INT NOT NULL DEFAULT 0{client}",
    "groups": "groupID INTEGER PRIMARY KEY, libraryID INT NOT NULL UNIQUE, name TEXT, "
    "description TEXT, version INT",
    "feeds": "libraryID INTEGER PRIMARY KEY, name TEXT, url TEXT",
    "itemTypes": "itemTypeID INTEGER PRIMARY KEY, typeName TEXT, templateItemTypeID INT, display INT DEFAULT 1",
    "fields": "fieldID INTEGER PRIMARY KEY, fieldName TEXT, fieldFormatID INT",
    "creatorTypes": "creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT",
    "items": "itemID INTEGER PRIMARY KEY, itemTypeID INT NOT NULL, dateAdded TIMESTAMP, dateModified TIMESTAMP, "
    "clientDateModified TIMESTAMP, libraryID INT NOT NULL, key TEXT NOT NULL, "
    "version INT NOT NULL DEFAULT 0{client}, synced INT NOT NULL DEFAULT 0, UNIQUE (libraryID, key)",
    "itemDataValues": "valueID INTEGER PRIMARY KEY, value UNIQUE",
    "itemData": "itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID)",
    "itemNotes": "itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT, title TEXT",
    "itemAttachments": "itemID INTEGER PRIMARY KEY, parentItemID INT, linkMode INT, contentType TEXT, "
    "charsetID INT, path TEXT, syncState INT DEFAULT 0, storageModTime INT, storageHash TEXT",
    "itemAnnotations": "itemID INTEGER PRIMARY KEY, parentItemID INT NOT NULL, type INTEGER NOT NULL, "
    "authorName TEXT, text TEXT, comment TEXT, color TEXT, pageLabel TEXT, sortIndex TEXT, position TEXT, "
    "isExternal INT",
    "tags": "tagID INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE",
    "itemTags": "itemID INT NOT NULL, tagID INT NOT NULL, type INT NOT NULL, PRIMARY KEY (itemID, tagID)",
    "creators": "creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT, "
    "UNIQUE (lastName, firstName, fieldMode)",
    "itemCreators": "itemID INT NOT NULL, creatorID INT NOT NULL, creatorTypeID INT NOT NULL, "
    "orderIndex INT NOT NULL, PRIMARY KEY (itemID, creatorID, creatorTypeID, orderIndex)",
    "collections": "collectionID INTEGER PRIMARY KEY, collectionName TEXT NOT NULL, parentCollectionID INT, "
    "clientDateModified TIMESTAMP, libraryID INT NOT NULL, key TEXT NOT NULL, "
    "version INT NOT NULL DEFAULT 0{client}, synced INT NOT NULL DEFAULT 0",
    "collectionItems": "collectionID INT NOT NULL, itemID INT NOT NULL, orderIndex INT NOT NULL DEFAULT 0, "
    "PRIMARY KEY (collectionID, itemID)",
    "deletedItems": "itemID INTEGER PRIMARY KEY, dateDeleted",
    "deletedCollections": "collectionID INTEGER PRIMARY KEY, dateDeleted",
}
_NOT_FIELDS = frozenset(
    ("itemType", "creators", "tags", "collections", "parentItem", "note", "linkMode", "contentType", "filename")
) | {"path", "dateModified"}


def write_database(zotero: Zotero, schema: int = 129) -> Path:
    """Write the database into the data folder, in place of an earlier one."""
    path = zotero.folder / NAME
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        writer = _Writer(connection, schema)
        for number, library in enumerate(zotero.libraries, 1):
            writer.write_library(number, library)
        writer.write_feed(len(zotero.libraries) + 1)
        writer.insert("settings", setting="localAPI", key="serverID", value=zotero.server)
        connection.commit()
    return path


class _Writer:
    """Numbers types, fields, values, tags and creators as they occur."""

    def __init__(self, connection: sqlite3.Connection, schema: int) -> None:
        self.connection = connection
        self.has_client_version = schema >= 129
        self.numbers: dict[tuple[str, Any], int] = {}
        self.ids = itertools.count(1)
        client = _CLIENT_VERSION if self.has_client_version else ""
        for name, columns in _TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({columns.format(client=client)})")
        self.insert("version", schema="userdata", version=schema)

    def insert(self, table: str, **values: Any) -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))

    def number(self, table: str, column: str, **values: Any) -> int:
        """The id of a row with these values, which is inserted where there is none."""
        key = (table, tuple(values.items()))
        if key not in self.numbers:
            self.numbers[key] = next(self.ids)
            self.insert(table, **{column: self.numbers[key]}, **values)
        return self.numbers[key]

    def versions(self, version: int) -> dict[str, int]:
        """The columns of versions: what Zotero 9 has is that of the last synchronization, here always 0."""
        return {"version": 0, "clientVersion": version} if self.has_client_version else {"version": 0}

    def write_library(self, number: int, library: Library) -> None:
        kind = "user" if library.id == "library" else "group"
        self.insert("libraries", libraryID=number, type=kind, editable=1, **self.versions(library.version))
        if kind == "group":
            group = int(library.id.partition("/")[2])
            self.insert("groups", groupID=group, libraryID=number, name=library.name, description="", version=7)
        collections = {key: next(self.ids) for key in library.collections}
        for key, entry in library.collections.items():
            parent = collections.get(entry.data["parentCollection"] or "")
            self.insert(
                "collections",
                collectionID=collections[key],
                collectionName=entry.data["name"],
                key=key,
                **{"parentCollectionID": parent, "libraryID": number, **self.versions(entry.version)},
            )
            if entry.in_trash:
                self.insert("deletedCollections", collectionID=collections[key])
        items = {key: next(self.ids) for key in library.items}
        for key, entry in library.items.items():
            self.write_item(items[key], number, entry, items.get(entry.data.get("parentItem") or ""))
            for place, collection in enumerate(entry.data.get("collections", ())):
                self.insert(
                    "collectionItems", collectionID=collections[collection], itemID=items[key], orderIndex=place
                )

    def write_feed(self, number: int) -> None:
        """A library of news, which is no library of the user."""
        self.insert("libraries", libraryID=number, type="feed", editable=0)
        self.insert("feeds", libraryID=number, name="News", url="https://example.org/feed")
        kind = self.number("itemTypes", "itemTypeID", typeName="journalArticle")
        self.insert("items", itemID=next(self.ids), itemTypeID=kind, libraryID=number, key="FEEDITEM")

    def write_item(self, id: int, library: int, entry: Entry, parent: int | None) -> None:
        data = entry.data
        kind = self.number("itemTypes", "itemTypeID", typeName=data["itemType"])
        self.insert(
            "items", itemID=id, itemTypeID=kind, libraryID=library, key=entry.key, **self.versions(entry.version)
        )
        if entry.in_trash:
            self.insert("deletedItems", itemID=id)
        self._write_fields(id, entry)
        self._write_lists(id, data)
        match data["itemType"]:
            case "note":
                note = f'<div class="zotero-note znv1">{data["note"]}</div>'
                self.insert("itemNotes", itemID=id, parentItemID=parent, note=note, title="a title of its own")
            case "attachment":
                self._write_attachment(id, data, parent)
            case "annotation":
                self._write_annotation(id, data, parent)

    def _write_fields(self, id: int, entry: Entry) -> None:
        date = DATE_FIELDS.get(entry.data["itemType"], "date")
        for name, value in entry.data.items():
            if name in _NOT_FIELDS or name.startswith("annotation"):
                continue
            field = self.number("fields", "fieldID", fieldName=name)
            text = f"{entry.parsed} {value}" if name == date and entry.parsed else value
            self.insert(
                "itemData", itemID=id, fieldID=field, valueID=self.number("itemDataValues", "valueID", value=text)
            )

    def _write_lists(self, id: int, data: dict[str, Any]) -> None:
        for tag in data.get("tags", ()):
            self.insert("itemTags", itemID=id, tagID=self.number("tags", "tagID", name=tag["tag"]), type=0)
        for place, each in enumerate(data.get("creators", ())):
            role = self.number("creatorTypes", "creatorTypeID", creatorType=each["creatorType"])
            creator = self.number(
                "creators",
                "creatorID",
                firstName=each.get("firstName", ""),
                lastName=each.get("name") or each["lastName"],
                fieldMode=int("name" in each),
            )
            self.insert("itemCreators", itemID=id, creatorID=creator, creatorTypeID=role, orderIndex=place)

    def _write_attachment(self, id: int, data: dict[str, Any], parent: int | None) -> None:
        path = data.get("path") or (f"storage:{data['filename']}" if "filename" in data else None)
        mode = LINK_MODES.index(data["linkMode"])
        kind = data.get("contentType")
        self.insert("itemAttachments", itemID=id, parentItemID=parent, linkMode=mode, contentType=kind, path=path)

    def _write_annotation(self, id: int, data: dict[str, Any], parent: int | None) -> None:
        self.insert(
            "itemAnnotations",
            itemID=id,
            parentItemID=parent,
            type=ANNOTATION_TYPES.index(data["annotationType"]),
            text=data.get("annotationText"),
            comment=data["annotationComment"],
            color=data["annotationColor"],
            pageLabel=data["annotationPageLabel"],
            sortIndex=data["annotationSortIndex"],
            position=data["annotationPosition"],
            isExternal=0,
        )
