"""Languages: certain of documents, likely of queries, and what a model covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.languages import KNOWN, is_covered, language_of, query_languages

ENGLISH = frozenset({"en"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The backup starts at night and keeps copies for a month on a second machine.", "en"),
        ("Die Sicherung beginnt nachts und bewahrt Kopien einen Monat lang auf.", "de"),
        ("La copia de seguridad empieza por la noche y guarda copias durante un mes.", "es"),
        ("Резервное копирование начинается ночью и хранит копии целый месяц.", "ru"),
        ("备份在夜间开始，副本保留一个月，存放在第二台机器上，由管理员检查。", "zh"),
        ("short", ""),
        ("```\nDie Sicherung beginnt nachts und bewahrt Kopien einen Monat lang auf.\n```\n", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_document(text: str, expected: str) -> None:
    assert language_of(text) == expected


@given(st.text(), st.dictionaries(st.sampled_from(["", *KNOWN]), st.integers(1, 1000), max_size=4))
def test_what_a_query_may_be_in_sums_to_one_and_is_spoken_in_the_project(
    text: str, documents: dict[str, int]
) -> None:
    found = query_languages(text, documents)
    assert sum(found.values()) == pytest.approx(1)
    assert found.keys() <= {language or "en" for language in documents} | {"en"}


def test_a_word_alone_is_taken_for_what_most_documents_are_in() -> None:
    assert max(query_languages("pod", {"en": 90, "de": 10}).items(), key=lambda pair: pair[1])[0] == "en"
    assert query_languages("pod", {"de": 3}) == {"de": 1.0}
    assert query_languages("pod", {"en": 1000, "la": 1}) == {"en": 1.0}


@pytest.mark.parametrize(
    ("query", "documents", "expected"),
    [
        ("where are copies kept", {"en": 1, "de": 1}, True),
        ("wo werden die Kopien aufbewahrt", {"en": 1, "de": 1}, False),
        ("wo werden die Kopien aufbewahrt", {"de": 1}, False),
        ("резервные копии", {"en": 1}, False),
        ("backup", {}, True),
    ],
)
def test_a_model_of_one_language_covers_queries_in_it(
    query: str, documents: dict[str, int], expected: bool
) -> None:
    assert is_covered(query, documents, ENGLISH) == expected
    assert is_covered(query, documents, None)
