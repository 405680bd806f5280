"""Golden questions: what somebody would ask, the words that answer it, and whether an answer of ours held them.

A folder of golden questions has a ``golden.toml`` with one table for each set::

    [handbook]
    questions = "handbook.jsonl"       one question a line, see Question
    root = "../handbook"               relative to golden.toml; default: its folder
    files = ["**/*.md"]                what is indexed; a document is called by its path below root

    [stdlib]
    questions = "stdlib.jsonl"
    corpus = "stdlib"                  the documentation of the Python that runs

Nothing here asks anything: records in, figures out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from server.errors import WinnowError
from server.retrieval.evaluation import percentile

SHEET = "golden.toml"
_DIGITS = 4

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
# What an answer lacked: the document among the passages that were quoted from, the right passage of that document,
# or, of the right passage, the words.
Miss = Literal["document", "chunk", "quote"]


class GoldenAnswer(BaseModel):
    """Words that answer, verbatim but for white space in ``document``, a uri of the set's corpus."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    answer: Annotated[str, StringConstraints(min_length=2, max_length=300)]
    document: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Question(GoldenAnswer):
    """One question, and where it is answered; ``also``: other places that answer it as well.

    ``max_calls`` and ``max_bytes`` bound what it may take to see the answer: calls, and bytes of their answers.
    """

    id: Name
    question: Annotated[str, StringConstraints(min_length=2, max_length=1000)]
    also: tuple[GoldenAnswer, ...] = Field(default=(), max_length=5)
    max_calls: int = Field(ge=1, le=2)
    max_bytes: int = Field(ge=1, le=256 * 1024)

    @property
    def answers(self) -> tuple[GoldenAnswer, ...]:
        """All that answers it; this one first."""
        return (self, *self.also)

    @property
    def documents(self) -> frozenset[str]:
        """Where it is answered."""
        return frozenset(one.document for one in self.answers)

    def is_answered(self, texts: Sequence[str]) -> bool:
        """Whether one of the texts has the words of an answer."""
        return any(holds(texts, one.answer) for one in self.answers)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    questions: str
    root: str = "."
    files: list[str] = []
    corpus: Literal["files", "stdlib"] = "files"


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Questions over one corpus: ``files`` below ``root``, or where there is no root the running Python's own."""

    name: str
    questions: tuple[Question, ...]
    root: Path | None
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer as far as it is counted: its texts, the documents they are of (best first), and its size."""

    texts: tuple[str, ...]
    documents: tuple[str, ...]
    tokens: int
    bytes: int
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """What became of a question.

    ``first`` is the answer to one call. ``calls`` is the fewest calls after which the words had been seen, None
    where they were not; ``bytes`` are the answers of those calls. ``miss`` says what the first answer lacked.
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
    """The sets of a folder, or the one called ``only``.

    Raises ``WinnowError("INVALID_REQUEST")`` that names what is missing or malformed.
    """
    sheet = folder / SHEET
    if not sheet.is_file():
        raise WinnowError(
            "INVALID_REQUEST",
            f"{folder} has no {SHEET}; give the folder of golden questions: winnow eval --golden DIR",
        )
    entries = _entries(sheet)
    if only is not None and only not in entries:
        raise WinnowError("INVALID_REQUEST", f"{sheet} has no set {only!r}; it has: {', '.join(entries)}")
    return [_set(folder, name, entry) for name, entry in entries.items() if only in (None, name)]


def holds(texts: Iterable[str], answer: str) -> bool:
    """Whether one of the texts has these words in it, letter by letter; how much white space does not count.

    >>> holds(["It waits  ten seconds."], "waits ten seconds")
    True
    """
    return any(_plain(answer) in _plain(text) for text in texts)


def miss_of(question: Question, first: ShownAnswer, searched: Sequence[tuple[str, str]]) -> Miss | None:
    """What the first answer lacked; ``searched`` are the passages it quoted from, as (document, text)."""
    if question.is_answered(first.texts):
        return None
    theirs = [text for document, text in searched if document in question.documents]
    if not theirs:
        return "document"
    return "quote" if question.is_answered(theirs) else "chunk"


def figures(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """The shares of some questions, the sizes of the answers to one call, and how many calls it took.

    ``answered`` is the share with the words in the quotes of one call, ``with_document`` with a quote of a
    document that answers, ``top_document`` with the first quote of one; ``more_offered`` the share with a cursor.
    """
    firsts = [outcome.first for outcome in outcomes]
    return {
        "questions": len(outcomes),
        "answered": _share(outcome.miss is None for outcome in outcomes),
        "with_document": _share(not one.question.documents.isdisjoint(one.first.documents) for one in outcomes),
        "top_document": _share(not one.question.documents.isdisjoint(one.first.documents[:1]) for one in outcomes),
        "more_offered": _share(first.has_more for first in firsts),
        "tokens": _spread([first.tokens for first in firsts]),
        "bytes": _spread([first.bytes for first in firsts]),
        "calls": {
            "1": sum(outcome.calls == 1 for outcome in outcomes),
            "2": sum(outcome.calls == 2 for outcome in outcomes),
            "not_found": sum(outcome.calls is None for outcome in outcomes),
        },
    }


def shortfall(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """Which questions took more calls or bytes than they may, and which the quotes of one call did not answer."""
    failed = [outcome for outcome in outcomes if outcome.miss is not None]
    return {
        "over_their_limits": [one.question.id for one in outcomes if not one.is_within_limits],
        "failed": [{"id": one.question.id, "lacked": one.miss, "calls": one.calls} for one in failed],
    }


def _plain(text: str) -> str:
    return " ".join(text.split())


def _share(yes: Iterable[bool]) -> float:
    marks = list(yes)
    return round(sum(marks) / len(marks), _DIGITS)


def _spread(values: Sequence[int]) -> dict[str, int]:
    return {"p50": percentile(values, 0.5), "p95": percentile(values, 0.95), "max": max(values)}


def _entries(sheet: Path) -> dict[str, _Entry]:
    try:
        found = TypeAdapter(dict[Name, _Entry]).validate_python(tomllib.loads(sheet.read_text("utf-8")))
    except (ValidationError, ValueError) as error:
        raise WinnowError("INVALID_REQUEST", f"{sheet}: {_first_fault(error)}") from None
    if not found:
        raise WinnowError("INVALID_REQUEST", f"{sheet} names no set of questions")
    return found


def _set(folder: Path, name: str, entry: _Entry) -> GoldenSet:
    questions = _questions(folder / entry.questions)
    if entry.corpus == "stdlib":
        return GoldenSet(name, questions, None)
    root = (folder / entry.root).resolve()
    files = sorted({path for pattern in entry.files for path in root.glob(pattern) if path.is_file()})
    if not files:
        raise WinnowError("INVALID_REQUEST", f"{folder / SHEET}: set {name!r} finds no files below {root}")
    return GoldenSet(name, questions, root, tuple(files))


def _questions(path: Path) -> tuple[Question, ...]:
    try:
        lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise WinnowError("INVALID_REQUEST", f"{path} cannot be read: {error}") from None
    questions = tuple(_question(path, number, line) for number, line in enumerate(lines, 1))
    ids = [question.id for question in questions]
    if not ids or len(ids) != len(set(ids)):
        raise WinnowError("INVALID_REQUEST", f"{path}: every question needs an id of its own, and one is needed")
    return questions


def _question(path: Path, number: int, line: str) -> Question:
    try:
        return Question.model_validate_json(line)
    except ValidationError as error:
        raise WinnowError("INVALID_REQUEST", f"{path}, question {number}: {_first_fault(error)}") from None


def _first_fault(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors(include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}"
