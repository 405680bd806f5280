"""Cursors: they decode to the position where an answer stopped, and all other text is refused."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from winnow.server.contracts import SemanticSearch
from winnow.server.errors import WinnowError
from winnow.server.models import Legs
from winnow.server.operations.answers.paging import Cursor, fingerprint, resume
from winnow.server.operations.ranking.candidates import BY_ID, WALKED

REQUEST = SemanticSearch(query="how are retries configured")
WAYS = ("", *(legs + walked for legs in (*get_args(Legs), BY_ID) for walked in ("", WALKED)))


@given(st.integers(0, 10_000), st.integers(0, 10**18 - 1), st.sampled_from(WAYS))
def test_a_cursor_is_read_as_it_was_written(offset: int, generation: int, legs: str) -> None:
    cursor = Cursor(offset, fingerprint(REQUEST), generation, legs)
    assert resume(cursor.encode(), REQUEST) == cursor


@given(st.text(max_size=60))
@example(Cursor(10_001, fingerprint(REQUEST), 1, "hybrid").encode())
@example(Cursor(-1, fingerprint(REQUEST), 1, "hybrid").encode())
@example(Cursor(1, fingerprint(REQUEST), 1, "hybrid").encode()[:-1])
@example(Cursor(1, fingerprint(REQUEST), 1, "hybrid").encode() + "\n")
@example(Cursor(1, "٣", 1, "hybrid").encode())
@example(Cursor(1, fingerprint(SemanticSearch(query="something else")), 1, "hybrid").encode())
def test_whatever_else_is_given_is_refused(text: str) -> None:
    with pytest.raises(WinnowError) as refused:
        resume(text, REQUEST)
    assert refused.value.reason == "INVALID_CURSOR"
