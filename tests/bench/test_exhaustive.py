"""The scoring of tasks that need every document, and the questions' table."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.bench.exhaustive_score import Call, compare, score_tasks, summarize
from tests.bench.exhaustive_tasks import TASKS
from winnow.server.commands.token_benchmark.collection import TaskCollection


def test_thirty_tasks_stand_in_six_kinds() -> None:
    """Each kind has five tasks at least, and each task a question and a form of its answer."""
    kinds = Counter(task.kind for task in TASKS)
    expected = {"list": 6, "count": 5, "for-each": 5, "extract": 5, "compare": 4, "not-there": 5}
    assert (len(TASKS), kinds) == (30, expected)
    assert all(task.question and task.shape for task in TASKS)


def test_the_truth_about_the_standard_library_is_never_empty() -> None:
    """Every Python has this documentation, so its truth can be computed everywhere."""
    corpus = TaskCollection("stdlib").sources
    assert [task.id for task in TASKS if task.corpus == "stdlib" and not task.truth(corpus)] == []


@pytest.mark.parametrize(
    ("answer", "truth", "expected"),
    [
        (["a", "B "], ["A", "b"], (1.0, 1.0)),
        (["a", "x"], ["a", "b"], (0.5, 0.5)),
        (None, ["a"], (0.0, 0.0)),
        ({"a": 1, "b": "2"}, {"a": "1", "b": 2}, (1.0, 1.0)),
        ({"a": 2}, {"a": 1}, (0.0, 0.0)),
        (12, 12, (1.0, 1.0)),
        ("13", 12, (0.0, 0.0)),
        ({"found": True, "answer": "30 seconds"}, {"found": True, "answer": "30"}, (1.0, 1.0)),
        ({"found": True, "answer": "no idea"}, {"found": False}, (0.0, 0.0)),
        ({"found": False, "answer": None}, {"found": False}, (1.0, 1.0)),
    ],
)
def test_answers_are_compared_item_by_item(answer: object, truth: object, expected: tuple[float, float]) -> None:
    """Recall and precision, ignoring case and space."""
    assert compare(answer, truth) == expected


def test_the_first_script_of_a_task_counts() -> None:
    """A script that failed stays the first one, also where a later one answers."""
    task = next(task for task in TASKS if task.id == "list-errors")
    corpus = {"a.md": "# a\n\n## class a.BadError\n"}
    calls = [Call("list-errors", "execute_code", True, 10), Call("list-errors", "execute_code", False, 5)]
    scores = score_tasks(TASKS, {"stdlib": corpus, "k8s_docs": {}}, calls, {task.id: ["a.BadError"]})
    assert [(score.task, score.first_ran, score.usable, score.tokens) for score in scores] == [
        ("list-errors", False, True, 15)
    ]
    assert summarize(scores)["first_script_ran"] == 0.0
