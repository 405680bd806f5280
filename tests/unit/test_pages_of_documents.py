"""The characters of a page by its number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import WinnowError
from server.locators import locate
from server.models import Place
from server.operations.corpus.pages import find_page


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2)), min_size=1, max_size=8), st.integers(1, 12))
def test_a_page_has_the_characters_whose_locator_counts_to_it(steps: list[tuple[int, int]], number: int) -> None:
    places, start, page = [], 0, 1
    for length, more in steps:
        places.append(Place(start, "sheet", page))
        start, page = start + length, page + more
    counted = [locate(places, at, at + 1, "a.xlsx") for at in range(start)]
    expected = [at for at, one in enumerate(counted) if one is not None and one.page_span == (number, number)]
    try:
        span = range(*find_page(places, number, start))
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
        find_page(places, 4, 1_000)
    assert message in caught.value.message


def test_a_page_without_text_says_so() -> None:
    with pytest.raises(WinnowError) as caught:
        find_page([Place(0, "slide", 1), Place(5, "slide", 2), Place(5, "slide", 3)], 2, 9)
    assert caught.value.message == "page: slide 2 has no text; it has slides 1-3"
