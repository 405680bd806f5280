"""Bibliographies: what their readers keep, what they name as unreadable, and that no text stops them."""

from __future__ import annotations

import json
import string
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.server.bibliographies import reading
from winnow.server.bibliographies.attachment_fields import read_file_field
from winnow.server.bibliographies.citing import CitedPlace, csl_fields, write_citations
from winnow.server.bibliographies.cleaning import clean_item
from winnow.server.bibliographies.facts import facts_of, item_of
from winnow.server.bibliographies.formats.latex import decode
from winnow.server.bibliographies.packing import SUFFIXES, Bibliography, pack, unpack
from winnow.server.bibliographies.reading import read_bibliography
from winnow.server.bibliographies.records import Attachment, Creator, EntryFlaw, LibraryItem
from winnow.server.models import CitationStyle

BIBTEX = r"""
@string{jou = "Journal of " # {Things}}
@InProceedings{a:1, title="On {P}ods and {\"o}thers",
  author={Hans von M{\"u}ller and {World Health Organization} and King, Jr., Martin Luther and others},
  crossref=proc, pages={1--10}, month=mar # "~1", doi = {https://doi.org/10.1000/a\_b}, keywords={x; y, z}}
@proceedings{proc, title={Proceedings of X}, year=2019, editor={Ed, Itor}, publisher = {ACM}, file={a.pdf}}
@article(p1, title={p}, journal = jou, date={2019-03-05/2020},
  file={Full:/z/AB/p\:1.pdf:application/pdf;:b.txt:Text})
"""
RIS = """Provider: a database
TY  - JOUR
AU  - Müller, Jörg
AU  - World Health Organization
TI  - A title
 that goes on
DA  - 2019/03/05/
JO  - J. X
SP  - 1
EP  - 10
KW  - a
DO  - 10.1000/xyz
L1  - file:///home/u/a.pdf
ER  -
TY  - BOOK
ID  - book1
TI  - A book
ER  -
"""


def _items(text: str, suffix: str) -> dict[str, LibraryItem]:
    read = read_bibliography(text, suffix)
    assert read.flaws == ()
    return {item.citekey: item for item in read.items}


def test_an_entry_of_bibtex_has_macros_accents_names_and_its_parents_fields() -> None:
    assert _items(BIBTEX, ".bib")["a:1"] == LibraryItem(
        key="a:1",
        citekey="a:1",
        item_type="paper-conference",
        title="On Pods and öthers",
        creators=(
            Creator("von Müller", "Hans"),
            Creator("World Health Organization"),
            Creator("King", "Martin Luther", suffix="Jr."),
            Creator("others"),
            Creator("Ed", "Itor", "editor"),
        ),
        year=2019,
        date="2019-03-01",
        doi="10.1000/a_b",
        container="Proceedings of X",
        publisher="ACM",
        pages="1–10",
        tags=("x", "y", "z"),
        cased=(("title", ((3, 4), (12, 13))), ("container-title", ())),
    )


# A title as a file of BibTeX has it, and in sentence case.
TITLES: dict[str, str] = {
    "Deep Learning For {NASA}: A Survey": "Deep learning for <NASA>: A survey",
    "the art of {B}ayes and {Sentence of Words}": "The art of <Bayes> and <Sentence of Words>",
    "{The Whole Title}": "<The Whole Title>",
    "McDonald and O'Reilly on DNA, GAN-Based Men/Women": "McDonald and O'Reilly on DNA, GAN-based men/women",
    "Vitamin C, Part I: {mRNA} of A Cell and X-Rays": "Vitamin C, part I: <mRNA> of a cell and X-rays",
    "What Next? Two Views! Of vs. small. The End": "What next? Two views! Of vs. small. The end",
    'On "Good" Things: "Bad" (Ones) -- And More; More': 'On "good" things: "Bad" (ones) – and more; more',
    r"{\'E}tale Na{\"i}ve Maps of $A \to B$ {\em In Vitro}": "<Étale> naïve maps of $A \\to B$ <In Vitro>",
    r"\emph{Homo Sapiens} at \url{http://X.org/A} by {\TeX}": "Homo sapiens at <http://X.org/A> by <TeX>",
    "THE ART OF A MACHINE": "THE ART OF A MACHINE",
    "Python: Introduction": "Python: Introduction",
    "{mRNA} Editing in 3D": "<mRNA> editing in 3D",
    "pandas: a library": "Pandas: A library",
}


