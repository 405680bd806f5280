"""Golden questions: each answer is in its document, and outcomes are judged correctly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.commands.eval.measurements import documents_of
from winnow.server.errors import WinnowError
from winnow.server.retrieval.golden_questions import (
    GoldenSet,
    Question,
    QuestionOutcome,
    ShownAnswer,
    contains_answer,
    list_failures,
    miss_of,
    read_golden,
    summarise_outcomes,
)
from winnow.server.settings.settings import Settings

GOLDEN = Path(__file__).parents[1] / "golden"
SETS = {golden.name: golden for golden in read_golden(GOLDEN)}
# Made from the code: an answer that stands there is better looked up where it was decided.
GENERATED = {"docs/tools.md", "docs/sdk.md", "docs/playbook.md", "docs/settings.md"} | {
    f"docs/tools/{page.name}" for page in (Path(__file__).parents[2] / "docs/tools").glob("*.md")
}


@pytest.fixture(scope="module")
def texts() -> Mapping[str, Mapping[str, str]]:
    """Set -> uri -> text, of every document that is indexed for it."""
    return {name: {raw.uri: raw.text for raw in documents_of(golden)} for name, golden in SETS.items()}


@pytest.mark.parametrize("name", SETS)
def test_every_answer_stands_in_its_document(name: str, texts: Mapping[str, Mapping[str, str]]) -> None:
    """For the standard library: in the documentation of the Python that runs this."""
    astray = [
        (question.id, one.document)
        for question in SETS[name].questions
        for one in question.answers
        if not contains_answer([texts[name].get(one.document, "")], one.answer)
    ]
    assert astray == []


@pytest.mark.parametrize("name", SETS)
def test_no_question_gives_its_answer_away(name: str) -> None:
    """A question does not contain the words of its answer."""
    given = [
        question.id
        for question in SETS[name].questions
        for one in question.answers
        if contains_answer([question.question.lower()], one.answer.lower())
    ]
    assert given == []


def test_there_are_enough_questions_and_each_has_an_id_of_its_own() -> None:
    assert sorted(SETS) == ["documentation", "stdlib"]
    assert [name for name, golden in SETS.items() if len(golden.questions) < 24] == []
    ids = [one.id for golden in SETS.values() for one in golden.questions]
    assert len(ids) == len(set(ids))


def test_answers_are_short_and_limits_are_sane() -> None:
    """A long answer would be a paragraph, one word might stand anywhere; a call takes a thousand tokens."""
    questions = [one for golden in SETS.values() for one in golden.questions]
    long = [one.id for one in questions for answer in one.answers if not 2 <= len(answer.answer.split()) <= 12]
    assert long == []
    assert [
        one.id for one in questions if not one.max_calls * 1_000 <= one.max_bytes <= one.max_calls * 8_000
    ] == []
    assert [one.id for one in questions if not one.question.endswith("?")] == []


def test_the_documentation_is_asked_about_what_people_wrote() -> None:
    documentation = SETS["documentation"]
    assert documentation.root == GOLDEN.parents[1]
    expected = {one.document for one in documentation.questions}  # other answers may stand in generated pages too
    assert expected & GENERATED == set()
    assert len(expected) > 8


def test_the_baseline_is_of_these_questions() -> None:
    """Figures of other questions, or of a run with other settings, would say nothing."""
    baseline = json.loads((GOLDEN / "baseline.json").read_text("utf-8"))
    assert {name: row["questions"] for name, row in baseline["sets"].items()} == {
        name: len(golden.questions) for name, golden in SETS.items()
    }
    named = {one["id"] for row in baseline["sets"].values() for one in row["failed"]}
    assert named <= {one.id for golden in SETS.values() for one in golden.questions}
    assert baseline["evidence"] == Settings.model_fields["evidence"].default


def test_golden_questions_are_answered_as_often_as_they_are_to_be() -> None:
    """With default settings: four of five in all, three of four of each set."""
    baseline = json.loads((GOLDEN / "baseline.json").read_text("utf-8"))
    assert baseline["all"]["answered"] >= 0.8
    assert {name: row["answered"] >= 0.75 for name, row in baseline["sets"].items()} == dict.fromkeys(SETS, True)


def test_a_question_is_answered_wherever_the_answer_stands() -> None:
    also = [{"answer": "the port is 8443", "document": "faq.md"}]
    question = Question.model_validate({**LINE, "also": also})
    assert question.documents == {"net.md", "faq.md"}
    assert question.is_answered(["By default the port is  8443."])
    assert miss_of(question, ShownAnswer(("on port 80",), ("faq.md",), 1, 1), [("faq.md", "The port.")]) == "chunk"
    assert (
        miss_of(question, ShownAnswer(("on port 80",), ("x.md",), 1, 1), [("x.md", "the port is 8443")])
        == "document"
    )


# --- reading ----------------------------------------------------------------------------------------------

LINE: Mapping[str, Any] = {
    "id": "port",
    "question": "Where does it listen?",
    "answer": "on port 8443",
    "document": "net.md",
    "max_calls": 1,
    "max_bytes": 6000,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.md").write_text("# Net\n\nIt listens on\nport 8443.\n", encoding="utf-8")
    (tmp_path / "golden.toml").write_text('[net]\nquestions = "net.jsonl"\nfiles = ["*.md"]\n', encoding="utf-8")
    (tmp_path / "net.jsonl").write_text(json.dumps(LINE), encoding="utf-8")
    return tmp_path


def test_a_set_is_read_with_the_files_below_its_root(folder: Path) -> None:
    assert read_golden(folder) == [
        GoldenSet("net", (Question.model_validate(LINE),), folder.resolve(), (folder.resolve() / "net.md",))
    ]
    assert read_golden(folder, "net") == read_golden(folder)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("golden.toml", "[net", "golden.toml: "),
        ("golden.toml", "", "names no set of questions"),
        ("golden.toml", '[net]\nquestion = "net.jsonl"', "net.questions: Field required"),
        ("golden.toml", '[net]\nquestions = "net.jsonl"\nfiles = ["*.rst"]', "'net' finds no files below"),
        ("golden.toml", '[net]\nquestions = "gone.jsonl"', "gone.jsonl cannot be read"),
        ("net.jsonl", "", "there must be at least one"),
        ("net.jsonl", "{", "question 1: it: Invalid JSON"),
        ("net.jsonl", f"{json.dumps(LINE)}\n{json.dumps(LINE)}", "unique id"),
        ("net.jsonl", json.dumps({**LINE, "max_calls": 3}), "question 1: max_calls: "),
        ("net.jsonl", json.dumps({**LINE, "reply": "8443"}), "question 1: reply: Extra inputs"),
    ],
)
def test_what_is_malformed_is_named(folder: Path, file: str, text: str, complaint: str) -> None:
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(WinnowError) as caught:
        read_golden(folder)
    assert (caught.value.reason, complaint in caught.value.message) == ("INVALID_REQUEST", True), caught.value


def test_a_set_that_is_not_there_is_told_with_those_that_are(folder: Path) -> None:
    with pytest.raises(WinnowError, match=r"no set 'gnu'; it has: net"):
        read_golden(folder, "gnu")


# --- judging ----------------------------------------------------------------------------------------------

QUESTION = Question.model_validate(LINE)
RIGHT = "It listens on\n  port 8443 by default."


def _look(
    *texts: str, documents: tuple[str, ...] = ("net.md",), tokens: int = 100, size: int = 400
) -> ShownAnswer:
    return ShownAnswer(texts, documents, tokens, size)


@given(st.lists(st.sampled_from(["on", "port", "8443", "\n", "  ", "8080"]), max_size=12))
def test_an_answer_is_held_by_its_words_in_their_order_and_by_nothing_else(words: list[str]) -> None:
    said = [word for word in words if word.strip()]
    stands = any(said[at : at + 3] == ["on", "port", "8443"] for at in range(len(said)))
    assert contains_answer([" ".join(words)], "on port 8443") is stands


def test_words_are_not_put_together_from_two_quotes() -> None:
    assert not contains_answer(["listens on", "port 8443"], "on port 8443")


@pytest.mark.parametrize(
    ("quoted", "searched", "miss"),
    [
        (RIGHT, [("net.md", RIGHT)], None),
        ("It listens.", [("net.md", RIGHT)], "quote"),
        ("It listens.", [("net.md", "It listens."), ("other.md", RIGHT)], "chunk"),
        ("It listens.", [("other.md", RIGHT)], "document"),
    ],
)
def test_what_an_answer_lacked_is_told(quoted: str, searched: list[tuple[str, str]], miss: str | None) -> None:
    assert miss_of(QUESTION, _look(quoted), searched) == miss


def test_figures_are_shares_and_sizes_of_the_first_answers() -> None:
    outcomes = [
        QuestionOutcome(QUESTION, _look(RIGHT, tokens=100, size=400), 1, 400, None),
        QuestionOutcome(QUESTION, _look("", documents=("a.md", "net.md"), tokens=300, size=900), 2, 5000, "quote"),
        QuestionOutcome(QUESTION, _look("", documents=(), tokens=200, size=500), None, 500, "document"),
        QuestionOutcome(QUESTION, ShownAnswer((RIGHT,), ("net.md",), 200, 500, has_more=True), 1, 500, None),
    ]
    assert summarise_outcomes(outcomes) == {
        "questions": 4,
        "answered": 0.5,
        "with_document": 0.75,
        "top_document": 0.5,
        "more_offered": 0.25,
        "tokens": {"p50": 200, "p95": 300, "max": 300},
        "bytes": {"p50": 500, "p95": 900, "max": 900},
        "calls": {"1": 2, "2": 1, "not_found": 1},
    }
    assert [failed["lacked"] for failed in list_failures(outcomes)["failed"]] == ["quote", "document"]


@pytest.mark.parametrize(
    ("calls", "size", "is_over"), [(1, 6000, False), (1, 6001, True), (2, 400, True), (None, 400, True)]
)
def test_a_question_has_a_limit_of_calls_and_of_bytes(calls: int | None, size: int, is_over: bool) -> None:
    over = list_failures([QuestionOutcome(QUESTION, _look(RIGHT), calls, size, None)])["over_their_limits"]
    assert over == (["port"] if is_over else [])
