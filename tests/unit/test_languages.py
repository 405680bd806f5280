"""Language detection for documents and queries, and the languages that a model covers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.errors import WinnowError
from winnow.server.text.words import languages
from winnow.server.text.words.languages import KNOWN, is_covered, language_of, query_languages

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


# --- a detector that does not load

GERMAN = "Die Sicherung beginnt nachts und bewahrt Kopien einen Monat lang auf."

# Files are limited to 40 MB: the model's temporary file is truncated, as on a full disk.
INGESTS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (40 << 20, 40 << 20))
from winnow.server.commands.entry.cli import main
sys.argv = ["winnow", "ingest", sys.argv[1], "--store", sys.argv[2]]
main()
"""


def test_a_detector_that_does_not_load_is_an_error_for_documents_and_none_for_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    languages._load_identifier.cache_clear()
    languages._rank_languages.cache_clear()
    monkeypatch.setattr(languages, "_failure", None)
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
        with pytest.raises(WinnowError, match="TMPDIR") as caught:
            language_of(GERMAN)
        assert (caught.value.reason, str(tmp_path / "gone") in caught.value.message) == ("MODEL_UNAVAILABLE", True)
        assert query_languages("Sicherung", {"de": 3, "en": 1}) == {"de": 0.75, "en": 0.25}
        languages.load_language_model()
    with pytest.raises(WinnowError):  # not tried again at once
        language_of(GERMAN)
    monkeypatch.setattr(languages, "_AGAIN_SECONDS", 0.0)
    assert language_of(GERMAN) == "de"


def test_an_ingest_without_space_for_temporary_files_ends_in_a_message(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "a.md").write_text(f"# Sicherung\n\n{GERMAN}\n", encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    result = subprocess.run(
        [sys.executable, "-c", INGESTS, str(documents), str(tmp_path / "store")],
        env=os.environ | {"TMPDIR": str(temporary), "WINNOW_EMBEDDING": "off"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (result.returncode, "Traceback" in result.stderr) == (4, False), result.stderr
    assert f"in {temporary}; free some space there, or set TMPDIR" in result.stderr
