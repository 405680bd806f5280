"""``winnow stats``, ``winnow bench search`` and ``scale``: every figure is there; none of speed is judged."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from server.app import Application
from server.bench import scale, search_peers
from server.bench.search import replay
from server.bench.synthetic_corpus import Sample, drawn, questions
from server.commands import bench, stats

pytestmark = pytest.mark.anyio
SESSION = Path(__file__).parents[1] / "sessions" / "handbook.jsonl"


def told(app: Any, *arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def test_a_store_is_counted_while_a_server_holds_it(application: Application, store: Path) -> None:
    await application.ready()
    found = await asyncio.to_thread(told, stats.app, "--store", str(store))
    assert found["engine"] is None
    project = {one["name"]: one for one in found["projects"]}["handbook"]
    assert (project["documents"], project["chunks"] > 100) == (5, True)
    parts = {name: size for name, size in found["disk_bytes"].items() if name != "total"}
    assert found["disk_bytes"]["total"] == sum(parts.values())
    assert all(size > 0 for size in parts.values())


def test_where_there_is_no_index_or_no_server_stats_says_so(store: Path, tmp_path: Path) -> None:
    nothing = told(stats.app, "--store", str(tmp_path))
    nobody = told(stats.app, "--store", str(store), "--http", "127.0.0.1:1")
    assert [one["error"]["details"]["reason"] for one in (nothing, nobody)] == [
        "NOT_FOUND",
        "INDEX_UNAVAILABLE",
    ]


async def test_a_session_is_answered_from_the_caches_for_the_most_part(application: Application) -> None:
    """As agents ask: ids, metadata, previews, pages and full texts of a question, and earlier ones again."""
    await application.ready()
    found = await replay(application.kb, SESSION)
    assert (found["calls"], found["hit_rate"] > 0.7) == (45, True)
    assert found["caches"]["rankings"]["misses"] == 7  # six questions, one of them also within a filter
    assert found["caches"]["query_vectors"] == {"hits": 1, "misses": 6}


async def test_an_ingest_is_the_invalidation(application: Application) -> None:
    """A generation is part of every key; the answer of another one is not found."""
    question = {"query": "how are backups encrypted"}
    caller = application.caller("test")
    answers = [await application.kb.call("semantic_search", question, caller) for _ in range(2)]
    library = await asyncio.wrap_future(application.kb._library())
    library.catalogue.begin_write("handbook")
    with library.catalogue._database.transaction() as connection:
        connection.execute("UPDATE projects SET generation = generation + 1, writing = 0")
    answers.append(await application.kb.call("semantic_search", question, caller))
    assert [one.cache_hit for one in answers] == [False, True, False]
    assert answers[0].payload == answers[1].payload == answers[2].payload


async def test_caches_are_part_of_the_health_of_a_server(application: Application) -> None:
    caches = (await application.health())["caches"]
    assert set(caches) == {
        "rankings",
        "query_vectors",
        "views.ids_only",
        "views.metadata",
        "views.preview",
        "views.full",
    }
    assert set(caches["rankings"]) == {"hits", "misses", "entries"}


def test_the_figures_of_a_search_are_all_there(store: Path) -> None:
    found = told(bench.app, "search", "--questions", "25", "--store", str(store), "--project", "handbook")
    assert set(found["ms"]) == {"cold", "metadata_cached", "preview_ranked"}
    assert set(found["stages_ms"]) == {
        "embedding",
        "dense",
        "dense_exact",
        "lexical",
        "filling",
        "ranking",
        "passages",
    }
    assert (found["recall_at_10"], found["at_once"]["errors"]) == (1.0, 0)  # so few are scanned


def test_a_peer_that_is_there_is_measured_with_the_same_vectors(tmp_path: Path) -> None:
    vectors = np.eye(40, 16, dtype=np.float32) + np.float32(0.01)
    np.save(tmp_path / "v.npy", vectors)
    (tmp_path / "t.json").write_text(json.dumps([f"text {n}" for n in range(40)]))
    job = {
        "vectors": str(tmp_path / "v.npy"),
        "queries": str(tmp_path / "v.npy"),
        "texts": str(tmp_path / "t.json"),
        "questions": [f"text {n}" for n in range(40)],
    }
    found = search_peers._measure(sys.executable, search_peers.PEERS["numpy, exact"], job)
    assert (found["recall_at_10"], set(found)) == (1.0, {"version", "build_s", "ms", "recall_at_10"})
    assert set(search_peers._measure("/nowhere/python", "", job)) == {"missing"}


def test_a_drawn_corpus_is_the_same_in_every_run_and_says_what_it_was_drawn_from() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    own = tuple(tuple(f"Chunk {n} has this sentence {part} in it." for part in range(3)) for n in range(12))
    sample = Sample(("Title",) * 12, (("Heading",),) * 12, own, vectors)
    once, again = (list(drawn(sample, 130, 50, "model")) for _ in range(2))
    assert [part.entries for part in once] == [part.entries for part in again]
    points = [point for part in once for point in part.points]
    assert (len(points), len({point.chunk_id for point in points})) == (130, 130)
    assert max(abs(float(np.linalg.norm(point.dense)) - 1) for point in points if point.dense is not None) < 1e-5
    said = {sentence for sentences in own for sentence in sentences}
    texts = [chunk.text for part in once for entry in part.entries for chunk in entry.chunks]
    assert all(sentence + "." in said for text in texts for sentence in text.removesuffix(".").split(". "))
    assert len(questions(sample, 5)) == 5


def test_the_figures_of_scale_are_all_there(corpus: Path, tmp_path: Path) -> None:
    """A small one, through both processes."""
    job = scale.Job(chunks=600, store=str(tmp_path / "scale"), source=str(corpus), sample=60, questions=20)
    steps: set[str] = set()
    found = scale.measure(job, lambda name, done, of: steps.add(name))
    assert set(found["ask"]["recall_at_10"].values()) == {1.0}  # so few are scanned
    assert set(found["ask"]["hybrid_ms"]) == {"first", "all", "every-10", "every-50", "every-100"}
    assert set(found["build"]["seconds"]) == {"draw", "truth", "catalogue", "vectors", "optimize"}
    assert min(found["disk_mib"], found["build"]["peak_resident_mib"], found["ask"]["restart_s"]) > 0
    assert {"writing", "optimizing", "asking, all"} <= steps
    again = told(bench.app, "scale", "--chunks", "1000", "--store", job.store)
    assert "is not empty" in again["error"]["message"]


@pytest.mark.parametrize("text", ["{", "[1", "nonsense"])
def test_a_log_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(text)
    found = told(bench.app, "search", "--replay", str(log), "--store", str(tmp_path / "s"))
    assert found["error"]["details"]["reason"] == "INVALID_REQUEST"
