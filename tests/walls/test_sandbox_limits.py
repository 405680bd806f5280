"""Every way a script can end, and that the next one runs after each of them."""

# ruff: noqa: E501 - scripts are quoted the way they are written

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.patience import LIMIT
from winnow.sandbox import CallError, Layers, Limits, Outcome, Reply, Sandbox, Usage
from winnow.sandbox.parent.progress import ProgressReporter

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

SMALL = Limits(wall_seconds=5.0, cpu_seconds=5, memory_bytes=128 * 1024 * 1024)


async def characters(text: str) -> int:
    return len(text)


def ending(outcome: Outcome) -> tuple[str, str | None]:
    return outcome.status, outcome.error.type if outcome.error else None


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("return 1\n", 1),
        ("__result__ = 2\nresult = 3\n4", 2),
        ("result = 3\n4", 3),
        ("result = 3\nif True:\n    return 5", 5),
        ("4", 4),
        ("x = 4", None),
        ("print('printed')", "printed\n"),
        ("print('printed')\n'value'", "value"),
        ("[].append(1)\nprint('printed')", "printed\n"),
        ("return await kb.search('q')", [{"id": "guide#1", "title": "Retries", "score": 0.5,
                                          "preview": "Retry three times.", "metadata": {"tag": "x"}}]),
        ("raise SystemExit", None),
        ("result = 7\nexit()", 7),
        ("", None),
    ],
)  # fmt: skip
def test_the_result_is_what_is_returned_or_named_or_stands_last_or_was_printed(
    bench: Any, code: str, result: Any
) -> None:
    outcome = bench.run(code)
    assert (outcome.status, outcome.result) == ("ok", result), outcome


@pytest.mark.parametrize(
    ("code", "status", "type"),
    [
        ("1 / 0", "error", "ZeroDivisionError"),
        ("raise SystemExit(3)", "error", "SystemExit"),
        ("import os", "rejected", "CodeRejected"),
        ("def", "rejected", "SyntaxError"),
        ("x = '\\0'\x00", "rejected", "SyntaxError"),
        ("(" * 5_000 + ")" * 5_000, "rejected", "SyntaxError"),
        ("getattr(1, '__self__')", "rejected", "CodeRejected"),
        ("'a' * 10**10", "memory", "MemoryLimit"),
        ("x = []\nwhile True: x.append('a' * 1_000_000)", "memory", "MemoryLimit"),
        ("try:\n    'a' * 10**10\nexcept MemoryError:\n    raise ValueError", "error", "ValueError"),
        ("while True: print('x' * 1000)", "limit", "OutputLimit"),
        ("while True:\n    try:\n        print('x' * 1000)\n    except Exception:\n        pass", "limit", "OutputLimit"),
        ("print('x' * 100_000_000)", "limit", "OutputLimit"),
        ("return 'x' * 40_000", "limit", "ResultTooLarge"),
        ("return lambda: 1", "error", "ResultNotData"),
        ("return float('nan')", "error", "ResultNotData"),
        ("return 2 ** 5000", "error", "ResultNotData"),
        ("x = []\nx.append(x)\nreturn x", "error", "ResultNotData"),
        ("def f(): return f()\nf()", "error", "RecursionError"),
        ("for _ in range(1_200): kb.search('q')", "limit", "CallLimit"),
        ("x = 1\n" * 20_000, "rejected", "CodeRejected"),
    ],
)  # fmt: skip
def test_every_other_ending_has_its_status_and_type(bench: Any, code: str, status: str, type: str) -> None:
    outcome = bench.run(code, limits=SMALL)
    assert ending(outcome) == (status, type), outcome
    assert bench.run("1 + 1").result == 2


def test_what_the_interpreter_imports_by_itself_is_there(bench: Any) -> None:
    """Newer versions divide integers of many digits in a Python module that is not imported yet."""
    assert bench.run("return ((1 << 10**6) // 3**100_000).bit_length()").result == 841_504


def test_a_call_limit_can_be_caught_but_not_passed(bench: Any) -> None:
    code = "n = 0\nfor _ in range(1_500):\n    try:\n        kb.search('q')\n        n += 1\n    except Exception:\n        pass\nreturn n"
    outcome = bench.run(code)
    assert (outcome.result, outcome.usage.sdk_calls) == (1_000, 1_000)


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(3600)",
        "sum(range(10**12))",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
        "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
        "class A:\n    def __del__(self):\n        while True: pass\nA()",
    ],
)
def test_the_wall_clock_ends_everything(bench: Any, code: str) -> None:
    started = time.monotonic()
    outcome = bench.run("print('before')\n" + code, limits=replace(SMALL, wall_seconds=0.5))
    took = time.monotonic() - started
    assert (ending(outcome), outcome.stdout) == (("timeout", "Timeout"), "before\n")
    assert 0.45 <= took < LIMIT  # it is warned in its last tenth
    assert bench.run("1 + 1").result == 2


