"""Citations and entries of works: styles of CSL, and the forms of pandoc, BibTeX and CSL-JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.client_sdk.requests import CHOICES
from winnow.server.bibliographies import csl_styles
from winnow.server.bibliographies.citing import STYLES, CitedPlace, csl_fields, sort_key, write_citations
from winnow.server.bibliographies.cleaning import clean_item
from winnow.server.bibliographies.item_types import CSL_TYPES, TO_BIBTEX
from winnow.server.bibliographies.reading import read_bibliography
from winnow.server.bibliographies.records import Creator, LibraryItem
from winnow.server.models import CitationStyle


def cite(item: LibraryItem, place: CitedPlace, style: CitationStyle) -> str:
    """The citation of one place."""
    (citation,) = write_citations([(item, place)], style).citations
    return citation


def describe(item: LibraryItem, style: CitationStyle) -> str:
    """The entry of one work."""
    (entry,) = write_citations([(item, CitedPlace())], style).entries
    return entry


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
            "Harris, L. (2014). Some dreams. U of Virginia.",
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
        (LibraryItem("k", "k", "dataset", "Figures?", year=2001), "Figures? (2001). [Data set]."),
    ],
)
def test_an_entry_of_apa_is_as_other_processors_of_the_style_write_it(item: LibraryItem, entry: str) -> None:
    assert describe(item, "apa") == entry


def test_more_than_twenty_authors_have_dots_before_the_last() -> None:
    many = replace(BOOK, creators=tuple(Creator(f"N{number}", "A") for number in range(1, 23)))
    assert describe(many, "apa").startswith("N1, A., N2, A.,")
    assert ", N19, A., … N22, A. (2019)." in describe(many, "apa")


@pytest.mark.parametrize(
    ("style", "citation", "entry"),
    [
        (
            "chicago",
            "(Grady, Her, and Moreno 2019, 45–46)",
            "Grady, Jeanne Sue, Pa Her, and Gil-Ad Moreno. 2019. “Emotions in Storybooks: A Comparison.” "
            "Psychology of Popular Media Culture 8 (3): 207–17. https://doi.org/10.1037/ppm0000185.",
        ),
        (
            "harvard",
            "(Grady, Her and Moreno, 2019, pp. 45–46)",
            "Grady, J.S., Her, P. and Moreno, G.-A. (2019) ‘Emotions in storybooks: A comparison’, Psychology of "
            "Popular Media Culture, 8(3), pp. 207–217. Available at: https://doi.org/10.1037/ppm0000185.",
        ),
        (
            "ieee",
            "[1, pp. 45–46]",
            "[1] J. S. Grady, P. Her, and G.-A. Moreno, “Emotions in storybooks: A comparison,” Psychology of "
            "Popular Media Culture, vol. 8, no. 3, pp. 207–217, July 2019, doi: 10.1037/ppm0000185.",
        ),
        (
            "mla",
            "(Grady et al. 45–46)",
            "Grady, Jeanne Sue, et al. “Emotions in Storybooks: A Comparison.” Psychology of Popular Media "
            "Culture, vol. 8, no. 3, July 2019, pp. 207–17, https://doi.org/10.1037/ppm0000185.",
        ),
        (
            "vancouver",
            "(1)",
            "1. Grady JS, Her P, Moreno GA. Emotions in storybooks: A comparison. Psychology of Popular Media "
            "Culture. 2019July;8(3):207–17.",
        ),
    ],
)
def test_other_styles_are_written_from_their_own_files(style: CitationStyle, citation: str, entry: str) -> None:
    written = write_citations([(ARTICLE, CitedPlace("45-46"))], style)
    assert written.citations == (citation,)
    assert written.entries == (entry,)


def test_the_sdk_and_the_files_of_styles_have_the_styles_of_the_settings() -> None:
    assert set(STYLES) <= set(CHOICES["style"])
    assert {*csl_styles.STYLES, "pandoc", "bibtex", "csl-json", "markdown"} == set(STYLES)


@pytest.mark.parametrize("style", ["apa", "chicago", "harvard", "markdown"])
def test_works_of_the_same_people_and_year_get_letters_in_the_order_of_the_list(style: CitationStyle) -> None:
    later, other = replace(BOOK, citekey="z", title="Zebras"), replace(BOOK, citekey="o", year=2020)
    written = write_citations([(item, CitedPlace("4")) for item in (later, BOOK, other)], style)
    found = [re.search(r"20(?:19|20)[a-z]?", citation) for citation in written.citations]
    assert [each and each[0] for each in found] == ["2019b", "2019a", "2020"]
    assert [re.search(r"2019[a-z]", entry) is not None for entry in written.entries] == [True, True, False]


def test_the_style_of_mla_names_titles_where_authors_alone_would_be_ambiguous() -> None:
    other = replace(BOOK, citekey="o", title="Zebras")
    assert cite(BOOK, CitedPlace("4"), "mla") == "(Jackson 4)"
    both = write_citations([(BOOK, CitedPlace("4")), (other, CitedPlace("5"))], "mla")
    assert both.citations == ("(Jackson, The Psychology of the Past 4)", "(Jackson, Zebras 5)")


@pytest.mark.parametrize(
    ("style", "cited"), [("apa", "(Jackson et al., 2019)"), ("chicago", "(Jackson et al. 2019)"), ("ieee", "[1]")]
)
def test_others_are_et_al_and_never_a_person(style: CitationStyle, cited: str) -> None:
    item = replace(BOOK, creators=(*BOOK.creators, Creator("others")))
    assert cite(item, CitedPlace(), style) == cited
    assert "others" not in describe(item, style)


@pytest.mark.parametrize(
    ("pages", "mla"),
    [("1-10", "1–10"), ("207-217", "207–17"), ("96--117", "96–117"), ("5", "5"), ("e12-e15", "e12–e15")],
)
def test_ranges_of_pages_are_shortened_without_loss(pages: str, mla: str) -> None:
    entry = describe(replace(ARTICLE, pages=pages), "mla")
    assert f"p. {mla}, " in entry or f"pp. {mla}, " in entry


@given(st.lists(st.text(max_size=30), min_size=6, max_size=6), st.sampled_from(STYLES))
def test_any_texts_are_cited_in_any_style(texts: list[str], style: CitationStyle) -> None:
    title, family, given_name, container, volume, pages = texts
    item = clean_item(
        LibraryItem("k", "k", "article-journal", title, (Creator(family, given_name),), 2019, "2019-13-40",
                    container=container, volume=volume, pages=pages)
    )  # fmt: skip
    written = write_citations([(item, CitedPlace(words=title)), (item, CitedPlace("3-4"))], style)
    assert len(written.citations) == 2


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


DEEP = r"""@inproceedings{a, author={Roe, Ann}, year={2001}, title={Deep Learning For {mRNA}: A Survey of {B}ayes},
booktitle={The Big Book of {\'E}tale Things}}"""


@pytest.mark.parametrize(
    ("style", "title"),
    [
        ("apa", "Deep learning for mRNA: A survey of Bayes."),
        ("harvard", "‘Deep learning for mRNA: A survey of Bayes’, in The big book of Étale things."),
        ("ieee", "“Deep learning for mRNA: A survey of Bayes,” in The big book of Étale things, 2001."),
        ("vancouver", "Deep learning for mRNA: A survey of Bayes. In: The big book of Étale things."),
        ("chicago", "“Deep Learning for mRNA: A Survey of Bayes.” In The Big Book of Étale Things."),
        ("mla", "“Deep Learning for mRNA: A Survey of Bayes.” The Big Book of Étale Things"),
        ("csl-json", '"Deep learning for <span class=\\"nocase\\">mRNA</span>: A survey of'),
        ("bibtex", "title = {Deep Learning For {mRNA}: A Survey of {B}ayes},"),
        ("bibtex", "booktitle = {The Big Book of {É}tale Things}"),
    ],
)
def test_titles_of_bibtex_have_the_capitals_of_each_style(style: CitationStyle, title: str) -> None:
    (item,) = read_bibliography(DEEP, ".bib").items
    assert title in describe(item, style)


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("On silver of DNA in Rome: The end", "On silver of {DNA} in {Rome}: {The} end"),
        ("iron and the next: a view of $A_n$", "{iron} and the next: {a} view of $A_n$"),
        ("On Silver And Gold", "{On Silver And Gold}"),
    ],
)
def test_titles_in_sentence_case_have_braces_where_bibtex_would_change_them(title: str, written: str) -> None:
    item = LibraryItem("a", "a", "chapter", title, container=title, more=(("collection-title", title),))
    entry = describe(item, "bibtex")
    for name in ("title", "booktitle", "series"):
        assert f"  {name} = {{{written}}}" in entry
    (read,) = read_bibliography(entry, ".bib").items
    for name in ("title", "container-title", "collection-title"):
        assert re.sub("<[^>]*>", "", csl_fields(read)[name]) == title
    german = replace(item, language="de-DE")
    assert f"  title = {{{{{title}}}}}" in describe(german, "bibtex")


def test_what_follows_a_word_that_keeps_its_case_is_not_the_first_of_a_title() -> None:
    (item,) = read_bibliography("@book{a, title={A View: {NASA} and {TCP} over {the} Sea}}", ".bib").items
    assert "A View: NASA and TCP over the Sea" in describe(item, "chicago")


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


LORE = LibraryItem("b", "b", "book", "Lore of self-made “maps”", (Creator("Doe", "A.B."),), 2001)
STYLED: dict[str, tuple[LibraryItem, CitationStyle, str]] = {
    "parts of words in titles": (LORE, "chicago", "Lore of Self-Made “Maps”"),
    "titles in other languages": (
        replace(LORE, title="Kritik der reinen Vernunft", language="de-DE"),
        "chicago",
        "Kritik der reinen Vernunft.",
    ),
    "quotations within quotations": (
        replace(LORE, item_type="article-journal", container="Maps"),
        "chicago",
        "“Lore of Self-Made ‘Maps.’”",
    ),
    "numbers of volumes": (replace(LORE, more=(("number-of-volumes", "3"),)), "ieee", "3 vols."),
    "initials without blanks": (LORE, "mla", "Doe, A. B. "),
    "a title that ends in a full stop": (replace(LORE, title="Maps."), "apa", "(2001). Maps."),
    "those who edit and translate": (
        replace(
            LORE, creators=(*LORE.creators, Creator("Roe", "C.", "editor"), Creator("Roe", "C.", "translator"))
        ),
        "apa",
        "(C. Roe, Ed. & Trans.)",
    ),
}


@pytest.mark.parametrize("case", STYLED)
def test_entries_have_what_their_style_asks_for(case: str) -> None:
    item, style, part = STYLED[case]
    (entry,) = write_citations([(item, CitedPlace())], style).entries
    assert part in entry
    assert ".." not in entry


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("thirty years of the atlas and beyond", "Thirty Years of the Atlas and Beyond"),
        (r"an $O(n \log n)$ sort of $k$ keys", r"An $O(n \log n)$ Sort of $k$ Keys"),
        ("QIIME 2's plugin at 160 Gbit/s", "QIIME 2's Plugin at 160 Gbit/s"),
        ("tests of r x c tables", "Tests of r x c Tables"),
        ("spin–flip and input/output", "Spin–Flip and Input/Output"),
        ("a format or: how to", "A Format or: How To"),
        ('comment on "made simple"', "Comment on “Made Simple”"),
    ],
)
def test_titles_have_the_capitals_of_their_style(title: str, written: str) -> None:
    assert f"2001. {written}." in describe(replace(LORE, title=title), "chicago").replace("”.", "”.").replace(
        ".”", "”."
    )


