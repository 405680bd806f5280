"""``tests.bench.engine``: real servers over one store, a real kill; every figure is there. No time is judged."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.bench import engine
from tests.bench.engine_faults import Job
from winnow.server.engine import endpoint
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.skipif(not endpoint.is_supported(), reason="engines are not shared on this system")

QUESTIONS = ["how are backups encrypted", "who may restart the gateway", "retention of logs"]


@pytest.fixture(scope="module")
def figures(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One short run."""
    settings = load_settings(store=store, project="handbook", execute_code="off")
    scratch = tmp_path_factory.mktemp("bench")
    job = Job(servers=2, calls=20, chunks=20, kills=1)
    return asyncio.run(engine.measure(settings, job, QUESTIONS, scratch, lambda name, done, of: None))


def test_every_figure_is_reported(figures: Any) -> None:
    assert set(figures) == {
        *("servers", "overhead_ms", "pss_mb", "processes_with_a_model", "only_the_engine_has_it"),
        *("ingest", "killed"),
    }
    for row in figures["overhead_ms"].values():
        assert row["in_process"]["p50"] > 0 < row["through_engine"]["p50"]
    sizes = figures["pss_mb"]
    assert (len(sizes["each_server"]), sizes["engine"] > 0, sizes["keeper"] > 0) == (2, True, True)


def test_servers_share_one_model_and_no_search_fails_beside_an_ingest(figures: Any) -> None:
    assert figures["only_the_engine_has_it"] is True
    ingest = figures["ingest"]
    assert ingest["chunks"] > 0
    for name in ("searches_alone", "searches_beside"):
        assert (ingest[name]["searches"] >= 2, ingest[name]["errors"]) == (True, 0), ingest[name]["first_error"]
    assert {"vectors", "graph"} <= ingest["lock_waits"].keys()


def test_what_was_reported_is_there_after_the_kill_and_every_server_answers(figures: Any) -> None:
    (kill,) = figures["killed"]["kills"]
    assert len(kill["seconds_to_an_answer"]) == 2
    assert (kill["errors"], kill["lost"], figures["killed"]["stores_agree"]) == (0, 0, True)


def test_figures_are_shown(
    figures: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # no name is divided between two lines, however long the figures are
    engine.show_figures(figures)
    told = capsys.readouterr().out
    for shown in ("search, previews", "PSS in MB", "searches beside: ", "waits at vectors", "kill -9"):
        assert shown in told
