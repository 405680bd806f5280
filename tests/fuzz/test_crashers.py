"""Regression tests: every input under crashers/ passes the check of its target."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .targets import NAMES

CRASHERS = Path(__file__).parent / "crashers"
FOUND = sorted(path.relative_to(CRASHERS).as_posix() for path in CRASHERS.glob("*/*"))


@pytest.mark.parametrize("name", FOUND)
def test_an_input_that_broke_a_promise_keeps_it_now(name: str) -> None:
    importlib.import_module(f"tests.fuzz.targets.{name.partition('/')[0]}").check((CRASHERS / name).read_bytes())


@pytest.mark.parametrize("target", NAMES)
def test_a_target_takes_its_seeds(target: str) -> None:
    module = importlib.import_module(f"tests.fuzz.targets.{target}")
    seeds = list(module.seeds())
    for seed in seeds[:5]:
        module.check(seed)
    assert seeds


def test_a_campaign_without_coverage_runs_its_seconds_and_counts() -> None:
    command = [sys.executable, "-m", "tests.fuzz.campaign", "--engine", "hypothesis", "--target", "frames"]
    done = subprocess.run(
        [*command, "--seconds", "1"], cwd=CRASHERS.parents[2], capture_output=True, text=True, check=False
    )
    counted = re.search(r"executions: (\d+)", done.stdout)
    assert (done.returncode, counted is not None and int(counted[1]) > 0) == (0, True), done.stderr