@pytest.mark.parametrize(
    ("date", "style", "part"),
    [
        ("1988-06/1988-07", "apa", "(1988)"),
        ("1988-06/1988-07", "chicago", "8 (June–July): 207–17"),
        ("1988-06/1988-07", "mla", "June–July 1988"),
        ("1988-06/1988-07", "ieee", "June–July 1988"),
        ("1988-06-03/1988-06-05", "ieee", "June 1988"),
        ("1988-12-30/1989-01-02", "ieee", "Dec. 1988–Jan. 1989"),
        ("1988/1989", "apa", "(1988–1989)"),
    ],
)
def test_a_range_of_dates_has_once_what_its_ends_share(date: str, style: CitationStyle, part: str) -> None:
    assert part in describe(replace(ARTICLE, year=1988, date=date, issue=""), style)


def test_a_talk_of_several_days_has_all_of_them() -> None:
    talk = replace(BOOK, item_type="paper-conference", container="X", publisher="", date="1990-03-05/1990-04-08")
    assert "(1990, March 5–April 8)." in describe(talk, "apa")
    misc = replace(talk, item_type="document")
    assert "Mar. 05–Apr. 08, 1990" in describe(misc, "ieee")
    assert "5 Mar.–8 Apr. 1990" in describe(misc, "mla")