async def _run_without_sandbox(code: str, limits: Limits) -> Outcome:
    async with Sandbox(layers=Layers(fence=False, walls=False)) as sandbox:
        return await sandbox.run(code, limits=limits)


def test_a_child_that_the_warning_of_its_time_kills_is_late_and_did_not_crash() -> None:
    """On a loaded machine a child may not yet handle the signal when the warning comes."""
    code = "import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_DFL)\nwhile True: pass"
    assert asyncio.run(_run_without_sandbox(code, Limits(wall_seconds=1.0))).status == "timeout"


def test_the_wall_clock_covers_the_hosts_answers(bench: Any) -> None:
    async def slow(method: str, params: Mapping[str, Any]) -> Reply:
        await asyncio.sleep(30)
        return Reply(None)

    outcome = bench.run("kb.search('q')", call=slow, limits=replace(SMALL, wall_seconds=0.3))
    assert ending(outcome) == ("timeout", "Timeout")


def test_the_kernel_ends_a_script_at_its_cpu_limit(bench: Any) -> None:
    outcome = bench.run("while True: pass", limits=replace(SMALL, cpu_seconds=1))
    assert ending(outcome) == ("timeout", "Timeout")
    assert "CPU" in outcome.error.message


def test_a_result_over_its_tokens_is_refused_whole(bench: Any) -> None:
    outcome = bench.run("return 'word ' * 100", count_tokens=characters, limits=replace(SMALL, result_tokens=50))
    assert ending(outcome) == ("limit", "ResultTooLarge")
    assert outcome.result is None


def test_stdout_keeps_its_end_and_says_what_was_cut(bench: Any) -> None:
    outcome = bench.run("for i in range(5000): print(i)")
    assert outcome.stdout.startswith("[... ")
    assert outcome.stdout.endswith("4998\n4999\n")
    assert len(outcome.stdout) < 8 * 1024 + 100


def test_usage_is_real(bench: Any) -> None:
    code = "x = sum(i for i in range(300_000))\nblob = bytearray(50_000_000)\nkb.search('a')\nkb.search('b')\nreturn 1"
    usage: Usage = bench.run(code, count_tokens=characters).usage
    assert usage.cpu_ms > 5
    assert usage.wall_ms > 5
    assert usage.memory_peak_bytes > 50_000_000
    assert (usage.sdk_calls, usage.rows, usage.tokens_kept_out, usage.result_tokens) == (2, 2, 19, 1)


def test_limits_of_one_script_are_never_above_the_sandboxs_own() -> None:
    async def ask_for_more() -> Outcome:
        async with Sandbox(limits=replace(SMALL, wall_seconds=0.3)) as sandbox:
            return await sandbox.run("import time\ntime.sleep(30)", limits=Limits(wall_seconds=math.inf))

    assert asyncio.run(ask_for_more()).status == "timeout"


def test_an_answer_of_the_host_that_fails_is_an_error_the_script_can_catch(bench: Any) -> None:
    async def refuse(method: str, params: Mapping[str, Any]) -> Reply:
        raise CallError("INVALID_ARGUMENT", "no such project", hint="leave scope out")

    async def fail(method: str, params: Mapping[str, Any]) -> Reply:
        raise RuntimeError("secret")

    code = (
        "try:\n    kb.search('q')\nexcept SDKError as error:\n    return [error.type, error.message, error.hint]"
    )
    code = "from winnow import SDKError\n" + code
    assert bench.run(code, call=refuse).result == ["INVALID_ARGUMENT", "no such project", "leave scope out"]
    assert "secret" not in str(bench.run(code, call=fail))
    assert bench.run(code, call=None).result[0] == "NO_KNOWLEDGE_BASE"


def test_cancelling_kills_the_script_and_frees_the_worker(bench: Any) -> None:
    async def cancel_soon() -> None:
        task = asyncio.ensure_future(bench.sandbox.run("while True: pass"))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for _ in range(3):
        bench.wait(cancel_soon())
    assert bench.run("1 + 1").result == 2


def test_progress_is_told_about_once_a_second(bench: Any) -> None:
    seen: list[Usage] = []

    async def progress(usage: Usage, message: str) -> None:
        seen.append(usage)

    bench.run("import time\nkb.search('q')\ntime.sleep(2.4)", on_progress=progress)
    assert [usage.sdk_calls for usage in seen] == [1, 1]
    assert seen[0].memory_peak_bytes > 0


def test_a_full_queue_says_when_to_come_back() -> None:
    async def crowd() -> list[Outcome]:
        async with Sandbox(workers=1, queue=1, queue_seconds=5.0) as sandbox:
            runs = [sandbox.run("import time\ntime.sleep(0.3)\nreturn 1") for _ in range(3)]
            return list(await asyncio.gather(*runs))

    outcomes = asyncio.run(crowd())
    assert sorted(outcome.status for outcome in outcomes) == ["ok", "ok", "unavailable"]
    refused = next(outcome for outcome in outcomes if outcome.status == "unavailable")
    assert refused.error is not None
    assert (refused.error.type, "again" in (refused.error.hint or "")) == ("QUEUE_FULL", True)


