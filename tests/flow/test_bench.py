"""``winnow bench``: every figure is there, whatever this machine makes of it. No figure is judged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.bench import graph as networks
from server.bench import peers, workloads
from server.commands.bench import graph, sandbox
from server.errors import WinnowError
from tests.patience import LIMIT

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


def test_every_figure_of_the_sandbox_is_told(figures: dict[str, Any]) -> None:
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
        "peers",
    }
    assert set(figures["cpu"]) == set(workloads.CPU)
    assert [number for number in _numbers({**figures, "peers": {}}) if number <= 0] == []


def test_a_peer_is_measured_or_it_is_told_why_not(figures: dict[str, Any]) -> None:
    assert set(figures["peers"]) == set(peers.PEERS)
    for peer in figures["peers"].values():
        assert "missing" in peer or set(peer) == {"version", "warm_ms", "host_call_us", "cpu"}


def test_figures_are_shown_with_and_without_peers(
    figures: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {script: {"value": 1, "ms": 12.5} for script in workloads.CPU} | {
        "fib_24": {"error": "SyntaxError: no"}
    }
    measured = {"version": "1", "warm_ms": {"p50": 0.25, "p95": 1.0}, "host_call_us": 31.0, "cpu": rows}
    sandbox.show({**figures, "peers": {"other": measured, "absent": {"missing": "No module named 'absent'"}}})
    shown = capsys.readouterr().out
    assert [word in shown for word in ("other", "0.25 ms", "12.5 ms", "fails", "No module named")] == [True] * 5


def test_an_interpreter_that_is_not_there_is_told() -> None:
    assert {tuple(peer) for peer in peers.measure("/nowhere/python", 5).values()} == {("missing",)}


def test_the_graph_stores_are_measured_over_a_graph_of_the_size_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A small one: every operation has its figures, and the table shows what the JSON holds."""
    graph.run(nodes=200, edges=2000, questions=20, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["documents"], told["nodes"], told["questions"]) == (4, 200, 20)
    assert abs(told["edges"] - 2000) < 100
    (store,) = told["stores"].values()
    assert [set(row) for row in store["ms"].values()] == [{"p50", "p95", "p99", "cpu"}] * 4
    graph.show_graph(told)
    shown = capsys.readouterr().out
    assert [name in shown for name in ("embedded p95", "import", *store["ms"])] == [True] * 6


def test_a_graph_too_small_to_measure_is_refused_with_what_it_needs() -> None:
    with pytest.raises(WinnowError, match="100 nodes"):
        list(networks.graphs(100, 50))


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _numbers(inner)
    elif value is not None:
        yield value
