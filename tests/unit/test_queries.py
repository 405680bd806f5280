"""Queries: fields narrow, phrases come first, everything else is words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.models import Filters
from server.retrieval.queries import holds, understood

P = Filters("p")


@pytest.mark.parametrize(
    ("query", "text", "filters"),
    [
        ("backup policy", "backup policy", P),
        ("vendor:acme policy", "policy", Filters("p", vendor="acme")),
        ('policy vendor:"Acme Corp"', "policy", Filters("p", vendor="Acme Corp")),
        ("doc_tag:hr tag:a tag:b leave", "leave", Filters("p", doc_tags=("hr",), tags=("a", "b"))),
        ("type:code parser", "parser", Filters("p", types=("code",))),
        ("path:guide/net proxy", "proxy", Filters("p", path_prefix="guide/net")),
        (
            "after:2024-01 before:2025 news",
            "news",
            Filters("p", updated_after="2024-01-01", updated_before="2025-01-01"),
        ),
        ("vendor:acme", "vendor:acme", Filters("p", vendor="acme")),
        # words like any other
        ("project:other secrets", "project:other secrets", P),
        ("type:script tags", "type:script tags", P),
        ("after:lunch before:2024-13", "after:lunch before:2024-13", P),
        ("std::vector:x http://host:80 a:b", "std::vector:x http://host:80 a:b", P),
    ],
)
def test_what_a_query_narrows_a_search_to(query: str, text: str, filters: Filters) -> None:
    asked = understood(query, P)
    assert (asked.text, asked.filters) == (text, filters)


@pytest.mark.parametrize(
    ("query", "within", "narrowed"),
    [
        ("doc_tag:b x1", Filters("p", doc_tags=("a", "b")), Filters("p", doc_tags=("b",))),
        ("doc_tag:c x1", Filters("p", doc_tags=("a", "b")), Filters("p", doc_tags=("a", "b"))),
        ("vendor:b x1", Filters("p", vendor="a"), Filters("p", vendor="a")),
        ("path:guide/net x1", Filters("p", path_prefix="guide/"), Filters("p", path_prefix="guide/net")),
        ("path:guides x1", Filters("p", path_prefix="guide"), Filters("p", path_prefix="guide")),
        ("after:2020 x1", Filters("p", updated_after="2024-01-01"), Filters("p", updated_after="2024-01-01")),
    ],
)
def test_a_query_never_widens_what_the_call_allows(query: str, within: Filters, narrowed: Filters) -> None:
    assert understood(query, within).filters == narrowed


def test_phrases_are_kept_apart_and_searched_for_as_words() -> None:
    asked = understood('the "rate  limit" of "mark and sweep"', P)
    assert (asked.text, asked.phrases) == ("the rate limit of mark and sweep", ("rate limit", "mark and sweep"))
    assert holds(asked.phrases, "Mark and\nsweep has a RATE LIMIT.")
    assert not holds(asked.phrases, "mark and sweep limits the rate")


@given(
    st.lists(st.text("aB ß\t", min_size=1, max_size=4), min_size=1, max_size=2), st.text("abBsSß \n", max_size=30)
)
def test_a_text_holds_phrases_that_stand_in_it_whatever_its_case_and_white_space(
    wanted: list[str], text: str
) -> None:
    phrases = tuple(" ".join(phrase.split()) for phrase in wanted)
    plain = " ".join(text.split()).casefold()
    assert holds(phrases, text) == all(phrase.casefold() in plain for phrase in phrases)


@given(st.text(min_size=2, max_size=200))
def test_any_query_leaves_something_to_rank_by_within_the_same_project(query: str) -> None:
    asked = understood(query, P)
    assert asked.text
    assert asked.filters.project == "p"