def test_nothing_of_one_script_is_there_for_the_next(bench: Any) -> None:
    first = bench.run("import random\nleft = 1\nclass A: pass\nkb_seen = A\nreturn random.random()")
    second = bench.run("import random\ntry:\n    left\nexcept NameError:\n    return random.random()")
    assert (first.status, second.status) == ("ok", "ok")
    assert first.result != second.result


def test_a_set_has_the_same_order_in_every_script() -> None:
    async def orders() -> list[object]:
        found = []
        for _ in range(2):
            async with Sandbox(spares=0) as sandbox:
                found.append((await sandbox.run("return list({'alpha', 'beta', 'gamma', 'delta', 'x'})")).result)
        return found

    first, second = asyncio.run(orders())
    assert first == second


def test_nothing_is_left_behind_after_many_scripts() -> None:
    async def many() -> tuple[int, int, int]:
        async with Sandbox() as sandbox:
            await sandbox.run("1")
            before = _descriptors()
            for number in range(60):
                code = "while True: pass" if number % 20 == 0 else "1 + 1"
                await sandbox.run(code, limits=replace(SMALL, wall_seconds=0.2))
            await asyncio.sleep(0.2)
            return before, _descriptors(), len(_children())

    others = _children()
    before, after, children = asyncio.run(many())
    assert after <= before + 2  # a spare that is just being made
    assert children == len(others) + 1
    assert _children() == others


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def test_a_closed_sandbox_is_unavailable() -> None:
    async def use_after_close() -> Outcome:
        sandbox = Sandbox()
        await sandbox.start()
        await sandbox.close()
        return await sandbox.run("1")

    assert ending(asyncio.run(use_after_close())) == ("unavailable", "SHUTTING_DOWN")


def test_a_script_that_only_calls_is_ended_at_its_wall_clock_all_the_same() -> None:
    """The parent spins for quick callers, and must still enforce the wall clock."""
    endless = replace(SMALL, wall_seconds=1.0, sdk_calls=10**9, reply_total_bytes=1 << 40)

    async def answer(method: str, params: Mapping[str, Any]) -> Reply:
        return Reply({"results": []})

    async def run() -> Outcome:
        async with Sandbox(limits=endless) as sandbox:
            return await sandbox.run("while True: kb.search('a')", call=answer)

    outcome = asyncio.run(run())
    assert ending(outcome) == ("timeout", "Timeout")
    assert outcome.usage.sdk_calls > 10  # how many is up to the machine


def test_a_script_that_dies_takes_its_calls_along() -> None:
    """The host stops calls of a dead child."""
    cancelled: list[str] = []

    async def answer(method: str, params: Mapping[str, Any]) -> Reply:
        here = psutil.Process()
        for process in here.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if process.ppid() != here.pid:  # the fork server is this process's own child
                    process.kill()
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.append(method)
        raise AssertionError

    async def run() -> Outcome:
        async with Sandbox(limits=replace(SMALL, wall_seconds=600.0)) as sandbox:
            return await sandbox.run("kb.search('a')", call=answer)

    outcome = asyncio.run(run())
    assert (outcome.status, cancelled) == ("crashed", ["kb.search"])
    assert outcome.usage.wall_ms < 300_000


def test_what_a_script_says_of_its_progress_is_heard_on_one_clean_line(bench: Any) -> None:
    heard: list[str] = []

    async def progress(usage: Usage, message: str) -> None:
        heard.append(message)

    code = "progress('half\\n\\x1b[31m way\\u202e there')\nfor _ in range(20): progress('again ' * 99)"
    assert bench.run(code, on_progress=progress).status == "ok"
    assert heard == ["half [31m way there"]


def test_the_first_message_of_a_burst_is_sent_and_the_last_one_a_second_later() -> None:
    heard: list[str] = []

    async def send(usage: Usage, message: str) -> None:
        heard.append(message)

    async def burst() -> list[str]:
        reporter = ProgressReporter(send, Usage)
        reporter.start()
        for word in ("one", "two", "three"):
            await reporter.set_message(word)
        first = [*heard]
        while len(heard) < 2:
            await asyncio.sleep(0.05)
        reporter.close()
        return first

    assert (asyncio.run(burst()), heard) == (["one"], ["one", "three"])


def test_what_may_still_be_used_is_asked_for_free_and_not_without_end(bench: Any) -> None:
    outcome = bench.run("for n in range(1000): left = budget()\nreturn left.calls, len(kb.search('q'))")
    assert (outcome.result, outcome.usage.sdk_calls) == ([1_000, 1], 1)
    flood = bench.run("for n in range(1001): progress(n)")
    assert (flood.status, flood.error.type) == ("limit", "CallLimit")


def test_progress_is_a_text_on_the_wire(bench: Any) -> None:
    outcome = bench.run("from client_sdk import MCPClient\nprogress(['a', 1])\nreturn 'fine'")
    assert outcome.result == "fine"
