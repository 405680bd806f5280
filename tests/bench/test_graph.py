"""``tests.bench.graph``: every figure is there. No figure is judged."""

from __future__ import annotations

import json

import pytest

from tests.bench import graph
from winnow.server.errors import WinnowError


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
    graph.show_figures(told)
    shown = capsys.readouterr().out
    assert [name in shown for name in ("embedded p95", "import", *store["ms"])] == [True] * 6


def test_a_graph_too_small_to_measure_is_refused_with_what_it_needs() -> None:
    with pytest.raises(WinnowError, match="100 nodes"):
        list(graph.generate_graphs(100, 50))
