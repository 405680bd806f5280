"""``tests.bench.code_mode``: its scripts belong to tasks, and figures of several collections are merged."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace
from typing import Any

from tests.bench import code_mode
from winnow.server.commands.token_benchmark.gold import Expected, find_leaks
from winnow.server.commands.token_benchmark.task import Step, load

TASKS = load()


def test_every_script_for_code_mode_belongs_to_a_task_and_says_nothing_of_its_gold() -> None:
    tasks = {task.id: task for task in TASKS}
    for name, script in code_mode.scripts().items():
        ast.parse(f"async def main():\n{textwrap.indent(script, '    ')}")
        ported = replace(tasks[name], steps={"code": (Step("execute", {"code": script}),)})
        assert find_leaks(ported, ported.question, Expected(ported.gold.strings)) == []


def test_code_mode_is_compared_on_what_both_answer_and_a_failure_has_its_reason() -> None:
    def row(tokens: int, seconds: float) -> dict[str, Any]:
        return {"tokens": tokens, "seconds": seconds, "answered": True}

    rows = {
        "a": {"winnow": row(100, 0.1), "code_mode": row(120, 0.2)},
        "b": {"winnow": row(50, 0.3), "code_mode": {"error": "MontyError: no classes"}},
    }
    parts = {"stdlib": {"version": "4", "definitions": 400, "tasks": rows}}
    found = code_mode.merge(parts)
    assert (found["compared"], found["winnow"]["tokens"], found["code_mode"]["seconds_median"]) == (1, 100, 0.2)
    page = "\n".join(code_mode.describe(found))
    assert "| b | 50 | 0.300 s | fails | MontyError: no classes |" in page
    assert code_mode.merge({**parts, "other": {"missing": "no fastmcp"}}) == {"missing": "no fastmcp"}
