"""``winnow eval``: textbook measures, and figures in the documented shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from winnow.server.backends.models.installed import table, weights
from winnow.server.commands.eval import app
from winnow.server.errors import WinnowError
from winnow.server.retrieval.evaluation import (
    Retrieved,
    best_by_document,
    compute_measures,
    percentile,
    read_collection,
    summarise_recall,
)

CARRIER = weights.find_installed_carrier()
METRICS = {"ndcg@10", "recall@10", "recall@100", "mrr@10", "all_gold@10"}


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    words = ("proxy", "backup", "invoice", "laptop", "incident")
    records = [{"_id": str(n), "title": word, "text": f"All about the {word}."} for n, word in enumerate(words)]
    queries = [{"_id": f"q{n}", "text": f"what is a {word}"} for n, word in enumerate(words[:3])]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, records)))
    (folder / "queries.jsonl").write_text(
        "\n".join(map(json.dumps, [*queries, {"_id": "q9", "text": "unjudged"}]))
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq0\t0\t1\nq1\t1\t1\nq2\t2\t1\nq2\t4\t0\n")
    return folder


def test_measures_are_the_textbooks() -> None:
    run = {"a": {"x": 3.0, "y": 2.0, "z": 1.0}, "b": {"x": 1.0}}
    judgements = {"a": {"y": 1, "z": 1}, "b": {"w": 1}}
    ndcg = (1 / 1.584963 + 1 / 2) / (1 + 1 / 1.584963)
    assert compute_measures(run, judgements) == {
        "ndcg@10": pytest.approx(ndcg / 2, abs=1e-4),
        "recall@10": 0.5,
        "recall@100": 0.5,
        "mrr@10": 0.25,
        "all_gold@10": 0.5,
    }


def test_a_document_is_as_good_as_its_best_chunk() -> None:
    assert best_by_document([("a", 0.5), ("b", 0.7), ("a", 0.9)]) == {"a": 0.9, "b": 0.7}


def test_recall_counts_judged_documents_alone_and_tokens_for_all_queries() -> None:
    found = {
        "a": Retrieved(frozenset({"x", "y", "unjudged"}), 100),
        "b": Retrieved(frozenset({"x"}), 300),
        "c": Retrieved(frozenset(), 200),
    }
    judgements = {"a": {"x": 1, "y": 2}, "b": {"x": 1, "w": 1}, "c": {"x": 1}}
    assert summarise_recall(found, judgements) == {
        "recall": 0.5,
        "all_gold": 0.3333,
        "tokens": {"p50": 200, "p95": 300},
    }


def test_percentiles_are_values_that_occurred() -> None:
    assert [percentile(range(1, 101), share) for share in (0.5, 0.95, 1.0)] == [51, 96, 100]


def test_only_judged_queries_and_relevant_documents_count(collection: Path) -> None:
    read = read_collection(collection)
    assert (read.name, sorted(read.queries)) == ("tiny", ["q0", "q1", "q2"])
    assert read.judgements["q2"] == {"2": 1}


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_folder_that_is_no_collection_is_told_what_it_lacks(collection: Path, name: str) -> None:
    (collection / name).unlink()
    with pytest.raises(WinnowError, match=f"it has no {name}"):
        read_collection(collection)


def test_a_malformed_collection_is_the_callers_mistake(collection: Path) -> None:
    (collection / "queries.jsonl").write_text('{"text": "no id"}')
    with pytest.raises(WinnowError, match="is malformed"):
        read_collection(collection)


def test_the_lexical_leg_can_be_measured_without_a_model(collection: Path) -> None:
    done = CliRunner().invoke(app, [str(collection), "--mode", "lexical", "--json"])
    figures = json.loads(done.stdout)
    assert (done.exit_code, set(figures)) == (
        0,
        {"collection", "documents", "chunks", "queries", "legs", "latency_ms"},
    )
    assert (figures["collection"], figures["documents"], figures["queries"]) == ("tiny", 5, 3)
    assert figures["legs"] == {"lexical": dict.fromkeys(METRICS, 1.0)}
    assert set(figures["latency_ms"]) == {"p50", "p95", "p99"}


@pytest.mark.skipif(CARRIER is None, reason=f"the package {table.CARRIER.requirement} is not installed")
def test_all_legs_are_measured_and_a_kept_index_is_used_again(collection: Path, tmp_path: Path) -> None:
    arguments = [str(collection), "--store", str(tmp_path / "kept"), "--fusion", "rrf"]
    first = CliRunner().invoke(app, [*arguments, "--json"])
    assert {leg: set(row) for leg, row in json.loads(first.stdout)["legs"].items()} == dict.fromkeys(
        ("lexical", "dense", "ranks", "fused", "hybrid_local", "multi_hop"), METRICS
    )
    again = CliRunner().invoke(app, [*arguments, "--mode", "hybrid"])
    assert "tiny: 5 documents, 5 chunks, 3 queries" in again.stdout
    assert "fused " in again.stdout
    assert "lexical" not in again.stdout
