"""Both doors to Zotero give the same libraries, and what changed gives the same as reading everything again."""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from tests.zotero_api import ZoteroApi, serve_api
from tests.zotero_database import write_database
from tests.zotero_library import Library, Zotero, add_annotation, make_zotero
from winnow.server.bibliographies.zotero.database import DatabaseTransport
from winnow.server.bibliographies.zotero.files import FilePlaces
from winnow.server.bibliographies.zotero.local_api import LocalApi
from winnow.server.bibliographies.zotero.objects import LibraryName, LibraryObjects, pack, unpack
from winnow.server.bibliographies.zotero.opening import open_zotero
from winnow.server.bibliographies.zotero.port_owner import owners_of
from winnow.server.bibliographies.zotero.records import ZoteroLibrary
from winnow.server.bibliographies.zotero.works import make_library
from winnow.server.errors import WinnowError

OWN, GROUP = LibraryName("library", "My Library"), LibraryName("groups/123", "Electricity Group")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Zotero:
    return make_zotero(tmp_path_factory.mktemp("zotero"), works=24)


@pytest.fixture
def zotero(made: Zotero) -> Zotero:
    """Libraries that a test may change; their files stay as they are."""
    return replace(made, libraries=deepcopy(made.libraries))


@pytest.fixture
def api(zotero: Zotero) -> Iterator[ZoteroApi]:
    with serve_api(zotero) as served:
        yield served


@pytest.fixture
def transport(api: ZoteroApi) -> Iterator[LocalApi]:
    client = LocalApi(api.url)
    yield client
    client.close()


def through_database(zotero: Zotero, name: LibraryName, schema: int = 129) -> ZoteroLibrary:
    write_database(zotero, schema)
    return library_of(zotero, DatabaseTransport(zotero.folder).read(name))


def library_of(zotero: Zotero, objects: LibraryObjects) -> ZoteroLibrary:
    return make_library(objects, FilePlaces(zotero.folder, zotero.linked))


@pytest.mark.parametrize("schema", [129, 125], ids=["Zotero 10", "Zotero 9"])
@pytest.mark.parametrize("name", [OWN, GROUP], ids=lambda name: name.id)
def test_both_doors_give_equal_libraries(
    zotero: Zotero, api: ZoteroApi, transport: LocalApi, name: LibraryName, schema: int
) -> None:
    api.has_versions = schema == 129
    library = library_of(zotero, transport.read(name))
    assert library == through_database(zotero, name, schema)
    assert library.flaws == ()
    assert {file.missing for work in library.works for file in work.files} >= {"", "not downloaded"}
    assert sum(len(file.annotations) for work in library.works for file in work.files) > 3
    assert any(work.notes and work.item.citekey for work in library.works)
    assert library.version == (zotero.library(name.id).version if schema == 129 else 0)


def test_both_doors_list_the_users_library_and_groups_and_no_feeds(zotero: Zotero, transport: LocalApi) -> None:
    write_database(zotero)
    assert transport.libraries() == DatabaseTransport(zotero.folder).libraries() == (OWN, GROUP)


def test_what_is_in_the_trash_is_in_no_library_nor_is_what_is_below_it(
    zotero: Zotero, transport: LocalApi
) -> None:
    own = zotero.library()
    file = next(entry for entry in own.of_type("attachment") if entry.data.get("parentItem"))
    add_annotation(own, file, 0, annotationText="of a file in the trash")
    own.trash(file.data["parentItem"])
    library = library_of(zotero, transport.read(OWN))
    assert library == through_database(zotero, OWN)
    keys = {file.key for work in library.works for file in work.files} | {work.item.key for work in library.works}
    assert not keys & {file.key, file.data["parentItem"]}
    assert library.flaws == ()


# --- what changed since


def first_work(library: Library) -> str:
    return library.of_type("journalArticle", "case", "webpage", "preprint", "film", "dataset", "patent")[0].key


def annotated_file(library: Library) -> str:
    return str(library.of_type("annotation")[0].data["parentItem"])


CHANGES: dict[str, Callable[[Library], object]] = {
    "nothing": lambda own: None,
    "add": lambda own: own.add("book", title="A new book", creators=[], tags=[], collections=[]),
    "change": lambda own: own.change(first_work(own), title="Another title", abstractNote="Another abstract"),
    "move": lambda own: own.move(first_work(own), next(iter(own.collections))),
    "delete": lambda own: own.delete(first_work(own)),
    "trash": lambda own: own.trash(first_work(own)),
    "restore": lambda own: [own.restore(entry.key) for entry in list(own.items.values()) if entry.in_trash],
    "annotate": lambda own: add_annotation(own, own.items[annotated_file(own)], 3, annotationText="new words"),
    "annotation deleted": lambda own: own.delete(own.of_type("annotation")[0].key),
    "note changed": lambda own: own.change(own.of_type("note")[0].key, note="<p>Other words</p>"),
    "collection renamed": lambda own: own.rename_collection(next(iter(own.collections)), "Dissertation"),
    "collection deleted": lambda own: own.delete_collection(list(own.collections)[-1]),
    "collection in the trash": lambda own: own.trash_collection(list(own.collections)[-1], in_trash=True),
    "tag renamed": lambda own: own.rename_tag("law", "Recht"),
    "tags joined": lambda own: own.rename_tag("law", "physics"),
    "many added": lambda own: [own.add("book", title=f"New {n}", creators=[], tags=[]) for n in range(120)],
}