def _marked(title: str) -> str:
    return title.replace('<span class="nocase">', "<").replace("</span>", ">")


@pytest.mark.parametrize("title", TITLES)
def test_titles_of_bibtex_are_in_sentence_case_but_for_what_braces_protect(title: str) -> None:
    (item,) = _items(f"@article{{a, title={{{title}}}}}", ".bib").values()
    assert _marked(csl_fields(item)["title"]) == TITLES[title]
    assert item.title.casefold() == TITLES[title].replace("<", "").replace(">", "").casefold()


def test_titles_of_books_and_series_are_in_title_case_in_bibtex_and_names_of_journals_are_not() -> None:
    entry = (
        "@incollection{a, title={A View}, booktitle={The Big {Book}}, series={Lecture Notes}, shorttitle={A V}}"
    )
    (book,) = _items(entry, ".bib").values()
    titles = {name: _marked(text) for name, text in csl_fields(book).items() if "title" in name}
    assert titles == {
        "title": "A view",
        "container-title": "The big <Book>",
        "collection-title": "Lecture notes",
        "title-short": "A V",
    }
    (article,) = _items("@article{a, title={A View}, journal={Journal of Things}}", ".bib").values()
    assert csl_fields(article)["container-title"] == "Journal of Things"
    entry = "@article{a, title={A View}, subtitle={The {Next} One}, titleaddon={with More}}"
    (part,) = _items(entry, ".bib").values()
    assert _marked(csl_fields(part)["title"]) == "A view: The <Next> one. with more"


@pytest.mark.parametrize(
    ("language", "title"),
    [
        ("", "Das ding an sich"),
        ("langid={american},", "Das ding an sich"),
        ("language={English},", "Das ding an sich"),
        ("langid={german},", "Das Ding an Sich"),
        ("language={German},", "Das Ding an Sich"),
        ("hyphenation={ngerman},", "Das Ding an Sich"),
        ("langid={latin},", "Das Ding an Sich"),
    ],
)
def test_only_titles_in_english_are_in_title_case_in_bibtex(language: str, title: str) -> None:
    (item,) = _items(f"@book{{a, {language} title={{Das Ding an Sich}}}}", ".bib").values()
    assert (item.title, csl_fields(item)["title"]) == ("Das Ding an Sich", title)


def test_titles_of_other_formats_are_in_the_case_that_they_have() -> None:
    for text, suffix in (
        ("TY  - BOOK\nID  - a\nTI  - A Big Book\nER  -\n", ".ris"),
        ('[{"id": "a", "type": "book", "title": "A Big Book"}]', ".json"),
    ):
        assert csl_fields(_items(text, suffix)["a"])["title"] == "A Big Book"


def test_the_case_of_titles_is_a_fact_of_documents_and_those_without_it_keep_theirs() -> None:
    (item,) = _items("@book{a, title={Deep Learning for {NASA}}}", ".bib").values()
    facts = facts_of(item)
    assert (facts["work.title"], facts["work.title-case"]) == ("Deep Learning for NASA", ["title 18-22"])
    assert item_of("", (), facts) == item
    former = item_of("", (), {name: fact for name, fact in facts.items() if name != "work.title-case"})
    assert former is not None
    assert csl_fields(former)["title"] == "Deep Learning for NASA"


@pytest.mark.parametrize("stated", ["title 3-x", "title 90-95", "title 5-3", "abstract 0-3", "", "title -1-2"])
def test_places_that_a_document_makes_up_protect_nothing(stated: str) -> None:
    item = item_of("", (), {"citekey": "a", "work.title": "A Big Book", "work.title-case": ["title", stated]})
    assert item is not None
    assert csl_fields(clean_item(item))["title"] == "A big book"


