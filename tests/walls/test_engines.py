"""Which engine runs scripts, what each needs, what is refused. What a Mac itself would answer is not seen here."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import Layers, Limits, Outcome, Sandbox, SandboxUnavailable, probe
from sandbox.child.seatbelt_child import PROFILE, WALLS
from sandbox.runners import child_process, runner_table, seatbelt
from tests.patience import LIMIT

pytestmark = pytest.mark.walls

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
        (
            "darwin",
            ("no kernel walls on darwin", "Linux", "--sandbox monty", "--sandbox seatbelt", "nobody has seen"),
        ),
        ("win32", ("no kernel walls on win32", "WSL", "--sandbox monty")),
        ("freebsd14", ("no kernel walls on freebsd14", "Linux", "--sandbox monty")),
    ],
)
def test_another_system_is_refused_and_told_what_there_is(
    monkeypatch: pytest.MonkeyPatch, platform: str, named: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    message = str(_refusal())
    assert [part for part in named if part not in message] == []
    assert ("seatbelt" in message) == (platform == "darwin")


def test_another_system_has_one_line_in_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    (report,) = asyncio.run(probe())
    assert (report.name, report.stands, "no kernel walls on win32" in report.detail) == ("auto", False, True)


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
from sandbox import Sandbox, SandboxUnavailable, probe
assert "sandbox.runners.fork_server" not in sys.modules
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
    assert done.stdout.startswith("no kernel walls on win32. Run winnow on Linux"), done.stderr
    assert done.stdout.endswith("\n[False]\n")


def test_every_engine_has_a_name_and_auto_is_the_kernel() -> None:
    assert list(runner_table.RUNNERS) == ["auto", "monty", "seatbelt"]


# --- macOS, as far as it can be seen from here -----------------------------------------------------------------


def test_the_profile_denies_everything() -> None:
    assert PROFILE.split("\n") == ["(version 1)", "(deny default)", ""]


def test_every_wall_that_is_claimed_for_macos_is_raised_and_tried() -> None:
    assert [wall.name for wall in WALLS] == list(seatbelt.NAMES)
    assert [wall.name for wall in WALLS if not wall.attempts] == []


def test_a_child_is_executed_without_environment_and_site() -> None:
    command = seatbelt.program(Layers()).command(7, SMALL)
    assert command[:-1] == [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c"]
    assert f"main(7, {{'wall_seconds': 8.0, 'cpu_seconds': {SMALL.cpu_seconds}," in command[-1]
    assert f"'raised': {seatbelt.NAMES!r}" in command[-1]


@pytest.mark.skipif(sys.platform == "darwin", reason="Seatbelt is here")
@pytest.mark.parametrize("accepted", [(), ("seatbelt",), ("ordinary_user", "process_limit", "seatbelt")])
def test_without_seatbelt_no_opt_in_helps(accepted: tuple[str, ...]) -> None:
    refused = _refusal(engine="seatbelt", accept_missing=accepted)
    assert (refused.missing, str(refused).startswith("no sandbox without seatbelt")) == ((), True)
    assert "this system has no Seatbelt" in str(refused)


def test_the_walls_of_macos_that_every_system_has_are_tried_here() -> None:
    found = {report.name: report for report in asyncio.run(probe("seatbelt"))}
    everywhere = {"descriptors", "cpu_limit", "file_limits", "descriptor_limit"}
    missing = {name for name, report in found.items() if not report.stands}
    assert everywhere & missing == set()
    assert (found["ordinary_user"].stands, "ordinary_user" in missing) == (os.geteuid() != 0, os.geteuid() == 0)
    assert all(found[name].advice for name in missing)


# --- executed children: what the keeper does for those that no kernel limits -----------------------------------


def _run(code: str, limits: Limits = SMALL) -> Outcome:
    async def run() -> Outcome:
        async with Sandbox(engine="seatbelt", layers=Layers(walls=False), limits=SMALL, spares=1) as sandbox:
            return await sandbox.run(code, limits=limits)

    return asyncio.run(run())


def test_an_executed_child_runs_the_same_language() -> None:
    outcome = _run("class A(Exception): pass\nprint('said')\nreturn [A.__name__]")
    assert (outcome.status, outcome.result, outcome.stdout) == ("ok", ["A"], "said\n")


@pytest.mark.parametrize("code", ["x = []\nwhile True: x.append('a' * 1_000_000)", "len('a' * 10**10)"])
def test_memory_that_no_kernel_limits_is_watched(code: str) -> None:
    outcome = _run(code)
    assert (outcome.status, outcome.error.type if outcome.error else None) == ("memory", "MemoryLimit")
    assert outcome.usage.memory_peak_bytes > SMALL.memory_bytes


def test_the_wall_clock_ends_an_executed_child() -> None:
    outcome = _run("while True: pass", replace(SMALL, wall_seconds=3.0))  # a busy machine gives it a part of them
    assert (outcome.status, outcome.usage.cpu_ms > 100) == ("timeout", True)


def test_a_child_that_does_not_start_says_why() -> None:
    async def start() -> None:
        await child_process.born(child_process.Program("sandbox.no_such_child", (str(ROOT),), {}), SMALL)

    with pytest.raises(SandboxUnavailable, match=r"No module named 'sandbox\.no_such_child'"):
        asyncio.run(start())
