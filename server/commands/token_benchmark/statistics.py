"""Statistics over measured tasks. Pure: figures of tasks in, figures of arms out.

Arms are compared on the tasks that both solve. A reduction is ``1 - sum(one) / sum(other)`` over these tasks, so
that a task counts by what it costs; beside it stands the median over tasks of the same ratio, where each counts
alike. Intervals are percentile bootstraps over tasks, 95 %, with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.server.commands.token_benchmark.counting import Client, Cost
from winnow.server.commands.token_benchmark.task import CLASSES, DIRECT

# ``documents`` is computed: the answers to ``full`` of a server that returns whole documents.
MEASURED = ("full", "documents", "metadata_full", "evidence", "code")
RESAMPLES = 10_000
_SEED = 20_260_101
# The pairs to compare, by class and in all; "best_direct" is the cheapest tool that answered the task.
_PAIRS = (
    ("code", "full"),
    ("code", "documents"),
    ("code", "best_direct"),
    ("evidence", "full"),
    ("evidence", "documents"),
)


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One arm of one task: its cost, whether it answered, and the missing gold."""

    cost: Cost
    answered: bool
    seconds: float = 0.0
    missing: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class MeasuredTask:
    """A task with its arms, by name."""

    id: str
    kind: str
    collection: str
    runs: Mapping[str, TaskRun]

    def tokens(self, arm: str, client: Client) -> int | None:
        """The cost of an arm's answer; None if it did not answer."""
        if arm == "best_direct":
            solved = [spent for one in DIRECT if (spent := self.tokens(one, client)) is not None]
            return min(solved, default=None)
        run = self.runs[arm]
        return run.cost.of(client) if run.answered else None


def summary(tasks: Sequence[MeasuredTask], client: Client) -> dict[str, dict[str, dict[str, float]]]:
    """By class and arm: the tasks, the answered ones, and their tokens."""
    return {
        kind: {arm: _summarize_arm([task for task in tasks if task.kind == kind], arm, client) for arm in MEASURED}
        for kind in CLASSES
        if any(task.kind == kind for task in tasks)
    }


def _summarize_arm(tasks: Sequence[MeasuredTask], arm: str, client: Client) -> dict[str, float]:
    spent = [tokens for task in tasks if (tokens := task.tokens(arm, client)) is not None]
    figures = {
        "tokens_median": float(np.median(spent)) if spent else 0.0,
        "tokens_mean": round(float(np.mean(spent)), 1) if spent else 0.0,
        "tokens_p95": round(float(np.percentile(spent, 95)), 1) if spent else 0.0,
    }
    return {"tasks": len(tasks), "answered": len(spent), **figures}


def overall(tasks: Sequence[MeasuredTask], client: Client) -> dict[str, Any]:
    """The figures over all tasks."""
    against = compare_arms(tasks, "code", "full", client)
    return {
        "reduction_vs_full": against["reduction"],
        "reduction_ci_low": against["ci_low"],
        "reduction_ci_high": against["ci_high"],
        "median_reduction_vs_full": against["median_reduction"],
        "reduction_vs_best_direct": compare_arms(tasks, "code", "best_direct", client)["reduction"],
        "reduction_vs_documents": compare_arms(tasks, "code", "documents", client)["reduction"],
        **{f"answer_rate_{arm}": answer_rate(tasks, arm) for arm in MEASURED},
    }


def comparisons(tasks: Sequence[MeasuredTask], client: Client) -> dict[str, dict[str, dict[str, Any]]]:
    """Comparisons of each pair of arms, by class and in all."""
    groups = {kind: [task for task in tasks if task.kind == kind] for kind in CLASSES} | {"all": [*tasks]}
    return {
        kind: {f"{arm}_vs_{other}": compare_arms(group, arm, other, client) for arm, other in _PAIRS}
        for kind, group in groups.items()
        if group
    }


def by_collection(tasks: Sequence[MeasuredTask], client: Client) -> dict[str, dict[str, dict[str, Any]]]:
    """By class and collection, a script against full search and against the cheapest tool that answers."""
    groups: dict[str, list[MeasuredTask]] = {}
    for task in tasks:
        groups.setdefault(f"{task.kind} {task.collection}", []).append(task)
    return {
        name: {f"code_vs_{other}": compare_arms(group, "code", other, client) for other in ("full", "best_direct")}
        for name, group in groups.items()
    }


def compare_arms(tasks: Sequence[MeasuredTask], arm: str, other: str, client: Client) -> dict[str, Any]:
    """The reduction of ``arm`` against ``other`` over the tasks that both solve; None if there are none."""
    both = [(task.tokens(arm, client), task.tokens(other, client)) for task in tasks]
    pairs = np.array([pair for pair in both if None not in pair], dtype=float).reshape(-1, 2)
    if not len(pairs):
        return dict.fromkeys(("reduction", "ci_low", "ci_high", "median_reduction"), None) | {"tasks": 0}
    low, high = bootstrap(pairs)
    return {
        "tasks": len(pairs),
        "reduction": _round(reduction(pairs)),
        "ci_low": _round(low),
        "ci_high": _round(high),
        "median_reduction": _round(1 - float(np.median(pairs[:, 0] / pairs[:, 1]))),
    }


def reduction(pairs: NDArray[np.float64]) -> float:
    """``1 - sum / sum`` of the two columns."""
    ours, theirs = pairs.sum(axis=0)
    return float(1 - ours / theirs)


def bootstrap(pairs: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of the reduction, tasks drawn with replacement."""
    drawn = np.random.default_rng(_SEED).integers(len(pairs), size=(RESAMPLES, len(pairs)))
    sums = pairs[drawn].sum(axis=1)
    low, high = np.percentile(1 - sums[:, 0] / sums[:, 1], [2.5, 97.5])
    return float(low), float(high)


def answer_rate(tasks: Sequence[MeasuredTask], arm: str) -> float:
    """The share of tasks that an arm answered."""
    return _round(sum(task.runs[arm].answered for task in tasks) / len(tasks)) if tasks else 0.0


def losses(tasks: Sequence[MeasuredTask], client: Client) -> list[dict[str, Any]]:
    """The tasks on which a script costs more than the cheapest tool that answers, the worst first."""
    lost = []
    for task in tasks:
        ours, best = task.tokens("code", client), task.tokens("best_direct", client)
        if ours is not None and best is not None and ours > best:
            arm = next(arm for arm in DIRECT if task.tokens(arm, client) == best)
            lost.append({"id": task.id, "class": task.kind, "code": ours, "best_direct": best, "arm": arm})
    return sorted(lost, key=lambda loss: loss["best_direct"] / loss["code"])


def unsolved(tasks: Sequence[MeasuredTask]) -> dict[str, list[str]]:
    """By arm, the tasks that it did not answer."""
    return {arm: [task.id for task in tasks if not task.runs[arm].answered] for arm in MEASURED}


def _round(value: float) -> float:
    return round(value, 4)
