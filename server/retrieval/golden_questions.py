"""Golden questions: questions with the words that answer them, and measures of the answers to them.

A folder of golden questions has a ``golden.toml`` with one table for each set::

    [handbook]
    questions = "handbook.jsonl"       one question per line, see Question
    root = "../handbook"               relative to golden.toml; default: its folder
    files = ["**/*.md"]                the files to index; a document's uri is its path below root

    [stdlib]
    questions = "stdlib.jsonl"
    corpus = "stdlib"                  the documentation of the running Python

This module runs no search: it reads the questions and summarises outcomes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from winnow.server.errors import WinnowError, own_words
from winnow.server.retrieval.evaluation import percentile

GOLDEN_FILE = "golden.toml"
_DIGITS = 4

QuestionName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
# What an answer lacked: the right document among the passages that were quoted from, the right passage of that
# document, or the words of the right passage.
Miss = Literal["document", "chunk", "quote"]


class GoldenAnswer(BaseModel):
    """The words of an answer, verbatim except for white space, in ``document`` (a uri of the corpus)."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    answer: Annotated[str, StringConstraints(min_length=2, max_length=300)]
    document: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Question(GoldenAnswer):
    """A question and its answer; ``also`` are other answers.

    ``max_calls`` and ``max_bytes`` limit the calls, and the bytes of their answers, until the answer is seen.
    """

    id: QuestionName
    question: Annotated[str, StringConstraints(min_length=2, max_length=1000)]
    also: tuple[GoldenAnswer, ...] = Field(default=(), max_length=5)
    max_calls: int = Field(ge=1, le=2)
    max_bytes: int = Field(ge=1, le=256 * 1024)

    @property
    def answers(self) -> tuple[GoldenAnswer, ...]:
        """All answers; this one first."""
        return (self, *self.also)

    @property
    def documents(self) -> frozenset[str]:
        """The documents with an answer."""
        return frozenset(answer.document for answer in self.answers)

    def is_answered(self, texts: Sequence[str]) -> bool:
        """Whether one of the texts contains the words of an answer."""
        return any(contains_answer(texts, answer.answer) for answer in self.answers)


