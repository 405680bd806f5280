"""``tests.bench.code``: every way of asking gets the same rows, and every figure is there. None is judged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from typer.testing import CliRunner

from tests.bench import code
from winnow.server.commands.entry.app import Application
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.walls

WAYS = {"direct", *code.SCRIPTS}
SUBJECTS = ("backups", "billing", "invoices", "hiring", "releases", "incidents", "networks")


@pytest.mark.anyio
async def test_every_way_of_asking_is_measured_and_finds_the_same(
    application: Application, store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a real server, in this process: two searches a round for thirty."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Client]:
        async with Client(build_server(Dispatcher(application.context, application.settings), application)) as one:
            yield one

    await application.ready()
    asked = [f"who decides on {subject} {number}" for number in (1, 2) for subject in SUBJECTS]
    assert len(asked) == code.count_questions(2, searches=2)
    steps: list[tuple[str, int, int]] = []
    told = await code.measure(connect, store, asked, lambda *step: steps.append(step), searches=2, has_model=False)
    assert (told["rounds"], told["searches"], told["rows_alike"]) == (2, 2, 1.0)
    assert steps == [("asking", 1, 2), ("asking", 2, 2)]
    assert {level: set(ways) for level, ways in told["many"].items()} == dict.fromkeys(code.LEVELS, WAYS)
    assert set(told["three"]) == {"direct", *code.FILTERED_SCRIPTS}
    for ways in (*told["many"].values(), told["three"]):
        _has_figures(ways)
    monkeypatch.setenv("COLUMNS", "160")
    code.show_figures({"chunks": 9, "alone": told})
    shown = capsys.readouterr().out
    assert [word in shown for word in ("2 searches, preview", "search_many", "three and a filter")] == [True] * 3


def _has_figures(ways: Mapping[str, Any]) -> None:
    for way, row in ways.items():
        spreads = {"ratio", "processor_ratio", "searches_ms"} if way != "direct" else set()
        assert set(row) == {"ms", "processor_ms", *spreads}
        assert all(value >= 0 for figures in row.values() for value in figures.values())


def test_an_index_with_too_little_to_ask_about_is_refused(store: Path) -> None:
    done = CliRunner().invoke(code.app, ["--store", str(store), "--project", "handbook", "--json"])
    assert (done.exit_code, "headings" in done.stdout) == (2, True)


@pytest.mark.anyio
async def test_where_no_engine_runs_none_is_dismissed(store: Path) -> None:
    assert await code.stop_idle_engine(store) is None  # type: ignore[func-returns-value]
