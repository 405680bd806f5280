"""``tests.bench.sandbox_peers``: a peer is measured, or its row says why not. No figure is judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import sandbox_peers
from tests.patience import LIMIT
from winnow.server.commands.benchmarks import workloads

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.walls


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """One short run."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench.sandbox_peers", "--runs", "5", "--json"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
        cwd=ROOT,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_a_peer_is_measured_or_its_row_says_why_not(figures: dict[str, Any]) -> None:
    assert set(figures["peers"]) == set(sandbox_peers.PEERS)
    for peer in figures["peers"].values():
        assert "missing" in peer or set(peer) == {"version", "warm_ms", "host_call_us", "cpu"}


def test_figures_are_shown_with_and_without_peers(
    figures: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {script: {"value": 1, "ms": 12.5} for script in workloads.CPU} | {
        "fib_24": {"error": "SyntaxError: no"}
    }
    measured = {"version": "1", "warm_ms": {"p50": 0.25, "p95": 1.0}, "host_call_us": 31.0, "cpu": rows}
    sandbox_peers.show_peers(
        {**figures, "peers": {"other": measured, "absent": {"missing": "No module named 'absent'"}}}
    )
    shown = capsys.readouterr().out
    assert [word in shown for word in ("other", "0.25 ms", "12.5 ms", "fails", "No module named")] == [True] * 5


def test_a_missing_interpreter_is_reported() -> None:
    assert {tuple(peer) for peer in sandbox_peers.measure_peers("/nowhere/python", 5).values()} == {("missing",)}
