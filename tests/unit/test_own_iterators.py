"""The iterators of ``itertools`` that are our own give what CPython's give."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.sandbox.child.modules import functools_module as ours

pytestmark = pytest.mark.both_users

ITEMS = st.lists(st.integers(0, 3), max_size=8)
BOUND = st.none() | st.integers(-1, 9)


@given(ITEMS, st.lists(BOUND, min_size=1, max_size=3))
def test_a_slice_takes_the_same_items_and_leaves_the_same(items: list[int], bounds: list[int | None]) -> None:
    def ending(islice: Any) -> Any:
        source = iter(items)
        try:
            return list(islice(source, *bounds)), list(source)
        except ValueError:
            return "refused"

    assert ending(itertools.islice) == ending(ours.islice)


@given(ITEMS, st.sampled_from([None, lambda n: n // 2]))
def test_groups_are_the_same(items: list[int], key: Any) -> None:
    def groups(groupby: Any) -> list[Any]:
        return [(value, list(itertools.islice(group, 2))) for value, group in groupby(items, key)]

    assert groups(itertools.groupby) == groups(ours.groupby)


@given(st.lists(ITEMS, max_size=4))
def test_rows_of_iterables_of_several_lengths_are_the_same(columns: list[list[int]]) -> None:
    expected = list(itertools.zip_longest(*columns, fillvalue="-"))
    assert expected == list(ours.zip_longest(*columns, fillvalue="-"))


def test_batches_are_tuples_of_the_same_length_but_for_the_last() -> None:
    assert list(ours.batched(range(7), 3)) == [(0, 1, 2), (3, 4, 5), (6,)]
    with pytest.raises(ValueError, match="incomplete batch"):
        list(ours.batched(range(7), 3, strict=True))
    with pytest.raises(ValueError, match="at least one"):
        ours.batched([], 0)


def test_what_is_no_iterable_is_refused_at_the_call() -> None:
    for call in (lambda: ours.zip_longest(5), lambda: ours.islice(5, 1), lambda: ours.groupby(5)):  # type: ignore[arg-type, list-item]
        with pytest.raises(TypeError, match="not iterable"):
            call()  # type: ignore[no-untyped-call]


def test_an_iterator_that_goes_on_with_the_iterator_around_it_is_refused() -> None:
    class Within:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            return next(around)

    around: Any = ours.zip_longest(Within(), [1])
    with pytest.raises(ValueError, match="already executing"):
        next(around)
