"""Works of a Zotero library: facts, citekeys, notes, annotations, collections; where Zotero is on a machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from winnow.server.bibliographies.item_types import CSL_TYPES, OF_ZOTERO
from winnow.server.bibliographies.records import Annotation, Creator, EntryFlaw
from winnow.server.bibliographies.zotero.files import FilePlaces
from winnow.server.bibliographies.zotero.objects import (
    LibraryName,
    LibraryObjects,
    ZoteroCollection,
    ZoteroObject,
    read_object,
)
from winnow.server.bibliographies.zotero.profiles import find_places, read_preferences
from winnow.server.bibliographies.zotero.records import ZoteroLibrary
from winnow.server.bibliographies.zotero.selection import choose_libraries, choose_works
from winnow.server.bibliographies.zotero.works import make_library, note_title
from winnow.server.errors import WinnowError

OWN, GROUP = LibraryName("library", "My Library"), LibraryName("groups/5", "Lab")


def made(*entries: dict[str, Any], collections: tuple[ZoteroCollection, ...] = ()) -> ZoteroLibrary:
    """A library of entries with the keys AAAAAAA1, AAAAAAA2 and so on."""
    objects = tuple(
        read_object({"key": f"AAAAAAA{number}", "version": number, "meta": data.pop("meta", {}), "data": data})
        for number, data in enumerate(entries, 1)
    )
    return make_library(LibraryObjects(OWN, 7, objects, collections), FilePlaces(Path("/nowhere")))


def test_a_work_has_its_facts_whatever_its_type_calls_them() -> None:
    library = made(
        {
            "itemType": "bookSection",
            "title": "On <i>piles</i> &c., p < 0.05",
            "bookTitle": "Collected Works",
            "publisher": "Reimer",
            "date": "5. Mai 1800",
            "meta": {"parsedDate": "1800-05-05"},
            "creators": [
                {"creatorType": "author", "firstName": "Alessandro", "lastName": "Volta"},
                {"creatorType": "seriesEditor", "name": "Royal Society"},
                {"creatorType": "unheard of", "lastName": "X", "firstName": ""},
            ],
            "pages": "5–9",
            "DOI": "doi:10.1000/XY.5",
            "language": "de-DE",
            "abstractNote": "An abstract.",
            "tags": [{"tag": "wire"}, {"tag": "current", "type": 1}],
        },
        {"itemType": "case", "caseName": "A v. B", "dateDecided": "1999", "reporter": "US", "firstPage": "7"},
        {"itemType": "thesis", "title": "T", "university": "Wien", "date": "in press", "extra": "DOI: 10.1000/Z"},
    )
    section, case, thesis = (work.item for work in library.works)
    assert (section.item_type, section.title, section.container) == (
        "chapter",
        "On piles &c., p < 0.05",
        "Collected Works",
    )
    assert section.creators == (
        Creator("Volta", "Alessandro", "author"),
        Creator("Royal Society", "", "collection-editor"),
        Creator("X", "", "contributor"),
    )
    assert (section.date, section.year, section.doi) == ("1800-05-05", 1800, "10.1000/XY.5")
    assert (section.language, section.abstract, section.tags) == ("de-DE", "An abstract.", ("current", "wire"))
    assert (case.item_type, case.title, case.year, case.container, case.pages) == (
        "legal_case",
        "A v. B",
        1999,
        "US",
        "7",
    )
    assert (thesis.publisher, thesis.date, thesis.year, thesis.doi) == ("Wien", "", 0, "10.1000/Z")


def test_every_type_of_zotero_is_one_of_csl() -> None:
    assert set(OF_ZOTERO.values()) <= CSL_TYPES


def test_citekeys_are_native_then_of_extra_then_made_and_each_is_there_once() -> None:
    volta = [{"creatorType": "author", "lastName": "Volta"}]
    library = made(
        {"itemType": "book", "title": "One", "citationKey": "native", "extra": "Citation Key: other"},
        {"itemType": "book", "title": "Two", "extra": "read it\ncitation key:  extra1 \nPMID: 5"},
        {"itemType": "book", "title": "Piles", "creators": volta, "date": "1800"},
        {"itemType": "book", "title": "Piles again", "creators": volta, "date": "1800", "citationKey": "native"},
        {"itemType": "note", "note": "<p>Lone</p>"},
    )
    keys = {work.item.title: work.item.citekey for work in library.works}
    assert keys == {
        "One": "native",
        "Two": "extra1",
        "Piles": "volta1800piles",
        "Piles again": "volta1800piles-2",
        "Lone": "",
    }
    reason = "another work has the citation key native; this one is cited as volta1800piles-2"
    assert library.flaws == (EntryFlaw(0, "AAAAAAA4", reason),)


def test_a_citekey_that_would_end_a_citation_is_replaced_and_named() -> None:
    library = made({"itemType": "book", "title": "Piles", "date": "1800", "citationKey": "x](http://example.org)"})
    assert [work.item.citekey for work in library.works] == ["anonymous1800piles"]
    assert [(flaw.name, flaw.reason.partition(",")[0]) for flaw in library.flaws] == [
        ("AAAAAAA1", "the key has signs that would end a citation")
    ]


def test_annotations_are_in_the_order_of_the_file_with_physical_pages() -> None:
    def annotation(order: str, page: object, **data: str) -> dict[str, Any]:
        position = json.dumps({"pageIndex": page, "rects": []})
        return {
            "itemType": "annotation",
            "parentItem": "AAAAAAA2",
            "annotationSortIndex": order,
            "annotationPosition": position,
            "annotationPageLabel": "xii",
            **data,
        }

    library = made(
        {"itemType": "book", "title": "Piles"},
        {"itemType": "attachment", "parentItem": "AAAAAAA1", "linkMode": "imported_file", "filename": "a.pdf"},
        annotation("00009", 9, annotationText="last", annotationColor="#ffd400"),
        annotation("00002", 2, annotationComment="first"),
        annotation("00003", 3),  # a marked area: no words
        annotation("00004", "4", annotationText="of a book without pages"),
        annotation("00005", -1, annotationText="before the first page"),
    )
    ((file,),) = (work.files for work in library.works)
    assert file.annotations == (
        Annotation("AAAAAAA4", "", "first", 3, ""),
        Annotation("AAAAAAA6", "of a book without pages", "", 0, ""),
        Annotation("AAAAAAA7", "before the first page", "", 0, ""),
        Annotation("AAAAAAA3", "last", "", 10, "#ffd400"),
    )


def test_lone_files_and_notes_are_works_and_links_to_sites_are_none() -> None:
    library = made(
        {"itemType": "attachment", "title": "", "linkMode": "linked_file", "path": "/nowhere/At home.pdf"},
        {"itemType": "note", "note": "<p>A note</p>", "tags": [{"tag": "law"}]},
        {"itemType": "attachment", "title": "Site", "linkMode": "linked_url", "url": "https://example.org"},
        {"itemType": "attachment", "parentItem": "AAAAAAA2", "linkMode": "embedded_image", "filename": "i.png"},
        {"itemType": "annotation", "parentItem": "AAAAAAA9", "annotationText": "of nothing"},
    )
    file, note = library.works
    assert (file.item.key, file.item.title, file.item.citekey) == ("AAAAAAA1", "At home.pdf", "")
    assert (file.files[0].is_linked, file.files[0].missing) == (True, "not found")
    assert (note.item.title, note.notes[0].title, note.notes[0].tags) == ("A note", "A note", ("law",))
    assert [flaw.name for flaw in library.flaws] == ["AAAAAAA5"]


@pytest.mark.parametrize(
    ("note", "title"),
    [
        ("", ""),
        ("<p> </p><p>&nbsp;</p>", ""),
        ("plain", "plain"),
        ("<ul><li>One</li><li>Two</li></ul>", "One"),
        ("One<br/>Two", "One"),
        ("<p>a < b and <unclosed", "a < b and <unclosed"),
        (f"<p>{'x' * 500}</p>", f"{'x' * 119}…"),
        ("<" * 100_000, f"{'<' * 119}…"),
    ],
)
def test_the_title_of_a_note_is_its_first_line(note: str, title: str) -> None:
    assert note_title(note) == title


# --- what is chosen

COLLECTIONS = (
    ZoteroCollection("CCCCCCC1", "Thesis"),
    ZoteroCollection("CCCCCCC2", "Chapter 2", "CCCCCCC1"),
    ZoteroCollection("CCCCCCC3", "Theses"),
    ZoteroCollection("CCCCCCC4", "Orphan", "CCCCCCC9"),
)


def _library() -> ZoteroLibrary:
    def book(title: str, *collections: str, tags: tuple[str, ...] = ()) -> dict[str, Any]:
        return {
            "itemType": "book",
            "title": title,
            "collections": list(collections),
            "tags": [{"tag": tag} for tag in tags],
        }

    return made(
        book("a", "CCCCCCC1", tags=("Law", "wire")),
        book("b", "CCCCCCC2", "CCCCCCC4", tags=("law",)),
        book("c", "CCCCCCC3"),
        book("d", "CCCCCCC9"),
        collections=COLLECTIONS,
    )


def test_collections_have_the_names_above_them() -> None:
    named = {work.item.title: work.item.collections for work in _library().works}
    assert named == {"a": ("Thesis",), "b": ("Orphan", "Thesis/Chapter 2"), "c": ("Theses",), "d": ()}


@pytest.mark.parametrize(
    ("collections", "tags", "titles"),
    [
        ((), (), "abcd"),
        (("thesis",), (), "ab"),
        (("Thesis/Chapter 2",), (), "b"),
        (("Thesis/Chapter 2", "Theses"), (), "bc"),
        ((), ("LAW",), "ab"),
        ((), ("law", "wire"), "a"),
        (("Thesis",), ("wire",), "a"),
        ((), ("other",), ""),
    ],
)
def test_works_are_chosen_by_any_collection_and_all_tags(
    collections: tuple[str, ...], tags: tuple[str, ...], titles: str
) -> None:
    chosen = choose_works(_library(), collections, tags)
    assert "".join(work.item.title for work in chosen.works) == titles


def test_an_unknown_collection_names_those_that_are_near() -> None:
    with pytest.raises(WinnowError, match="no collection 'Thesys' with works; the nearest are: Thesis; Theses"):
        choose_works(_library(), ["Thesys"], [])


def test_libraries_are_chosen_by_name_or_id() -> None:
    names = (OWN, GROUP, LibraryName("groups/6", "Lab"))
    assert choose_libraries(names, []) == names
    assert choose_libraries(names, ["groups/6", "my library"]) == (OWN, names[2])
    with pytest.raises(WinnowError, match=r"several libraries have the name 'lab'.*groups/5.*groups/6"):
        choose_libraries(names, ["lab"])
    with pytest.raises(WinnowError, match=r"no library 'Library 5'; it has: My Library \(library\)"):
        choose_libraries(names, ["Library 5"])


# --- where Zotero is


def _profile(home: Path, name: str, preferences: str, *, is_default: bool = False) -> None:
    below = "Library/Application Support/Zotero" if sys.platform == "darwin" else ".zotero/zotero"
    folder = home / below / name
    folder.mkdir(parents=True)
    (folder / "prefs.js").write_text(f"# Mozilla User Preferences\n{preferences}\n", encoding="utf-8")
    default = "Default=1\n" if is_default else ""
    with (home / below / "profiles.ini").open("a", encoding="utf-8") as file:
        file.write(f"[Profile-{name}]\nName={name}\nIsRelative=1\nPath={name}\n{default}\n")


def _data(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "zotero.sqlite").touch()
    return folder


def _preference(name: str, value: object) -> str:
    return f'user_pref("extensions.zotero.{name}", {json.dumps(value)});\n'


def test_the_data_folder_of_the_default_profile_counts(tmp_path: Path) -> None:
    other, mine = _data(tmp_path / "other"), _data(tmp_path / "Müllers Däten")
    used = _preference("useDataDir", True)
    _profile(tmp_path, "aaa.other", used + _preference("dataDir", str(other)))
    base = _preference("baseAttachmentPath", str(tmp_path / "papers"))
    _profile(tmp_path, "zzz.default", used + _preference("dataDir", str(mine)) + base, is_default=True)
    assert find_places(None, tmp_path) == FilePlaces(mine, tmp_path / "papers")
    assert find_places(other, tmp_path) == FilePlaces(other)
    assert find_places(mine, tmp_path) == FilePlaces(mine, tmp_path / "papers")


@pytest.mark.parametrize(
    "preferences",
    [
        "",
        _preference("dataDir", "/elsewhere"),
        _preference("useDataDir", True) + _preference("dataDir", "relative"),
        _preference("useDataDir", True) + _preference("dataDir", "/a\0b"),
        _preference("useDataDir", True) + _preference("dataDir", 5),
        'user_pref("extensions.zotero.dataDir", "unclosed);\n',
    ],
)
def test_without_a_data_folder_in_the_preferences_it_is_the_usual_one(tmp_path: Path, preferences: str) -> None:
    usual = _data(tmp_path / "Zotero")
    _profile(tmp_path, "abc.default", preferences, is_default=True)
    assert find_places(None, tmp_path) == FilePlaces(usual)


@pytest.mark.parametrize("profiles", ["", "no sections", "[Profile0]\nPath=\0\n", "[Profile0]\nPath=absent\n"])
def test_a_list_of_profiles_that_cannot_be_read_is_as_none(tmp_path: Path, profiles: str) -> None:
    folder = tmp_path / ".zotero" / "zotero"
    folder.mkdir(parents=True)
    (folder / "profiles.ini").write_text(profiles, encoding="utf-8")
    with pytest.raises(WinnowError, match="no Zotero on this machine"):
        find_places(None, tmp_path)
    assert find_places(_data(tmp_path / "Zotero"), tmp_path).linked is None


def test_preferences_are_read_as_the_texts_that_they_are() -> None:
    text = _preference("dataDir", 'C:\\Zotero "x"') + 'user_pref("browser.x", 1);\n' + "user_pref(broken\n"
    assert read_preferences(text) == {"dataDir": 'C:\\Zotero "x"'}


def test_an_object_that_could_not_be_read_is_a_flaw_with_its_key() -> None:
    objects = LibraryObjects(OWN, 1, (ZoteroObject("AAAAAAA1", 1, flaw="title must be a text"),))
    library = make_library(objects, FilePlaces(Path("/nowhere")))
    assert (library.works, library.flaws) == ((), (EntryFlaw(0, "AAAAAAA1", "title must be a text"),))
