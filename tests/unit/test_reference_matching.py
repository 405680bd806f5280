"""The entry of a file: found by path, DOI, or title and year, and by nothing less."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.bibliographies.facts import item_of, merge_facts
from winnow.server.bibliographies.item_types import CSL_TYPES
from winnow.server.bibliographies.matching import FileFacts, Matcher, plain_title
from winnow.server.bibliographies.records import Attachment, Creator, LibraryItem

SOURCE = PurePosixPath("/data/papers")
FOLDER = PurePosixPath("/home/u/bib")
NOTHING = FileFacts()


def _item(citekey: str, *paths: str, title: str = "", year: int = 0, doi: str = "") -> LibraryItem:
    attachments = tuple(map(Attachment, paths))
    return LibraryItem(citekey, citekey, "book", title, year=year, doi=doi, attachments=attachments)


def _find(items: list[LibraryItem], file: str = "x.pdf", facts: FileFacts = NOTHING) -> tuple[str, str]:
    match = Matcher(items, FOLDER).find(SOURCE / file, SOURCE, facts)
    return match.item.citekey if match.item else "", match.reason


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("/data/papers/x.pdf", "x.pdf"),
        ("/data/papers/sub/../x.pdf", "x.pdf"),
        ("x.pdf", "x.pdf"),
        ("sub/x.pdf", "sub/x.pdf"),
        ("../../../data/papers/x.pdf", "x.pdf"),
        ("/home/other/Zotero/storage/ABCD/x.pdf", "storage/ABCD/x.pdf"),
        ("C:\\Users\\u\\storage\\ABCD\\x.pdf", "ABCD/x.pdf"),
    ],
)
def test_a_file_has_the_entry_whose_attachment_it_is(path: str, file: str) -> None:
    assert _find([_item("other", "/data/papers/y.pdf"), _item("a", path)], file) == ("a", "its path")


@pytest.mark.parametrize("path", ["/home/other/x.pdf", "other/x.pdf", "x.pdf.txt", "../x.pdf", "", "X.pdf"])
def test_a_name_alone_is_no_path(path: str) -> None:
    assert _find([_item("a", path)])[0] == ""


def test_a_path_counts_more_than_a_doi_and_a_doi_more_than_a_title() -> None:
    items = [
        _item("by_path", "x.pdf"),
        _item("by_doi", doi="10.1000/ABC"),
        _item("by_title", title="A Study", year=2019),
    ]
    facts = FileFacts("https://doi.org/10.1000/abc", "a study", (2019,))
    assert [_find(items[start:], facts=facts)[0] for start in range(3)] == ["by_path", "by_doi", "by_title"]


@pytest.mark.parametrize(
    ("title", "year", "found"),
    [
        ("A study", 2019, ("guide", "its title and year")),
        ("A study", 1999, ("cited", "its DOI 10.1/x")),
        ("Another", 2019, ("cited", "its DOI 10.1/x")),
    ],
)
def test_a_doi_is_that_of_a_cited_work_where_title_and_year_are_those_of_another(
    title: str, year: int, found: tuple[str, str]
) -> None:
    items = [
        _item("cited", title="What it cites", doi="10.1/x", year=2005),
        _item("guide", title=title, year=year),
    ]
    assert _find(items, facts=FileFacts("10.1/x", "a study", (2005, 2019))) == found


def test_of_works_with_one_title_a_doi_decides() -> None:
    items = [_item("a", title="A study", doi="10.1/x", year=2018), _item("b", title="A study", year=2019)]
    assert _find(items, facts=FileFacts("10.1/x", "a study", (2019,)))[0] == "a"


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([_item("a", "x.pdf"), _item("b", "x.pdf")], "its path fits several entries: a, b"),
        ([_item("a", doi="10.1/x"), _item("b", doi="10.1/X")], "its DOI 10.1/x fits several entries: a, b"),
        (
            [_item("a", title="A study", year=2019), _item("b", title="A: Study!", year=2019)],
            "its title fits several entries: a, b",
        ),
        (
            [_item("a", title="A study", year=1999)],
            "the title is that of a, but the year 1999 is not in its first pages",
        ),
        (
            [_item("a", title="A study")],
            "the title is that of a, which has no year that could confirm it",
        ),
        ([_item("a", title="Another study", year=2019)], "no entry has its path, its DOI, or its title and year"),
        ([], "no entry has its path, its DOI, or its title and year"),
    ],
)
def test_what_is_ambiguous_or_incomplete_is_no_match_and_says_why(items: list[LibraryItem], reason: str) -> None:
    assert _find(items, facts=FileFacts("10.1/x", "a study", (2019,))) == ("", reason)


_TITLES = st.sampled_from(["A study", "a Study.", "Another", ""])
_ITEMS = st.lists(
    st.builds(
        lambda key, title, year, doi, path: _item(key, *path, title=title, year=year, doi=doi),
        st.uuids().map(str),
        _TITLES,
        st.sampled_from([0, 2018, 2019]),
        st.sampled_from(["", "10.1/x", "10.1/y"]),
        st.lists(st.sampled_from(["x.pdf", "y.pdf", "/data/papers/x.pdf", "../x.pdf"]), max_size=2),
    ),
    max_size=6,
)


@given(_ITEMS, st.sampled_from(["x.pdf", "y.pdf", "z.pdf"]), _TITLES, st.sampled_from(["", "10.1/x"]))
def test_a_match_has_evidence_that_no_other_entry_has(
    items: list[LibraryItem], file: str, title: str, doi: str
) -> None:
    facts = FileFacts(doi, plain_title(title), (2019,))
    found, reason = _find(items, file, facts)
    paths = {item.citekey for item in items if {file, f"/data/papers/{file}"} & {a.path for a in item.attachments}}
    dois = {item.citekey for item in items if doi and item.doi == doi}
    titled = {plain_title(item.title) for item in items if item.citekey in dois}
    titles = {item.citekey for item in items if title and plain_title(item.title) == facts.title}
    dated = {item.citekey for item in items if item.citekey in titles and item.year == 2019}
    is_cited = len(dated) == 1 and not titled & {"", facts.title}
    evidence = paths or (() if is_cited else dois) or dated
    assert (bool(found), bool(reason)) == (len(evidence) == 1, True)
    assert not found or {found} == set(evidence)


_LABELS = st.text("abcÄ 1", max_size=8).map(str.strip)
_CREATORS = st.builds(Creator, _LABELS.filter(bool), _LABELS, st.sampled_from(["author", "editor", "translator"]))


@given(
    st.builds(
        LibraryItem,
        key=st.just("k"),
        citekey=st.just("k"),
        item_type=st.sampled_from(sorted(CSL_TYPES)),
        title=_LABELS,
        creators=st.lists(_CREATORS, max_size=3).map(lambda all: tuple(sorted(all, key=lambda one: one.role))),
        year=st.integers(0, 2100),
        date=_LABELS,
        doi=_LABELS,
        url=_LABELS,
        container=_LABELS,
        publisher=_LABELS,
        volume=_LABELS,
        issue=_LABELS,
        pages=_LABELS,
        tags=st.lists(_LABELS, max_size=2).map(tuple),
        collections=st.lists(_LABELS, max_size=2, unique=True).map(tuple),
    ),
    st.dictionaries(st.sampled_from(["doi", "author", "year", "stage", "subject"]), st.text("xyz", max_size=3)),
)
def test_an_item_is_the_same_after_its_facts_were_stored_with_those_of_a_document(
    item: LibraryItem, own: dict[str, str]
) -> None:
    stored = merge_facts(own, item)
    assert item_of(item.title, item.tags, stored) == item
    assert {name: value for name, value in stored.items() if name in ("stage", "subject")} == {
        name: value for name, value in own.items() if name in ("stage", "subject")
    }


def test_a_document_without_a_citekey_is_no_item() -> None:
    assert item_of("Title", (), {"author": "A", "year": 2019, "doi": "10.1/x"}) is None
