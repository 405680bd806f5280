"""Databases, answers and paths that Zotero would not write are refused with a reason, or cost one object."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.zotero_api import ZoteroApi, serve_api
from tests.zotero_database import write_database
from tests.zotero_library import Zotero, make_zotero
from winnow.server.bibliographies.zotero.database import DatabaseTransport, database_stamp
from winnow.server.bibliographies.zotero.files import FilePlaces, find_file
from winnow.server.bibliographies.zotero.local_api import LocalApi
from winnow.server.bibliographies.zotero.objects import (
    LibraryName,
    LibraryObjects,
    ZoteroObject,
    pack,
    read_object,
    unpack,
)
from winnow.server.bibliographies.zotero.works import make_library
from winnow.server.errors import WinnowError

OWN = LibraryName("library", "My Library")


@pytest.fixture(scope="module")
def zotero(tmp_path_factory: pytest.TempPathFactory) -> Zotero:
    return make_zotero(tmp_path_factory.mktemp("zotero"), works=12)


@pytest.fixture(scope="module")
def whole(zotero: Zotero) -> bytes:
    return write_database(zotero).read_bytes()


@pytest.fixture
def database(whole: bytes, tmp_path: Path) -> Path:
    """A database of its own to damage."""
    path = tmp_path / "zotero.sqlite"
    path.write_bytes(whole)
    return path


def read(path: Path) -> LibraryObjects:
    return DatabaseTransport(path.parent).read(OWN)


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


# --- databases

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "no database": lambda whole: b"not a database " * 4_000,
    "truncated": lambda whole: whole[: len(whole) // 2],
    "overwritten": lambda whole: whole[:8_192] + os.urandom(len(whole) - 8_192),
    "only a header": lambda whole: whole[:100],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_database_is_refused_with_its_path(
    database: Path, whole: bytes, damage: Callable[[bytes], bytes]
) -> None:
    database.write_bytes(damage(whole))
    with pytest.raises(WinnowError, match=r"zotero\.sqlite") as caught:
        read(database)
    assert caught.value.reason == "INVALID_REQUEST"


@pytest.mark.parametrize("part", ["", "-wal", "-journal"])
@pytest.mark.parametrize("target", ["a device", "a named pipe", "a file"])
def test_a_part_of_the_database_that_is_no_file_itself_is_not_copied(
    database: Path, tmp_path: Path, part: str, target: str
) -> None:
    path, copy = Path(f"{database}{part}"), tmp_path / "copy"
    copy.write_bytes(database.read_bytes())
    path.unlink(missing_ok=True)
    os.mkfifo(tmp_path / "pipe")
    path.symlink_to({"a device": Path("/dev/zero"), "a file": copy, "a named pipe": tmp_path / "pipe"}[target])
    with pytest.raises(WinnowError, match=f"zotero.sqlite{part} is not a regular file") as caught:
        read(database)
    assert caught.value.reason == "INVALID_REQUEST"


def test_a_named_pipe_in_place_of_the_log_is_refused_without_waiting(database: Path) -> None:
    os.mkfifo(f"{database}-wal")
    with pytest.raises(WinnowError, match=r"zotero\.sqlite-wal is not a regular file"):
        read(database)


def test_a_folder_without_a_database_is_refused_with_its_option(tmp_path: Path) -> None:
    with pytest.raises(WinnowError, match="--data-folder") as caught:
        DatabaseTransport(tmp_path).libraries()
    assert caught.value.reason == "NOT_FOUND"


def test_missing_tables_are_named(database: Path) -> None:
    execute(database, "DROP TABLE itemTags", "DROP TABLE groups")
    with pytest.raises(WinnowError, match="lacks the tables groups, itemTags"):
        read(database)


OTHERS = {
    "a view": "CREATE VIEW items AS SELECT * FROM real",
    "a view with a function": "CREATE VIEW items AS SELECT itemID, load_extension('x') AS key FROM real",
    "an endless view": "CREATE VIEW items AS WITH RECURSIVE n(itemID) AS"
    " (SELECT 1 UNION ALL SELECT itemID + 1 FROM n) SELECT * FROM n",
    "a virtual table": "CREATE VIRTUAL TABLE items USING fts5(itemID, key)",
}


@pytest.mark.parametrize("statement", OTHERS.values(), ids=OTHERS)
def test_what_stands_in_place_of_a_table_is_not_read(database: Path, statement: str) -> None:
    execute(database, "ALTER TABLE items RENAME TO real", statement)
    with pytest.raises(WinnowError, match="items must be tables"):
        read(database)


def test_triggers_and_generated_columns_run_nothing(database: Path) -> None:
    before = read(database)
    execute(
        database,
        "CREATE TRIGGER evil AFTER INSERT ON items BEGIN DELETE FROM items; END",
        "ALTER TABLE items ADD COLUMN extra AS (zeroblob(900000000)) VIRTUAL",
    )
    assert read(database) == before


def test_a_value_that_many_items_share_does_not_fill_the_memory(database: Path) -> None:
    """Each of them would get a copy of its own: 20 MiB become many gigabytes."""
    execute(
        database,
        "UPDATE itemData SET valueID = (SELECT min(valueID) FROM itemDataValues)",
        "UPDATE itemDataValues SET value = hex(zeroblob(10485760)) "
        "WHERE valueID = (SELECT min(valueID) FROM itemDataValues)",
    )
    with pytest.raises(WinnowError, match="more than 536,870,912 characters in a library") as caught:
        read(database)
    assert caught.value.reason == "INVALID_REQUEST"


def test_other_versions_of_the_schema_are_read(database: Path) -> None:
    """Zotero 5 has no annotations and no collections in the trash; later ones may have more columns."""
    execute(database, "DROP TABLE deletedCollections", "DROP TABLE itemAnnotations")
    execute(database, "ALTER TABLE items ADD COLUMN later TEXT")
    assert {item.item_type for item in read(database).items} >= {"attachment", "note", "annotation"}


def test_collections_in_a_circle_have_finite_names(database: Path) -> None:
    execute(
        database,
        "UPDATE collections SET parentCollectionID = (SELECT MIN(collectionID) + 1 FROM collections)"
        " WHERE collectionID = (SELECT MIN(collectionID) FROM collections)",
    )
    library = make_library(read(database), FilePlaces(database.parent))
    names = {name for work in library.works for name in work.item.collections}
    assert {name.count("/") for name in names} <= {0, 1, 2, 3, 4}
    assert any("Thesis" in name for name in names)


def test_parents_in_a_circle_are_flaws_and_end(database: Path) -> None:
    execute(database, "UPDATE itemAttachments SET parentItemID = itemID")
    library = make_library(read(database), FilePlaces(database.parent))
    assert library.works
    assert {flaw.reason.partition(" ")[0] for flaw in library.flaws} == {"its"}
    assert not any(file for work in library.works for file in work.files)


WRONG_VALUES = {
    "a title in bytes": ("UPDATE itemDataValues SET value = x'00ff' WHERE value LIKE '%Work 3 on%'", 1),
    "a note in bytes": ("UPDATE itemNotes SET note = x'00ff' WHERE note LIKE '%lone note%'", 1),
    "a path in bytes": ("UPDATE itemAttachments SET path = x'00ff' WHERE path LIKE '%lone.pdf'", 1),
    "an unknown link mode": ("UPDATE itemAttachments SET linkMode = 'x' WHERE path LIKE '%lone.pdf'", 0),
    "text that is not Unicode": ("UPDATE itemNotes SET note = CAST(x'3c703eff' AS TEXT)", 0),
}


@pytest.mark.parametrize(("statement", "flaws"), WRONG_VALUES.values(), ids=WRONG_VALUES)
def test_a_value_of_the_wrong_type_costs_its_object_only(database: Path, statement: str, flaws: int) -> None:
    before = read(database)
    execute(database, statement)
    after = read(database)
    assert len(after.items) == len(before.items)
    assert sum(bool(item.flaw) for item in after.items) == flaws
    assert len(make_library(after, FilePlaces(database.parent)).flaws) >= flaws


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE items SET key = '../../etc'",
        "UPDATE items SET key = x'00'",
        "UPDATE libraries SET clientVersion = 'x'",
    ],
)
def test_keys_and_versions_of_the_wrong_form_refuse_the_database(database: Path, statement: str) -> None:
    execute(database, "CREATE TABLE copied AS SELECT * FROM items WHERE libraryID = 1 LIMIT 1")
    execute(database, "DELETE FROM items", "INSERT INTO items SELECT * FROM copied", statement)
    with pytest.raises(WinnowError, match="damaged"):
        read(database)


def test_the_original_is_not_touched_and_a_lock_on_it_does_not_matter(database: Path, whole: bytes) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as zotero:
        zotero.execute("PRAGMA locking_mode = EXCLUSIVE")
        zotero.execute("BEGIN EXCLUSIVE")
        assert read(database).items
        zotero.execute("ROLLBACK")
    assert database.read_bytes() == whole
    assert os.listdir(database.parent) == [database.name]


def test_changes_in_the_write_ahead_log_are_read(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as zotero:
        zotero.execute("PRAGMA journal_mode = WAL")
        zotero.execute("PRAGMA wal_autocheckpoint = 0")
        before = database_stamp(database.parent)
        zotero.execute("UPDATE itemDataValues SET value = 'From the log' WHERE value LIKE 'A lone file'")
        assert "From the log" in {item.fields.get("title") for item in read(database).items}
        assert database_stamp(database.parent) != before


def test_a_transaction_that_was_cut_off_is_rolled_back_in_the_copy(database: Path, tmp_path: Path) -> None:
    """As after a crash of Zotero: pages are written, and the journal with the former ones is beside them."""
    before = read(database)
    crashed = tmp_path / "crashed" / "zotero.sqlite"
    crashed.parent.mkdir()
    with closing(sqlite3.connect(database, isolation_level=None)) as zotero:
        zotero.execute("PRAGMA cache_size = 1")
        zotero.execute("PRAGMA cache_spill = 1")
        zotero.execute("BEGIN IMMEDIATE")
        zotero.execute("UPDATE itemDataValues SET value = value || ' torn ' || hex(randomblob(600))")
        for part in ("", "-journal"):
            crashed.with_name(f"zotero.sqlite{part}").write_bytes(Path(f"{database}{part}").read_bytes())
        zotero.execute("ROLLBACK")
    assert b" torn " in crashed.read_bytes()
    assert read(crashed) == before


def test_a_file_that_a_journal_names_at_its_end_is_not_deleted(database: Path, tmp_path: Path) -> None:
    """SQLite takes it for the journal of a transaction of several databases, and deletes it after the rollback."""
    before, pages = read(database), database.stat().st_size // 4096
    (kept := tmp_path / "kept").write_text("the only copy", "utf-8")
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(kept)
    head = (magic + struct.pack(">5I", 0, 0, pages, 512, 4096)).ljust(512, b"\0")
    named = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    Path(f"{database}-journal").write_bytes(head + named)
    assert read(database) == before
    assert kept.exists()


# --- answers


@pytest.fixture
def api(zotero: Zotero) -> Iterator[ZoteroApi]:
    with serve_api(zotero) as served:
        yield served


@pytest.fixture
def door(api: ZoteroApi) -> Iterator[LocalApi]:
    client = LocalApi(api.url, answer_bytes=1_000_000)
    yield client
    client.close()


def answer(value: Any, total: int | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return (
        200,
        {"Total-Results": str(len(value) if total is None else total), **headers},
        json.dumps(value).encode(),
    )


ENTRY = {"key": "ABCD2345", "version": 1, "data": {"itemType": "book"}}
# The answer to requests for items, and the reason why it is refused.
ANSWERS: dict[str, tuple[Any, str]] = {
    "not JSON": ((200, {"Total-Results": "1"}, b"<html>"), "not from Zotero"),
    "cut off": ((200, {"Total-Results": "1"}, b'{"ABCD2345": 1'), "not from Zotero"),
    "nothing": ((200, {"Total-Results": "0"}, b""), "not from Zotero"),
    "deeply nested": ((200, {"Total-Results": "1"}, b"[" * 200_000), "not from Zotero"),
    "another type": (answer(["ABCD2345"]), "list of versions"),
    "keys that are paths": (answer({"../../x": 1}), "list of versions"),
    "negative versions": (answer({"ABCD2345": -1}), "a version must be"),
    "versions as text": (answer({"ABCD2345": "1"}), "a version must be"),
    "a wrong count": (answer({"ABCD2345": 1}, 2), "1 versions of 2"),
    "a count that is no number": ((200, {"Total-Results": "many"}, b"{}"), "not from Zotero"),
    "without end": ((200, {"Total-Results": "1"}, b" " * 2_000_000), "without end"),
    "compressed": ((200, {"Total-Results": "1", "Content-Encoding": "gzip"}, b"\x1f\x8b"), "not from Zotero"),
    "a redirection": ((302, {"Location": "http://192.0.2.1/api"}, b""), "another address"),
    "a redirection to a file": ((302, {"Location": "file:///etc/passwd"}, b""), "another address"),
    "a failure": ((500, {}, b"oops"), "answers 500"),
    "not there": ((404, {}, b"Not found"), "no library"),
    "switched off": ((403, {}, b"Local API is not enabled"), "allow other applications"),
}  # fmt: skip


@pytest.mark.parametrize(("answered", "reason"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_not_zoteros_is_refused(
    api: ZoteroApi, door: LocalApi, answered: Any, reason: str
) -> None:
    api.answers["/api/users/0/items"] = answered
    with pytest.raises(WinnowError, match=reason) as caught:
        door.read(OWN)
    assert caught.value.reason in ("SOURCE_UNAVAILABLE", "NOT_FOUND")


PAGES: dict[str, tuple[Any, str]] = {
    "an object": (answer({"a": 1}), "a list is expected"),
    "entries without keys": (answer([{"data": {}}]), "without a key"),
    "texts as entries": (answer(["x"]), "without a key"),
    "data that is a list": (answer([{**ENTRY, "data": []}, {**ENTRY, "data": [1]}]), "data must be an object"),
    "fewer than stated": (answer([ENTRY], 2), "1 objects from 0 on, of 2"),
    "more than there can be": (answer([ENTRY] * 200, 10**9), "of 1,000,000,000"),
}


@pytest.mark.parametrize(("answered", "reason"), PAGES.values(), ids=PAGES)
def test_a_page_that_is_not_zoteros_is_refused(api: ZoteroApi, door: LocalApi, answered: Any, reason: str) -> None:
    def after_the_list(path: str) -> None:
        if "limit=" in path:
            api.answers["/api/users/0/items"] = answered

    api.before = after_the_list
    with pytest.raises(WinnowError, match=reason):
        door.read(OWN)


@pytest.mark.parametrize("groups", [[{"id": "1"}], [{"id": 0}], [{"id": True}], ["x"], [{"id": 5, "data": "x"}]])
def test_groups_of_the_wrong_form_are_refused(api: ZoteroApi, door: LocalApi, groups: list[Any]) -> None:
    api.answers["/api/users/0/groups"] = answer(groups)
    with pytest.raises(WinnowError, match="not from Zotero"):
        door.libraries()


@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.1:23119/api",
        "https://127.0.0.1:23119/api",
        "http://user@127.0.0.1:23119/api",
        "http://127.0.0.1.example.org/api",
        "http://[::2]/api",
        "file:///etc",
        "",
    ],
)
def test_only_addresses_of_this_machine_are_asked(url: str) -> None:
    with pytest.raises(WinnowError, match="not an address of Zotero's local API"):
        LocalApi(url)


def test_a_port_without_a_server_says_what_to_do(api: ZoteroApi) -> None:
    with pytest.raises(WinnowError, match="--no-api") as caught:
        LocalApi("http://127.0.0.1:1/api").libraries()
    assert caught.value.retryable


@pytest.mark.parametrize(
    "location",
    [
        "http://192.0.2.1/storage/x",
        "file://192.0.2.1/share/storage/x",
        "file:///etc/passwd",
        "file:relative",
        "",
        "::",
    ],
)
def test_a_redirection_to_anything_but_a_stored_file_names_no_folder(
    api: ZoteroApi, door: LocalApi, zotero: Zotero, location: str
) -> None:
    for entry in zotero.library().of_type("attachment"):
        api.answers[f"/api/users/0/items/{entry.key}/file"] = (302, {"Location": location}, b"")
    assert door.find_places() is None


WRONG_DATA: dict[str, dict[str, Any]] = {
    "a title that is a list": {"title": ["x"]},
    "a title that is an object": {"title": {"a": 1}},
    "creators as text": {"creators": "Volta"},
    "creators as texts": {"creators": ["Volta"]},
    "tags as texts": {"tags": ["law"]},
    "collections as an object": {"collections": {"a": 1}},
    "a parent that is a path": {"parentItem": "../../x"},
    "a parent that is a number": {"parentItem": 5},
}


@pytest.mark.parametrize("data", WRONG_DATA.values(), ids=WRONG_DATA)
def test_data_of_the_wrong_type_is_a_flaw_of_its_object(data: dict[str, Any]) -> None:
    read = read_object({**ENTRY, "data": {"itemType": "book", **data}})
    assert read == ZoteroObject("ABCD2345", 1, flaw=read.flaw)
    assert next(iter(data)) in read.flaw


def test_texts_have_limits_and_only_printable_characters() -> None:
    long = "x" * 3_000_000
    data = {
        "itemType": "annotation",
        "title": long,
        "note": long,
        "annotationText": f"a\x00\x1b[31m{long}",
        "annotationPosition": "[" * 99_999,
        "tags": [{"tag": long}] * 5_000,
        "creators": [{"lastName": long, "creatorType": long}] * 5_000,
        "collections": ["ABCD2345"] * 5_000,
    }
    read = read_object({**ENTRY, "data": data})
    assert not read.flaw
    assert (len(read.fields["title"]), len(read.note), len(read.tags)) == (20_000, 1_000_000, 1_000)
    assert (len(read.creators), len(read.creators[0].family), len(read.collections)) == (1_000, 1_000, 1_000)
    assert read.mark.text.startswith("axx")
    assert read.mark.page == 0


def test_half_a_character_in_a_text_can_be_kept() -> None:
    halves = json.loads(
        r'{"itemType": "book", "title": "a\ud800b", "tags": [{"tag": "\udfff"}], "note": "\ud800"}'
    )
    item = read_object({**ENTRY, "data": halves})
    assert item.fields == {"title": "a?b"}
    objects = LibraryObjects(OWN, 1, (item,))
    assert unpack(pack(objects).encode()) == objects


_KEYS = st.sampled_from(["AAAAAAA1", "AAAAAAA2", "AAAAAAA3", "", "x", None, 5, False])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | _KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tag", "lastName", "x"]), inner),
    max_leaves=6,
)
_DATA = st.fixed_dictionaries(
    {"itemType": st.sampled_from(["book", "case", "note", "attachment", "annotation", "new", 5])},
    optional={
        **dict.fromkeys(("parentItem", "collections"), _KEYS | st.lists(_KEYS)),
        "linkMode": st.sampled_from(["imported_file", "linked_file", "linked_url", "embedded_image", "", 7]),
        **dict.fromkeys(("title", "date", "creators", "tags", "filename", "path", "note", "extra", "DOI"), _JSON),
        **dict.fromkeys(("citationKey", "annotationText", "annotationPosition", "annotationSortIndex"), _JSON),
    },
)


@given(st.lists(_DATA, max_size=3), _JSON)
@settings(max_examples=150, deadline=None)
def test_no_data_make_a_library_fail_and_every_entry_that_can_be_read_is_a_work(
    data: list[Any], meta: Any
) -> None:
    entries = [
        {"key": f"AAAAAAA{number}", "version": 1, "data": each, "meta": meta if isinstance(meta, dict) else {}}
        for number, each in enumerate(data, 1)
    ]
    objects = LibraryObjects(OWN, 1, tuple(map(read_object, entries)))
    library = make_library(objects, FilePlaces(Path("/nowhere"), Path("/nowhere")))
    assert unpack(pack(objects).encode()) == objects
    read_types = ("book", "case", "new")
    read = {item.key for item in objects.items if item.item_type in read_types and not item.parent}
    assert {work.item.key for work in library.works} >= read
    assert {flaw.name for flaw in library.flaws} >= {item.key for item in objects.items if item.flaw}


# --- paths

STORED = {
    "../../../secret.pdf": "its path is not that of a file in Zotero",
    "/etc/passwd": "its path is not that of a file in Zotero",
    "..": "its path is not that of a file in Zotero",
    ".hidden.pdf": "its path is not that of a file in Zotero",
    "..\\..\\secret.pdf": "its path is not that of a file in Zotero",
    "a\0.pdf": "its path is not that of a file in Zotero",
    "a\n.pdf": "its path is not that of a file in Zotero",
    "x" * 5_000: "its path is not that of a file in Zotero",
    "x" * 300: "not downloaded",
    "\ud800.pdf": "not downloaded",
    "": "it has no file",
    "absent.pdf": "not downloaded",
    "folder.pdf": "not a regular file",
    "link.pdf": "not a regular file",
    "pipe.pdf": "not a regular file",
    "paper.PDF": "",
}
LINKED = {
    "papers/linked.pdf": "its path is not that of a file in Zotero",
    "attachments:linked.pdf": "",
    "attachments:../secret.pdf": "its path is not that of a file in Zotero",
    "attachments:": "its path is not that of a file in Zotero",
    "attachments:.hidden/linked.pdf": "in a hidden folder",
    "attachments:to-hidden/linked.pdf": "in a hidden folder",
    "attachments:absent.pdf": "not found",
    "/": "its path is not that of a file in Zotero",
    "/dev/null": "not a regular file",
    "/proc/self/../self/environ": "its path is not that of a file in Zotero",
    "C:\\papers\\linked.pdf": "a path of another system",
    "\\\\server\\papers\\linked.pdf": "a path of another system",
    "{base}/linked.pdf": "",
    "{base}/.hidden/linked.pdf": "in a hidden folder",
    "{base}/link.pdf": "not a regular file",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> FilePlaces:
    folder = tmp_path_factory.mktemp("places")
    stored, linked = folder / "storage" / "ABCD2345", folder / "papers"
    hidden = linked / ".hidden"
    for each in (stored / "folder.pdf", hidden):
        each.mkdir(parents=True)
    for file in (stored / "paper.PDF", linked / "linked.pdf", hidden / "linked.pdf"):
        file.write_bytes(b"x")
    (stored / "link.pdf").symlink_to(linked / "linked.pdf")
    (linked / "link.pdf").symlink_to(linked / "linked.pdf")
    (linked / "to-hidden").symlink_to(hidden)
    os.mkfifo(stored / "pipe.pdf")
    return FilePlaces(folder, linked)


@pytest.mark.parametrize(("stated", "reason"), STORED.items(), ids=lambda value: repr(value)[:40])
def test_a_stored_file_is_directly_in_its_folder(places: FilePlaces, stated: str, reason: str) -> None:
    attachment = ZoteroObject("ABCD2345", 1, "attachment", link_mode="imported_file", path=stated)
    path, missing = find_file(attachment, places, is_group=True)
    assert missing == reason
    assert path == (None if reason else places.data / "storage" / "ABCD2345" / stated)


def test_the_storage_may_be_a_link_and_a_folder_in_it_is_none(places: FilePlaces, tmp_path: Path) -> None:
    (tmp_path / "storage").symlink_to(places.data / "storage")
    attachment = ZoteroObject("ABCD2345", 1, "attachment", link_mode="imported_file", path="paper.PDF")
    path, _ = find_file(attachment, FilePlaces(tmp_path), is_group=True)
    assert path == places.data / "storage" / "ABCD2345" / "paper.PDF"
    (places.data / "storage" / "LINK2345").symlink_to(places.data / "storage" / "ABCD2345")
    attachment = ZoteroObject("LINK2345", 1, "attachment", link_mode="imported_file", path="paper.PDF")
    missing = (None, "in a folder of the storage that is a link")
    assert find_file(attachment, places, is_group=True) == missing


def test_the_path_of_a_linked_file_is_resolved_once(places: FilePlaces, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(places.linked or "")
    attachment = ZoteroObject(
        "ABCD2345", 1, "attachment", link_mode="linked_file", path=f"{tmp_path}/way/linked.pdf"
    )
    found, _ = find_file(attachment, places, is_group=False)
    assert found == (places.linked or tmp_path) / "linked.pdf"


@pytest.mark.parametrize(("stated", "reason"), LINKED.items(), ids=lambda value: repr(value)[:40])
def test_a_linked_file_is_not_hidden(places: FilePlaces, stated: str, reason: str) -> None:
    stated = stated.format(base=places.linked)
    attachment = ZoteroObject("ABCD2345", 1, "attachment", link_mode="linked_file", path=stated)
    path, missing = find_file(attachment, places, is_group=False)
    assert missing == reason
    assert (path is None) == bool(reason)
    assert find_file(attachment, places, is_group=True) == (None, "linked file of a group")


def test_a_relative_link_without_a_base_folder_says_so(places: FilePlaces) -> None:
    attachment = ZoteroObject("ABCD2345", 1, "attachment", link_mode="linked_file", path="attachments:linked.pdf")
    path, missing = find_file(attachment, FilePlaces(places.data), is_group=False)
    assert (path, missing) == (None, "relative to a base folder that is not known")


@pytest.mark.parametrize(("name", "why"), [("file", "is not a folder"), ("nothing", "does not exist")])
def test_a_data_folder_that_is_none_is_said_to_be_none(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(WinnowError, match=why) as refused:
        DatabaseTransport(tmp_path / name).libraries()
    assert refused.value.reason == "NOT_FOUND"