def test_places_are_left_out_where_the_title_was_cleaned() -> None:
    item = LibraryItem("a", "a", "book", "A\x00 Big Book", cased=(("title", ((2, 5),)),))
    assert clean_item(item).cased == ()


def test_dates_and_concatenated_macros_of_biblatex_are_read() -> None:
    item = _items(BIBTEX, ".bib")["p1"]
    assert (item.date, item.year, item.container) == ("2019-03-05/2020", 2019, "Journal of Things")


LATEX: dict[str, str] = {
    r"\copyright{} \S 5, \pounds 3, 5\degree{} \textless{} \textbar": "© §5, £3, 5° < |",
    r"The {\nobreakspace}GAP{\nobreakspace}Group\thinspace x": "The GAP Group x",
    r"Wa\-shing\-ton, a{\slash}b, x\penalty0 y": "Washington, a/b, xy",
    r"\texttt{\symbol{126}a}, \char126 b, \char`\~c, \char'176 d": "~a, ~b, ~c, ~d",
    r'\char"7E e': "~e",
    r"\symbol{9999999}\~{}x": "~x",
    r"see \url{http://a.example/~b_c--d\%20e}": "see http://a.example/~b_c--d%20e",
    r"\verb|x_y|, \verb+a~b+": "x_y, a~b",
    r"\discretionary{-}{}{}x, {\raisebox{1pt}{y}}": "x, y",
    r"{\noopsort{1973a}}{\switchargs{--90}{1968}}": "1968–90",
    "the `small' world's ``end''": "the ‘small’ world's “end”",
    '!`Hola! ?`Como? "`Ja"\'': "¡Hola! ¿Como? „Ja“",
    "the `70s": "the `70s",
}


@pytest.mark.parametrize("text", LATEX)
def test_signs_spaces_and_addresses_of_latex_are_text(text: str) -> None:
    assert decode(text) == LATEX[text]


@pytest.mark.parametrize(
    ("stated", "date"),
    [
        ('nov # ", " # dec', "1988-11/1988-12"),
        ("{July--August}", "1988-07/1988-08"),
        ('"10~" # jan', "1988-01-10"),
        ('jan # "~4"', "1988-01-04"),
        ("{25--26} # oct", "1988-10-25/1988-10-26"),
        ("{30~May--2~June}", "1988-05-30/1988-06-02"),
        ('dec # "/" # jan', "1988-12"),
        ("{3--4}", "1988-03/1988-04"),
        ("{Spring}", "1988"),
        ("{99}", "1988"),
        ("{0}", "1988"),
    ],
)
def test_a_month_may_be_two_or_have_days(stated: str, date: str) -> None:
    (item,) = _items(f"@misc{{a, year=1988, month={stated}}}", ".bib").values()
    assert (item.date, item.year) == (date, 1988)


def test_the_year_of_a_work_is_no_mark_for_its_place_in_a_list() -> None:
    assert _items(r'@book{a, year="{\noopsort{1973c}}1981"}', ".bib")["a"].year == 1981


@pytest.mark.parametrize(
    ("stated", "url", "publisher"),
    [
        (r"howpublished={\url{http://a.example/~b}}", "http://a.example/~b", ""),
        (r"howpublished={\href{http://a.example/~b}{\texttt{http://a.example/~b}}}", "http://a.example/~b", ""),
        (r"howpublished={\href{http://a.example/1}{arXiv:1}}", "http://a.example/1", "arXiv:1"),
        (r"howpublished={http://a.example/}", "http://a.example/", ""),
        (r"howpublished={Leaflet}, note={\url{http://a.example/}}", "http://a.example/", "Leaflet"),
        (r"howpublished={\url{http://a.example/}}, url={http://b.example/}", "http://b.example/", ""),
        (r"howpublished={Self-published, http://a.example/}", "", "Self-published, http://a.example/"),
    ],
)
def test_a_work_that_is_published_at_an_address_has_it(stated: str, url: str, publisher: str) -> None:
    item = _items(f"@misc{{a, {stated}}}", ".bib")["a"]
    assert (item.url, item.publisher) == (url, publisher)


