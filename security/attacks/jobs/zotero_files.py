# surface: held
# A library of Zotero that leads to a private file: as a linked file, by the name of a stored one, by links in its storage.
import os
import sqlite3
from contextlib import closing

from winnow.security.job_server import SERVER, call_all, has_secret, make_folders
from winnow.security.surface import winnow
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

TABLES = {
    "libraries": "libraryID, type, version", "groups": "groupID, libraryID, name",
    "items": "itemID, key, itemTypeID, libraryID, version", "itemTypes": "itemTypeID, typeName",
    "itemData": "itemID, fieldID, valueID", "itemDataValues": "valueID, value", "fields": "fieldID, fieldName",
    "creators": "creatorID, firstName, lastName, fieldMode",
    "itemCreators": "itemID, creatorID, creatorTypeID, orderIndex",
    "creatorTypes": "creatorTypeID, creatorType", "tags": "tagID, name", "itemTags": "itemID, tagID",
    "collections": "collectionID, collectionName, parentCollectionID, libraryID, key",
    "collectionItems": "collectionID, itemID", "deletedItems": "itemID", "itemNotes": "itemID, parentItemID, note",
    "itemAttachments": "itemID, parentItemID, linkMode, path",
}
STORED, LINKED = 0, 2


def make_library(private):
    data = private.parent / "Zotero"  # the commands have the working folder as their home
    os.environ["HOME"] = str(data.parent)
    for number in range(1, 4):
        (data / "storage" / f"AAAAAAA{number + 1}").mkdir(parents=True)
    (data / "storage" / "AAAAAAA4" / "note.md").symlink_to(private / "note.md")
    (data / "storage" / "AAAAAAA5").symlink_to(private)
    files = [
        (LINKED, f"{private}/note.md"), (STORED, "storage:../../../private/note.md"),
        (STORED, "storage:note.md"), (STORED, "storage:note.md"),
    ]
    with closing(sqlite3.connect(data / "zotero.sqlite")) as database, database:
        for name, columns in TABLES.items():
            database.execute(f"CREATE TABLE {name} ({columns})")
        database.execute("INSERT INTO libraries VALUES (1, 'user', 5)")
        database.execute("INSERT INTO itemTypes VALUES (1, 'attachment')")
        for number, (mode, path) in enumerate(files, 1):
            database.execute("INSERT INTO items VALUES (?, ?, 1, 1, 5)", (number, f"AAAAAAA{number + 1}"))
            database.execute("INSERT INTO itemAttachments VALUES (?, NULL, ?, ?)", (number, mode, path))


def control():
    _, private = make_folders()
    make_library(private)
    done = winnow("zotero", "ingest", "--no-api", "--store", "store", "--project", "p")
    return done.returncode == 0 and has_secret()


def surface():
    allowed, private = make_folders()
    make_library(private)
    settings = load_settings(**SERVER, ingest_roots=f"zotero,{allowed}")
    server = open_application(settings, wait_for_model=False, starts_engine=True)
    (answer,) = call_all(server, [("ingest_from_source", {"project": "p", "source": "zotero"})])
    assert answer["state"] == "done", answer
    return has_secret()
