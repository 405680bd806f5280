"""The order of results, by query and settings, through the operations that agents call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.tiny_models import write_cross_encoder
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.search import app as search_app
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.anyio

SAME = "The collector frees memory with mark and sweep, in one phase."
DOCUMENTS = (
    ("old.md", "Sweeping", "The mark phase is first. The sweep phase frees memory.", "acme", "2001-05-01", "gc"),
    ("new.md", "Collector", SAME, "zenith", "2025-05-01", "gc"),
    ("twin.md", "Collector again", SAME, "zenith", "", "gc"),
    ("tea.md", "Tea", "A sweep of the memory lane with a cup of tea, and no mark on the phase.", "", "", "misc"),
)
LABELS = {
    "old.md": {"doc_tag": "guide"},
    "new.md": {"doc_tag": "Notes", "repository": "main", "environment": "PROD"},
}
QUERY = "mark sweep phase memory"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranking")
    settings = load_settings(store=str(folder), project="p", graph="off", embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    documents = [
        RawDocument(
            uri, "markdown", title, text, vendor=vendor, created=created, tags=(tag,), **LABELS.get(uri, {})
        )
        for uri, title, text, vendor, created, tag in DOCUMENTS
    ]
    ingest_documents(target_of(settings, backends, None), "source", documents)
    backends.close()
    return folder


@asynccontextmanager
async def open_kb(store: Path, **settings: Any) -> AsyncIterator[KnowledgeBase]:
    kb = make_knowledge_base(
        load_settings(**{"store": str(store), "project": "p", "graph": "off", "embedding": "off", **settings}),
        wait_for_model=False,
    )
    try:
        yield kb
    finally:
        kb.close()


async def search_files(kb: KnowledgeBase, query: str, **more: Any) -> list[str]:
    answer = await kb.call("semantic_search", {"query": query, **more}, kb.caller("test"))
    return [row["file"] for row in answer.payload["results"]]


async def test_fields_of_a_query_narrow_the_search_and_the_answer_says_so(store: Path) -> None:
    async with open_kb(store) as kb:
        assert await search_files(kb, f"{QUERY} vendor:acme") == ["old.md"]
        assert await search_files(kb, f"{QUERY} tag:misc") == ["tea.md"]
        assert await search_files(kb, f"{QUERY} after:2020") == ["new.md"]
        assert await search_files(kb, f"{QUERY} before:2020-01") == ["old.md"]
        assert await search_files(kb, f"{QUERY} vendor:acme", vendor_filter="zenith") != ["old.md"]
        answer = await kb.call("kb.search", {"query": f"{QUERY} vendor:acme"}, kb.caller("test"))
        assert "of the query, this was read as filters: vendor:acme" in answer.warnings
        assert len(await search_files(kb, f"{QUERY} project:other")) == len(DOCUMENTS)


async def test_a_field_counts_only_where_a_document_has_the_value(store: Path) -> None:
    """Words of a command line or a path are searched for; they do not cause an empty answer."""
    async with open_kb(store) as kb:
        everything = len(DOCUMENTS)
        for words in ("tag:latest", "path:/usr/local/bin", "type:text", "vendor:nobody", "after:2030"):
            answer = await kb.call("semantic_search", {"query": f"{QUERY} {words}"}, kb.caller("test"))
            assert answer.payload["count"] == everything, words
            (warning,) = [one for one in answer.warnings if "read as words" in one]
            assert f"no document in reach has it: {words}" in warning
            assert 'syntax="plain"' in warning


async def test_with_plain_syntax_no_word_of_a_query_is_a_filter(store: Path) -> None:
    async with open_kb(store) as kb:
        query = f"{QUERY} vendor:acme"
        for operation, name in (
            ("semantic_search", "query"),
            ("hybrid_search", "query"),
            ("kb.search", "query"),
            ("kb.retrieve_evidence", "question"),
        ):
            narrowed = await kb.call(operation, {name: query}, kb.caller("test"))
            plain = await kb.call(operation, {name: query, "syntax": "plain"}, kb.caller("test"))
            assert "of the query, this was read as filters: vendor:acme" in narrowed.warnings
            assert not [one for one in plain.warnings if "vendor:acme" in one], operation
        assert len(await search_files(kb, query, syntax="plain")) == len(DOCUMENTS)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"vendor_filter": "ACME"}, ["old.md"]),
        ({"filters": {"tags": ["Misc"]}}, ["tea.md"]),
        ({"filters": {"doc_tag": ["Guide"]}}, ["old.md"]),
        ({"filters": {"doc_tag": ["guide", "NOTES"]}}, ["new.md", "old.md"]),
        ({"vendor_filter": " Acme  "}, ["old.md"]),
        ({"filters": {"tags": ["misc "]}}, ["tea.md"]),
        ({"filters": {"where": {" VENDOR": " acme "}}}, ["old.md"]),
        ({"filters": {"doc_tag": ["GUIDE"]}, "scope": {"doc_tags": ["guide", "Notes"]}}, ["old.md"]),
    ],
)
async def test_labels_are_met_whatever_their_case(
    store: Path, arguments: dict[str, Any], files: list[str]
) -> None:
    async with open_kb(store) as kb:
        assert sorted(await search_files(kb, QUERY, **arguments)) == files


async def test_a_scope_is_compared_exactly(store: Path) -> None:
    """Bounds of the server and of the call: a label in a query does not widen them."""
    async with open_kb(store) as kb:
        for scope in ({"doc_tags": ["GUIDE"]}, {"repositories": ["Main"]}, {"environment": "prod"}):
            assert await search_files(kb, QUERY, scope=scope) == []
    async with open_kb(store, doc_tags=("guide",)) as kb:
        assert await search_files(kb, QUERY) == ["old.md"]
        assert await search_files(kb, QUERY, filters={"doc_tag": ["GUIDE"]}) == ["old.md"]
    async with open_kb(store, doc_tags=("Guide",)) as kb:
        assert await search_files(kb, QUERY) == []
        assert await search_files(kb, QUERY, filters={"doc_tag": ["guide"]}) == []
    async with open_kb(store, environment="prod") as kb:
        assert await search_files(kb, QUERY) == []


async def test_a_scope_without_documents_names_the_labels_within_the_scope_of_the_server(store: Path) -> None:
    async def warnings(kb: KnowledgeBase, **scope: Any) -> str:
        arguments = {"query": QUERY, "scope": scope}
        return "\n".join((await kb.call("semantic_search", arguments, kb.caller("test"))).warnings)

    async with open_kb(store) as kb:
        told = await warnings(kb, doc_tags=["GUIDE"])
        assert "labels of a scope are compared exactly: doc_tags nearest: 'guide'" in told
        told = await warnings(kb, environment="prod")
        assert "compared exactly: environment nearest: 'PROD'" in told
    async with open_kb(store, doc_tags=("guide",)) as kb:
        told = await warnings(kb, repositories=["notes"])
        assert told.endswith("compared exactly: repositories (no document in reach has any)")


@pytest.mark.parametrize(
    ("query", "vendor"),
    [("vendor:acme", "ACME"), ('vendor:"cafe\u0301 noir"', "Caf\u00e9  Noir "), ("vendor:x", "X")],
)
async def test_one_label_is_found_in_each_spelling_by_filters_fields_and_operators(
    tmp_path: Path, query: str, vendor: str
) -> None:
    settings = load_settings(store=str(tmp_path), project="p", graph="off", embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    asked = query.removeprefix("vendor:").strip('"')
    documents = [
        RawDocument("own.md", "markdown", "Own", "policy of tea", vendor=vendor, metadata={"maker": vendor}),
        RawDocument("other.md", "markdown", "Other", "policy of tea", vendor="other"),
    ]
    ingest_documents(target_of(settings, backends, None), "source", documents)
    backends.close()
    async with open_kb(tmp_path) as kb:
        for arguments in (
            {"query": "policy of tea", "vendor_filter": f" {asked}"},
            {"query": "policy of tea", "filters": {"where": {"maker": asked}}},
            {"query": "policy of tea", "filters": {"where": {"Vendor": f"{asked} "}}},
            {"query": f"policy of tea {query}"},
        ):
            answer = await kb.call("semantic_search", arguments, kb.caller("test"))
            assert [row["file"] for row in answer.payload["results"]] == ["own.md"], arguments


async def test_what_a_least_score_leaves_out_is_counted_with_the_best_of_its_scores(store: Path) -> None:
    async with open_kb(store) as kb:
        for name in ("semantic_search", "hybrid_search"):
            every = await kb.call(name, {"query": QUERY}, kb.caller("test"))
            scores = [row["score"] for row in every.payload["results"]]
            least = (scores[0] + scores[1]) / 2
            answer = await kb.call(name, {"query": QUERY, "min_score": least}, kb.caller("test"))
            assert [row["score"] for row in answer.payload["results"]] == scores[:1]
            assert (
                f"min_score {least:g} left out {len(scores) - 1} of {len(scores)} results; "
                f"the best of those scores {scores[1]:.3f}"
            ) in answer.warnings


async def test_a_confined_caller_does_not_learn_which_labels_are_beyond_its_reach(store: Path) -> None:
    async with open_kb(store, doc_tags=("guide",)) as kb:
        there = await kb.call("semantic_search", {"query": f"{QUERY} vendor:zenith"}, kb.caller("test"))
        nowhere = await kb.call("semantic_search", {"query": f"{QUERY} vendor:xenith"}, kb.caller("test"))
        assert [one.replace("xenith", "zenith") for one in nowhere.warnings] == list(there.warnings)
        assert nowhere.payload["results"] == there.payload["results"]


@pytest.mark.parametrize("date", ["2024-13-45", "2024-02-30", "2024-01-01T25:00"])
async def test_what_is_no_date_is_refused_with_its_field(store: Path, date: str) -> None:
    asked = {"query": QUERY, "filters": {"updated_after": date}}
    async with open_kb(store) as kb:
        for name in ("semantic_search", "kb.search"):
            with pytest.raises(WinnowError) as caught:
                await kb.call(name, asked, kb.caller("test"))
            assert caught.value.message == (
                f"filters.updated_after: takes an ISO date such as 2026-11-21 (got '{date}')"
            )
            assert caught.value.details == {"fields": ["filters.updated_after"]}


async def test_documents_without_a_date_are_counted_where_a_date_is_asked_for(store: Path) -> None:
    async with open_kb(store) as kb:
        asked = {"query": QUERY, "filters": {"updated_after": "2020-01-01"}}
        for arguments in (asked, {"query": f"{QUERY} after:2020"}):
            answer = await kb.call("semantic_search", arguments, kb.caller("test"))
            assert [row["file"] for row in answer.payload["results"]] == ["new.md"]
            assert "2 documents in reach state no date; a filter on dates leaves them out" in answer.warnings
        narrow = asked | {"filters": {"updated_after": "2020-01-01", "tags": ["misc"]}}
        answer = await kb.call("kb.search", narrow, kb.caller("test"))
        assert "1 document in reach states no date; a filter on dates leaves it out" in answer.warnings


async def test_ids_are_scored_however_deep_they_lie_in_the_ranking(tmp_path: Path) -> None:
    """The lowest of 130 chunks is not among the 100 that a search ranks; requested by id, it has its score."""
    settings = load_settings(store=str(tmp_path), project="p", graph="off", embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    documents = [RawDocument(f"{n:03}.md", "markdown", f"Page {n}", "sweep " + "matter " * n) for n in range(130)]
    ingest_documents(target_of(settings, backends, None), "source", documents)
    every = {one.uri: backends.catalogue.chunks(one.id, "p")[0].id for one in backends.catalogue.documents("p")}
    backends.close()
    asked = [every["129.md"], every["000.md"], every["064.md"]]
    async with open_kb(tmp_path) as kb:
        arguments = {"query": "sweep", "filter_ids": asked, "min_score": 0.05}
        answer = await kb.call("semantic_search", arguments, kb.caller("test"))
        scores = {row["id"]: row["score"] for row in answer.payload["results"]}
        assert list(scores) == asked
        assert 0.05 < scores[asked[0]] < scores[asked[2]] < scores[asked[1]] == 1.0
        ranked = await kb.call("semantic_search", {"query": "sweep", "top_k": 100}, kb.caller("test"))
        in_search = {row["id"]: row["score"] for row in ranked.payload["results"]}
        assert asked[0] not in in_search
        assert scores[asked[2]] == in_search[asked[2]]
        some = await kb.call("semantic_search", arguments | {"min_score": 0.9}, kb.caller("test"))
        assert [row["id"] for row in some.payload["results"]] == [asked[1]]
        assert any(
            "min_score 0.9 left out 2 of 3 results; the best of those scores 0." in each for each in some.warnings
        )


async def test_a_ranking_by_words_is_kept_where_no_model_can_come(store: Path, tmp_path: Path) -> None:
    """Where one is missing it may be there at the next search, which then must not get the earlier ranking."""
    hits = []
    for settings in ({}, {"embedding": "auto", "embedder": f"onnx:{tmp_path}"}):
        async with open_kb(store, **settings) as kb:
            answers = [await kb.call("kb.search", {"query": QUERY}, kb.caller(name)) for name in "ab"]
        hits.append([answer.cache_hit for answer in answers])
        first, again = ([row["section_id"] for row in answer.payload["results"]] for answer in answers)
        assert first == again != []
        previews = [[row["preview"] for row in answer.payload["results"]] for answer in answers]
        assert previews[0] == previews[1]
    assert hits == [[False, True], [False, False]]


async def test_what_holds_a_quoted_phrase_comes_first_and_nothing_is_lost(store: Path) -> None:
    async with open_kb(store) as kb:
        plain, quoted = await search_files(kb, QUERY), await search_files(kb, 'memory phase "MARK and sweep"')
        assert set(quoted[:2]) == {"new.md", "twin.md"}
        assert sorted(quoted) == sorted(plain)


@pytest.mark.parametrize(
    ("settings", "query", "first"),
    [
        ({"boost_vendor": 5}, f"acme {QUERY}", "old.md"),
        ({"boost_types": {"markdown": 1.0}}, QUERY, None),
        ({"boost_recency": 10, "boost_recency_days": 3650}, QUERY, "new.md"),
        ({"boost_entity": 10}, f"tea {QUERY}", "tea.md"),
        ({"boost_topic": 10}, f"misc {QUERY}", "tea.md"),
    ],
)
async def test_boosts_move_documents_up_within_scores_of_one(
    store: Path, settings: dict[str, Any], query: str, first: str | None
) -> None:
    async with open_kb(store) as kb:
        neutral = await search_files(kb, query)
    async with open_kb(store, **settings) as kb:
        options = {"include_scores": True, "include_debug": True}
        answer = await kb.call("kb.search", {"query": query, "options": options}, kb.caller("test"))
        rows = answer.payload["results"]
    assert rows[0]["debug"]["file"] == (first or neutral[0])
    assert all(0 <= row["score"] <= 1 for row in rows)
    assert ("boost" in answer.payload["debug"]["stages_ms"]) == (first is not None)
    assert all(("boost" in row["scores"]) == (first is not None) for row in rows)


async def test_diversity_puts_what_repeats_a_result_behind_the_others(store: Path) -> None:
    async with open_kb(store) as kb:
        plain = await search_files(kb, "collector memory sweep")
    async with open_kb(store, mmr=0.2) as kb:
        apart = await search_files(kb, "collector memory sweep")
    assert set(plain[:2]) == {"new.md", "twin.md"}
    assert apart[0] == plain[0]
    assert apart[1] != plain[1]
    assert sorted(apart) == sorted(plain)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cross_encoder(tmp_path_factory.mktemp("cross-encoder") / "model", "tea")


async def test_a_second_stage_reads_the_best_results_again(store: Path, cross_encoder: Path) -> None:
    async with open_kb(store, reranker=cross_encoder) as kb:
        asked = {"query": QUERY, "options": {"include_scores": True, "include_debug": True}}
        rows = (await kb.call("kb.search", asked, kb.caller("test"))).payload["results"]
        assert rows[0]["debug"]["file"] == "tea.md"
        assert {row["source"] for row in rows} == {"reranked"}
        said = [row["scores"]["reranked"] for row in rows]
        assert said == sorted(said, reverse=True)
    async with open_kb(store) as kb:
        plain = await search_files(kb, QUERY)
    async with open_kb(store, reranker=cross_encoder, rerank_top=1) as kb:
        assert await search_files(kb, QUERY) == plain


async def test_without_its_second_stage_a_ranking_is_shown_as_it_is(store: Path, tmp_path: Path) -> None:
    async with open_kb(store) as kb:
        plain = await search_files(kb, QUERY)
    async with open_kb(store, reranker=tmp_path) as kb:
        assert await search_files(kb, QUERY) == plain
        answer = await kb.call("kb.search", {"query": QUERY}, kb.caller("test"))
    (warning,) = [one for one in answer.warnings if "second stage" in one]
    assert "it needs model.onnx and tokenizer.json" in warning


def test_explain_shows_every_stage_and_part_on_the_shell(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("STORE", str(store)), ("PROJECT", "p"), ("GRAPH", "off"), ("EMBEDDING", "off")):
        monkeypatch.setenv(f"WINNOW_{name}", value)
    ran = CliRunner().invoke(search_app, [QUERY, "--explain"])
    told = ran.stdout
    assert ran.exit_code == 0, ran.output
    assert [line.split()[0] for line in told.splitlines()[3:5]] == ["stage", "analyse"]
    assert "relevance unknown" in told
    assert told.count("fused 1.0000") == 1
    payload = json.loads(CliRunner().invoke(search_app, [QUERY, "--explain", "--json"]).stdout)
    assert {"analyse", "sparse", "fuse", "read"} <= payload["debug"]["stages_ms"].keys()
    refused = CliRunner().invoke(search_app, [QUERY, "--explain", "--vendor", "acme"])
    assert refused.exit_code != 0
    assert "vendor:acme" in refused.output


async def _rerank(kb: KnowledgeBase) -> tuple[list[str], dict[str, Any], tuple[str, ...]]:
    """The files of all documents in the order of ``rerank``, and its answer."""
    caller = kb.caller("test")
    rows = (await kb.call("semantic_search", {"query": QUERY}, caller)).payload["results"]
    file_of = {row["id"]: row["file"] for row in rows}
    answer = await kb.call("rerank", {"query": QUERY, "ids": [*file_of], "top_k": 100}, caller)
    return [file_of[row["id"]] for row in answer.payload["results"]], answer.payload, answer.warnings


@pytest.mark.own_store
async def test_the_sdks_rerank_asks_the_cross_encoder(store: Path, cross_encoder: Path) -> None:
    async with open_kb(store, reranker=cross_encoder) as kb:
        files, payload, _ = await _rerank(kb)
        assert (files[0], payload["reranked_by"]) == ("tea.md", "cross-encoder")
        assert payload["results"][0]["rerank_score"] == 1.0
        assert payload["results"][1]["rerank_score"] < 0.8


@pytest.mark.own_store
async def test_rerank_says_who_put_the_rows_in_order(store: Path, tmp_path: Path) -> None:
    async with open_kb(store) as kb:
        words, payload, _ = await _rerank(kb)
        assert payload["reranked_by"] == "words"
    async with open_kb(store, reranker=tmp_path) as kb:
        files, payload, warnings = await _rerank(kb)
        assert (files, payload["reranked_by"]) == (words, "words")
        assert [one for one in warnings if one.startswith("the cross-encoder is down")]
