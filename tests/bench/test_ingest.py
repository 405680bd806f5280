"""``tests.bench.ingest``: every stage has a figure, and a missing peer is named. No figure is judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.bench.ingest import app, show_figures
from tests.bench.ingest_peers import STORES, fill_store
from winnow.server.backends.models.installed import table, weights

pytestmark = pytest.mark.skipif(
    weights.find_installed_carrier() is None, reason=f"the package {table.CARRIER.requirement} is not installed"
)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One short run over two pages."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("one", "two"):
        sections = "".join(
            f"\n## Rule {n}\n\nRule {n} of {name}. {'It is about proxies. ' * 30}\n" for n in range(12)
        )
        (folder / f"{name}.md").write_text(f"# {name}\n{sections}", encoding="utf-8")
    done = CliRunner().invoke(app, [str(folder), "--chunks", "20", "--rounds", "1", "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_total_and_each_stage_are_reported(figures: dict[str, Any]) -> None:
    assert (figures["documents"], figures["chunks"], figures["rounds"], figures["peers"]) == (2, 24, 1, {})
    assert set(figures["stages"]) == {"cut", "words", "embed", "write"}
    for row in (figures["end_to_end"], *figures["stages"].values()):
        assert set(row) == {"chunks_per_s", "processor_ms_per_chunk"}
        assert row["chunks_per_s"] > 0


@pytest.mark.parametrize("store", STORES)
def test_a_store_that_is_not_installed_is_reported(store: str) -> None:
    missing = fill_store(f"{sys.executable}-none", store, {})
    assert missing["missing"].startswith(f"{sys.executable}-none: ")


def test_figures_are_shown_with_and_without_others(
    figures: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    beside = {"version": "1.0", "chunks_per_s": 30.0, "processor_ms_per_chunk": 40.0, "times_as_fast": 4.0}
    for peers in ({}, {"a store": beside, "another": {"missing": "No module named 'another'"}}):
        show_figures({**figures, "peers": peers})
        shown = capsys.readouterr().out
        assert "end to end" in shown
        assert ("4.0 times as fast" in shown, "No module named" in shown) == (bool(peers), bool(peers))


def test_a_folder_without_documents_says_what_to_do(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [str(tmp_path), "--json"])
    assert "name a folder that holds documents" in json.loads(done.stdout)["error"]["message"]
