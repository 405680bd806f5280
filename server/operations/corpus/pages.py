"""The text of one place of a document: a page, slide, sheet or chapter by the number that locators count."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from winnow.server.bibliographies.locators import describe_places
from winnow.server.errors import WinnowError
from winnow.server.models import Place, PlaceKind
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import name_runs

_NOUNS: Mapping[PlaceKind, str] = MappingProxyType({"time": "caption"})  # others are called as their kind
_MOST_RUNS = 5
_PRINTED_CHARS = 80


def find_numbers(places: Sequence[Place], asked: tuple[int, int] | str) -> tuple[int, int]:
    """The numbers in the file of the pages that are asked for, by them or by what is printed: "3", "iv-vi".

    A file without printed numbers is asked for its own: "3", "4-6".

    Raises:
        WinnowError: INVALID_REQUEST for what no page has printed on it, or several have.
    """
    if not isinstance(asked, str):
        return asked
    pages = [place for place in places if place.kind == "page"]
    found = [numbers for first, last in _split_printed(asked) if (numbers := _find_printed(pages, first, last))]
    if found:
        return found[0]
    shown = f"; its pages are {describe_places(pages[0], pages[-1])}" if pages else ""
    raise WinnowError(
        "INVALID_REQUEST",
        f"page: no page has {one_line(asked, _PRINTED_CHARS)!r} printed on it{shown}; a number alone, such as "
        "page=6, counts the pages of the file",
    )


def _split_printed(asked: str) -> Iterator[tuple[str, str]]:
    """A printed number, or the two of a range: they may have hyphens themselves."""
    yield asked, asked
    for sign in re.finditer(r"\s*[-\u2013]\s*", asked):
        yield asked[: sign.start()], asked[sign.end() :]


def _find_printed(pages: Sequence[Place], first: str, last: str) -> tuple[int, int] | None:
    """The numbers of the pages with these printed ones. Raises where several pages have one of them."""
    ends = [[page for page in pages if (page.label or str(page.number)) == label] for label in (first, last)]
    numbers = [sorted({page.number for page in end}) for end in ends]
    if not all(numbers) or numbers[0][0] > numbers[1][0]:
        return None
    if several := next((each for each in numbers if len(each) > 1), None):
        named = ", ".join(str(number) for number in several[:_MOST_RUNS])
        raise WinnowError(
            "INVALID_REQUEST",
            f"page: several pages have this number printed on them: file pages {named}; give one of these",
        )
    return numbers[0][0], numbers[1][0]


def find_pages(places: Sequence[Place], numbers: tuple[int, int], length: int) -> tuple[int, int]:
    """The first character of the places from one number to another, and the one after their last.

    ``places`` are all of a document in the order of its text, ``length`` are the characters of that text. Parts of
    a sheet that follow each other are one place.

    Raises:
        WinnowError: INVALID_REQUEST for numbers that the document does not have, with those that it has.
    """
    lowest, highest = numbers
    if not places:
        raise WinnowError(
            "INVALID_REQUEST", "page: this document has no pages or other places; leave page out, or give start"
        )
    # Text before the first place counts to it. Of places that begin at one character, all but the last are empty.
    bounds = pairwise([0, *(place.start for place in places[1:]), length])
    spans = [span for place, span in zip(places, bounds, strict=True) if lowest <= place.number <= highest]
    filled = [(first, end) for first, end in spans if first < end]
    if not filled:
        raise WinnowError("INVALID_REQUEST", _describe_missing(places, numbers, is_empty=bool(spans)))
    start, end = filled[0]
    for first, following in filled[1:]:
        end = following if first == end else end
    return start, end


def name_pages(places: Sequence[Place], numbers: tuple[int, int]) -> str:
    """A page or a range of them in words: "page 12", "slides 12-14"; "file page 12" where others are printed."""
    first, last = numbers
    noun = _noun(places)
    return f"{noun} {first}" if first == last else f"{noun}s {first}-{last}"


def list_pages(places: Sequence[Place]) -> str:
    """The pages that a document has, in words: "pages 1-3, 5"."""
    return f"{_noun(places)}s {_format_numbers({place.number for place in places})}"


def _noun(places: Sequence[Place]) -> str:
    if any(place.kind == "page" and place.label not in ("", str(place.number)) for place in places):
        return "file page"
    return _NOUNS.get(places[0].kind, places[0].kind)


def _describe_missing(places: Sequence[Place], numbers: tuple[int, int], *, is_empty: bool) -> str:
    name = name_pages(places, numbers)
    has, is_ = ("has", "is") if numbers[0] == numbers[1] else ("have", "are")
    what = f"{name} {has} no text" if is_empty else f"there {is_} no {name} with text"
    return f"page: {what}; it has {list_pages(places)}"


def _format_numbers(numbers: Collection[int]) -> str:
    """Numbers in words: "1-80", or "1-3, 5-80", the first few runs of them.

    >>> _format_numbers([1, 2, 3, 5])
    '1-3, 5'
    """
    runs = name_runs(numbers)
    more = f" and others up to {max(numbers)}" if len(runs) > _MOST_RUNS else ""
    return ", ".join(runs[:_MOST_RUNS]) + more
