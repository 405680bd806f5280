"""Fusion: textbook formulas and a deterministic order of ties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.retrieval.fusion import (
    add_shares,
    convex_shares,
    divide_by_maximum,
    reciprocal_rank_fusion,
    sort_by_score,
)

ids = st.text("0123456789abcdefghijklmnopqrstuv", min_size=1, max_size=3)
scores = st.dictionaries(ids, st.floats(-1, 50), max_size=20)
cosines = st.dictionaries(ids, st.integers(-100, 100).map(lambda percent: percent / 100), max_size=20)


def test_convex_mixes_each_leg_divided_by_its_best() -> None:
    assert add_shares(convex_shares({"a": 0.8, "b": 0.4}, {"b": 10.0, "c": 5.0}, 0.4)) == [
        ("b", 0.7),
        ("a", 0.6),
        ("c", 0.2),
    ]


def test_reciprocal_ranks_count_from_zero_with_k_sixty() -> None:
    fused = dict(reciprocal_rank_fusion([["a", "b"], ["b", "c"]]))
    assert list(fused) == ["b", "a", "c"]
    assert fused == pytest.approx({"b": 1 / 61 + 1 / 60, "a": 1 / 60, "c": 1 / 61}, abs=1e-6)


@given(scores, scores)
def test_convex_scores_lie_between_zero_and_one_and_keep_everything(
    dense: dict[str, float], sparse: dict[str, float]
) -> None:
    fused = add_shares(convex_shares(dense, sparse))
    assert {chunk for chunk, _ in fused} == dense.keys() | sparse.keys()
    assert all(0 <= score <= 1 for _, score in fused)


@given(cosines, scores, st.sampled_from([0.25, 0.5, 0.75]))
def test_a_model_that_gives_everything_more_joins_alike_once_its_background_is_known(
    dense: dict[str, float], sparse: dict[str, float], background: float
) -> None:
    lofty = {chunk: score + background for chunk, score in dense.items()}
    fused = dict(add_shares(convex_shares(lofty, sparse, background=background)))
    assert fused == pytest.approx(dict(add_shares(convex_shares(dense, sparse))), abs=2e-6)


def test_a_cosine_counts_by_what_it_has_above_the_background() -> None:
    fused = add_shares(convex_shares({"a": 0.9, "b": 0.8, "c": 0.5}, {}, 0.5, background=0.7))
    assert fused == [("a", 0.5), ("b", 0.25), ("c", 0.0)]


@given(st.lists(st.lists(ids, unique=True, max_size=9), max_size=3))
def test_what_is_first_everywhere_is_first(rankings: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion([["first", *ranking] for ranking in [*rankings, []]])
    assert fused[0][0] == "first"


@given(scores)
def test_the_order_does_not_depend_on_the_order_of_arrival(values: dict[str, float]) -> None:
    assert sort_by_score(values.items()) == sort_by_score(reversed(values.items()))


def test_equal_scores_are_ordered_by_id_even_if_engines_differ_in_the_last_digit() -> None:
    assert [chunk for chunk, _ in sort_by_score([("b", 0.50000001), ("a", 0.5), ("c", 0.6)])] == ["c", "a", "b"]


def test_a_leg_without_a_positive_score_adds_nothing() -> None:
    assert divide_by_maximum({"a": -0.5, "b": 0.0}) == {"a": 0.0, "b": 0.0}
    assert divide_by_maximum({}) == {}
