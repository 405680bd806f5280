"""Query syntax: fields are filters, phrases rank first, everything else is words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.models import Filters, Labels
from winnow.server.retrieval.queries import contains_phrases, parse_query
from winnow.server.storage.base import seconds_of

P = Filters("p")
DATES = tuple(seconds_of(date) or 0.0 for date in ("2020-06-01", "2024-06-01"))


VALUES = {
    "vendor": frozenset({"acme", "Acme Corp", "ACME corp"}),
    "doc_tag": frozenset({"hr", "b"}),
    "tags": frozenset({"a", "b"}),
    "type": frozenset({"code"}),
}


class _Known:
    """Every document has all of these labels."""

    def labels(self, filters: Filters) -> Labels:
        within = dict(VALUES)
        if filters.vendor:
            within["vendor"] = within["vendor"] & {filters.vendor}
        if filters.doc_tags:
            within["doc_tag"] = within["doc_tag"] & set(filters.doc_tags)
        return Labels(within, DATES)

    def has_documents(self, filters: Filters) -> bool:
        return filters.path_prefix.strip("/") == "guide/net"


KNOWN = _Known()


@pytest.mark.parametrize(
    ("query", "text", "filters"),
    [
        ("backup policy", "backup policy", P),
        ("vendor:acme policy", "policy", Filters("p", vendor="acme", spellings=(("vendor", "acme"),))),
        (
            'policy vendor:"Acme Corp"',
            "policy",
            Filters("p", vendor="ACME corp", spellings=(("vendor", "ACME corp"), ("vendor", "Acme Corp"))),
        ),
        (
            "doc_tag:hr tag:a tag:b leave",
            "leave",
            Filters("p", doc_tags=("hr",), tags=("a", "b"), spellings=(("tags", "a"), ("tags", "b"))),
        ),
        ("type:code parser", "parser", Filters("p", types=("code",))),
        ("path:guide/net proxy", "proxy", Filters("p", path_prefix="guide/net")),
        (
            "after:2024-01 before:2025 news",
            "news",
            Filters("p", updated_after="2024-01-01", updated_before="2025-01-01"),
        ),
        ("vendor:acme", "vendor:acme", Filters("p", vendor="acme", spellings=(("vendor", "acme"),))),
        # plain words
        ("project:other secrets", "project:other secrets", P),
        ("type:script tags", "type:script tags", P),
        # values that no document has
        ("docker image tag:latest", "docker image tag:latest", P),
        ("binaries in path:/usr/local/bin", "binaries in path:/usr/local/bin", P),
        ("error type:text", "error type:text", P),
        ("news after:2025 before:2020", "news after:2025 before:2020", P),
        ("vendor:zenith doc_tag:it x", "vendor:zenith doc_tag:it x", P),
        ("after:lunch before:2024-13", "after:lunch before:2024-13", P),
        ("std::vector:x http://host:80 a:b", "std::vector:x http://host:80 a:b", P),
    ],
)
def test_what_a_query_narrows_a_search_to(query: str, text: str, filters: Filters) -> None:
    asked = parse_query(query, P, KNOWN)
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
    assert parse_query(query, within, KNOWN).filters == narrowed


def test_what_has_the_form_of_a_filter_and_is_none_is_named() -> None:
    asked = parse_query("tag:latest tag:a image http://host:80", P, KNOWN)
    assert (asked.fields, asked.unknown, asked.text) == (
        ("tag:a",),
        ("tag:latest",),
        "tag:latest image http://host:80",
    )


def test_without_fields_a_query_is_words_and_phrases() -> None:
    asked = parse_query('vendor:acme "rate limit"', P, None)
    assert (asked.filters, asked.text, asked.phrases) == (P, "vendor:acme rate limit", ("rate limit",))
    assert (asked.fields, asked.unknown) == ((), ())


def test_phrases_are_kept_apart_and_searched_for_as_words() -> None:
    asked = parse_query('the "rate  limit" of "mark and sweep"', P, KNOWN)
    assert (asked.text, asked.phrases) == ("the rate limit of mark and sweep", ("rate limit", "mark and sweep"))
    assert contains_phrases(asked.phrases, "Mark and\nsweep has a RATE LIMIT.")
    assert not contains_phrases(asked.phrases, "mark and sweep limits the rate")


@given(
    st.lists(st.text("aB ß\t", min_size=1, max_size=4), min_size=1, max_size=2), st.text("abBsSß \n", max_size=30)
)
def test_a_text_holds_phrases_that_stand_in_it_whatever_its_case_and_white_space(
    wanted: list[str], text: str
) -> None:
    phrases = tuple(" ".join(phrase.split()) for phrase in wanted)
    plain = " ".join(text.split()).casefold()
    assert contains_phrases(phrases, text) == all(phrase.casefold() in plain for phrase in phrases)


@given(st.text(min_size=2, max_size=200))
def test_any_query_leaves_something_to_rank_by_within_the_same_project(query: str) -> None:
    asked = parse_query(query, P, KNOWN)
    assert asked.text
    assert asked.filters.project == "p"
