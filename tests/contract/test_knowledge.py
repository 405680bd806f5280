"""``Knowledge.call``: scope, pages while the index changes, budgets, and a store held by another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.ingesting import ingest_paths
from tests.plain_store import copy_store
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import Target
from winnow.server.operations.answers.budget import ANSWER_TOKENS
from winnow.server.operations.knowledge import SCRIPT, Answer
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.anyio


async def ask(application: Application, **arguments: Any) -> Answer:
    return await application.kb.call("semantic_search", arguments, application.caller("test"))


async def reason_of(application: Application, **arguments: Any) -> str:
    with pytest.raises(WinnowError) as caught:
        await ask(application, **arguments)
    return caught.value.reason


@pytest.mark.own_store
async def test_a_project_out_of_reach_and_one_without_documents_are_told_apart(application: Application) -> None:
    assert await reason_of(application, query="backups", scope={"project_id": "other"}) == "SCOPE_VIOLATION"
    empty = load_settings(store=application.settings.store, project="empty")
    await application.close()
    kb = make_knowledge_base(empty, wait_for_model=False)
    try:
        with pytest.raises(WinnowError, match="winnow ingest PATH --project empty") as caught:
            await kb.call("semantic_search", {"query": "backups"}, kb.caller("test"))
        assert caught.value.reason == "INVALID_PROJECT"
        # Its operator may have forgotten to choose the project.
        assert "none yet (others of its store: handbook; a server takes one as --project NAME)" in (
            caught.value.message
        )
        confined = kb.caller(key_name("key", ("empty",), is_read_only=False, calls_per_minute=None))
        with pytest.raises(WinnowError, match=r"some: none yet\. Index") as caught:
            await kb.call("semantic_search", {"query": "backups"}, confined)
        assert "handbook" not in caught.value.message
    finally:
        kb.close()
    confined_server = load_settings(store=application.settings.store, project="empty", projects=("empty",))
    kb = make_knowledge_base(confined_server, wait_for_model=False)
    try:
        with pytest.raises(WinnowError, match=r"some: none yet\. Index"):
            await kb.call("semantic_search", {"query": "backups"}, kb.caller("test"))
    finally:
        kb.close()
    both = load_settings(store=application.settings.store, project="empty", projects=("empty", "handbook"))
    kb = make_knowledge_base(both, wait_for_model=False)
    try:
        with pytest.raises(WinnowError, match="in reach that have some: handbook"):
            await kb.call("semantic_search", {"query": "backups"}, kb.caller("test"))
    finally:
        kb.close()


async def test_a_doc_tag_outside_the_scope_is_refused(application: Application) -> None:
    scope, filters = {"doc_tags": ["public"]}, {"doc_tag": ["secret"]}
    assert await reason_of(application, query="backups", scope=scope, filters=filters) == "SCOPE_VIOLATION"


@pytest.mark.own_store
async def test_ids_of_another_project_are_unknown_ids(
    application: Application, store: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text(
        "# Secret\n\nThe launch code is kept in the blue safe.\n", encoding="utf-8"
    )
    await application.close()
    backends = open_backends(load_settings(store=store, project="secret"), wait_for_model=True)
    try:
        target = Target("secret", backends.catalogue, backends.store, backends.embedder.ready())
        ingest_paths(target, [tmp_path])
        (stranger,) = backends.catalogue.chunk_ids("secret")
    finally:
        backends.close()
    kb = make_knowledge_base(application.settings, wait_for_model=True)
    try:
        answer = await kb.call("fetch", {"ids": [stranger, "0" * 12], "missing": "skip"}, kb.caller("test"))
        assert (answer.payload["results"], answer.payload["missing_ids"]) == ([], [stranger, "0" * 12])
        found = await kb.call(
            "kb.search", {"query": "launch code in the blue safe", "top_k": 100}, kb.caller("test")
        )
        assert stranger not in {row["section_id"] for row in found.payload["results"]}
    finally:
        kb.close()


@pytest.mark.own_store
async def test_a_page_says_so_when_the_index_moved_since_the_last_one(store: Path, tmp_path: Path) -> None:
    copy = copy_store(store, tmp_path / "store")
    asked = {"query": "who reads this page first", "top_k": 100, "response_mode": "full"}
    here = load_settings(store=copy, project="handbook")
    kb = make_knowledge_base(here, wait_for_model=True)
    cursor = (await kb.call("semantic_search", asked, kb.caller("test"))).payload["next_cursor"]
    kb.close()
    page = tmp_path / "new" / "page.md"
    page.parent.mkdir()
    page.write_text("# New\n\nWhoever reads this page first.\n", encoding="utf-8")
    backends = open_backends(here, wait_for_model=True)
    ingest_paths(Target("handbook", backends.catalogue, backends.store, backends.embedder.ready()), [page.parent])
    backends.close()
    kb = make_knowledge_base(here, wait_for_model=True)
    try:
        answer = await kb.call("semantic_search", {**asked, "cursor": cursor}, kb.caller("test"))
        assert answer.warnings == ("the index changed since the last page; rows may repeat or be missing",)
    finally:
        kb.close()


async def test_kb_search_shows_each_document_once_unless_asked_otherwise(application: Application) -> None:
    one = await application.kb.call(
        "kb.search", {"query": "who reads this page first"}, application.kb.caller("test", SCRIPT)
    )
    files = [row["metadata"]["file"] for row in one.payload["results"]]
    assert len(files) == len(set(files)) == 5
    many = await application.kb.call(
        "kb.search",
        {"query": "who reads this page first", "options": {"max_per_doc": 9}},
        application.kb.caller("test", SCRIPT),
    )
    assert len(many.payload["results"]) == 5


async def test_min_score_drops_what_is_below_it(application: Application) -> None:
    answer = await ask(application, query="incident commander", top_k=50, min_score=0.9)
    assert 0 < answer.rows < 50
    assert all(row["score"] >= 0.9 for row in answer.payload["results"])


async def test_an_unknown_operation_is_refused(application: Application) -> None:
    with pytest.raises(WinnowError, match=r"known: kb\.retrieve_evidence"):
        await application.kb.call("__class__", {}, application.caller("test"))


@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(min_size=2, max_size=1000).filter(lambda text: len(text.strip()) >= 2),
    top_k=st.integers(1, 100),
    mode=st.sampled_from(["ids_only", "metadata", "preview", "full"]),
)
async def test_no_direct_answer_exceeds_its_budget(
    application: Application, query: str, top_k: int, mode: str
) -> None:
    answer = await ask(application, query=query, top_k=top_k, response_mode=mode)
    assert answer.tokens <= ANSWER_TOKENS[mode]  # type: ignore[index]
    assert answer.rows <= top_k


HOLD = """
import sys, time
from winnow.server.backends.opening import open_backends
from winnow.server.settings.loading import load_settings
backends = open_backends(load_settings(store=sys.argv[1]), wait_for_model=False)
print("held", flush=True)
sys.stdin.read()
backends.close()
"""


@pytest.mark.own_store
async def test_a_store_that_another_process_holds_is_refused_by_its_name_and_free_again_after(
    store: Path, tmp_path: Path
) -> None:
    copy = copy_store(store, tmp_path / "store")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(copy)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        kb = make_knowledge_base(load_settings(store=copy, project="handbook"), wait_for_model=False)
        with pytest.raises(WinnowError, match=str(holder.pid)) as caught:
            await kb.call("semantic_search", {"query": "backups"}, kb.caller("test"))
        assert caught.value.reason == "INDEX_HELD"
        json.dumps(caught.value.envelope())
        holder.communicate()
        assert (await kb.call("semantic_search", {"query": "backups"}, kb.caller("test"))).rows == 10
        kb.close()


@pytest.mark.own_store
async def test_a_ranking_by_words_alone_goes_on_by_words_alone_when_the_model_has_come(
    application: Application,
) -> None:
    """Rows would repeat or get lost if two pages came from two rankings."""
    await application.close()
    chosen, pages = application.settings, []
    asked: dict[str, Any] = {"query": "who reads this page first", "top_k": 12, "options": {"max_per_doc": 9}}
    without = chosen.model_copy(update={"embedding": "off"})
    for settings, cursor in ((without, False), (chosen, True), (without, False)):
        kb = make_knowledge_base(settings, wait_for_model=True)
        try:
            if cursor:
                asked["cursor"] = pages[0].payload["next_cursor"]
            elif pages:
                asked = {**asked, "cursor": None, "page_size": 10}
            pages.append(await kb.call("kb.search", asked, kb.caller("test")))
        finally:
            kb.close()
    first, second, whole = ([row["section_id"] for row in page.payload["results"]] for page in pages)
    assert first + second == whole
    assert {row["source"] for page in pages for row in page.payload["results"]} == {"bm25"}
    assert [warning for warning in pages[1].warnings if "index changed" in warning] == []


async def test_a_script_has_no_part_in_the_tools_for_old_hosts(application: Application) -> None:
    """Not even with a frame that the script builds itself."""
    with pytest.raises(WinnowError, match="no operation 'search_sections'") as caught:
        await application.kb.call("search_sections", {"query": "backups"}, application.kb.caller("test", SCRIPT))
    assert "get_section_text" not in caught.value.message


async def test_a_passage_id_of_the_session_fetches_its_chunk(application: Application) -> None:
    caller = application.caller("test")
    found = await application.kb.call("kb.search", {"query": "backups"}, caller)
    row = found.payload["results"][0]
    wanted = {"ids": [row["passage_id"], "000000000000"], "missing": "skip"}
    fetched = await application.kb.call("fetch", wanted, caller)
    assert [one["id"] for one in fetched.payload["results"]] == [row["section_id"]]
    assert fetched.payload["missing_ids"] == ["000000000000"]
    other = await application.kb.call("fetch", wanted, application.caller("another"))
    assert other.payload["missing_ids"] == wanted["ids"]


async def test_what_one_caller_has_searched_for_is_not_told_to_a_script_by_the_time_it_takes(
    application: Application,
) -> None:
    question = {"query": "how are backups encrypted"}
    first, again = [await ask(application, **question) for _ in range(2)]
    script = application.kb.caller("test", SCRIPT, "a run")
    others = [await application.kb.call("semantic_search", question, script) for _ in range(2)]
    assert [answer.cache_hit for answer in (first, again, *others)] == [False, True, False, True]
