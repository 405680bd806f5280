"""What a query and the settings say about the order of results, through the operations that agents call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from typer.testing import CliRunner

from server.app import knowledge_base
from server.backends.opening import open_backends
from server.commands.search import app as search_app
from server.commands.writing import target_of
from server.ingest.documents import RawDocument
from server.ingest.pipeline import ingest_documents
from server.knowledge import KnowledgeBase
from server.settings import load_settings

pytestmark = pytest.mark.anyio

SAME = "The collector frees memory with mark and sweep, in one phase."
DOCUMENTS = (
    ("old.md", "Sweeping", "The mark phase is first. The sweep phase frees memory.", "acme", "2001-05-01", "gc"),
    ("new.md", "Collector", SAME, "zenith", "2025-05-01", "gc"),
    ("twin.md", "Collector again", SAME, "zenith", "", "gc"),
    ("tea.md", "Tea", "A sweep of the memory lane with a cup of tea, and no mark on the phase.", "", "", "misc"),
)
QUERY = "mark sweep phase memory"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranking")
    settings = load_settings(store=str(folder), project="p", graph="off", embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    documents = [
        RawDocument(uri, "markdown", title, text, vendor=vendor, created=created, tags=(tag,))
        for uri, title, text, vendor, created, tag in DOCUMENTS
    ]
    ingest_documents(target_of(settings, backends, None), "source", documents)
    backends.close()
    return folder


@asynccontextmanager
async def opened(store: Path, **settings: Any) -> AsyncIterator[KnowledgeBase]:
    kb = knowledge_base(
        load_settings(store=str(store), project="p", graph="off", embedding="off", **settings),
        wait_for_model=False,
    )
    try:
        yield kb
    finally:
        kb.close()


async def found(kb: KnowledgeBase, query: str, **more: Any) -> list[str]:
    answer = await kb.call("semantic_search", {"query": query, **more}, kb.caller("test"))
    return [row["file"] for row in answer.payload["results"]]


async def test_fields_of_a_query_narrow_the_search_and_the_answer_says_so(store: Path) -> None:
    async with opened(store) as kb:
        assert await found(kb, f"{QUERY} vendor:acme") == ["old.md"]
        assert await found(kb, f"{QUERY} tag:misc") == ["tea.md"]
        assert await found(kb, f"{QUERY} after:2020") == ["new.md"]
        assert await found(kb, f"{QUERY} before:2020-01") == ["old.md"]
        assert await found(kb, f"{QUERY} vendor:acme", vendor_filter="zenith") != ["old.md"]
        answer = await kb.call("kb.search", {"query": f"{QUERY} vendor:acme"}, kb.caller("test"))
        assert "of the query, this was read as filters: vendor:acme" in answer.warnings
        assert len(await found(kb, f"{QUERY} project:other")) == len(DOCUMENTS)


async def test_what_holds_a_quoted_phrase_comes_first_and_nothing_is_lost(store: Path) -> None:
    async with opened(store) as kb:
        plain, quoted = await found(kb, QUERY), await found(kb, 'memory phase "MARK and sweep"')
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
    async with opened(store) as kb:
        neutral = await found(kb, query)
    async with opened(store, **settings) as kb:
        options = {"include_scores": True, "include_debug": True}
        answer = await kb.call("kb.search", {"query": query, "options": options}, kb.caller("test"))
        rows = answer.payload["results"]
    assert rows[0]["debug"]["file"] == (first or neutral[0])
    assert all(0 <= row["score"] <= 1 for row in rows)
    assert ("boost" in answer.payload["debug"]["stages_ms"]) == (first is not None)
    assert all(("boost" in row["scores"]) == (first is not None) for row in rows)


async def test_diversity_puts_what_repeats_a_result_behind_the_others(store: Path) -> None:
    async with opened(store) as kb:
        plain = await found(kb, "collector memory sweep")
    async with opened(store, mmr=0.2) as kb:
        apart = await found(kb, "collector memory sweep")
    assert set(plain[:2]) == {"new.md", "twin.md"}
    assert apart[0] == plain[0]
    assert apart[1] != plain[1]
    assert sorted(apart) == sorted(plain)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that likes passages for saying "tea" and dislikes every other word a little."""
    folder = tmp_path_factory.mktemp("cross-encoder")
    words = {word: n for n, word in enumerate(("[UNK]", "[PAD]", "[SEP]", "tea"))}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="$A", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", words["[SEP]"])]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    liking = helper.make_tensor("liking", TensorProto.FLOAT, [4], [-0.1, 0.0, 0.0, 3.0])
    nodes = [
        helper.make_node("Gather", ["liking", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "mask"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "axis"], ["logits"], keepdims=1),
    ]
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [1])
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [None, None])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph(nodes, "likes tea", inputs, outputs, [liking, axis])
    onnx.save(
        helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), folder / "model.onnx"
    )
    return folder


async def test_a_second_stage_reads_the_best_results_again(store: Path, cross_encoder: Path) -> None:
    async with opened(store, reranker=cross_encoder) as kb:
        asked = {"query": QUERY, "options": {"include_scores": True, "include_debug": True}}
        rows = (await kb.call("kb.search", asked, kb.caller("test"))).payload["results"]
        assert rows[0]["debug"]["file"] == "tea.md"
        assert {row["source"] for row in rows} == {"reranked"}
        said = [row["scores"]["reranked"] for row in rows]
        assert said == sorted(said, reverse=True)
    async with opened(store) as kb:
        plain = await found(kb, QUERY)
    async with opened(store, reranker=cross_encoder, rerank_top=1) as kb:
        assert await found(kb, QUERY) == plain


async def test_without_its_second_stage_a_ranking_is_shown_as_it_is(store: Path, tmp_path: Path) -> None:
    async with opened(store) as kb:
        plain = await found(kb, QUERY)
    async with opened(store, reranker=tmp_path) as kb:
        assert await found(kb, QUERY) == plain
        answer = await kb.call("kb.search", {"query": QUERY}, kb.caller("test"))
    (warning,) = [one for one in answer.warnings if "second stage" in one]
    assert "it needs model.onnx and tokenizer.json" in warning


def test_explain_shows_every_stage_and_part_on_the_shell(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("STORE", str(store)), ("PROJECT", "p"), ("GRAPH", "off"), ("EMBEDDING", "off")):
        monkeypatch.setenv(f"WINNOW_{name}", value)
    ran = CliRunner().invoke(search_app, [QUERY, "--explain"])
    told = ran.stdout
    assert ran.exit_code == 0, ran.output
    assert [line.split()[0] for line in told.splitlines()[2:4]] == ["stage", "analyse"]
    assert "relevance unknown" in told
    assert told.count("fused 1.0000") == 1
    payload = json.loads(CliRunner().invoke(search_app, [QUERY, "--explain", "--json"]).stdout)
    assert {"analyse", "sparse", "fuse", "read"} <= payload["debug"]["stages_ms"].keys()
    refused = CliRunner().invoke(search_app, [QUERY, "--explain", "--vendor", "acme"])
    assert refused.exit_code != 0
    assert "vendor:acme" in refused.output