PARENTS = r"""
@xdata{ed, publisher={X}, location={Y}}
@mvbook{set, author={Ann Lee}, title={The Set}, xdata={ed, none}}
@book{vol, crossref={set}, title={Volume One}, volume=1, date={1999}}
@inbook{part, crossref={vol}, title={A Part}}
@book{old, author={Bob Roe}, title={Old Set}, booktitle={Old Set}, year=1973}
@book{own, crossref={old}, title={Own}, volume=2}
@inbook{lone, author={Cy Poe}, title={A Course}, pages={1--9}}
@proceedings{proc, title={Proc. of X}, booktitle={Proc. of X (for parts)}, editor={Ed, Itor}}
@inproceedings{talk, crossref={proc}, title={A Talk}}
@periodical{per, title={The Journal}, subtitle={Of Things}, date={2001}}
@article{art, crossref={per}, title={An Article}}
"""


def test_entries_have_from_their_parents_what_bibtex_and_biblatex_say() -> None:
    items = _items(PARENTS, ".bib")
    assert {key: (item.item_type, item.container, item.publisher) for key, item in items.items()} == {
        "ed": ("document", "", "X"),
        "set": ("book", "", "X"),
        "vol": ("book", "The Set", "X"),
        "part": ("chapter", "Volume One", "X"),
        "old": ("book", "", ""),
        "own": ("book", "", ""),
        "lone": ("book", "", ""),
        "proc": ("book", "", ""),
        "talk": ("paper-conference", "Proc. of X (for parts)", ""),
        "per": ("periodical", "", ""),
        "art": ("article-journal", "The Journal: Of Things", ""),
    }
    assert [each.name for each in items["own"].creators] == ["Roe, Bob"]
    assert [(each.name, each.role) for each in items["part"].creators] == [
        ("Lee, Ann", "author"),
        ("Lee, Ann", "container-author"),
    ]
    assert dict(items["proc"].more)["booktitle"] == "Proc. of X (for parts)"


@pytest.mark.parametrize(
    "creator",
    [
        Creator("Höhler", "I."),
        Creator("King", "Martin Luther", suffix="Jr."),
        Creator("Adobe, Inc."),
        Creator("Ohm", "V"),
        Creator("Lee", "X. V.", suffix="III"),
        Creator("Society, The", role="composer"),
    ],
)
def test_names_are_the_same_in_the_facts_of_a_document(creator: Creator) -> None:
    item = LibraryItem("a", "a", "book", "On Piles", (creator, Creator("Doe", "Ann", creator.role)))
    read = item_of("On Piles", (), facts_of(item))
    assert read is not None
    assert read.creators == item.creators
    assert read.more == ()


@pytest.mark.parametrize("last", ["et al.", "{et al}", "al., et", "others"])
def test_others_are_named_in_several_ways(last: str) -> None:
    assert _items(f"@misc{{a, author={{Doe, Ann and {last}}}}}", ".bib")["a"].creators[-1] == Creator("others")


@pytest.mark.parametrize(
    ("field", "paths"),
    [
        (r"Full Text:/z/AB/p\:1.pdf:application/pdf;Snap:/x/y.html:text/html", ["/z/AB/p:1.pdf", "/x/y.html"]),
        (":papers/a.pdf:PDF", ["papers/a.pdf"]),
        ("/a/b.pdf;/c.pdf", ["/a/b.pdf", "/c.pdf"]),
        (r"C\:\\Users\\x.pdf", [r"C:\Users\x.pdf"]),
        (r"C:\papers\x.pdf", [r"C:\papers\x.pdf"]),
        ("a.pdf", ["a.pdf"]),
        (" ; :: ;", []),
        ("", []),
    ],
)
def test_the_field_file_is_read_as_each_program_writes_it(field: str, paths: list[str]) -> None:
    assert [each.path for each in read_file_field(field)] == paths