class _SetTable(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    questions: str
    root: str = "."
    files: list[str] = []
    corpus: Literal["files", "stdlib"] = "files"


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Questions over one corpus: ``files`` below ``root``; without a root, the running Python's documentation."""

    name: str
    questions: tuple[Question, ...]
    root: Path | None
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """The measured part of an answer: its texts, their documents (best first), and its size."""

    texts: tuple[str, ...]
    documents: tuple[str, ...]
    tokens: int
    bytes: int
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The outcome of a question.

    ``first`` is the answer to one call. ``calls`` is the number of calls until the words were seen, or None;
    ``bytes`` is the size of the answers of those calls. ``miss`` is what the first answer lacked.
    """

    question: Question
    first: ShownAnswer
    calls: int | None
    bytes: int
    miss: Miss | None

    @property
    def is_within_limits(self) -> bool:
        """Whether the answer was seen within the question's calls and bytes."""
        question = self.question
        return self.calls is not None and self.calls <= question.max_calls and self.bytes <= question.max_bytes


def read_golden(folder: Path, only: str | None = None) -> list[GoldenSet]:
    """Read the sets of a folder, or the set named ``only``.

    Raises ``WinnowError("INVALID_REQUEST")`` that names what is missing or malformed.
    """
    sheet = folder / GOLDEN_FILE
    if not sheet.is_file():
        raise WinnowError(
            "INVALID_REQUEST",
            f"{folder} has no {GOLDEN_FILE}; give the folder of golden questions: winnow eval --golden DIR",
        )
    entries = _read_tables(sheet)
    if only is not None and only not in entries:
        raise WinnowError("INVALID_REQUEST", f"{sheet} has no set {only!r}; it has: {', '.join(entries)}")
    return [_read_set(folder, name, entry) for name, entry in entries.items() if only in (None, name)]


def contains_answer(texts: Iterable[str], answer: str) -> bool:
    """Whether one of the texts contains these words verbatim; the amount of white space is ignored.

    >>> contains_answer(["It waits  ten seconds."], "waits ten seconds")
    True
    """
    return any(_collapse_spaces(answer) in _collapse_spaces(text) for text in texts)


def miss_of(question: Question, first: ShownAnswer, searched: Sequence[tuple[str, str]]) -> Miss | None:
    """The fault of the first answer; ``searched`` are the passages that it quotes, as (document, text)."""
    if question.is_answered(first.texts):
        return None
    right_texts = [text for document, text in searched if document in question.documents]
    if not right_texts:
        return "document"
    return "quote" if question.is_answered(right_texts) else "chunk"


def summarise_outcomes(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """Summarise outcomes: shares of the questions, sizes of the answers to one call, numbers of calls.

    ``answered`` is the share of questions with the words in the quotes of one call, ``with_document`` with a quote
    of a right document, ``top_document`` with the first quote from one, ``more_offered`` with a cursor.
    """
    firsts = [outcome.first for outcome in outcomes]
    return {
        "questions": len(outcomes),
        "answered": _share_true(outcome.miss is None for outcome in outcomes),
        "with_document": _share_true(
            not outcome.question.documents.isdisjoint(outcome.first.documents) for outcome in outcomes
        ),
        "top_document": _share_true(
            not outcome.question.documents.isdisjoint(outcome.first.documents[:1]) for outcome in outcomes
        ),
        "more_offered": _share_true(first.has_more for first in firsts),
        "tokens": _percentiles([first.tokens for first in firsts]),
        "bytes": _percentiles([first.bytes for first in firsts]),
        "calls": {
            "1": sum(outcome.calls == 1 for outcome in outcomes),
            "2": sum(outcome.calls == 2 for outcome in outcomes),
            "not_found": sum(outcome.calls is None for outcome in outcomes),
        },
    }


def list_failures(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """List the questions over their limits, and those that the quotes of one call did not answer."""
    failed = [outcome for outcome in outcomes if outcome.miss is not None]
    return {
        "over_their_limits": [outcome.question.id for outcome in outcomes if not outcome.is_within_limits],
        "failed": [
            {"id": outcome.question.id, "lacked": outcome.miss, "calls": outcome.calls} for outcome in failed
        ],
    }


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def _share_true(flags: Iterable[bool]) -> float:
    values = list(flags)
    return round(sum(values) / len(values), _DIGITS)


def _percentiles(values: Sequence[int]) -> dict[str, int]:
    return {"p50": percentile(values, 0.5), "p95": percentile(values, 0.95), "max": max(values)}


def _read_tables(sheet: Path) -> dict[str, _SetTable]:
    try:
        tables = TypeAdapter(dict[QuestionName, _SetTable]).validate_python(
            tomllib.loads(sheet.read_text("utf-8"))
        )
    except (ValidationError, ValueError) as error:
        raise WinnowError("INVALID_REQUEST", f"{sheet}: {_describe_error(error)}") from None
    if not tables:
        raise WinnowError("INVALID_REQUEST", f"{sheet} names no set of questions")
    return tables


def _read_set(folder: Path, name: str, entry: _SetTable) -> GoldenSet:
    questions = _read_questions(folder / entry.questions)
    if entry.corpus == "stdlib":
        return GoldenSet(name, questions, None)
    root = (folder / entry.root).resolve()
    files = sorted({path for pattern in entry.files for path in root.glob(pattern) if path.is_file()})
    if not files:
        raise WinnowError("INVALID_REQUEST", f"{folder / GOLDEN_FILE}: set {name!r} finds no files below {root}")
    return GoldenSet(name, questions, root, tuple(files))


def _read_questions(path: Path) -> tuple[Question, ...]:
    try:
        lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise WinnowError("INVALID_REQUEST", f"{path} cannot be read: {error}") from None
    questions = tuple(_read_question(path, number, line) for number, line in enumerate(lines, 1))
    ids = [question.id for question in questions]
    if not ids or len(ids) != len(set(ids)):
        raise WinnowError(
            "INVALID_REQUEST", f"{path}: every question needs a unique id, and there must be at least one question"
        )
    return questions


def _read_question(path: Path, number: int, line: str) -> Question:
    try:
        return Question.model_validate_json(line)
    except ValidationError as error:
        raise WinnowError("INVALID_REQUEST", f"{path}, question {number}: {_describe_error(error)}") from None


def _describe_error(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'it'}: {own_words(first['msg'])}"
