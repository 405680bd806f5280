"""What a question asks for: its kind and the form of the value, in four languages, for any text."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.text.answers.kinds import AskedFor, AskedKind, ValueForm, find_asked, names_kind

NEAR_MISSES = Path(__file__).parents[1] / "golden" / "near_misses.jsonl"
ROWS = [json.loads(line) for line in NEAR_MISSES.read_text("utf-8").splitlines()]
TWELVE = 12


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which port does the gateway listen on?", "port"),
        ("On what TCP port is it?", "port"),
        ("What is a port?", "definition"),
        ("What is the maximum number of ports?", "number"),
        ("Which version of Python is needed?", "version"),
        ("When was it released?", "date"),
        ("In which year did it begin?", "date"),
        ("When does join let my program go on?", "other"),
        ("Who wrote it?", "name"),
        ("What was the profession of Ada, whose notes were printed?", "other"),
        ("What priority do versions get?", "other"),
        ("What is the tool called?", "name"),
        ("Which file limits how many events can be queued?", "command"),
        ("Where are the logs stored?", "command"),
        ("Is it encrypted?", "yes_no"),
        ("Can you tell me which port it uses?", "port"),
        ("Why is it slow?", "reason"),
        ("What are the steps to restore it?", "list"),
        ("What happens if the limit is reached?", "other"),
        ("The queue is full. How long is the wait?", "number"),
        ("backups of the catalogue", "other"),
        ("", "other"),
        # German, French, Spanish
        ("Auf welchem Port lauscht der Dienst?", "port"),
        ("Wie viele Versuche gibt es?", "number"),
        ("Wann wurde es veröffentlicht?", "date"),
        ("Warum ist es langsam?", "reason"),
        ("Ist es verschlüsselt?", "yes_no"),
        ("Welche Datei enthält die Einstellungen?", "command"),
        ("Quel port utilise le service ?", "port"),
        ("Combien de tentatives y a-t-il ?", "number"),
        ("Pourquoi est-ce lent ?", "reason"),
        ("Est-ce que le port est ouvert ?", "yes_no"),
        ("¿Qué puerto usa el servicio?", "port"),
        ("¿Cuántos intentos hay?", "number"),
        ("¿Por qué es lento?", "reason"),
        ("¿Quién lo escribió?", "name"),
    ],
)
def test_the_first_phrase_that_asks_decides_the_kind(question: str, kind: AskedKind) -> None:
    assert find_asked(question).kind == kind


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many retries are there?", AskedFor("number", "counted", "retries")),
        ("How many failed attempts are allowed?", AskedFor("number", "counted", "attempts")),
        ("How long is the wait?", AskedFor("number", "length")),
        ("How many seconds is the wait?", AskedFor("number", "time")),
        ("How large is the file?", AskedFor("number", "size")),
        ("What share of the memory may it take?", AskedFor("number", "share")),
        ("Which environment variable names it?", AskedFor("command", "variable")),
        ("In which directory is it?", AskedFor("command", "path")),
        ("Which flag turns it off?", AskedFor("command", "flag")),
        ("Which command restores it?", AskedFor("command", "shell")),
        ("Which field has it?", AskedFor("command", "any")),
    ],
)
def test_the_phrase_says_the_form_of_the_value(question: str, expected: AskedFor) -> None:
    assert find_asked(question) == expected


@given(st.text(max_size=1_000))
def test_every_text_has_one_of_the_kinds_and_forms(question: str) -> None:
    asked = find_asked(question)
    assert asked.kind in get_args(AskedKind)
    assert asked.form in get_args(ValueForm)
    assert (asked.form == "counted") == bool(asked.counted)


@given(st.sampled_from([row["question"] for row in ROWS]), st.sampled_from(["  ", "\n", " \t "]))
def test_white_space_and_case_do_not_change_the_kind(question: str, space: str) -> None:
    kind = find_asked(question).kind
    assert find_asked(space.join(["", *question.split(), ""])).kind == kind
    assert find_asked(question.lower()).kind == kind


@pytest.mark.parametrize(
    "part", ["which ", "what is a ", "when is x ", "how many ", "what does ", "can you ", "a" * 40]
)
def test_a_long_question_is_read_in_no_time(part: str) -> None:
    started = time.process_time()
    find_asked(part * (100_000 // len(part)))
    assert time.process_time() - started < 0.5


def test_the_words_that_name_the_kind_are_no_subject() -> None:
    words = ["Which", "TCP", "ports", "does", "the", "gateway", "use"]
    assert [word for word in words if names_kind(word, "port")] == ["TCP", "ports"]
    assert not any(names_kind(word, "other") for word in words)


# --- the questions of another reader -------------------------------------------------------------------------


def test_near_misses_have_twelve_questions_of_each_kind_over_two_collections_and_as_many_answered_ones() -> None:
    kinds = [row["kind"] for row in ROWS if not row["is_answerable"]]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == dict.fromkeys(
        set(get_args(AskedKind)) - {"other"}, TWELVE
    )
    assert sum(row["is_answerable"] for row in ROWS) == TWELVE
    assert {row["collection"] for row in ROWS} == {"k8s_docs", "documentation"}
    assert len({row["id"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_of_them_asks_for_its_kind(row: dict[str, str]) -> None:
    assert find_asked(row["question"]).kind == row["kind"]