def test_bad_blocks_are_named_with_their_lines_and_lose_nothing_else() -> None:
    text = "@book{ok1, title={One}}\n@article{broken, title={unclosed, year=2000\n@book{ok2, title={Two}}\n"
    text += "@article{ok1, title={again}}\n@misc{, title={no key}}\n@misc{twice, title={A}, title={B}}\n"
    read = read_bibliography(text, ".bib")
    assert {item.citekey: item.title for item in read.items} == {"ok1": "One", "ok2": "Two", "twice": "A"}
    assert [(flaw.line, flaw.name) for flaw in read.flaws] == [
        (2, "broken"),
        (4, "ok1"),
        (5, "misc"),
        (6, "twice"),
    ]
    assert read.flaws[1].reason == "the key is used twice; the entry of line 1 is kept"


COMMENTED = """
@book{one, title={One}, % the short one
  % year={1999},
  year={2001}, % 50 % sure
  url={http://a.example/%20b},
  note={100
% of it}, % to be filled in
}
@book{two, title={Two}, year={2002}, % the last
}
@book{one, title={Three}, % again
}
"""


def test_comments_between_fields_are_left_out() -> None:
    read = read_bibliography(COMMENTED, ".bib")
    assert [(item.title, item.year, item.url) for item in read.items] == [
        ("One", 2001, "http://a.example/%20b"),
        ("Two", 2002, ""),
    ]
    assert [(flaw.line, flaw.name) for flaw in read.flaws] == [(11, "one")]


def test_records_of_ris_are_read_and_one_without_a_key_gets_one() -> None:
    items = _items(RIS, ".ris")
    assert items["muller2019title"] == LibraryItem(
        key="muller2019title",
        citekey="muller2019title",
        item_type="article-journal",
        title="A title that goes on",
        creators=(Creator("Müller", "Jörg"), Creator("World Health Organization")),
        year=2019,
        date="2019-03-05",
        doi="10.1000/xyz",
        container="J. X",
        pages="1–10",
        tags=("a",),
        attachments=(Attachment("/home/u/a.pdf"),),
    )
    assert items["book1"].item_type == "book"


def test_works_that_would_have_the_same_made_key_are_both_kept() -> None:
    record = "TY  - JOUR\nAU  - Ohm, G\nTI  - Law\nPY  - 1827\nER  - \n"
    items = read_bibliography(record * 3 + "TY  - BOOK\nID  - ohm1827law-2\nER  - \n", ".ris").items
    assert sorted(item.citekey for item in items) == ["ohm1827law", "ohm1827law-2", "ohm1827law-3", "ohm1827law-4"]


def test_a_record_of_ris_without_an_end_is_named_and_kept() -> None:
    read = read_bibliography("TY  - BOOK\nID  - one\nTY  - BOOK\nID  - two\nER  - \n", ".ris")
    assert [item.citekey for item in read.items] == ["one", "two"]
    reason = "the record has no end (ER); it is read up to the next one"
    assert read.flaws == (EntryFlaw(1, "one", reason),)


def test_works_of_csl_json_are_read_and_bad_ones_named_with_their_lines() -> None:
    works = [
        {"id": "a", "type": "article-journal", "title": "T <i>x</i>", "author": [{"family": "M", "given": "J"}]},
        {"id": "b", "author": "M"},
        {"id": 7, "type": "chapter", "issued": {"date-parts": [[2019, "3"]]}, "keyword": "x, y", "DOI": "10.1/x"},
    ]
    read = read_bibliography("[\n" + ",\n".join(map(json.dumps, works)) + "\n]", ".json")
    assert read.items == (
        LibraryItem("a", "a", "article-journal", "T x", (Creator("M", "J"),)),
        LibraryItem("7", "7", "chapter", "", year=2019, date="2019-03", tags=("x", "y"), doi="10.1/x"),
    )
    assert read.flaws == (EntryFlaw(3, "b", "not read: author must be a list of names"),)


