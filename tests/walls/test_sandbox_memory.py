"""Three memory limits: address space and resident memory of each child, and one group for all children."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from winnow.sandbox import Layers, Limits, Outcome, Sandbox
from winnow.sandbox.protocol.limits import MIB
from winnow.sandbox.walls.cgroups import MemoryGroup, create_around

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

_HOLDS = "import sys; sys.stdin.readline(); held = bytearray({mib} << 20); print('held')"


@pytest.fixture
def group() -> Iterator[MemoryGroup]:
    """A group of 48 MiB, where this host lets us have one."""
    made = MemoryGroup.create(48 * MIB)
    if isinstance(made, str):
        pytest.skip(f"no memory group here: {made}")
    yield made
    made.remove()


def _in_group(group: MemoryGroup, mib: int) -> tuple[int, str]:
    """The exit code and output of a process that allocates so much."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _HOLDS.format(mib=mib)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        group.add_process(process.pid)
        printed, _ = process.communicate("\n")
    return process.returncode, printed


def test_the_kernel_kills_what_holds_more_than_its_group_may(group: MemoryGroup) -> None:
    assert (_in_group(group, 8), group.count_kills()) == ((0, "held\n"), 0)
    assert (_in_group(group, 128), group.count_kills()) == ((-9, ""), 1)


def test_a_group_is_gone_when_it_is_removed(group: MemoryGroup) -> None:
    group.remove()
    with pytest.raises(OSError, match="No such file"):
        group.add_process(1)


def test_a_process_that_is_gone_is_told_as_a_missing_group() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    made, told = create_around(process.pid, 48 * MIB)
    assert (made, told.stands, told.reinforces, bool(told.detail)) == (None, False, True, True)


# Plain Python in a locked child: no guard of the language counts what is held.
_GROWS = "held = []\nwhile True: held.append(bytearray(1 << 20))"


@pytest.mark.parametrize("fence", [True, False])
def test_a_script_that_grows_ends_with_a_word_about_memory(fence: bool) -> None:
    async def grow() -> Outcome:
        limits = Limits(memory_bytes=64 * MIB, wall_seconds=20)
        async with Sandbox(layers=Layers(fence=fence), limits=limits, spares=0) as sandbox:
            return await sandbox.run(_GROWS)

    outcome = asyncio.run(grow())
    assert outcome.error is not None
    assert (outcome.status, outcome.error.type) == ("memory", "MemoryLimit")


def test_many_scripts_that_grow_at_once_end_one_by_one_and_the_next_one_runs() -> None:
    async def crowd() -> tuple[list[str], object]:
        limits = Limits(memory_bytes=96 * MIB, wall_seconds=30)
        async with Sandbox(limits=limits, workers=6) as sandbox:
            ends = await asyncio.gather(*(sandbox.run(_GROWS) for _ in range(12)))
            return [end.status for end in ends], (await sandbox.run("return 6 * 7")).result

    assert asyncio.run(crowd()) == (["memory"] * 12, 42)
