"""Many scripts and some attacks leave nothing behind, and the soak test detects leftovers."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from winnow.sandbox import Sandbox
from winnow.security import soak, suite

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

ATTACKS = [attack for attack in suite.read_attacks() if attack.family in ("files", "network", "processes")]
START = soak.Footprint(resident_bytes=40_000_000, descriptors=20, processes=4, files=0)
SOAK = soak.Soak(
    executions=100,
    attacks=1,
    at_once=8,
    seconds=1.0,
    endings={"ok": 100},
    violations=(),
    renewals={"used up": 1, "fault": 2},
    before=START,
    after=START,
    left_behind=0,
)


async def _start_once() -> None:
    async with Sandbox():
        pass


def test_hundreds_of_scripts_some_of_them_attacks_leave_nothing_behind() -> None:
    asyncio.run(_start_once())  # what forks fork servers for the tests starts with the first, and stays
    told: list[None] = []
    report = asyncio.run(soak.run(ATTACKS, 300, on_execution=lambda: told.append(None)))
    assert (report.violations, report.left_behind, report.renewals.get("died", 0)) == ((), 0, 0)
    assert (report.after.descriptors, report.after.processes, report.after.files) == (
        report.before.descriptors,
        report.before.processes,
        0,
    )
    assert (sum(report.endings.values()), report.attacks, len(told)) == (300, 3, 300)


@pytest.mark.parametrize(
    "other",
    [
        replace(SOAK, violations=("x ended as ok",)),
        replace(SOAK, renewals={"died": 1}),
        replace(SOAK, left_behind=1),
        replace(SOAK, after=replace(START, resident_bytes=42_100_000)),
        replace(SOAK, after=replace(START, descriptors=22)),
        replace(SOAK, after=replace(START, files=1)),
        replace(SOAK, after=replace(START, processes=5)),
    ],
)
def test_whatever_stays_behind_is_told(other: soak.Soak) -> None:
    assert (SOAK.ok, other.ok) == (True, False)


def test_a_footprint_sees_a_file_a_descriptor_and_a_process(tmp_path: Path) -> None:
    before = soak.Footprint.of_this_process(tmp_path)
    with tempfile.NamedTemporaryFile(dir=tmp_path):
        after = soak.Footprint.of_this_process(tmp_path)
    assert (after.files - before.files, after.descriptors - before.descriptors) == (1, 1)
