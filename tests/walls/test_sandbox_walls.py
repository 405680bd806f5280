"""The walls: each stands and is tested, for every user; and hosts where one is missing."""

# ruff: noqa: E501 - scripts are quoted the way they are written

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LIMIT, until
from winnow import sandbox as public
from winnow.sandbox import Limits, Sandbox, SandboxUnavailable, WallReport, probe
from winnow.sandbox.parent.sandbox import _check_walls
from winnow.sandbox.runners.fork_server import ForkedChild, ForkServer
from winnow.sandbox.walls import wall_table

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

ROOT = Path(__file__).parents[2]


def test_every_wall_of_the_list_is_tested_and_stands_here() -> None:
    needed = [report for report in asyncio.run(probe()) if not report.reinforces]
    assert [report.name for report in needed] == [wall.name for wall in wall_table.ALL_WALLS]
    assert [report for report in needed if not report.stands] == []


def test_an_outcome_names_the_walls_that_stood(bench: Any) -> None:
    outcome = bench.run("1")
    needed = {wall.name for wall in wall_table.ALL_WALLS}
    assert (needed - set(outcome.walls.stood), outcome.walls.missing) == (set(), ())


def _runner(missing: tuple[str, ...] = (), breaches: tuple[str, ...] = ()) -> Any:
    """A stand-in for a runner: its walls and breaches."""

    class Stub:
        pass

    stub = Stub()
    stub.breaches = breaches  # type: ignore[attr-defined]
    stub.walls = tuple(  # type: ignore[attr-defined]
        WallReport(wall.name, wall.protects, wall.name not in missing, "", wall.advice)
        for wall in wall_table.ALL_WALLS
    )
    return stub


NAMESPACES = (
    "user_namespace",
    "network_namespace",
    "ipc_namespace",
    "host_name_namespace",
    "pid_namespace",
    "empty_root",
)


@pytest.mark.parametrize(
    ("missing", "accepted"),
    [
        ((), ()),
        (NAMESPACES, NAMESPACES),  # a container's default profile, and an operator who knows it
        (("landlock",), ("landlock",)),
    ],
)
def test_a_host_with_every_wall_or_an_exact_opt_in_is_taken(
    missing: tuple[str, ...], accepted: tuple[str, ...]
) -> None:
    _check_walls(_runner(missing), frozenset(accepted))


@pytest.mark.parametrize(
    ("missing", "accepted", "breaches"),
    [
        (("seccomp",), (), ()),
        (("seccomp",), ("seccomp",), ()),
        (("landlock",), (), ()),
        (NAMESPACES, (), ()),
        (NAMESPACES, ("landlock",), ()),
        (NAMESPACES, (*NAMESPACES, "landlock"), ()),
        ((), ("landlock",), ()),
        ((), (), ("fork",)),
    ],
)
def test_any_other_host_is_refused(
    missing: tuple[str, ...], accepted: tuple[str, ...], breaches: tuple[str, ...]
) -> None:
    with pytest.raises(SandboxUnavailable) as caught:
        _check_walls(_runner(missing, breaches), frozenset(accepted))
    assert set(caught.value.missing) <= set(missing)


def test_an_opt_in_for_walls_that_stand_is_refused() -> None:
    async def start() -> None:
        await Sandbox(accept_missing=("landlock",)).start()

    with pytest.raises(SandboxUnavailable, match="every wall stands, so accept nothing"):
        asyncio.run(start())


# --- hostile frames, from a child that writes to its descriptor itself -----------------------------------------