@pytest.mark.parametrize("text", ["", "{}", "null", "[", '{"items": 1}', "[1]", "[" * 100_000])
def test_json_that_is_no_bibliography_is_named(text: str) -> None:
    read = read_bibliography(text, ".json")
    assert read.items == ()
    assert len(read.flaws) == 1


# --- hostile files

_GROWING = "".join(f"@string{{m{n} = m{n - 1} # m{n - 1}}}\n" for n in range(1, 60))


@pytest.mark.parametrize(
    "text",
    [
        "@article{a, title={" + "{" * 1_000_000,
        "@article{a, title={" + "{" * 50_000 + "}" * 50_000 + "}}",
        "@string{m = m # m}\n@article{a, title = m # m}",
        '@string{m0 = "laugh"}\n' + _GROWING + "@article{a, title = m59}",
        "@article{a, title={" + "x" * 3_000_000 + "}}",
        "@article{a, author={" + " and ".join(["A B"] * 50_000) + "}}",
        "@article{a, title={" + r"\textbf" * 20_000 + "}}",
        "@article{a, crossref=a, title={x}}\n@article{b, crossref=c}\n@article{c, crossref=b}",
        "".join(f"@book{{b{n}, crossref=b{n + 1}, xdata={{b{n + 2},b{n - 1}}}}}\n" for n in range(5_000)),
        "@article{a, title={" + r"\verb|\url{\char" * 20_000 + "}}",
        "@" * 200_000,
        "@article{a}\n" * 20_000,
        "@article{a\x00\x1b[31m, title={\x00\x1b]0;x\x07\u202e}}",
    ],
    ids=[
        "braces",
        "nested",
        "self",
        "growing",
        "long",
        "names",
        "commands",
        "circle",
        "chain",
        "verbatim",
        "at",
        "repeats",
        "controls",
    ],
)
def test_hostile_bibtex_is_read_into_bounded_items(text: str) -> None:
    read = read_bibliography(text, ".bib")
    assert all(len(item.title) <= 500 and len(item.creators) <= 1_000 for item in read.items)
    assert all(item.title.isprintable() and item.citekey.isprintable() for item in read.items)
    assert len(read.flaws) <= 1_001


def test_each_ending_has_a_reader() -> None:
    assert set(reading._READERS) == set(SUFFIXES)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=string.ascii_letters + '@{}",=#\\\n ~$%&-_0', max_size=300), st.sampled_from(SUFFIXES))
def test_no_text_makes_a_reader_fail(text: str, suffix: str) -> None:
    read = read_bibliography(text, suffix)
    assert unpack(pack(read).encode()) == read


_WORDS = (
    st.text(alphabet="abcXYZäöüß ", min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)
)
_KEYS = st.lists(st.text(alphabet="abcdefg123:-", min_size=1, max_size=8), unique=True, min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(_KEYS, st.data())
def test_every_entry_is_kept_and_each_bad_one_between_them_is_named(keys: list[str], data: st.DataObject) -> None:
    titles = {key: data.draw(_WORDS) for key in keys}
    bad = data.draw(st.integers(0, len(keys)))
    blocks = [f"@book{{{key}, title={{{title}}}, year={{1999}}}}" for key, title in titles.items()]
    blocks.insert(bad, "@book{bad!, title={unclosed")
    read = read_bibliography("\n".join(blocks) + "\n@book{end, title={End}}", ".bib")
    assert {item.citekey: item.title for item in read.items} == {**titles, "end": "End"}
    assert [(flaw.line, flaw.name) for flaw in read.flaws] == [(bad + 1, "bad!")]


@pytest.mark.parametrize("key", ["a](http://x", "a}[@b", "a\\\\input", "a<x>", 'a"b', "a^^5c"])
def test_a_key_that_would_end_a_citation_is_named_and_replaced(key: str) -> None:
    work = {"id": key, "title": "Storms", "author": [{"family": "Ohm"}]}
    read = read_bibliography(json.dumps([work]), ".json")
    assert [item.citekey for item in read.items] == ["ohmstorms"]
    assert [(flaw.name, "another key" in flaw.reason) for flaw in read.flaws] == [(key, True)]
    assert item_of("Storms", (), {"citekey": key}) is None


@pytest.mark.parametrize(
    "packed", [b"", b"[]", b'{"items": [{}]}', b'{"items": [{"key": 1}]}', b"\xff", b'{"items": 5}']
)
def test_an_invalid_answer_of_the_parsing_process_is_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="not a bibliography"):
        unpack(packed)


