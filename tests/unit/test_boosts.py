"""Boosts: each factor applies to the documents it is set for; diversity separates similar passages."""

from __future__ import annotations

from datetime import UTC, datetime
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.models import Chunk, Document, Passage
from winnow.server.retrieval.boosts import Boosts, boost_factors, diversify

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = "How does Acme Corp keep backups in the Harbour Office?"


def passage(**facts: Any) -> Passage:
    document = Document("d", "p", "a.md", "/docs", facts.pop("title", ""), "markdown", "", **facts)
    return Passage(Chunk("c", "d", 0, (), "text", 0, 4, 1), document)


@pytest.mark.parametrize(
    ("boosts", "facts", "expected"),
    [
        (Boosts(vendor=1.5), {"vendor": "acme corp"}, 1.5),
        (Boosts(vendor=1.5), {"vendor": "corp acme"}, 1.0),
        (Boosts(vendor=1.5), {"vendor": ""}, 1.0),
        (Boosts(types={"markdown": 0.5}), {}, 0.5),
        (Boosts(types={"code": 0.5}), {}, 1.0),
        (Boosts(entity=2.0), {"title": "Harbour office"}, 2.0),
        (Boosts(topic=1.2), {"tags": ("x", "backups")}, 1.2),
        (Boosts(topic=1.2), {"doc_tag": "backup"}, 1.0),
        (Boosts(recency=2.0), {"created": "2026-01-01"}, 2.0),
        (Boosts(recency=2.0), {"created": "2025-01-01"}, 1.5),
        (Boosts(recency=0.5, half_life_days=10), {"metadata": {"updated": "2025-12-22"}}, 0.75),
        (Boosts(recency=2.0), {}, 1.0),
        (Boosts(vendor=1.5, entity=2.0), {"vendor": "Acme Corp", "title": "Harbour Office"}, 3.0),
        (Boosts(), {"vendor": "Acme Corp", "title": "Harbour Office", "created": "2026-01-01"}, 1.0),
    ],
)
def test_a_factor_applies_to_what_it_is_said_to(boosts: Boosts, facts: dict[str, Any], expected: float) -> None:
    assert prod(boost_factors(boosts, QUERY, passage(**facts), NOW).values()) == pytest.approx(expected)


def test_boosts_are_neutral_unless_one_is_set() -> None:
    assert Boosts().is_neutral
    assert Boosts(types={"code": 1.0}).is_neutral
    assert not Boosts(types={"code": 1.1}).is_neutral


def test_what_repeats_a_better_passage_comes_after_what_says_something_else() -> None:
    scores = {"a": 1.0, "twin": 0.95, "other": 0.7}
    terms = {"a": frozenset("xyz"), "twin": frozenset("xyz"), "other": frozenset("uvw")}
    assert diversify([*scores], scores, terms, 0.7) == ["a", "other", "twin"]
    assert diversify([*scores], scores, terms, 1.0) == ["a", "twin", "other"]


@given(st.lists(st.tuples(st.floats(0, 1), st.frozensets(st.sampled_from("abcde"))), max_size=12), st.floats(0, 1))
def test_keeping_apart_loses_nothing_and_keeps_the_best_first(
    rows: list[tuple[float, frozenset[str]]], keep: float
) -> None:
    scores = {str(n): score for n, (score, _) in enumerate(rows)}
    order = sorted(scores, key=lambda one: -scores[one])
    found = diversify(order, scores, {str(n): terms for n, (_, terms) in enumerate(rows)}, keep)
    assert sorted(found) == sorted(order)
    assert keep == 0 or found[:1] == order[:1]
