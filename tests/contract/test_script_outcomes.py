"""What an outcome says beside its result: the warnings of calls, and a result that a limit cut short."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client

from winnow.sandbox import Outcome, ScriptError
from winnow.server.commands.entry.app import Application
from winnow.server.tools.execute_code import render, to_payload
from winnow.server.tools.scripts.run_warnings import MAX_WARNINGS, RunWarnings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

STEPPING_DOWN = """
rows = semantic_search("rule", top_k=12)
for _ in range(3):
    fetch(rows, "preview", 5)
fetch(rows, "preview", 6)
"""


async def _run(application: Application, code: str, **options: Any) -> Outcome:
    await application.ready()
    return await application.scripts.run(code, **options)


async def test_the_warnings_of_calls_stand_in_the_outcome_once_each(application: Application) -> None:
    outcome = await _run(application, f"{STEPPING_DOWN}return len(rows)")
    assert (outcome.result, len(outcome.warnings), len(set(outcome.warnings))) == (12, 1, 1)
    assert "max_tokens" in outcome.warnings[0]
    assert outcome.to_json()["warnings"] == outcome.warnings
    quiet = await _run(application, "return len(semantic_search('rule'))")
    assert quiet.warnings == ()
    assert "warnings" not in quiet.to_json()


async def test_warnings_of_a_script_that_fails_stand_in_its_outcome_too(application: Application) -> None:
    outcome = await _run(application, f"{STEPPING_DOWN}1 / 0")
    assert (outcome.status, len(outcome.warnings)) == ("error", 1)


async def test_a_client_reads_warnings_and_a_partial_result_in_the_answer(application: Application) -> None:
    await application.ready()
    server = build_server(Dispatcher(application.context, application.settings), application)
    code = f"result = ['so far']\n{STEPPING_DOWN}while True: print('x' * 10_000)"
    async with Client(server, mode="legacy") as client:
        answer = await client.call_tool("execute_code", {"code": code})
    payload, text = answer.structured_content, answer.content[0].text  # type: ignore[union-attr]
    assert payload is not None
    assert (payload["status"], payload["partial"], payload["result"]) == ("limit", True, ["so far"])
    assert [warning for warning in payload["meta"]["warnings"] if "max_tokens" in warning]
    assert 'partial result: ["so far"]' in text.splitlines()
    assert [line for line in text.splitlines() if line.startswith("warning: ") and "max_tokens" in line]


def test_many_warnings_are_bounded_and_the_others_counted() -> None:
    warnings = RunWarnings()
    for number in range(5_000):
        warnings.add([f"warning {number % 2_500} " + "x" * 1_000, "again\nand again"])
    lines = warnings.lines()
    assert lines[0].startswith("warning 0 x")
    assert (len(lines), lines[1], lines[-1].split(";")[0]) == (
        MAX_WARNINGS + 1, "again and again", f"{2_000 - MAX_WARNINGS} more warnings of calls")  # fmt: skip
    assert max(map(len, lines)) <= 300


async def test_a_partial_result_is_said_to_be_one_in_both_forms(application: Application) -> None:
    code = "result = []\nfor number in range(2_000):\n    result.append(number)\n    kb.search('rule')"
    outcome = await _run(application, code, timeout=2.0)
    assert (outcome.status, outcome.partial, outcome.result[:3]) == ("timeout", True, [0, 1, 2])
    payload = to_payload(outcome)
    assert (payload["partial"], payload["error"]["details"]["reason"]) == (True, "TIMEOUT")
    assert f"partial result: {json.dumps(outcome.result, separators=(',', ':'))}" in render(payload).splitlines()


def test_a_whole_result_has_no_word_about_parts() -> None:
    assert "partial" not in to_payload(Outcome("ok", result=1))
    assert "partial" not in render(to_payload(Outcome("error", error=ScriptError("E", "m"))))
