"""Locators: the pages and other places of a span, against a look at every character."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.bibliographies.locators import (
    LINK_CHARS,
    LOCATOR_CHARS,
    address_of,
    link_to_page,
    locate,
    locator_fields,
)
from winnow.server.models import Document, Place, PlaceKind

KINDS: tuple[PlaceKind, ...] = get_args(PlaceKind)
PAGES = (Place(0, "page", 45, "33"), Place(90, "page", 46, "34"), Place(90, "page", 47), Place(200, "page", 48))
SHEETS = (
    Place(0, "sheet", 1, "Q1", (2, 21)),
    Place(100, "sheet", 1, "Q1", (22, 22)),
    Place(200, "sheet", 2, "Q2", (2, 3)),
    Place(300, "sheet", 3),
)

CASES = {
    "one page": (PAGES, (10, 20), ("p. 33 (file page 45)", [45, 45], ["33", "33"], "#page=45")),
    "two pages": (PAGES, (80, 250), ("pp. 33-48 (file pages 45-48)", [45, 48], ["33", "48"], "#page=45")),
    "a page without text is passed over": (PAGES, (100, 120), ("p. 47", [47, 47], None, "#page=47")),
    "up to the last character of a page": (
        PAGES,
        (80, 90),
        ("p. 33 (file page 45)", [45, 45], ["33", "33"], "#page=45"),
    ),
    "a roman number": (
        (Place(0, "page", 4, "iv"),),
        (0, 5),
        ("p. iv (file page 4)", [4, 4], ["iv", "iv"], "#page=4"),
    ),
    "two pages with one number": (
        (Place(0, "page", 6, "3"), Place(4, "page", 7, "3")),
        (0, 5),
        ("p. 3 (file pages 6-7)", [6, 7], ["3", "3"], "#page=6"),
    ),
    "an empty span": (PAGES, (200, 200), ("p. 48", [48, 48], None, "#page=48")),
    "rows": (SHEETS, (0, 100), ('sheet "Q1", rows 2-21', [1, 1], None, "")),
    "rows of two parts": (SHEETS, (0, 101), ('sheet "Q1", rows 2-22', [1, 1], None, "")),
    "one row": (SHEETS, (100, 110), ('sheet "Q1", row 22', [1, 1], None, "")),
    "two sheets": (SHEETS, (100, 210), ('sheets "Q1" to "Q2"', [1, 2], None, "")),
    "a sheet without name and rows": (SHEETS, (300, 310), ("sheet 3", [3, 3], None, "")),
    "a slide": ((Place(0, "slide", 3, "Goals"),), (0, 5), ("slide 3", [3, 3], None, "")),
    "slides": ((Place(0, "slide", 3), Place(4, "slide", 4)), (0, 5), ("slides 3-4", [3, 4], None, "")),
    "a chapter": ((Place(0, "chapter", 3, "Of mice"),), (0, 5), ('chapter 3 "Of mice"', None, None, "")),
    "chapters": ((Place(0, "chapter", 3, "A"), Place(4, "chapter", 4)), (0, 5), ("chapters 3-4", None, None, "")),
    "a cell": ((Place(0, "cell", 4),), (0, 5), ("cell 4", None, None, "")),
    "a message": ((Place(0, "message", 12, "Re: x"),), (0, 5), ("message 12", None, None, "")),
    "a time": ((Place(0, "time", 7, "00:01:02.500"),), (0, 5), ("00:01:02", None, None, "")),
    "times": (
        (Place(0, "time", 7, "00:01:02.500"), Place(4, "time", 8, "00:01:04.000")),
        (0, 5),
        ("00:01:02-00:01:04", None, None, ""),
    ),
    "a time without label": ((Place(0, "time", 7),), (0, 5), ("caption 7", None, None, "")),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_span_is_located_in_words_and_numbers(case: tuple[tuple[Place, ...], tuple[int, int], object]) -> None:
    places, (start, end), expected = case
    fields = locator_fields(places, start, end, "guide.pdf")
    link = fields["link"].removeprefix("guide.pdf")
    assert (fields["locator"], fields.get("page_span"), fields.get("page_labels"), link) == expected


def test_a_document_without_places_has_no_fields() -> None:
    assert (locate((), 0, 5, "a.md"), locator_fields((), 0, 5, "a.md")) == (None, {})


@given(
    st.sampled_from(KINDS),
    st.lists(st.integers(0, 40), min_size=1, max_size=12).map(sorted),
    st.tuples(st.integers(0, 45), st.integers(0, 45)).map(sorted),
)
def test_the_places_of_a_span_are_those_of_its_first_and_last_character(
    kind: PlaceKind, starts: list[int], span: list[int]
) -> None:
    places = [Place(start, kind, number) for number, start in enumerate(starts, 1)]
    # The place of each character, one by one.
    held = {at: number for start, number in zip(starts, range(1, 99), strict=False) for at in range(start, 50)}
    start, end = span
    expected = held.get(start, 1), held.get(max(end - 1, start), 1)
    found = locate(places, start, end, "f")
    assert found is not None
    numbers = {str(number) for number in expected}
    assert numbers <= set(found.text.replace("-", " ").split())
    assert found.page_span == (expected if kind in ("page", "slide", "sheet") else None)
    assert found.link == (f"f#page={expected[0]}" if kind == "page" else "f")


@given(st.text(max_size=2_000), st.sampled_from(KINDS), st.text(min_size=1, max_size=3_000))
def test_a_locator_is_one_short_printable_line_whatever_a_file_calls_its_places(
    label: str, kind: PlaceKind, file: str
) -> None:
    found = locate([Place(0, kind, 1, label, (1, 2)), Place(3, kind, 2, label)], 0, 5, file)
    assert found is not None
    for text, most in ((found.text, LOCATOR_CHARS), (found.link, LINK_CHARS)):
        assert len(text) <= most
        assert "\n" not in text
        assert "\x1b" not in text


def document_of(uri: str, source: str) -> Document:
    return Document("d", "p", uri, source, "", "pdf", "")


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("zotero/ABCD2345/a.pdf", "zotero://open-pdf/library/items/ABCD2345"),
        ("zotero/ABCD2345/A Müller.PDF", "zotero://open-pdf/library/items/ABCD2345"),
        ("zotero/groups/12/ABCD2345/a.pdf", "zotero://open-pdf/groups/12/items/ABCD2345"),
        ("zotero/ABCD2345/a.epub", "zotero://select/library/items/ABCD2345"),
        ("zotero/ABCD2345/note", "zotero://select/library/items/ABCD2345"),
        (
            "zotero/ABCD2345/annotations#EFGH6789",
            "zotero://open-pdf/library/items/ABCD2345?annotation=EFGH6789",
        ),
        ("zotero/ABCD2345/annotations#EFGH6789?x", "zotero://select/library/items/ABCD2345"),
        ("zotero/abcd/a.pdf", "zotero/abcd/a.pdf"),
        ("notes/zotero/ABCD2345/a.pdf", "notes/zotero/ABCD2345/a.pdf"),
    ],
)
def test_documents_of_zotero_are_opened_by_zotero(uri: str, address: str) -> None:
    assert address_of(document_of(uri, "zotero:library")) == address


@pytest.mark.parametrize("source", ["/home/me/notes", "imported:zotero:library", "zotero", ""])
def test_a_document_of_another_source_does_not_claim_to_be_from_zotero(source: str) -> None:
    assert address_of(document_of("zotero/ABCD2345/a.pdf", source)) == "zotero/ABCD2345/a.pdf"


def test_a_link_to_a_page_keeps_the_annotation_and_selected_items_have_no_page() -> None:
    marked = "zotero://open-pdf/library/items/ABCD2345?annotation=EFGH6789"
    assert link_to_page(marked, 3) == "zotero://open-pdf/library/items/ABCD2345?page=3&annotation=EFGH6789"
    selected = "zotero://select/library/items/ABCD2345"
    assert link_to_page(selected, 3) == selected
    assert locator_fields((), 0, 5, selected) == {"link": selected}