@pytest.mark.parametrize(("style", "pages"), [("apa", "243–251"), ("chicago", "243–51"), ("mla", "243–51")])
def test_pages_without_the_digits_they_share_are_a_whole_range(style: CitationStyle, pages: str) -> None:
    assert pages in describe(replace(ARTICLE, pages="243–51"), style)


def test_editors_are_named_in_a_book_whose_part_has_no_author() -> None:
    part = replace(CHAPTER, creators=CHAPTER.creators[2:], item_type="entry-encyclopedia")
    assert "In T. Lubart & A. Snow (Eds.), Culinary arts" in describe(part, "apa")


def test_what_stands_in_for_authors_is_not_written_again() -> None:
    standard = LibraryItem(
        "s", "s", "standard", "Wireless", year=1997, publisher="IEEE", more=(("number", "802.11"),)
    )
    assert describe(standard, "apa") == "Wireless (No. 802.11). (1997). IEEE."
    edited = replace(BOOK, creators=(Creator("Roe", "C.", "editor"),), volume="61")
    assert describe(edited, "mla") == "Roe, C., editor. The Psychology of the Past. Vol. 61, APA, 2019."


@pytest.mark.parametrize(
    ("style", "names"),
    [
        ("apa", "van der Leeuwen, R., King, M. L., Jr., & Clark, III. (2019)"),
        ("chicago", "Leeuwen, R. van der, M. L. King Jr., and Clark III. 2019."),
        ("harvard", "van der Leeuwen, R., King, M.L., Jr. and Clark, III (2019)"),
    ],
)
def test_particles_and_suffixes_stand_where_a_style_has_them(
    style: CitationStyle, names: str, recwarn: pytest.WarningsRecorder
) -> None:
    people = (
        Creator("van der Leeuwen", "R."),
        Creator("King", "M. L.", suffix="Jr."),
        Creator("Clark", suffix="III"),
    )
    item = replace(BOOK, creators=people)
    assert describe(item, style).startswith(names)
    assert cite(item, CitedPlace(), style).startswith(("(van der Leeuwen et al", "(van der Leeuwen, King"))
    later = replace(BOOK, citekey="l", creators=(Creator("Lemon", "A."),))
    sorted_by = write_citations([(later, CitedPlace()), (item, CitedPlace())], style).entries
    assert ("Lemon" in sorted_by[0]) is (style == "apa")
    assert list(recwarn) == []