def test_an_answer_of_the_parsing_process_is_cleaned() -> None:
    item = LibraryItem("a", "a\x1b[31m", "book", "t" * 10_000, year=10**9)
    cleaned = replace(item, citekey="a", title="t" * 500, year=0)
    (read,) = unpack(pack(Bibliography((item,))).encode()).items
    assert (read.citekey, read.year, len(read.title)) == (cleaned.citekey, 0, len(cleaned.title))


FURTHER = r"""
@mastersthesis{m, title={On $x^2$}, author={Roe, Ann and others}, year={2020}, month=mar, day=4, school={MIT},
  address={Cambridge}, note={Draft \& more}, isbn={978-3-16}, mynumber={{\'E}7}, doi={10.1000/a\_b}}
@techreport{r, title={R}, author={King, Jr., Martin}, year={in press}, number={TR-7}, institution={Lab}}
@book{b, title={B}, author={Doe, Jo}, translator={Poe, Al}, year={1999}, edition={2}, series={LNCS}, number={12},
  publisher={ACM}, organization={IFIP}, urldate={2020-01-02}, version={3.1}, howpublished={Online}}
"""


def test_fields_that_no_record_has_a_place_for_are_kept_under_the_names_of_csl_or_their_own() -> None:
    items = _items(FURTHER, ".bib")
    assert {key: dict(item.more) for key, item in items.items()} == {
        "m": {
            "genre": "Master's thesis",
            "publisher-place": "Cambridge",
            "note": "Draft & more",
            "ISBN": "978-3-16",
            "mynumber": "É7",
        },
        "r": {"genre": "Technical report", "number": "TR-7", "status": "in press"},
        "b": {
            "edition": "2",
            "collection-title": "LNCS",
            "collection-number": "12",
            "organization": "IFIP",
            "accessed": "2020-01-02",
            "version": "3.1",
            "howpublished": "Online",
        },
    }
    assert (items["m"].title, items["m"].date, items["m"].doi) == ("On $x^2$", "2020-03-04", "10.1000/a_b")
    assert items["b"].creators[-1] == Creator("Poe", "Al", "translator")


def test_what_an_entry_states_goes_through_the_facts_of_a_document_and_back() -> None:
    for item in _items(FURTHER, ".bib").values():
        again = item_of("A note's first line", ("noted",), facts_of(item))
        assert again == replace(item, language="", issue=item.issue)


def test_entries_of_bibtex_have_again_what_they_had() -> None:
    items = _items(FURTHER, ".bib")
    written = {key: write_citations([(item, CitedPlace())], "bibtex").entries[0] for key, item in items.items()}
    assert written["m"].startswith("@mastersthesis{m,")
    for line in ("title = {On $x^2$}", "author = {Roe, Ann and others}", "doi = {10.1000/a_b}", "month = {3}"):
        assert f"  {line}" in written["m"]
    assert "author = {King, Jr., Martin}" in written["r"]
    again = _items("\n".join(written.values()), ".bib")
    for key, item in items.items():
        assert (again[key].title, again[key].creators, again[key].doi) == (item.title, item.creators, item.doi)
        assert dict(item.more).items() <= dict(again[key].more).items() | {("genre", dict(item.more).get("genre"))}