HOSTILE = {
    "not JSON": "b'{'",
    "not an object": "b'[]'",
    "an unknown frame": "b'{\"hello\": 1}'",
    "a call with more": 'b\'{"call": "x", "params": {}, "scope": 1}\'',
    "NaN": "b'{\"result\": NaN}'",
    "infinity": "b'{\"result\": -Infinity}'",
    "a key twice": 'b\'{"result": {"a": 1, "a": 2}}\'',
    "a lone surrogate": 'b\'{"result": "\\\\ud800"}\'',
    "bad UTF-8": 'b\'{"result": "\\xff"}\'',
    "a huge integer": "b'{\"result\": ' + b'9' * 4000 + b'}'",
    "a deep list": "b'{\"result\": ' + b'[' * 2000 + b']' * 2000 + b'}'",
    "a forged status": 'b\'{"status": "ok", "error": {"type": "x", "message": "y"}}\'',
    "an error with more": 'b\'{"status": "error", "error": {"type": "x", "message": "y", "walls": 1}}\'',
    "a huge error": 'b\'{"status": "error", "error": {"type": "x", "message": "\' + b\'y\' * 9000 + b\'"}}\'',
    "pickle": "__import__('pickle').dumps({'result': 1})",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_frame_is_the_end_of_its_child(walls: Any, body: str) -> None:
    code = f"import os\nbody = {body}\nos.write(3, len(body).to_bytes(4, 'big') + body)\nwhile True: os.read(3, 1)"
    outcome = walls.run(code)
    assert (outcome.status, outcome.error.type, outcome.result) == ("crashed", "SandboxCrash", None)


@pytest.mark.parametrize("data", ["b'\\xff' * 8", "b'\\x00\\x7f\\xff\\xff'"])
def test_a_frame_announced_too_long_is_refused_before_it_comes(walls: Any, data: str) -> None:
    outcome = walls.run(f"import os\nos.write(3, {data})\nwhile True: os.read(3, 1)")
    assert outcome.status == "crashed"


def test_a_second_result_is_never_read(walls: Any) -> None:
    code = "import os\nfor body in (b'{\"result\": 1}', b'{\"result\": 2}'):\n    os.write(3, len(body).to_bytes(4, 'big') + body)"
    assert walls.run(code).result == 1


def test_half_a_frame_ends_at_the_wall_clock(walls: Any) -> None:
    outcome = walls.run("import os\nos.write(3, b'\\0\\0')\nwhile True: pass", limits=Limits(wall_seconds=0.4))
    assert outcome.status == "timeout"


def test_a_flood_of_calls_waits_in_the_kernel(walls: Any) -> None:
    code = (
        'import os\nbody = b\'{"call": "kb.search", "params": {}}\'\nframe = len(body).to_bytes(4, \'big\') + body\n'
        "while True: os.write(3, frame)"
    )
    outcome = walls.run(code, limits=Limits(wall_seconds=0.5, sdk_calls=100))
    assert (outcome.status, outcome.usage.sdk_calls) == ("timeout", 100)


def test_a_native_crash_is_contained_and_the_fork_server_renewed(walls: Any) -> None:
    outcome = walls.run("import ctypes\nctypes.string_at(0)")
    assert (outcome.status, outcome.error.type) == ("crashed", "SandboxCrash")
    assert walls.run("result = 2").result == 2


def test_a_script_that_exits_the_process_is_a_crash(walls: Any) -> None:
    assert walls.run("import os\nos._exit(0)").status == "crashed"


@pytest.mark.parametrize("spares", [0, 2])
def test_the_fork_server_is_started_anew_whenever_it_dies(spares: int) -> None:
    async def die_again_and_again() -> list[object]:
        found = []
        async with Sandbox(spares=spares) as sandbox:
            for scripts in (1, 2, 3, 4, 4, 4):
                assert isinstance(sandbox._runner, ForkServer)
                os.kill(sandbox._runner._process.pid, signal.SIGKILL)
                found += [(await sandbox.run("1 + 1")).result for _ in range(scripts)]
            assert sandbox.renewals["died"] >= 1  # a spare may outlive it for a moment, and serve
        return found

    assert asyncio.run(die_again_and_again()) == [2] * 18


def test_a_spare_that_is_ready_as_its_fork_server_dies_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refill() -> bool:
        async with Sandbox(spares=0) as sandbox:
            server = sandbox._runner
            assert isinstance(server, ForkServer)
            spawn, made = server.spawn, []

            async def spawn_before_death(limits: Limits) -> ForkedChild:
                made.append(await spawn(limits))
                os.kill(server._process.pid, signal.SIGKILL)
                while not server.is_gone:
                    await asyncio.sleep(0.01)
                return made[0]

            monkeypatch.setattr(server, "spawn", spawn_before_death)
            sandbox._spare_count = 1
            await sandbox._refill(server)
            return (made[0]._is_killed, len(server.spares)) == (True, 0)

    assert asyncio.run(refill())


_STARTS_AND_WAITS = """
import asyncio, sys
sys.path.insert(0, {root!r})
from winnow.sandbox import Sandbox
async def main():
    sandbox = Sandbox()
    await sandbox.start()
    asyncio.ensure_future(sandbox.run("while True: pass"))
    await asyncio.sleep(0.2)
    print("ready", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def test_nothing_outlives_a_server_that_is_killed() -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", _STARTS_AND_WAITS.format(root=str(ROOT))], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    family = list(_descendants(server.pid))
    server.kill()
    server.wait()
    server.stdout.close()
    until(lambda: not any(_alive(pid) for pid in family))
    assert len(family) >= 3
    assert [pid for pid in family if _alive(pid)] == []


def _descendants(pid: int) -> Iterator[int]:
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield int(child)
        yield from _descendants(int(child))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- as an ordinary user ---------------------------------------------------------------------------------------

# The interpreter may be in a folder that only root reads. A private mount namespace of this process opens the
# way to it; nothing on the disk changes.
_AS_NOBODY = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
check(libc.unshare(0x20000))
check(libc.mount(None, b"/", None, (1 << 18) | (1 << 14), None))
for closed in {closed!r}:
    check(libc.mount(b"tmpfs", b"/mnt", b"tmpfs", 0, b"mode=755"))
    os.mkdir("/mnt/kept")
    check(libc.mount(closed["keep"].encode(), b"/mnt/kept", None, (1 << 12) | (1 << 14), None))
    check(libc.mount(b"tmpfs", closed["path"].encode(), b"tmpfs", 0, b"mode=755"))
    os.makedirs(closed["keep"])
    check(libc.mount(b"/mnt/kept", closed["keep"].encode(), None, (1 << 12) | (1 << 14), None))
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
libc.prctl(4, 1, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", {program!r}])
"""

_SEES_WALLS = """
import asyncio, os, sys
sys.path[:0] = {paths!r}
from winnow.sandbox import Layers, Sandbox
async def main():
    async with Sandbox() as sandbox:
        outcome = await sandbox.run("return 1 + 1")
        print(os.getuid(), outcome.result, ",".join(outcome.walls.missing))
    async with Sandbox(layers=Layers(fence=False)) as sandbox:
        for code in ("open('/etc/passwd')", "import os; os.fork()", "import socket; socket.socket()"):
            print((await sandbox.run(code)).status)
asyncio.run(main())
"""


def _closed_ancestors(path: Path, keep: Path) -> list[dict[str, str]]:
    """The first folder above ``path`` that others may not enter."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & 0o001:
            return [{"path": str(folder), "keep": str(keep)}]
    return []


@pytest.mark.skipif(os.geteuid() != 0, reason="this run is an ordinary user's already")
def test_the_walls_hold_for_a_server_of_an_ordinary_user() -> None:
    base = Path(sys.base_prefix).resolve()
    program = _SEES_WALLS.format(paths=[str(ROOT), *sys.path])
    source = _AS_NOBODY.format(closed=_closed_ancestors(base / "bin", base), program=program)
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.stdout.splitlines() == ["65534 2 ", "error", "error", "crashed"], done.stderr


def test_the_public_names_are_these() -> None:
    assert sorted(public.__all__) == sorted(
        ["CallError", "CountTokens", "HostCall", "Layers", "Limits", "Outcome", "Reply", "Sandbox",
         "SandboxUnavailable", "ScriptError", "Status", "Usage", "WallReport", "Walls", "looks_possible", "probe"]
    )  # fmt: skip
    assert all(getattr(public, name) is not None for name in public.__all__)