@pytest.mark.parametrize(
    ("change", "schema"),
    [*((change, 129) for change in CHANGES), *((change, 125) for change in ("add", "change", "tag renamed"))],
)
def test_a_change_gives_the_same_as_reading_everything(
    zotero: Zotero, api: ZoteroApi, transport: LocalApi, change: str, schema: int
) -> None:
    """Also what Zotero did not synchronize: the synthetic one never synchronizes."""
    api.has_versions = schema == 129
    kept = unpack(pack(transport.read(OWN)).encode())
    assert kept is not None
    CHANGES[change](zotero.library())
    library = library_of(zotero, transport.read(OWN, kept))
    assert library == library_of(zotero, transport.read(OWN))
    assert library == through_database(zotero, OWN, schema)


def test_several_rounds_of_changes_add_up(zotero: Zotero, transport: LocalApi) -> None:
    own, chance = zotero.library(), random.Random(5)
    kept = transport.read(OWN)
    for _ in range(8):
        for change in chance.sample(list(CHANGES.values())[:-1], k=2):
            change(own)
        kept = transport.read(OWN, kept)
        assert library_of(zotero, kept) == library_of(zotero, transport.read(OWN))


def test_a_collection_that_comes_back_from_the_trash_has_its_works_again(
    zotero: Zotero, transport: LocalApi
) -> None:
    """Zotero gives a new version to the collection, and none to its works."""
    own = zotero.library()
    before = library_of(zotero, transport.read(OWN))
    collection = next(iter(own.collections))
    own.trash_collection(collection, in_trash=True)
    kept = transport.read(OWN)
    own.trash_collection(collection, in_trash=False)
    assert library_of(zotero, transport.read(OWN, kept)).works == before.works


def test_only_what_changed_is_asked_for(zotero: Zotero, api: ZoteroApi, transport: LocalApi) -> None:
    kept = transport.read(OWN)
    api.asked.clear()
    assert transport.read(OWN, kept) == kept
    assert [path.partition("/0/")[2] for path in api.asked] == [
        "items?format=versions",
        "tags",
        "collections?limit=1000&start=0",
    ]
    changed = first_work(zotero.library())
    zotero.library().change(changed, title="Another")
    api.asked.clear()
    transport.read(OWN, kept)
    assert [path for path in api.asked if "format" not in path and "/items" in path] == [
        f"/api/users/0/items?itemKey={changed}"
    ]


@pytest.mark.parametrize("reason", ["another Zotero", "set back", "another library", "not kept by this version"])
def test_versions_of_something_else_are_not_compared(
    zotero: Zotero, api: ZoteroApi, transport: LocalApi, reason: str
) -> None:
    kept = transport.read(GROUP if reason == "another library" else OWN)
    if reason == "another Zotero":
        zotero.server = "SYNTHETIC002"
    if reason == "set back":
        zotero.library().version -= 50
    if reason == "not kept by this version":
        assert unpack(b'{"name": 5}') is None
    # The same versions with other contents: only a reading of everything sees it.
    entry = zotero.library().items[first_work(zotero.library())]
    entry.data["title"] = "Other contents"
    objects = transport.read(OWN, None if reason == "not kept by this version" else kept)
    assert "Other contents" in {item.fields.get("title") for item in objects.items}


# --- readings that break


def test_a_listing_that_breaks_half_way_raises_and_what_was_kept_stays_valid(
    zotero: Zotero, api: ZoteroApi, transport: LocalApi
) -> None:
    own = zotero.library()
    kept = transport.read(OWN)
    for number in range(1_050):
        own.add("book", title=f"Many {number}", creators=[], tags=[])

    def cut(path: str) -> None:
        if "start=1000" in path:
            api.answers["/api/users/0/items"] = (200, {"Total-Results": "1130"}, b'[{"key": "ABCD2345", "ver')

    api.before = cut
    with pytest.raises(WinnowError, match="incomplete") as caught:
        transport.read(OWN, kept)
    assert caught.value.reason == "SOURCE_UNAVAILABLE"
    api.before, api.answers = None, {}
    assert library_of(zotero, transport.read(OWN, kept)) == library_of(zotero, transport.read(OWN))


def test_a_change_while_the_library_is_read_is_in_the_result(
    zotero: Zotero, api: ZoteroApi, transport: LocalApi
) -> None:
    own = zotero.library()
    own_keys = [first_work(own), own.of_type("book")[0].key]

    def change_once(path: str) -> None:
        if "limit" in path:
            api.before = None
            own.delete(own_keys[0])
            own.change(own_keys[1], title="Changed meanwhile")
            own.add("book", title="Added meanwhile", creators=[], tags=[])

    api.before = change_once
    assert transport.read(OWN) == transport.read(OWN)