@pytest.mark.parametrize(
    ("given", "ieee", "vancouver"),
    [
        ("Timothy van", "[1] T. van Zandt,", "1. Zandt T van."),
        ("C. van den", "[1] C. van den Zandt,", "1. Zandt C van den."),
        ("bell", "[1] bell Zandt,", "1. Zandt bell."),
        ("Zia-ur", "[1] Z. Zandt,", "1. Zandt Z."),
        ("Jean-Luc H.", "[1] J.-L. H. Zandt,", "1. Zandt JLH."),
    ],
)
def test_words_of_given_names_in_lower_case_have_no_initial(given: str, ieee: str, vancouver: str) -> None:
    item = replace(BOOK, creators=(Creator("Zandt", given),))
    entries = (describe(item, "ieee"), describe(item, "vancouver"))
    assert (entries[0].startswith(ieee), entries[1].startswith(vancouver)) == (True, True), entries


def test_an_edition_that_is_numbered_as_in_german_is_a_number() -> None:
    assert "(2nd ed.)" in describe(replace(BOOK, more=(("edition", "2."),)), "apa")


def test_works_without_a_date_and_names_spelled_otherwise_get_letters() -> None:
    undated = replace(BOOK, year=0)
    both = write_citations([(item, CitedPlace()) for item in (undated, replace(undated, citekey="z"))], "chicago")
    assert both.citations == ("(Jackson, n.d.a)", "(Jackson, n.d.b)")
    other = replace(BOOK, citekey="o", creators=(Creator("Jackson", "L M"),), title="Zebras")
    alike = write_citations([(item, CitedPlace()) for item in (BOOK, other)], "apa")
    assert alike.citations == ("(Jackson, 2019a)", "(Jackson, 2019b)")


