"""Ids: stable, distinct for distinct inputs, and valid as numbers for a store."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from winnow.server.ids import chunk_id, chunk_of_point, document_id, is_chunk_id, point_id

texts = st.text(max_size=20)


def test_ids_are_what_they_were_in_the_first_release() -> None:
    assert document_id("default", "guide/net.md") == "qb5cc9k5jh61"
    assert chunk_id("default", "guide/net.md", ("Ports",), "8443", 0) == "fee2ocqhc1gt"


@given(texts, texts, st.lists(texts, max_size=3), texts, st.integers(0, 9))
def test_every_chunk_id_has_the_form_of_one_and_survives_the_store(
    project: str, uri: str, path: list[str], text: str, repetition: int
) -> None:
    id = chunk_id(project, uri, path, text, repetition)
    assert is_chunk_id(id)
    assert point_id(id) < 2**60
    assert chunk_of_point(point_id(id)) == id


def test_where_one_part_ends_and_the_next_begins_matters() -> None:
    assert document_id("ab", "c") != document_id("a", "bc")
    assert chunk_id("p", "u", ("a", "b"), "c", 0) != chunk_id("p", "u", ("a",), "bc", 0)


def test_the_same_words_a_second_time_are_another_chunk() -> None:
    assert chunk_id("p", "u", (), "again", 0) != chunk_id("p", "u", (), "again", 1)


def test_what_is_no_id_is_told_from_one() -> None:
    assert [
        is_chunk_id(text) for text in ("", "0123456789a", "0123456789aw", "0123456789ABC", "0123456789ab\n")
    ] == [False] * 5
