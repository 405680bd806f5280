"""The benchmark of a notebook: it fills one, and every operation answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.bench.notebook import measure
from winnow.server.settings.loading import load_settings


def test_every_operation_is_timed_over_the_entries_that_were_made(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path, embedding="off", graph="off", enable_writes=True)
    figures = asyncio.run(measure(settings, 60, 3))
    assert (figures["entries"], figures["claims"], figures["model"]) == (60, 300, "")
    assert sorted(figures["ms"]) == [
        "claims of 50 entries",
        "search, hybrid",
        "search, lexical",
        "search, semantic",
        "write with 20 claims",
    ]
    assert all(row["p95"] > 0 for row in figures["ms"].values())
