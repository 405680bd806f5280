"""Citations and entries in five styles, after the examples of the styles' own handbooks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.libraries.citing import CitedPlace, cite, describe, sort_key
from server.libraries.item_types import CSL_TYPES, TO_BIBTEX
from server.libraries.reading import read_bibliography
from server.libraries.records import Creator, LibraryItem

ARTICLE = LibraryItem(
    key="grady2019",
    citekey="grady2019",
    item_type="article-journal",
    title="Emotions in storybooks: A comparison",
    creators=(Creator("Grady", "Jeanne Sue"), Creator("Her", "Pa"), Creator("Moreno", "Gil-Ad")),
    year=2019,
    date="2019-07",
    container="Psychology of Popular Media Culture",
    volume="8",
    issue="3",
    pages="207-217",
    doi="10.1037/ppm0000185",
)
BOOK = LibraryItem(
    "k", "k", "book", "The psychology of the past", (Creator("Jackson", "L. M."),), 2019, publisher="APA"
)
CHAPTER = LibraryItem(
    key="b",
    citekey="b",
    item_type="chapter",
    title="Understanding gender",
    creators=(
        Creator("Aron", "Lewis"),
        Creator("Botella", "Mar"),
        Creator("Lubart", "Tod", "editor"),
        Creator("Snow", "Ann", "editor"),
    ),
    year=2019,
    container="Culinary arts",
    pages="1–10",
    publisher="Springer",
)


@pytest.mark.parametrize(
    ("item", "entry"),
    [
        (
            ARTICLE,
            "Grady, J. S., Her, P., & Moreno, G.-A. (2019). Emotions in storybooks: A comparison. Psychology of "
            "Popular Media Culture, 8(3), 207–217. https://doi.org/10.1037/ppm0000185",
        ),
        (BOOK, "Jackson, L. M. (2019). The psychology of the past. APA."),
        (
            replace(BOOK, creators=(Creator("Hygum", "E.", "editor"),), volume="2"),
            "Hygum, E. (Ed.). (2019). The psychology of the past (Vol. 2). APA.",
        ),
        (
            CHAPTER,
            "Aron, L., & Botella, M. (2019). Understanding gender. In T. Lubart & A. Snow (Eds.), Culinary arts "
            "(pp. 1–10). Springer.",
        ),
        (
            LibraryItem(
                "k", "k", "thesis", "Some dreams", (Creator("Harris", "L."),), 2014, publisher="U of Virginia"
            ),
            "Harris, L. (2014). Some dreams [Thesis, U of Virginia].",
        ),
        (
            LibraryItem(
                "k",
                "k",
                "webpage",
                "Tests that check heart health",
                (Creator("World Health Organization"),),
                2018,
                "2018-05-24",
                url="https://example.org/a",
            ),
            "World Health Organization. (2018, May 24). Tests that check heart health. https://example.org/a",
        ),
        (LibraryItem("k", "k", "report", "Untold"), "Untold. (n.d.)."),
        (LibraryItem("k", "k", "dataset", "Figures?", year=2001), "Figures? [Data set]. (2001)."),
    ],
)
def test_an_entry_of_apa_is_as_its_handbook_has_it(item: LibraryItem, entry: str) -> None:
    assert describe(item, "apa") == entry


def test_more_than_twenty_authors_have_dots_before_the_last() -> None:
    many = replace(BOOK, creators=tuple(Creator(f"N{number}", "A") for number in range(1, 23)))
    assert describe(many, "apa").startswith("N1, A., N2, A.,")
    assert ", N19, A., … N22, A. (2019)." in describe(many, "apa")


@pytest.mark.parametrize(
    ("names", "cited"),
    [(["A"], "(A, 2019)"), (["A", "B"], "(A & B, 2019)"), (["A", "B", "C"], "(A et al., 2019)")],
)
def test_a_citation_of_apa_shortens_names(names: list[str], cited: str) -> None:
    assert cite(replace(BOOK, creators=tuple(map(Creator, names))), CitedPlace(), "apa") == cited


@pytest.mark.parametrize(
    ("style", "cited"),
    [
        ("pandoc", "[@grady2019, pp. 45-46]"),
        ("apa", "(Grady et al., 2019, pp. 45–46)"),
        ("bibtex", r"\cite[pp.~45--46]{grady2019}"),
        ("csl-json", '{"id": "grady2019", "locator": "45-46", "label": "page"}'),
        ("markdown", "[Grady et al., 2019, pp. 45–46](<a b.pdf#page=45>)"),
    ],
)
def test_a_citation_names_its_pages_in_each_style(style: str, cited: str) -> None:
    place = CitedPlace("45-46", "pp. 45-46", "a b.pdf#page=45")
    assert cite(ARTICLE, place, style) == cited  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "cited"),
    [
        ("a:b_1", "[@a:b_1]"),
        ("a b", "[@{a b}]"),
        ("a.", "[@{a.}]"),
        ("a..b", "[@{a..b}]"),
        ("müller", "[@{müller}]"),
    ],
)
def test_keys_that_pandoc_would_cut_stand_in_braces(key: str, cited: str) -> None:
    assert cite(replace(BOOK, citekey=key), CitedPlace(), "pandoc") == cited


def test_other_places_than_pages_are_in_words() -> None:
    assert cite(BOOK, CitedPlace("", "slide 3"), "pandoc") == "[@k, slide 3]"


@pytest.mark.parametrize(
    ("style", "cited"),
    [
        ("pandoc", r"[@k, \]\[x\](http://a) \@other\; \\input]"),
        ("bibtex", r"\cite[x(http://a) @other; input]{k}"),
        ("apa", r"(Jackson, 2019, ][x](http://a) @other; \input)"),
    ],
)
def test_words_of_a_place_stay_within_their_citation(style: str, cited: str) -> None:
    place = CitedPlace("", r"][x](http://a) @other; \input")
    assert cite(BOOK, place, style) == cited  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("a<b>\\.pdf", "a%3Cb%3E%5C.pdf"),
        ("javascript:alert(1).md", "./javascript:alert(1).md"),
        ("zotero://open-pdf/library/items/A", "zotero://open-pdf/library/items/A"),
        ("folder/a:b.md", "folder/a:b.md"),
    ],
)
def test_a_link_of_markdown_ends_where_it_should_and_opens_files_alone(link: str, target: str) -> None:
    assert cite(BOOK, CitedPlace(link=link), "markdown") == f"[Jackson, 2019](<{target}>)"


def test_entries_of_bibtex_have_no_command_of_their_texts() -> None:
    item = replace(BOOK, title=r"A\input{x} ^^5cinput y", citekey="a,b c", url="http://a/^^5cx")
    entry = describe(item, "bibtex")
    assert entry.startswith("@book{a-b-c,\n")
    assert entry.count("\\") == entry.count(r"\_") == 0
    assert "^" not in entry


_TEXTS = st.text("abc ÄŁé%&_#$-", max_size=12).map(lambda text: " ".join(text.split()))
_NAMES = st.text("abcÄé", min_size=1, max_size=8).map(str.capitalize)


def _typeset(text: str) -> str:
    """The dashes that BibTeX reads in it."""
    return text.replace("---", "—").replace("--", "–")


@given(
    st.builds(
        LibraryItem,
        key=st.just("k1"),
        citekey=st.just("k1"),
        item_type=st.sampled_from(sorted({"article-journal", "book", "chapter", "paper-conference", "thesis"})),
        title=_TEXTS,
        creators=st.lists(st.builds(Creator, _NAMES, _NAMES), max_size=3).map(tuple),
        year=st.integers(1400, 2100),
        container=_TEXTS.filter(lambda text: "--" not in text),
        publisher=_TEXTS,
        volume=st.sampled_from(["", "8", "8_b"]),
        doi=st.sampled_from(["", "10.1000/a_b"]),
    )
)
def test_an_entry_that_was_written_is_read_as_the_same_work(item: LibraryItem) -> None:
    for style, suffix in (("bibtex", ".bib"), ("csl-json", ".json")):
        text = describe(item, style)  # type: ignore[arg-type]
        (read,) = read_bibliography(f"[{text}]" if suffix == ".json" else text, suffix).items
        known = ("citekey", "item_type", "creators", "year", "container", "publisher", "volume", "doi")
        plain = {name: getattr(item, name) for name in known}
        assert {name: getattr(read, name) for name in known} == {
            name: _typeset(value) if isinstance(value, str) and suffix == ".bib" else value
            for name, value in plain.items()
        }


def test_markdown_is_escaped_and_the_container_is_in_italics() -> None:
    item = replace(ARTICLE, title="A *bold* [claim](x)", container="Journal_x")
    entry = describe(item, "markdown")
    assert r"A \*bold\* \[claim\](x). *Journal\_x*, *8*(3), 207–217." in entry


def test_a_list_is_in_the_order_of_names_years_and_titles() -> None:
    items = [ARTICLE, BOOK, replace(BOOK, year=1999), CHAPTER]
    assert sorted(items, key=sort_key) == [CHAPTER, ARTICLE, replace(BOOK, year=1999), BOOK]


def test_every_type_of_bibtex_that_is_written_is_one_of_csl() -> None:
    assert set(TO_BIBTEX) <= CSL_TYPES
    assert json.loads(describe(BOOK, "csl-json"))["type"] == "book"
