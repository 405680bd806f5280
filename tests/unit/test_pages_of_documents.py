"""The characters of a page by its number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from winnow.server.bibliographies.locators import locate
from winnow.server.contracts.corpus.reading import ReadDocument
from winnow.server.errors import WinnowError
from winnow.server.models import Place
from winnow.server.operations.corpus.pages import find_numbers, find_pages


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2)), min_size=1, max_size=8), st.integers(1, 12))
def test_a_page_has_the_characters_whose_locator_counts_to_it(steps: list[tuple[int, int]], number: int) -> None:
    places, start, page = [], 0, 1
    for length, more in steps:
        places.append(Place(start, "sheet", page))
        start, page = start + length, page + more
    counted = [locate(places, at, at + 1, "a.xlsx") for at in range(start)]
    expected = [at for at, one in enumerate(counted) if one is not None and one.page_span == (number, number)]
    try:
        span = range(*find_pages(places, (number, number), start))
    except WinnowError:
        span = range(0)
    assert list(span) == expected


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([1, 2, 3, 5], "there is no page 4 with text; it has pages 1-3, 5"),
        ([9], "there is no page 4 with text; it has pages 9"),
        (range(5, 60, 2), "pages 5, 7, 9, 11, 13 and others up to 59"),
    ],
)
def test_a_page_that_is_not_there_names_those_that_are(numbers: list[int], message: str) -> None:
    places = [Place(10 * at, "page", number) for at, number in enumerate(numbers)]
    with pytest.raises(WinnowError) as caught:
        find_pages(places, (4, 4), 1_000)
    assert message in caught.value.message


def test_a_page_without_text_says_so() -> None:
    with pytest.raises(WinnowError) as caught:
        find_pages([Place(0, "slide", 1), Place(5, "slide", 2), Place(5, "slide", 3)], (2, 2), 9)
    assert caught.value.message == "page: slide 2 has no text; it has slides 1-3"


def test_a_range_has_the_characters_of_all_its_pages_and_of_those_alone() -> None:
    places = [Place(start, "page", number) for start, number in ((0, 1), (10, 2), (20, 3), (20, 4), (30, 6))]
    assert [find_pages(places, numbers, 40) for numbers in ((2, 3), (2, 4), (1, 99), (4, 5), (5, 6))] == [
        (10, 20), (10, 30), (0, 40), (20, 30), (30, 40)]  # fmt: skip
    with pytest.raises(WinnowError, match="there are no pages 7-9 with text; it has pages 1-4, 6"):
        find_pages(places, (7, 9), 40)
    with pytest.raises(WinnowError, match="page 3 has no text"):
        find_pages(places, (3, 3), 40)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (12, (12, 12)),
        ("12", (12, 12)),
        ("12-14", (12, 14)),
        (" 12 \u2013 14 ", (12, 14)),
        ([45, 46], (45, 46)),
        ("p. 4", "4"),
        ("pp. iv-vi", "iv-vi"),
        ("page A-1", "A-1"),
        ("p. 3 (file page 6)", (6, 6)),
        ("pp. iv-3 (file pages 4-6)", (4, 6)),
        ("file page 6", (6, 6)),
        ("slide 3", (3, 3)),
    ],
)
def test_pages_are_a_number_a_range_or_the_span_of_a_row(given: object, read: object) -> None:
    assert ReadDocument.model_validate({"document": "a", "page": given}).page == read


@pytest.mark.parametrize(
    "given",
    [
        0,
        -1,
        "14-12",
        "0-3",
        "1-2-3",
        "12-",
        "a",
        "",
        1.5,
        True,
        [],
        [1],
        [1, True],
        [1, 2, 3],
        ["1", "2"],
        10**9 + 1,
        "\u0661",
    ],
)
def test_anything_else_is_refused_with_what_to_give(given: object) -> None:
    with pytest.raises(
        ValidationError, match='give a number from 1 on, a range such as "12-14", or a printed page'
    ):
        ReadDocument.model_validate({"document": "a", "page": given})


FRONT = [
    Place(10 * at, "page", at + 1, label) for at, label in enumerate(["i", "ii", "1", "2", "", "A-1", "A-2", "2"])
]


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ("ii", (2, 2)),
        ("i-1", (1, 3)),
        ("5", (5, 5)),
        ("A-1", (6, 6)),
        ("A-1 - A-2", (6, 7)),
        ("A-1-A-2", (6, 7)),
        ((2, 3), (2, 3)),
    ],
)
def test_printed_numbers_find_their_pages_of_the_file(asked: str, numbers: tuple[int, int]) -> None:
    assert find_numbers(FRONT, asked) == numbers


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("3", "no page has '3' printed on it; its pages are pp. i-2 (file pages 1-8); a number alone"),
        ("1-i", "no page has '1-i' printed on it"),
        ("2", "several pages have this number printed on them: file pages 4, 8; give one of these"),
    ],
)
def test_a_printed_number_that_no_page_or_several_have_is_refused(asked: str, message: str) -> None:
    with pytest.raises(WinnowError) as caught:
        find_numbers(FRONT, asked)
    assert message in caught.value.message
