"""The choice of a runner, the message on other systems, and children that are executed one by one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LIMIT
from winnow.sandbox import Limits, Outcome, Sandbox, SandboxUnavailable, probe
from winnow.sandbox.runners import child_process, runner, runner_table

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

ROOT = Path(__file__).parents[2]
SMALL = Limits(wall_seconds=8.0, memory_bytes=128 * 1024 * 1024)


def _refusal(**options: Any) -> SandboxUnavailable:
    with pytest.raises(SandboxUnavailable) as caught:
        asyncio.run(Sandbox(**options).start())
    return caught.value


# --- the choice ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "named"),
    [
        ("darwin", ("not available on macOS with kernel walls", "Linux", "container", "--sandbox monty")),
        ("win32", ("not available on Windows with kernel walls", "WSL", "--sandbox monty")),
        ("freebsd14", ("not available on freebsd14 with kernel walls", "Linux", "--sandbox monty")),
    ],
)
def test_another_system_is_refused_and_told_what_there_is(
    monkeypatch: pytest.MonkeyPatch, platform: str, named: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    message = str(_refusal())
    assert [part for part in named if part not in message] == []


def test_another_system_has_one_line_in_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    (report,) = asyncio.run(probe())
    assert (report.name, report.stands) == ("auto", False)
    assert "not available on Windows with kernel walls" in report.detail
    assert report.advice.startswith("run winnow on Linux")


_ON_A_SYSTEM_WITHOUT = """
import asyncio, json, os, signal, socket, subprocess, sys
loop = asyncio.new_event_loop()
for module in {modules!r}:
    sys.modules[module] = None
for home, names in ((os, {names!r}), (signal, "pidfd_send_signal SIGKILL SIGSYS SIGBUS"), (socket, "AF_UNIX")):
    for name in names.split():
        if hasattr(home, name):
            delattr(home, name)
sys.platform = "win32"
sys.path[:0] = {paths!r}
from winnow.sandbox import Sandbox, SandboxUnavailable, probe
assert "winnow.sandbox.runners.fork_server" not in sys.modules
try:
    loop.run_until_complete(Sandbox().start())
except SandboxUnavailable as error:
    print(error)
print([report.stands for report in loop.run_until_complete(probe())])
"""


def test_a_system_without_what_the_walls_are_made_of_fails_closed_in_words() -> None:
    names = "sched_getaffinity sysconf pidfd_open getppid setsid killpg fork wait4 getresuid setresuid"
    code = _ON_A_SYSTEM_WITHOUT.format(modules=["resource", "fcntl"], names=names, paths=[str(ROOT), *sys.path])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.stdout.startswith("scripts are not available on Windows with kernel walls: run winnow on Linux"), (
        done.stderr
    )
    assert done.stdout.endswith("\n[False]\n")


def test_every_runner_has_a_name_and_auto_is_the_kernel() -> None:
    assert list(runner_table.RUNNERS) == ["auto", "monty"]


# --- executed children -----------------------------------------------------------------------------------------

UNWALLED = child_process.Program("tests.walls.unwalled_child", (str(ROOT),), {})


def test_a_child_is_executed_without_environment_and_site() -> None:
    command = child_process.Program("some.module", ("/home",), {"option": 1}).command(7, SMALL, trial=True)
    assert command[:-1] == [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c"]
    assert "sys.path[:0] = ['/home']" in command[-1]
    assert f"main(7, {{'wall_seconds': 8.0, 'cpu_seconds': {SMALL.cpu_seconds}," in command[-1]
    assert command[-1].endswith("**{'option': 1, 'trial': True})")


def test_memory_that_no_kernel_limits_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(*_: Any) -> runner.Runner:
        return child_process.Spawner(UNWALLED, {"raised": []}, ())

    async def run() -> Outcome:
        limits = replace(SMALL, wall_seconds=LIMIT)
        async with Sandbox(runner="unwalled", limits=limits, spares=1) as sandbox:
            return await sandbox.run("return 1")

    monkeypatch.setattr(runner_table, "RUNNERS", {"unwalled": start})
    outcome = asyncio.run(run())
    assert (outcome.status, outcome.error.type if outcome.error else None) == ("memory", "MemoryLimit")
    assert outcome.usage.memory_peak_bytes > SMALL.memory_bytes


def test_a_child_that_does_not_start_says_why() -> None:
    async def start() -> None:
        await child_process.start_child(child_process.Program("sandbox.no_such_child", (str(ROOT),), {}), SMALL)

    with pytest.raises(SandboxUnavailable, match=r"No module named 'sandbox\.no_such_child'"):
        asyncio.run(start())