@pytest.mark.parametrize("style", ["apa", "chicago", "ieee", "markdown", "csl-json"])
def test_further_facts_do_not_stop_a_style_whatever_they_say(style: CitationStyle) -> None:
    odd = ("accessed", "2020-13-45"), ("issued", "x"), ("edition", "}{"), ("container-author", "A; B"), ("x", "y")
    dated = (("accessed", "2020-02-03"), ("original-date", "soon"), ("status", "in press"))
    for item in (*_items(FURTHER, ".bib").values(), LibraryItem("k", "k", "book", "T", more=(*odd, *dated[1:]))):
        for more in (item.more, (*odd, *dated)):
            assert write_citations([(replace(item, more=more), CitedPlace("3"))], style).entries


@pytest.mark.parametrize("text", ["$^^5cinput{x}$", r"$\\input{x}$", "$a}{b$", "$a$b$", "a_b^c"])
def test_only_formulas_without_commands_stay_formulas(text: str) -> None:
    (entry,) = write_citations([(LibraryItem("k", "k", "book", text), CitedPlace())], "bibtex").entries
    assert "^^" not in entry
    assert "input{" not in entry
    assert entry.count("{") == entry.count("}")


BIBLATEX = r"""
@book{whole, title={Works}, author={Kant, Immanuel}, editor={Doe, Ann}, year={1968},
  publisher={Reimer and {Sons and Co.}}, location={Berlin and Wien}, number={7}, langid={ngerman}}
@inbook{part, title={Critique}, subtitle={Of \enquote{Reason}}, titleaddon={A Reader}, crossref={whole},
  pages={1--9}}
@article{paper, title={The \LaTeX\ Companion to self\-/made Pages}, journaltitle={Maps}, number={3},
  date={1984-05/1986}, eprint={math/0307200}, eprinttype={arxiv}, origyear={1959}}
@techreport{report, title={\path{r.sty}}, institution={Lab and Sons}, number={12}, note={\url{https://a.example}}}
@misc{leaf, title={L}, howpublished={Handed out}, url={\href{https://a.example/x_y}{here}}}
"""


def test_entries_of_biblatex_are_read_with_what_they_state_in_several_fields() -> None:
    items = _items(BIBLATEX, ".bib")
    whole, part, paper = items["whole"], items["part"], items["paper"]
    assert (whole.publisher, dict(whole.more)["publisher-place"]) == ("Reimer; Sons and Co.", "Berlin; Wien")
    assert (whole.issue, dict(whole.more)["collection-number"], whole.language) == ("", "7", "de-DE")
    assert (part.title, part.container) == ("Critique: Of “Reason”. A Reader", "Works")
    roles = {(each.family, each.role) for each in part.creators}
    assert roles == {("Kant", "author"), ("Kant", "container-author"), ("Doe", "editor")}
    assert (paper.title, paper.issue, paper.date) == (
        "The LaTeX Companion to self-made Pages",
        "3",
        "1984-05/1986",
    )
    assert (paper.url, dict(paper.more)["original-date"]) == ("https://arxiv.org/abs/math/0307200", "1959")
    report = items["report"]
    assert (report.title, report.publisher) == ("r.sty", "Lab and Sons")
    assert dict(report.more)["note"] == "https://a.example"
    assert (items["report"].issue, dict(items["report"].more)["number"]) == ("", "12")
    assert (items["leaf"].publisher, items["leaf"].url) == ("Handed out", "https://a.example/x_y")


@pytest.mark.parametrize(
    "command",
    [
        "texttt",
        "textsf",
        "textsc",
        "textrm",
        "textit",
        "textbf",
        "emph",
        "mbox",
        "underline",
        "uppercase",
        "textsl",
    ],
)
def test_a_text_within_a_command_of_typography_is_kept(command: str) -> None:
    read = _items(f'@misc{{a, title={{The \\{command}{{framed.sty}} f\\"{{\\i}}le}}, year=2000}}', ".bib")["a"]
    assert read.title == "The framed.sty fïle"


def test_links_and_addresses_in_texts_are_words_and_addresses() -> None:
    text = r"see \href{https://a.example/x}{the page} at \url{https://a.example/y_z}"
    assert dict(_items(f"@misc{{a, note={{{text}}}}}", ".bib")["a"].more)["note"] == (
        "see the page at https://a.example/y_z"
    )
