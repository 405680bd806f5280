"""Patterns with possessive groups match the same on every supported Python."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.operations.corpus import paragraphs
from winnow.server.readers import chunking
from winnow.server.text.markup.possessive import compile_possessive, with_atomic_groups
from winnow.server.text.quotes import folding, markdown_quotes
from winnow.server.text.words import sentences, spans

OURS = [
    value
    for module in (chunking, paragraphs, folding, markdown_quotes, sentences, spans)
    for value in vars(module).values()
    if isinstance(value, re.Pattern) and with_atomic_groups(value.pattern) != value.pattern
]


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        (r"ab(?:cd)*+", "abce", 2),
        (r"a(?:b?c)?+", "abd", 1),
        (r"\S(?:.*\S)?+(?:\n[ ]*+\S)*+", "ab \n\n", 2),
        (r"(?:\n\S++){0,3}+", "\na\n\nb", 2),
        (r"(?P<one>x(?:[)(]y)++)?+x", "x)x", 1),
    ],
)
def test_a_repetition_that_fails_is_taken_back_as_a_whole(pattern: str, text: str, end: int) -> None:
    for compiled in (compile_possessive(pattern), re.compile(with_atomic_groups(pattern))):
        found = compiled.match(text)
        assert (found and found.end()) == end


def test_what_is_no_group_or_not_possessive_stays() -> None:
    for pattern in (r"a++[)*+](?:b)+\)*+", r"(?:[^)]+)?[]()]*+", r"(\(*+)", r"[^]()]++(a)"):
        assert with_atomic_groups(pattern) == pattern


@given(st.text(alphabet="ab A_.-*`~>|[]()\n\t\"'“”«»é0:", max_size=200))
def test_our_patterns_mean_the_same_in_both_forms(text: str) -> None:
    for pattern in OURS:
        other = re.compile(with_atomic_groups(pattern.pattern), pattern.flags & ~re.UNICODE)
        assert [each.span() for each in other.finditer(text)] == [each.span() for each in pattern.finditer(text)]
