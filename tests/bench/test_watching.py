"""The benchmark of watching runs on a few files."""

from __future__ import annotations

from tests.bench.watching import measure


def test_the_benchmark_measures_idleness_one_change_and_all() -> None:
    figures = measure(20, 0.2)
    assert figures["files"] == 20
    assert all(value >= 0 for value in figures.values())
    for kind in ("md", "html", "pdf", "docx"):
        assert figures[f"{kind}_seconds_median"] <= figures[f"{kind}_seconds_longest"]
