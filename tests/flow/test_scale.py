"""``winnow stats`` and ``winnow bench search``: every figure is there; speed is not judged."""

from __future__ import annotations

import asyncio
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from winnow.server.commands import bench, stats
from winnow.server.commands.benchmarks.search import replay
from winnow.server.commands.entry.app import Application

pytestmark = pytest.mark.anyio
SESSION = Path(__file__).parents[1] / "sessions" / "handbook.jsonl"


def run_json(app: Any, *arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def test_a_store_is_counted_while_a_server_holds_it(application: Application, store: Path) -> None:
    await application.ready()
    found = await asyncio.to_thread(run_json, stats.app, "--store", str(store))
    assert found["engine"] is None
    project = {one["name"]: one for one in found["projects"]}["handbook"]
    assert (project["documents"], project["chunks"] > 100) == (5, True)
    parts = {name: size for name, size in found["disk_bytes"].items() if name != "total"}
    assert found["disk_bytes"]["total"] == sum(parts.values())
    assert all(size > 0 for size in parts.values())


def test_where_there_is_no_index_or_no_server_stats_says_so(store: Path, tmp_path: Path) -> None:
    nothing = run_json(stats.app, "--store", str(tmp_path))
    nobody = run_json(stats.app, "--store", str(store), "--http", "127.0.0.1:1")
    assert [one["error"]["details"]["reason"] for one in (nothing, nobody)] == [
        "NOT_FOUND",
        "INDEX_UNAVAILABLE",
    ]


@pytest.mark.parametrize("body", [b"[]", b"{}", b"hello"])
def test_stats_says_that_what_answers_is_no_winnow(body: bytes) -> None:
    """Another program on that port, also one that answers in JSON."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        told = run_json(stats.app, "--http", address)["error"]["message"]
        server.shutdown()
    assert told.startswith(f"no winnow answers at {address}")


async def test_a_session_is_answered_from_the_caches_for_the_most_part(application: Application) -> None:
    """As agents ask: ids, metadata, previews, pages and full texts of a question, and earlier ones again."""
    await application.ready()
    found = await replay(application.kb, SESSION)
    assert (found["calls"], found["hit_rate"] > 0.7) == (45, True)
    assert found["caches"]["rankings"]["misses"] == 7  # six questions, one of them also within a filter
    assert found["caches"]["query_vectors"] == {"hits": 1, "misses": 6}


async def test_an_ingest_is_the_invalidation(application: Application) -> None:
    """Every key contains the generation, so answers of another generation are not found."""
    question = {"query": "how are backups encrypted"}
    caller = application.caller("test")
    answers = [await application.kb.call("semantic_search", question, caller) for _ in range(2)]
    library = await asyncio.wrap_future(application.kb._start_opening())
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
        "previews",
        "views.ids_only",
        "views.metadata",
        "views.preview",
        "views.full",
    }
    assert set(caches["rankings"]) == {"hits", "misses", "entries", "capacity"}


def test_the_figures_of_a_search_are_all_there(store: Path) -> None:
    found = run_json(bench.app, "search", "--questions", "25", "--store", str(store), "--project", "handbook")
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


@pytest.mark.parametrize("text", ["{", "[1", "nonsense"])
def test_a_log_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(text)
    found = run_json(bench.app, "search", "--replay", str(log), "--store", str(tmp_path / "s"))
    assert found["error"]["details"]["reason"] == "INVALID_REQUEST"
