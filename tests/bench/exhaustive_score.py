"""Scores answers of the tasks that need every document. Pure: the calls and the truth in, figures out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.exhaustive_tasks import Corpus, CorpusName, Task

# A list or a table is usable if it has this share of what is true, and if this share of it is true.
LEAST_COMPLETE, LEAST_CORRECT = 0.98, 0.95


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool in the transcript. ``failed``: the tool, or the script that it ran, reported an error."""

    task: str
    tool: str
    failed: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one task.

    ``first_ran``: the first script ended without an error (None without scripts). ``complete`` and ``correct`` are
    the recall and the precision of the answer, 1 or 0 for a single value. ``tokens``: what the client read.
    """

    task: str
    kind: str
    first_ran: bool | None
    complete: float
    correct: float
    calls: int
    tokens: int

    @property
    def usable(self) -> bool:
        """Whether a user could rely on the answer."""
        return self.complete >= LEAST_COMPLETE and self.correct >= LEAST_CORRECT


def compare(answer: Any, truth: Any) -> tuple[float, float]:
    """Recall and precision of an answer: of the items of a list or an object, else 1 or 0."""
    if isinstance(truth, Mapping) and "found" in truth:
        return _compare_verdict(answer, truth)
    if isinstance(truth, Mapping):
        given = answer if isinstance(answer, Mapping) else {}
        return _shares(
            {(_text(k), _text(v)) for k, v in given.items()}, {(_text(k), _text(v)) for k, v in truth.items()}
        )
    if isinstance(truth, list):
        given_items = answer if isinstance(answer, list) else []
        return _shares({_text(item) for item in given_items}, {_text(item) for item in truth})
    same = float(_text(answer) == _text(truth))
    return same, same


def _compare_verdict(answer: Any, truth: Mapping[str, Any]) -> tuple[float, float]:
    given = answer if isinstance(answer, Mapping) else {}
    is_same = given.get("found") is truth["found"] and _text(truth.get("answer", "")) in _text(given.get("answer"))
    return float(is_same), float(is_same)


def _shares(given: set[Any], true: set[Any]) -> tuple[float, float]:
    both = len(given & true)
    return both / len(true), both / len(given) if given else 0.0


def _pairs(table: Mapping[Any, Any]) -> set[Any]:
    return {(_text(key), _text(value)) for key, value in table.items()}


def _text(value: Any) -> str:
    return " ".join(str(value).split()).casefold()


def score_tasks(
    tasks: Sequence[Task], corpora: Mapping[CorpusName, Corpus], calls: Sequence[Call], answers: Mapping[str, Any]
) -> list[Score]:
    """The score of each task that has an answer or a call."""
    attempted = {call.task for call in calls} | answers.keys()
    return [
        _score(task, corpora[task.corpus], calls, answers.get(task.id)) for task in tasks if task.id in attempted
    ]


def _score(task: Task, corpus: Corpus, calls: Iterable[Call], answer: Any) -> Score:
    own = [call for call in calls if call.task == task.id]
    scripts = [call for call in own if call.tool == "execute_code"]
    complete, correct = compare(answer, task.truth(corpus))
    first_ran = not scripts[0].failed if scripts else None
    return Score(task.id, task.kind, first_ran, complete, correct, len(own), sum(call.tokens for call in own))


def summarize(scores: Sequence[Score]) -> dict[str, Any]:
    """Shares over all tasks: first scripts that ran, usable answers, and the completeness of lists and tables."""
    first = [score.first_ran for score in scores if score.first_ran is not None]
    lists = [score.complete for score in scores if score.kind in ("list", "for-each", "extract")]
    return {
        "tasks": len(scores),
        "first_script_ran": _mean(first),
        "usable": _mean([score.usable for score in scores]),
        "completeness_of_lists": _mean(lists),
        "calls": sum(score.calls for score in scores),
        "tokens": sum(score.tokens for score in scores),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None
