"""The figures in words: a table for people at a terminal, and a page for the documentation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server.bench.tokens.measuring import Trial


def told(trial: Trial) -> str:
    """What each arm of a task was told, word for word, and what it cost."""
    task = trial.measured
    lines = [f"=== {task.id} ({task.kind}, {task.collection})"]
    for arm, run in task.runs.items():
        verdict = (
            "answered" if run.answered else f"NOT answered; lacks {', '.join(run.missing[:20]) or run.trouble}"
        )
        lines += [
            "",
            f"--- {arm}: {verdict}",
            f"    {run.cost.of('text'):,} tokens as text, {run.cost.of('structured'):,} as structure: "
            f"{run.cost.calls} calls, {run.cost.written:,} written, {run.cost.text:,} or {run.cost.structured:,} read; "
            f"{run.seconds:.2f} s",
            *trial.told.get(arm, ()),
        ]
    return "\n".join(lines) + "\n\n"


def markdown(figures: Mapping[str, Any]) -> str:
    """A."""
    return ""


def text(figures: Mapping[str, Any], clients: Sequence[str]) -> str:
    """A."""
    return ""