def test_no_blank_or_comma_stands_before_a_sign_where_nothing_is_between() -> None:
    part = replace(CHAPTER, container="", creators=CHAPTER.creators[:1], pages="")
    assert "In. " in describe(part, "chicago")
    journal = replace(ARTICLE, container="Journal of X, B,", volume="", issue="", date="", doi="")
    assert "Journal of X, B, 207" in describe(journal, "chicago")


KEPT = LibraryItem(
    key="k",
    citekey="k",
    item_type="dataset",
    title=r"On $2^{5}$ and ${\rm GL}_2(5,\,2)$ of $\alpha$",
    creators=(Creator("Doe", "Ann"),),
    year=1988,
    date="1988-06-05",
    publisher="Society for Industrial and Applied Mathematics",
    language="de-DE",
    url="https://a.example/~b_c?d=%20#e",
    more=(("illustrator", "Bo Roe"), ("mrnumber", "7"), ("publisher-place", "Here and There")),
)


@pytest.mark.parametrize("item_type", sorted(TO_BIBTEX))
@pytest.mark.parametrize("date", ["1988-06-05", "1988-06/1988-07", "1988", "1988-06-05/1988-06-07"])
@pytest.mark.parametrize(("style", "suffix"), [("bibtex", ".bib"), ("csl-json", ".json")])
def test_a_work_is_read_again_as_it_was_written(
    item_type: str, date: str, style: CitationStyle, suffix: str
) -> None:
    same = {"article": "article-journal", "article-magazine": "article-journal"}
    same |= {
        "article-newspaper": "article-journal",
        "entry-dictionary": "chapter",
        "entry-encyclopedia": "chapter",
    }
    item = replace(KEPT, item_type=item_type, date=date)
    entry = describe(item, style)
    (read,) = read_bibliography(entry if suffix == ".bib" else f"[{entry}]", suffix).items
    more = dict(read.more)
    if suffix == ".bib":
        read = replace(
            read, item_type=same.get(item_type, item_type) if read.item_type in same.values() else item_type
        )
        item = replace(item, item_type=same.get(item_type, item_type))
    for name, text in item.more:
        assert more[name] == text
    assert replace(read, more=()) == replace(item, more=())


@pytest.mark.parametrize("title", [r"$a}\input{x}$", r"$\input{x}$", r"$^^5cinput$", r"$\rminput$", r"${$"])
def test_a_formula_has_signs_alone_and_ends_no_field(title: str) -> None:
    assert "\\" not in describe(replace(KEPT, title=title), "bibtex").replace(r"\$", "")


def test_a_letter_stands_after_the_first_year_of_an_entry_alone() -> None:
    page = LibraryItem(
        "p", "p", "webpage", "On maps", (Creator("Doe", "A."),), 2004, "2004-10-27", url="https://a.example"
    )
    both = [(page, CitedPlace()), (replace(page, key="q", citekey="q", title="On pages"), CitedPlace())]
    first, second = write_citations(both, "chicago").entries
    assert (first.count("2004a"), second.count("2004b")) == (1, 1)
    assert "October 27, 2004." in first


def test_an_author_and_an_editor_of_one_name_and_year_are_told_apart() -> None:
    edited = replace(LORE, key="c", citekey="c", creators=(Creator("Doe", "A.B.", "editor"),), title="Zones")
    cited = write_citations([(LORE, CitedPlace()), (edited, CitedPlace())], "apa").citations
    assert sorted(cited) == ["(Doe, 2001a)", "(Doe, 2001b)"]
