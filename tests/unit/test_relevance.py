"""Relevance: a probability that grows with the best cosine, and a warning with a low threshold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.retrieval.relevance import is_irrelevant, relevance_probability

cosines = st.floats(-1, 1)


@given(cosines, cosines)
def test_the_nearer_the_best_chunk_the_likelier(one: float, other: float) -> None:
    assert 0 <= relevance_probability(min(one, other)) <= relevance_probability(max(one, other)) <= 1


@pytest.mark.parametrize(("cosine", "expected"), [(0.65, 1.0), (0.392, 0.5), (0.1, 0.0)])
def test_the_curve_is_as_it_was_fitted(cosine: float, expected: float) -> None:
    assert relevance_probability(cosine) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("query", "cosine", "expected"),
    [
        ("how to train a puppy", 0.23, True),
        ("how to train a puppy", 0.25, False),
        ("chocolate", 0.1, False),
        ("what is error 4711 about", 0.1, False),
        ("what does getUserName return", 0.1, False),
        ("who calls os.path today", 0.1, False),
    ],
)
def test_nothing_is_said_of_whole_questions_without_identifiers_only(
    query: str, cosine: float, expected: bool
) -> None:
    assert is_irrelevant(query, cosine) == expected
