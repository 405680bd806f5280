"""Pages of the console from any text, and the places of what is drawn."""

from __future__ import annotations

import itertools
from html import unescape
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.console.drawings import BARS_WIDTH, HEIGHT, WIDTH, bars, ring
from winnow.server.console.pages import PAGES
from winnow.server.console.records import PageView
from winnow.server.console.rendering import link, renderer

# A browser reads a carriage return as a line feed, and has no character for 0.
TEXTS = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=60)


class Elements(HTMLParser):
    """The elements of a page in their order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)


@given(TEXTS)
def test_any_text_is_shown_as_it_is_and_makes_no_element(text: str) -> None:
    render = renderer(PAGES, text)
    pages = [
        render(PageView("error.html", title, {"reason": title, "message": title}), "/") for title in (text, "x")
    ]
    assert Elements(pages[0]).names == Elements(pages[1]).names
    assert f": <bdi>{text}</bdi>" in unescape(pages[0])
    assert f"<title>{text} · winnow</title>" in unescape(pages[0])


def test_bytes_of_a_path_that_are_no_text_are_shown_as_escapes() -> None:
    page = renderer(PAGES, "p")(PageView("error.html", "caf\udce9", {"reason": "R", "message": "caf\udce9"}), "/")
    assert ("<h1>caf\\udce9</h1>" in page, "<bdi>caf\\udce9</bdi>" in page) == (True, True)
    assert link("/script", id="\udce9") == "/script?id=%3F"
    page.encode("utf-8")


@given(st.dictionaries(st.from_regex("[a-z]{1,8}", fullmatch=True), TEXTS.filter(bool), max_size=4))
def test_a_link_has_the_values_that_it_was_made_of(query: dict[str, str]) -> None:
    address = urlsplit(link("/page", **query, nothing=None, empty=""))
    assert (address.path, dict(parse_qsl(address.query))) == ("/page", query)


@given(st.integers(0, 60))
def test_neighbours_have_places_of_their_own_within_the_drawing(count: int) -> None:
    places = [*ring(count)]
    assert len({(round(at.x), round(at.y)) for at in places}) == count
    assert all(0 < at.x < WIDTH and 0 < at.y < HEIGHT for at in places)
    assert all(at.is_left == (at.x < WIDTH / 2) for at in places)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=40))
def test_bars_are_as_high_as_their_values_and_stand_side_by_side(values: list[tuple[int, int]]) -> None:
    drawn = bars(values)
    highest = max((lower + upper for lower, upper in values), default=0)
    for bar, (lower, upper) in zip(drawn, values, strict=True):
        assert (bar.lower, bar.upper) == pytest.approx(
            (200 * lower / (highest or 1), 200 * upper / (highest or 1))
        )
    assert all(left.x + left.width <= right.x for left, right in itertools.pairwise(drawn))
    assert all(bar.x + bar.width <= BARS_WIDTH + 0.001 for bar in drawn)
