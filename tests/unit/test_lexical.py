"""Terms: the tokens of the lexical leg."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from winnow.server.retrieval.lexical import (
    build_document_vector,
    build_query_vector,
    count_query_terms,
    find_content_words,
    split_terms,
)
from winnow.server.text.words.languages import is_mostly_latin
from winnow.server.text.words.stop_words import STOPWORDS


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
    assert list(split_terms(text)) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Die Datenbanken der Häuser", "de", ["die", "datenbank", "der", "haus"]),
        ("les chevaux", "fr", ["le", "cheval"]),
        ("серверы the backups", "ru", ["сервер", "backup"]),
        ("the серверы", "de", ["the", "сервер"]),
        ("کتاب‌ها", "fa", ["کتاب", "ها"]),
        ("the backups", "xx", ["backup"]),
    ],
)
def test_terms_in_a_language(text: str, language: str, expected: list[str]) -> None:
    """Words are stemmed by language, or by script; English stopwords are removed where Latin script is English."""
    assert list(split_terms(text, language)) == expected


def test_a_query_has_the_form_of_every_language_in_the_project() -> None:
    assert count_query_terms("Backups der Häuser in", ("en", "de"), is_english=False) == {
        "backup": 1,
        "backups": 1,
        "der": 1,
        "häuser": 1,
        "in": 1,
        "haus": 1,
    }
    assert count_query_terms("the backups of", ("en", "de"), is_english=True) == {"backup": 1, "backups": 1}
    assert count_query_terms("backup backup", ("en", "de")) == {"backup": 2}
    assert count_query_terms("the backup", ()) == count_query_terms("the backup", ("en",)) == {"backup": 1}


@given(st.text(max_size=50), st.sampled_from(["", "en", "de", "ru", "zh"]))
def test_a_query_finds_the_words_of_a_document_in_any_language_of_the_project(text: str, language: str) -> None:
    asked = set(build_query_vector(text, ("", "de", "ru", "zh"), is_english=False).indices)
    assert set(build_document_vector("", text, language).indices) <= asked


@given(st.text())
def test_any_text_has_terms_that_make_a_valid_vector(text: str) -> None:
    for vector in (build_query_vector(text), build_document_vector(text, text)):
        assert list(vector.indices) == sorted(set(vector.indices))
        assert len(vector.indices) == len(vector.values)
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(value > 0 for value in vector.values)


@given(st.text(max_size=50))
@example("bE")
def test_a_document_matches_every_query_made_of_its_words(text: str) -> None:
    assert set(build_query_vector(text).indices) == set(build_document_vector("", text).indices)


def test_saying_a_word_more_often_helps_less_each_time() -> None:
    (number,) = build_query_vector("proxy").indices
    weights = []
    for n in (1, 2, 3):
        vector = build_document_vector("", "proxy " * n + "x " * (9 - n))
        weights.append(dict(zip(vector.indices, vector.values, strict=True))[number])
    assert weights[0] < weights[1] < weights[2]
    assert weights[2] - weights[1] < weights[1] - weights[0]


def test_a_word_of_the_title_counts_for_more() -> None:
    (number,) = build_query_vector("proxy").indices

    def weight(title: str) -> float:
        vector = build_document_vector(title, "proxy settings")
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
    assert is_mostly_latin(text) == expected


@pytest.mark.parametrize(
    ("query", "languages", "expected"),
    [
        ("How are backups kept?", ["en"], {"backups": {"backup"}, "kept": {"kept"}}),
        ("call os.getUserName", ["en"], {"call": {"call"}, "os": {"os"}, "getUserName": {"getusernam"}}),
        ("a b 7 29", ["en"], {"29": {"29"}}),
        ("die Häuser", ["en", "de"], {"die": {"die"}, "Häuser": {"häuser", "haus"}}),
        ("資料庫 kubectl用法", ["en"], {"資料庫": {"資料", "料庫"}, "kubectl": {"kubectl"}, "用法": {"用法"}}),
        ("what is it?", ["en"], {}),
    ],
)
def test_content_words_of_a_query_have_the_terms_that_stand_for_the_whole_word(
    query: str, languages: list[str], expected: dict[str, set[str]]
) -> None:
    assert find_content_words(query, languages) == expected


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_every_content_word_of_a_text_is_found_in_that_text(text: str) -> None:
    words = find_content_words(text, ["en"])
    terms = set(split_terms(text, "en"))
    assert [word for word, forms in words.items() if forms.isdisjoint(terms)] == []
