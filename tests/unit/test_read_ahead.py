"""Reading ahead is bounded by the weight of the items, not by their number."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.patience import LIMIT
from winnow.server.ingest.read_ahead import read_ahead


def produce(weights: list[int], made: list[int], blocked: threading.Event | None = None) -> Iterator[int]:
    for weight in weights:
        made.append(weight)
        if blocked and len(made) == len(weights):
            blocked.set()
        yield weight


def test_items_come_in_their_order() -> None:
    assert list(read_ahead(range(1, 50), 3, lambda item: 1)) == list(range(1, 50))
    assert list(read_ahead([5, 900, 1], 3, lambda item: item)) == [5, 900, 1]
    assert list(read_ahead([0, 0], 3, lambda item: item)) == [0, 0]


def test_while_a_heavy_item_is_in_use_one_more_is_made_and_no_third() -> None:
    made: list[int] = []
    items = read_ahead(produce([100] * 10, made), 3, lambda item: item)
    for taken in range(1, 11):
        assert next(items) == 100
        assert len(made) <= taken + 1
    assert (list(items), len(made)) == ([], 10)


def test_light_items_are_made_ahead_until_they_weigh_enough() -> None:
    made: list[int] = []
    third = threading.Event()
    items = read_ahead(produce([1, 1, 1], made, third), 3, lambda item: item)
    assert next(items) == 1
    assert third.wait(LIMIT)
    items.close()


def test_what_the_producer_raises_is_raised_after_the_items_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise LookupError("the second")

    items = read_ahead(failing(), 3, lambda item: item)
    assert next(items) == 1
    with pytest.raises(LookupError, match="the second"):
        next(items)


def test_closing_ends_the_thread_that_waits_for_room() -> None:
    items = read_ahead(iter(lambda: 100, 0), 3, lambda item: item)
    assert next(items) == 100
    items.close()
    assert [one.name for one in threading.enumerate() if one.name == "winnow-reader"] == []