def test_a_library_that_never_rests_is_refused_for_now(
    zotero: Zotero, api: ZoteroApi, transport: LocalApi
) -> None:
    own = zotero.library()
    api.before = lambda path: own.add("book", title="Again", creators=[], tags=[]) and None
    with pytest.raises(WinnowError, match="changes while it is read") as caught:
        transport.read(OWN)
    assert caught.value.retryable


# --- which door


def test_the_running_zotero_is_read_through_its_api_and_says_where_its_files_are(
    zotero: Zotero, api: ZoteroApi, tmp_path: Path
) -> None:
    with open_zotero(api=api.url, home=tmp_path) as opened:
        assert opened.by == "api"
        assert opened.places == FilePlaces(zotero.folder, zotero.linked)
        assert opened.transport.libraries() == (OWN, GROUP)


def test_a_data_folder_is_read_from_its_database_whatever_zotero_runs(zotero: Zotero, tmp_path: Path) -> None:
    write_database(zotero)
    with open_zotero(zotero.folder, home=tmp_path) as opened:
        assert (opened.by, opened.places.data) == ("database", zotero.folder)
        assert opened.transport.libraries() == (OWN, GROUP)


def test_without_the_api_the_database_of_the_user_is_read(zotero: Zotero) -> None:
    write_database(zotero)
    with open_zotero(use_api=False, home=zotero.folder.parent) as opened:
        assert (opened.by, opened.places.data) == ("database", zotero.folder)


def test_the_users_own_running_zotero_counts_before_the_database(zotero: Zotero, api: ZoteroApi) -> None:
    write_database(zotero)
    with open_zotero(home=zotero.folder.parent, usual_api=api.url) as opened:
        assert (opened.by, opened.note) == ("api", "")
        assert opened.places == FilePlaces(zotero.folder, zotero.linked)


def test_a_running_zotero_with_other_data_than_the_users_is_not_read(
    zotero: Zotero, api: ZoteroApi, tmp_path: Path
) -> None:
    write_database(zotero)
    shutil.copytree(zotero.folder, tmp_path / "Zotero")
    with open_zotero(home=tmp_path, usual_api=api.url) as opened:
        assert (opened.by, opened.places.data) == ("database", tmp_path / "Zotero")
        assert str(zotero.folder) in opened.note
        assert opened.transport.libraries() == (OWN, GROUP)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a socket to another user")
def test_a_program_of_another_user_in_the_place_of_zotero_is_not_asked(zotero: Zotero) -> None:
    """It could say anything, the data folder of the user included."""
    write_database(zotero)
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        os.fchown(theirs.fileno(), 65534, -1)
        theirs.setblocking(False)
        url = f"http://127.0.0.1:{theirs.getsockname()[1]}/api"
        with open_zotero(home=zotero.folder.parent, usual_api=url) as opened:
            assert (opened.by, opened.places.data) == ("database", zotero.folder)
            assert "another user's program" in opened.note
        with pytest.raises(BlockingIOError):
            theirs.accept()


def test_the_owner_of_a_port_is_read_from_the_tables_of_the_kernel(tmp_path: Path) -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    row = "   0: {}:5A4F 00000000:0000 {} 00000000:00000000 00:00000000 00000000  {}        0 1590 1\n"
    (tmp_path / "tcp").write_text(
        head + row.format("0100007F", "0A", 1000) + row.format("0100007F", "01", 7) + "cut off\n", "ascii"
    )
    (tmp_path / "tcp6").write_text(head + row.format("0" * 32, "0A", 1001), "ascii")
    tables = [tmp_path / "tcp", tmp_path / "tcp6", tmp_path / "gone"]
    assert owners_of(23119, tables) == {1000, 1001}
    assert owners_of(23118, tables) == frozenset()


def test_where_the_api_is_switched_off_the_database_is_read_and_a_note_says_how_to_allow_it(
    zotero: Zotero, api: ZoteroApi
) -> None:
    write_database(zotero)
    api.is_enabled = False
    with open_zotero(home=zotero.folder.parent, usual_api=api.url) as opened:
        assert opened.by == "database"
        assert "allow other applications" in opened.note
    with pytest.raises(WinnowError, match="allow other applications"), open_zotero(api=api.url):
        pass


def test_a_running_zotero_without_a_profile_of_the_user_says_where_its_files_are(
    zotero: Zotero, api: ZoteroApi, tmp_path: Path
) -> None:
    with open_zotero(home=tmp_path, usual_api=api.url) as opened:
        assert (opened.by, opened.places.data) == ("api", zotero.folder)


def test_a_machine_without_zotero_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(WinnowError, match="--data-folder"), open_zotero(use_api=False, home=tmp_path):
        pass
