"""``winnow bench sandbox``: every figure is there. No figure is judged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LIMIT
from winnow.server.commands.bench import sandbox
from winnow.server.commands.benchmarks import workloads

WINNOW = Path(sys.executable).with_name("winnow")
pytestmark = pytest.mark.walls


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """One short run."""
    run = subprocess.run(
        [WINNOW, "bench", "sandbox", "--runs", "5", "--json"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_every_figure_of_the_sandbox_is_reported(figures: dict[str, Any]) -> None:
    assert set(figures) == {
        "warm_ms",
        "cold_ms",
        "plain_python_ms",
        "sdk_call_us",
        "transport_us",
        "search_many_us_per_query",
        "throughput",
        "idle_child_bytes",
        "cpu",
    }
    assert set(figures["cpu"]) == set(workloads.CPU)
    assert [number for number in _numbers(figures) if number <= 0] == []


def test_figures_are_shown(figures: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    sandbox.show_figures(figures)
    shown = capsys.readouterr().out
    assert [word in shown for word in ("warm 1 + 1", "executions a second", "fib_24")] == [True] * 3


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _numbers(inner)
    elif value is not None:
        yield value
