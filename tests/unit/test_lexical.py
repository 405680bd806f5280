"""Terms: what the lexical leg sees of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.retrieval.lexical import document_vector, mostly_latin, query_vector, terms
from server.retrieval.stopwords import STOPWORDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How does it work?", ["work"]),
        ("Containers contained", ["contain", "contain"]),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("max_open_files", ["max_open_files", "max", "open", "file"]),
        ("os.path.join", ["os.path.join", "os", "path", "join"]),
        ("__init__", ["init"]),
        ("python3.11", ["python3.11", "python3", "python", "3", "11"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("東", ["東"]),
        ("ｆｕｌｌ", ["full"]),
        ("kubectl用法", ["kubectl", "用法"]),
        ("серверы сервера", ["сервер", "сервер"]),
        ("हिन्दी", ["हिन्द"]),
        ("don't isn't it's", []),
        ("_ ___", []),
        ("x" * 65, []),
    ],
)
def test_terms_of(text: str, expected: list[str]) -> None:
    assert list(terms(text)) == expected


@given(st.text())
def test_any_text_has_terms_that_make_a_valid_vector(text: str) -> None:
    for vector in (query_vector(text), document_vector(text, text)):
        assert list(vector.indices) == sorted(set(vector.indices))
        assert len(vector.indices) == len(vector.values)
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(value > 0 for value in vector.values)


@given(st.text(max_size=50))
def test_a_document_matches_every_query_made_of_its_words(text: str) -> None:
    assert set(query_vector(text).indices) == set(document_vector("", text).indices)


def test_saying_a_word_more_often_helps_less_each_time() -> None:
    (number,) = query_vector("proxy").indices
    weights = []
    for n in (1, 2, 3):
        vector = document_vector("", "proxy " * n + "x " * (9 - n))
        weights.append(dict(zip(vector.indices, vector.values, strict=True))[number])
    assert weights[0] < weights[1] < weights[2]
    assert weights[2] - weights[1] < weights[1] - weights[0]


def test_a_word_of_the_title_counts_for_more() -> None:
    (number,) = query_vector("proxy").indices

    def weight(title: str) -> float:
        vector = document_vector(title, "proxy settings")
        return dict(zip(vector.indices, vector.values, strict=True))[number]

    assert weight("proxy") > weight("other")


def test_question_words_are_stopwords_and_the_list_is_about_as_long_as_measured() -> None:
    assert {"what", "which", "how", "does", "should"} <= STOPWORDS
    assert 150 <= len(STOPWORDS) <= 250


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what is it", True),
        ("naïve café", True),
        ("123 ?", True),
        ("東京のタワー kubectl", False),
        ("сервер", False),
    ],
)
def test_the_script_of_most_letters_decides(text: str, expected: bool) -> None:
    assert mostly_latin(text) == expected
