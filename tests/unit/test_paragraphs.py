"""The paragraphs of a text: compared with a plain program, and within little memory."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.operations.corpus import paragraphs
from winnow.server.operations.corpus.paragraphs import iterate_paragraphs

PLAIN = re.compile(r"\S(?:.*\S)?(?:[ \t]*\n[ \t]*\S(?:.*\S)?)*")
TEXTS = st.text(st.sampled_from("ab \t\n\x0b\x85\u2028é"), max_size=60)


@given(TEXTS)
def test_paragraphs_are_where_a_plain_pattern_finds_them(text: str) -> None:
    found = [(one.start, one.end) for one in iterate_paragraphs(text)]
    assert found == [match.span() for match in PLAIN.finditer(text)]


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_two_paragraphs_have_one_digest_only_if_their_words_are_the_same(one: str, other: str, part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paragraphs, "_PART_CHARS", part)
        by_digest = {
            (each.digest, tuple(text[each.start : each.end].split()))
            for text in (one, other)
            for each in iterate_paragraphs(text)
        }
    assert len({digest for digest, _ in by_digest}) == len({words for _, words in by_digest}) == len(by_digest)


@pytest.mark.parametrize("line", ["x\n", "a word of it ", "x \x0b"])
def test_a_paragraph_of_a_million_lines_takes_little_memory(line: str) -> None:
    text = line * 1_000_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in iterate_paragraphs(text)) == 1
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
    finally:
        tracemalloc.stop()
