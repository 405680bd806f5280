"""What ``result`` held when a limit ended a script comes back, within the bounds of every result."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from winnow.sandbox import CallError, Limits, Outcome, Reply

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

QUICK = Limits(wall_seconds=1.0)


async def refuse_from_the_third(method: str, params: Mapping[str, Any]) -> Reply:
    if params["query"] > "2":
        raise CallError("SDK_TEXT", "none is left", limit=True)
    return Reply({"results": [], "count": 0})


async def wait_long(method: str, params: Mapping[str, Any]) -> Reply:
    await asyncio.sleep(30)
    raise AssertionError


async def count_characters(text: str) -> int:
    return len(text)


def _describe(outcome: Outcome) -> tuple[str, str | None, Any, bool]:
    return outcome.status, outcome.error and outcome.error.type, outcome.result, outcome.partial


ODD = "class Odd(dict):\n    def items(self):\n        "
# Slow enough that the time ends it, not the number of its calls.
SLOWLY_ASKING = """
result = 5
while True:
    sum(range(100_000))
    try: kb.search('1')
    except SDKError: pass
"""
ASKING = "result = []\nfor number in range(9):\n    result.append(number)\n    kb.search(str(number))"


@pytest.mark.parametrize(
    ("code", "status", "type", "result"),
    [
        (ASKING, "limit", "SDK_TEXT", [0, 1, 2, 3]),
        (ASKING.replace("result", "__result__"), "limit", "SDK_TEXT", [0, 1, 2, 3]),
        ("result = {'a': (1, {2})}\nwhile True: print('x' * 10_000)", "limit", "OutputLimit", {"a": [1, [2]]}),
        ("result = [1]\n'x' * 10**10", "memory", "MemoryLimit", [1]),
        ("result = [1]\nwhile True: pass", "timeout", "Timeout", [1]),
        ("import time\nresult = [1]\ntime.sleep(9)", "timeout", "Timeout", [1]),
        ("import asyncio\nresult = 5\nawait asyncio.sleep(9)", "timeout", "Timeout", 5),
        ("import re\nresult = 5\nre.match('(a*)*b', 'a' * 40)", "timeout", "Timeout", 5),
        (SLOWLY_ASKING, "timeout", "Timeout", 5),
    ],
)
def test_a_limit_returns_what_the_result_held(bench: Any, code: str, status: str, type: str, result: Any) -> None:
    outcome = bench.run(code, limits=QUICK, call=refuse_from_the_third)
    assert _describe(outcome) == (status, type, result, True)
    assert (outcome.to_json()["partial"], outcome.usage.wall_ms < 1_000) == (True, True)


@pytest.mark.parametrize("code", ["kb.search('1')", "search_many([str(n) for n in range(60)])"])
def test_a_call_that_takes_too_long_ends_with_what_the_result_held(bench: Any, code: str) -> None:
    outcome = bench.run(f"result = 'so far'\n{code}", limits=QUICK, call=wait_long)
    assert _describe(outcome) == ("timeout", "Timeout", "so far", True)
    assert outcome.error.line == 2
    assert "its 1 s were about to end" in outcome.error.message


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("while True: pass", "timeout"),
        ("result = None\nwhile True: pass", "timeout"),
        ("def main():\n    result = [1]\n    while True: pass\nmain()", "timeout"),
        ("result = lambda: 1\nwhile True: pass", "timeout"),
        ("result = float('nan')\nwhile True: pass", "timeout"),
        ("result = []\nresult.append(result)\nwhile True: pass", "timeout"),
        ("result = 1\nraise SDKError('SDK_TEXT', 'x', limit=True)", "error"),
        ("result = 1\nraise SDKError('Timeout', 'x', limit=True)", "error"),
        ("result = 1\n1 / 0", "error"),
        ("result = 'x' * 40_000", "limit"),
        (f"{ODD}raise ValueError\nresult = Odd(a=1)\nwhile True: pass", "timeout"),
        (f"{ODD}exit()\nresult = Odd(a=1)\nwhile True: pass", "timeout"),
        (f"{ODD}[kb.search('1')] * 10**10\nresult = Odd(a=1)\nwhile True: pass", "timeout"),
        (f"{ODD}\n        while True: pass\nresult = Odd(a=1)\nwhile True: pass", "timeout"),
    ],
)  # fmt: skip
def test_a_script_that_holds_no_data_or_met_no_limit_has_no_partial_result(
    bench: Any, code: str, status: str
) -> None:
    started = time.monotonic()
    outcome = bench.run(code, limits=QUICK)
    assert (outcome.status, outcome.result, outcome.partial) == (status, None, False)
    assert "partial" not in outcome.to_json()
    assert time.monotonic() - started < 5


def test_memory_that_fills_up_leaves_what_the_result_held(bench: Any) -> None:
    code = "result, x = [1], []\nwhile True: x.append('x' * 1_000_000)"
    assert _describe(bench.run(code)) == ("memory", "MemoryLimit", [1], True)
    itself = bench.run("result = []\nwhile True: result.append('x' * 1_000_000)")
    assert _describe(itself) == ("memory", "MemoryLimit", None, False)


def test_a_partial_result_is_bounded_like_any_and_a_larger_one_is_kept(bench: Any) -> None:
    code = "result = ['x' * {}]\nwhile True: print('x' * 10_000)"
    small, large, huge = (bench.run(code.format(size)) for size in (30_000, 40_000, 200_000))
    assert (small.partial, len(small.result[0]), small.whole) == (True, 30_000, None)
    assert (large.partial, large.result, json.loads(large.whole)) == (False, None, ["x" * 40_000])
    assert (huge.partial, huge.result, huge.whole) == (False, None, None)
    assert {outcome.error.type for outcome in (small, large, huge)} == {"OutputLimit"}
    counted = bench.run(code.format(9_000), count_tokens=count_characters)
    assert (counted.partial, len(json.loads(counted.whole)[0])) == (False, 9_000)


def test_a_script_that_ends_after_the_warning_ends_as_usual(bench: Any) -> None:
    code = (
        "import time\ntry:\n    time.sleep(9)\nexcept BaseException as error:\n    result = type(error).__name__"
    )
    assert _describe(bench.run(code, limits=QUICK)) == ("ok", None, "TimeIsUp", False)


def test_the_next_script_runs_after_each_of_them(bench: Any) -> None:
    for _ in range(3):
        bench.run("result = 1\nwhile True: pass", limits=Limits(wall_seconds=0.1))
        assert bench.run("return 2").result == 2
