"""The command ``winnow eval``: golden questions, quotes of a collection, and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.patience import LIMIT
from winnow.server.backends.models.installed import table, weights
from winnow.server.commands.eval import app

ROOT = Path(__file__).parents[2]
WINNOW = Path(sys.executable).with_name("winnow")
BASELINE = json.loads((ROOT / "tests" / "golden" / "baseline.json").read_text("utf-8"))
CARRIER = weights.find_installed_carrier()
SPREAD = {"p50", "p95", "max"}


def floor(row: Mapping[str, Any]) -> float:
    """The lowest share within two standard errors, since texts are rewritten."""
    share = row["answered"]
    return float(share - 2 * (share * (1 - share) / row["questions"]) ** 0.5)


@pytest.fixture
def words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model, which is faster and sufficient for these tests."""
    monkeypatch.setenv("WINNOW_EMBEDDING", "off")


@pytest.fixture
def golden(tmp_path: Path, words_alone: None) -> Path:
    """Two questions over two pages: the words of one find its answer, the words of the other find another page."""
    (tmp_path / "net.md").write_text("# Network\n\nThe gateway listens on port 8443.\n", encoding="utf-8")
    (tmp_path / "law.md").write_text("# Terms\n\nWhoever is late pays two percent more.\n", encoding="utf-8")
    (tmp_path / "golden.toml").write_text(
        '[pages]\nquestions = "pages.jsonl"\nfiles = ["*.md"]\n', encoding="utf-8"
    )
    limits = {"max_calls": 1, "max_bytes": 6000}
    questions = [
        {
            "id": "port",
            "question": "Where does the gateway listen?",
            "answer": "on port 8443",
            "document": "net.md",
            **limits,
        },
        {
            "id": "fee",
            "question": "What is the fee of the gateway?",
            "answer": "two percent",
            "document": "law.md",
            **limits,
        },
    ]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    return tmp_path


@pytest.fixture
def collection(tmp_path: Path, words_alone: None) -> Path:
    words = ("proxy", "backup", "invoice", "laptop", "incident", "router", "mentor", "report")
    records = [{"_id": str(n), "title": word, "text": f"All about the {word}."} for n, word in enumerate(words)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "is there a proxy or a backup?"}')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t0\t1\nq\t1\t1\nq\t7\t1\n")
    return tmp_path


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.skipif(CARRIER is None, reason=f"the package {table.CARRIER.requirement} is not installed")
@pytest.mark.parametrize("name", BASELINE["sets"])
def test_the_quotes_of_one_call_answer_golden_questions(
    name: str, demonstrated: tuple[Path, dict[str, Any]]
) -> None:
    """About as often as in the baseline, for a thousand tokens at most, with the settings of a fresh install."""
    stores = demonstrated[0].parent
    run = subprocess.run(
        [WINNOW, "eval", "--golden", "--set", name, "--at-least", "0", "--store", stores, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    figures = json.loads(run.stdout)
    (row,) = figures["sets"].values()
    assert row["answered"] >= floor(BASELINE["sets"][name]), row["failed"]
    assert row["tokens"]["max"] <= 1_000
    assert set(row) == set(BASELINE["sets"][name])
    assert figures["evidence"] == BASELINE["evidence"]
    assert f"{name}: " in run.stderr


def test_below_the_share_that_is_wanted_the_exit_code_is_1(golden: Path) -> None:
    done = _run(golden, "--golden", "--at-least", "0.6")
    assert done.exit_code == 1, done.output
    assert "fee: the document was not among the passages; nor does a second call show it" in done.stdout


def test_figures_of_golden_questions_are_one_document(golden: Path) -> None:
    done = _run(golden, "--golden", "--at-least", "0.5", "--json")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    row = figures["sets"]["pages"]
    assert (row["documents"], row["chunks"], row["questions"]) == (2, 2, 2)
    assert (row["answered"], row["with_document"], row["top_document"]) == (0.5, 0.5, 0.5)
    assert row["calls"] == {"1": 1, "2": 0, "not_found": 1}
    assert row["over_their_limits"] == ["fee"]
    assert row["failed"] == [{"id": "fee", "lacked": "document", "calls": None}]
    assert (set(row["tokens"]), set(row["bytes"])) == (SPREAD, SPREAD)
    assert {"cursors", "duplicates", "excerpts", "excerpts_truncated", "excerpt_truncation_rate"} < set(row)
    assert figures["all"] == {name: row[name] for name in figures["all"]}


def test_quotes_are_compared_with_full_chunks(collection: Path) -> None:
    figures: dict[str, Any] = json.loads(_run(collection, "--quotes", "--json").stdout)
    assert (figures["documents"], figures["queries"], figures["evidence"]) == (8, 1, "dense")
    for name in ("quotes", "full_chunks"):
        assert (figures[name]["recall"], figures[name]["all_gold"]) == (0.6667, 0.0)
        assert figures[name]["tokens"]["p50"] == figures[name]["tokens"]["p95"] > 0
    shown = _run(collection, "--quotes").stdout
    assert "8 documents, 8 chunks, 1 queries" in shown
    assert "5 full chunks" in shown


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ([], "give the folder of a collection, or --golden"),
        (["--golden", "nowhere"], "nowhere has no golden.toml; give the folder of golden questions"),
        (["--golden", "--quotes"], "give one of them"),
        (["--golden", "--mode", "dense"], "--mode is for rankings"),
        (["somewhere", "--quotes", "--mode", "dense"], "--mode is for rankings"),
        (["somewhere", "--set", "stdlib"], "--set is for golden questions; add --golden"),
        (["somewhere", "--quotes", "--at-least", "0.5"], "--at-least is for golden questions; add --golden"),
        (["somewhere", "--evidence", "dense"], "--evidence is for quotes; add --quotes or --golden"),
        (["nowhere", "--quotes"], "nowhere is no collection: it has no corpus.jsonl"),
    ],
)
def test_what_does_not_go_together_is_refused_with_advice(arguments: list[str], advice: str) -> None:
    done = _run(*arguments)
    assert (done.exit_code, advice in done.stderr) == (2, True), done.output


def test_help_has_examples() -> None:
    assert "winnow eval --golden" in _run("--help").stdout
