"""Explanations of rankings: they agree with the search, and say why a document did not come."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from tests.over_engine import over_engines
from tests.tiny_models import write_cross_encoder, write_model
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.corpus.why import app as why_app
from winnow.server.commands.entry import knowledge
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters, Place
from winnow.server.operations.explaining.records import (
    DocumentOutcome,
    ExplainedVerdict,
    LegScore,
    LegSummary,
    MissingWord,
    Outcome,
    QueryReading,
    RankedPassage,
    RankingExplanation,
    StepScore,
    VerdictSignal,
)
from winnow.server.operations.knowledge import DIRECT, SCRIPT, Knowledge
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.anyio

# Words that the small model knows, words that it does not, and one that no document has.
WORDS = ("proxy", "gateway", "backup", "policy", "zebra", "lantern", "nightly", "unheard")
NOTES = 130
MINE, THEIRS, BY_MEANING = "mine", "theirs", "meaning"


def _note(number: int) -> str:
    """A note that mentions backups; the later it is, the longer and the less about them."""
    return f"# Note {number}\n\nbackup lantern {'yard ' * number}\n"


PAGES = {
    "guide/policy.md": "---\nvendor: acme\ncreated: 2024-05-01\n---\n# Policy\n\nbackup policy of the gateway "
    f"{'It was written down in spring and read aloud in autumn. ' * 20}\n\n## Proxy\n\n"
    "The policy of the [proxy](proxy.md): nightly backup of the gateway.\n",
    "guide/proxy.md": "# Proxy\n\nproxy gateway proxy\n\n## Its zebra\n\nA zebra at the gateway, nightly.\n",
    "guide/plain.md": "---\nvendor: Zenith\ntags: [net]\n---\n# Plain\n\ngateway gateway policy\n",
    "far.md": f"# Far\n\n{'It was painted in the yard of the harbour in autumn. ' * 12}\n",
    **{f"notes/{number:03}.md": _note(number) for number in range(NOTES)},
}
MODEL_SETTINGS: dict[str, dict[str, Any]] = {
    "hybrid": {},
    "ranks": {"fusion": "rrf"},
    "words": {"embedding": "off"},
    "boosts": {"boost_vendor": 1.5, "boost_entity": 1.3, "mmr": 0.7},
    "meaning": {"project": BY_MEANING},
    "reranker": {"rerank_top": 3},
}


def _fill(folder: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A store of three projects: one of many documents, one with another, one without words in its ranking."""
    home = tmp_path_factory.mktemp("explained")
    settings = load_settings(
        store=home / "store", project=MINE, embedder=f"onnx:{write_model(home / 'model')}", daemon="off"
    )
    folders = {
        MINE: _fill(home / "files", PAGES),
        THEIRS: _fill(home / "theirs", {"elsewhere.md": "# Elsewhere\n\nbackup policy\n"}),
        BY_MEANING: home / "files" / "guide",
    }
    with closing(open_backends(settings, wait_for_model=True)) as backends:
        for project, folder in folders.items():
            own = settings.model_copy(update={"project": project})
            assert ingest_paths(target_of(own, backends, backends.embedder.ready()), [folder]).failures == ()
        backends.catalogue.save_project_settings(BY_MEANING, ProjectSettings(hybrid=False))
    return settings


def _index(settings: Settings, folder: Path, pages: dict[str, str], *, has_vectors: bool = True) -> Settings:
    """The settings of another store, with these pages."""
    own = settings.model_copy(update={"store": folder / "store"})
    with closing(open_backends(own, wait_for_model=True)) as backends:
        model = backends.embedder.ready() if has_vectors else None
        assert ingest_paths(target_of(own, backends, model), [_fill(folder / "files", pages)]).failures == ()
    return own


@asynccontextmanager
async def opened(settings: Settings, **changed: Any) -> AsyncIterator[Knowledge]:
    kb = knowledge.open_knowledge(settings.model_copy(update=changed), wait_for_model=True)
    try:
        await kb.open()
        yield kb
    finally:
        await kb.aclose()


@pytest.fixture(params=MODEL_SETTINGS)
async def kb(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> AsyncIterator[Knowledge]:
    """The knowledge base with each way to rank."""
    changed = dict(MODEL_SETTINGS[request.param])
    if request.param == "reranker":
        changed["reranker"] = write_cross_encoder(tmp_path / "cross-encoder", "zebra")
    async with opened(settings, **changed) as kb:
        yield kb


async def _explain(kb: Knowledge, query: str, **arguments: Any) -> dict[str, Any]:
    asked = {"query": query, **arguments}
    return (await kb.call("kb.explain_ranking", asked, kb.caller("test"))).payload


FILTERS = st.sampled_from(
    [{}, {"path": "guide/*"}, {"path_prefix": "notes"}, {"types": ["markdown"]}, {"tags": ["net"]}]
)
QUERIES = st.builds(
    lambda words, phrase, field: " ".join([*words, *phrase, *field]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.sampled_from([[], ['"the gateway"'], ['"backup lantern"']]),
    st.sampled_from([[], ["vendor:acme"], ["after:2024"], ["path:guide"]]),
)
_PROPERTY = hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_PROPERTY
@given(query=QUERIES, filters=FILTERS, top_k=st.sampled_from([1, 5, 100]))
async def test_the_rows_explained_are_those_that_the_search_returns(
    kb: Knowledge, query: str, filters: dict[str, Any], top_k: int
) -> None:
    asked = {"query": query, "filters": filters, "top_k": top_k}
    found = (await kb.call("semantic_search", asked, kb.caller("test"))).payload
    explained = await _explain(kb, query, filters=filters, top_k=top_k)
    rows = [(row["section_id"], round(row["score"], 3)) for row in explained["results"]]
    assert rows == [(row["id"], row["score"]) for row in found["results"]]
    assert [row["rank"] for row in explained["results"]] == list(range(1, len(rows) + 1))
    assert (explained["search_mode"], explained["fusion"]) == (found["search_mode"], found["fusion"])
    for row in explained["results"]:
        _check_arithmetic(row, explained["steps"])


@_PROPERTY
@given(
    query=QUERIES,
    mode=st.sampled_from(["auto", "vector_only", "hybrid_local", "multi_hop"]),
    most=st.sampled_from([1, 3]),
)
async def test_the_rows_explained_are_those_of_kb_search_in_each_of_its_modes(
    kb: Knowledge, query: str, mode: str, most: int
) -> None:
    asked = {"query": query, "top_k": 20, "page_size": 20, "options": {"mode": mode, "max_per_doc": most}}
    found = (await kb.call("kb.search", asked, kb.caller("test"))).payload
    explained = await _explain(kb, query, tool="kb_search", top_k=20, mode=mode, max_per_doc=most)
    rows = [(row["section_id"], round(row["score"], 3)) for row in explained["results"]]
    assert rows == [(row["section_id"], row["score"]) for row in found["results"]]
    for row in explained["results"]:
        _check_arithmetic(row, explained["steps"])


def _check_arithmetic(row: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    """The parts of each step make its score, the shares of the legs that of the fusion, the last the row's."""
    facts = {step["step"]: step for step in steps}
    score = None
    for step in row["steps"]:
        parts = step["parts"]
        if step["step"] == "boosts":
            expected = score * prod(parts.values()) / facts["boosts"]["divided_by"]
        else:
            expected = sum(parts.values()) if parts else score
        assert (step["step"], step["score"]) == (step["step"], pytest.approx(expected, abs=3e-6))
        score = step["score"]
    assert score == row["score"]
    shares = [leg["share"] for leg in row["legs"] if leg["share"] is not None]
    assert sum(shares) == pytest.approx(row["steps"][0]["score"], abs=3e-6)


async def test_a_walk_is_explained_by_what_the_graph_adds(settings: Settings) -> None:
    async with opened(settings) as kb:
        explained = await _explain(kb, "nightly backup of the gateway", tool="kb_search", mode="multi_hop")
    assert explained["walked"]
    (walk,) = [step for step in explained["steps"] if step["step"] == "graph"]
    assert (walk["weight"], walk["documents_walked_from"]) == (2.0, 3)
    assert {step["step"] for row in explained["results"] for step in row["steps"]} == {"fusion", "graph"}


async def test_evidence_is_explained_with_its_quotes_and_its_verdict(settings: Settings) -> None:
    async with opened(settings) as kb:
        asked = {"question": "nightly backup of the gateway"}
        found = (await kb.call("kb.retrieve_evidence", asked, kb.caller("test"))).payload
        explained = await _explain(kb, asked["question"], tool="kb_retrieve_evidence")
    quoted = [row["section_id"] for row in found["quotes"]]
    assert {row["section_id"]: row["quotes"] for row in explained["results"] if row["quotes"]} == {
        id: quoted.count(id) for id in quoted
    }
    assert len(explained["results"]) == found["diagnostics"]["passages"]
    verdict = explained["verdict"]
    assert (verdict["verdict"], verdict["confidence"]) == (found["verdict"], found["confidence"])


@pytest.mark.parametrize(
    ("outcome", "arguments", "sentence", "advice"),
    [
        ("came", {"query": "nightly backup", "document": "guide/policy.md"}, "it came: row 1, ", ""),
        (
            "below_top_k",
            {"query": "backup lantern", "document": "notes/060.md"},
            "it did not come: its best passage is ranked 61st, with a score of ",
            "ask for more rows: --top-k 61; or search in it alone: add path:notes/060.md to the query",
        ),
        (
            "below_depth",
            {"query": "backup lantern", "document": "far.md"},
            "; no passage of it has 'backup', 'lantern'",
            "search in it alone: add path:far.md to the query",
        ),
        (
            "filtered",
            {"query": "gateway policy vendor:acme", "document": "guide/plain.md"},
            "it did not come: it does not pass vendor 'acme'",
            "leave that filter out, or ",
        ),
        (
            "filtered",
            {"query": "gateway before:2024-05", "document": "guide/policy.md", "syntax": "plain"}
            | {"filters": {"tags": ["net"], "path": "guide/pl*"}},
            "it did not come: it does not pass tag 'net' and path 'guide/pl*'",
            "leave that filter out, or ",
        ),
        (
            "other_project",
            {"query": "backup policy", "document": "elsewhere.md"},
            "it did not come: it is not in project 'mine', but in 'theirs'",
            "search there: --project theirs",
        ),
        (
            "not_indexed",
            {"query": "backup policy", "document": "guide/polciy.md"},
            "has no document of this path, title or id; nearest: 'guide/policy.md'",
            "check the name with winnow documents, or put the file in: winnow ingest PATH --project mine",
        ),
        (
            "min_score",
            {"query": "backup lantern", "document": "notes/009.md", "min_score": 0.999},
            "below --min-score 0.999",
            "lower the limit: --min-score 0.",
        ),
        (
            "not_indexed",
            {"query": "backup policy", "document": "~/papers/elsewhere"},
            "; project 'theirs' has 'elsewhere.md'",
            "search there: --project theirs --document elsewhere.md; or check the name",
        ),
        (
            "below_top_k",
            {"query": "bakcup lantern", "document": "notes/060.md"},
            "; no passage of it has 'bakcup'",
            "search for 'backup lantern'; or ask for more rows: --top-k ",
        ),
    ],
)
async def test_a_document_that_did_not_come_has_a_reason_and_a_next_step(
    settings: Settings, outcome: str, arguments: dict[str, Any], sentence: str, advice: str
) -> None:
    async with opened(settings) as kb:
        found = (await _explain(kb, **arguments))["document"]
    assert found["outcome"] == outcome
    assert sentence in found["sentence"]
    assert found["next"].startswith(advice)
    assert bool(found["next"]) == bool(advice)


async def test_the_advised_number_of_rows_brings_the_document(settings: Settings) -> None:
    async with opened(settings) as kb:
        for tool, name in (("semantic_search", "notes/060.md"), ("kb_search", "notes/060.md")):
            advice = (await _explain(kb, "backup gateway policy", tool=tool, document=name))["document"]["next"]
            rows = int(advice.partition("--top-k ")[2].partition(";")[0])
            more = await _explain(kb, "backup gateway policy", tool=tool, document=name, top_k=rows)
            less = await _explain(kb, "backup gateway policy", tool=tool, document=name, top_k=rows - 1)
            assert (more["document"]["outcome"], less["document"]["outcome"]) == ("came", "below_top_k")


async def test_a_document_below_the_legs_has_its_ranks_in_them(settings: Settings) -> None:
    """The ranks are those of a leg that looks as deep as it has to."""
    async with opened(settings) as kb:
        found = await _explain(kb, "backup lantern", document=f"notes/{NOTES - 1:03}.md")
        everything = [row["section_id"] for row in (await _explain(kb, "backup lantern", top_k=100))["results"]]
    document = found["document"]
    best = document["passages"][0]
    dense, lexical = best["legs"]
    assert document["outcome"] == "below_depth"
    assert best["ranked"] == NOTES
    assert (lexical["leg"], lexical["rank"]) == ("lexical", NOTES)
    assert best["section_id"] not in everything
    last = {leg["leg"]: leg["last"] for leg in found["legs"]}
    assert lexical["score"] < last["lexical"]
    assert (
        f"the lexical leg has it {NOTES}th with {lexical['score']:.3f}, its 100 best end at "
        in document["sentence"]
    )
    assert dense["rank"] is not None


async def test_a_passage_for_which_another_of_its_document_stands_is_named_with_the_option(
    settings: Settings,
) -> None:
    query = "nightly backup of the gateway policy"
    async with opened(settings) as kb:
        both = await _explain(kb, query, tool="kb_search", max_per_doc=2, document="guide/policy.md")
        first, second, *_ = both["document"]["passages"]
        one = (await _explain(kb, query, tool="kb_search", document=second["section_id"]))["document"]
    assert one["outcome"] == "same_document"
    assert one["sentence"] == f"it did not come: row {first['rank']} stands for its document, of which 1 may come"
    assert one["next"] == "show more of one document: --per-document 3"


async def test_an_answer_that_was_full_is_the_reason(settings: Settings) -> None:
    async with opened(settings, default_response_mode="preview") as kb:
        whole = await _explain(kb, "backup lantern", top_k=100)
        came = {row["file"] for row in whole["results"]}
        cut = [f"notes/{number:03}.md" for number in range(100) if f"notes/{number:03}.md" not in came]
        found = await _explain(kb, "backup lantern", top_k=100, document=cut[0])
    assert 50 < len(came) < 100
    assert found["document"]["outcome"] == "budget"


async def test_where_words_alone_rank_a_document_without_them_is_told_apart(settings: Settings) -> None:
    async with opened(settings, embedding="off") as kb:
        found = (await _explain(kb, "zebra", document="far.md"))["document"]
    assert (found["outcome"], found["lacks"]) == ("no_match", ["zebra"])
    assert found["sentence"].endswith("it has none of the query's: 'zebra'")
    assert found["next"].startswith("search for words that it has; ranked by words alone: ")


async def test_a_document_that_was_indexed_without_the_model_is_told_how_it_gets_vectors(
    settings: Settings, tmp_path: Path
) -> None:
    own = _index(settings, tmp_path, {"a.md": "# A\n\nbackup\n"}, has_vectors=False)
    async with opened(own) as kb:
        found = (await _explain(kb, "zebra", document="a.md"))["document"]
    assert found["outcome"] == "no_vectors"
    assert found["next"].endswith("ingest it again to add vectors")


async def test_a_document_without_text_is_told_how_to_see_why(settings: Settings, tmp_path: Path) -> None:
    own = settings.model_copy(update={"store": tmp_path / "store", "embedding": "off"})
    scan = RawDocument("old scan.pdf", "pdf", "Scan", "", places=(Place(0, "page", 1),))
    with closing(open_backends(own, wait_for_model=True)) as backends:
        other = RawDocument("a.md", "markdown", "A", "backup")
        assert ingest_documents(target_of(own, backends, None), "made", [scan, other]).failures == ()
    async with opened(own) as kb:
        found = (await _explain(kb, "backup", document="old scan.pdf"))["document"]
    assert (found["outcome"], found["passages"]) == ("no_text", [])
    assert found["next"] == (
        "see why with winnow ingest --explain 'old scan.pdf'; pages that are pictures need --ocr"
    )


async def test_a_document_whose_vectors_were_lost_is_told_what_mends_it(
    settings: Settings, tmp_path: Path
) -> None:
    own = _index(settings, tmp_path, {"a.md": "# A\n\nbackup\n", "far.md": "# Far\n\npolicy\n"})
    kb = knowledge.make_knowledge_base(own, wait_for_model=True)
    try:
        store = cast("Backends", await kb.opened())
        (document,) = store.catalogue.find_documents(Filters(MINE), "far.md")
        store.store.delete([chunk.id for chunk in store.catalogue.chunks(document.id, MINE)])
        found = (await _explain(kb, "backup", document="far.md"))["document"]
    finally:
        await kb.aclose()
    assert (found["outcome"], found["next"]) == ("no_vectors", "mend the index: winnow reindex")


async def test_a_misspelt_word_is_named_with_near_ones_that_documents_have(settings: Settings) -> None:
    async with opened(settings) as kb:
        explained = await _explain(kb, "bakcup of the gateway")
    (missing,) = explained["missing_words"]
    assert (missing["word"], missing["nearest"][0]) == ("bakcup", "backup")
    assert explained["query"]["corrected"] == "backup of the gateway"


async def test_an_everyday_word_that_no_document_has_is_not_called_misspelt(settings: Settings) -> None:
    async with opened(settings) as kb:
        explained = await _explain(kb, "back of the gateway")
    assert explained["missing_words"] == [{"word": "back", "nearest": []}]
    assert explained["query"]["corrected"] == ""


async def test_no_near_word_is_from_a_document_outside_the_scope(settings: Settings) -> None:
    async with opened(settings) as kb:
        within = await _explain(kb, "zbera", filters={"path": "guide/*"})
        outside = await _explain(kb, "zbera", filters={"path": "notes/*"})
    assert [word["nearest"] for word in within["missing_words"]] == [["zebra"]]
    assert [word["nearest"] for word in outside["missing_words"]] == [[]]


async def test_a_document_outside_the_scope_of_the_settings_is_as_unknown_as_one_that_never_was(
    settings: Settings,
) -> None:
    confined = {"doc_tags": ("nothing-has-it",)}
    async with opened(settings, **confined) as kb:
        outside, never = [
            (await _explain(kb, "backup", document=name))["document"]
            for name in ("guide/policy.md", "guide/never.md")
        ]
    names = {"asked": "", "sentence": outside["sentence"].replace("policy", "never")}
    assert outside | names == never | {"asked": ""}
    async with opened(settings, projects=(MINE,)) as kb:
        found = (await _explain(kb, "backup policy", document="elsewhere.md"))["document"]
    assert (found["outcome"], THEIRS in json.dumps(found)) == ("not_indexed", False)


async def test_a_title_of_several_documents_is_refused_with_their_paths(
    settings: Settings, tmp_path: Path
) -> None:
    own = _index(settings, tmp_path, {"a.md": "# Same\n\nbackup\n", "b.md": "# Same\n\npolicy\n"})
    async with opened(own) as kb:
        with pytest.raises(WinnowError, match=r"name one by its path: a\.md, b\.md") as caught:
            await _explain(kb, "backup", document="Same")
    assert caught.value.reason == "INVALID_REQUEST"


@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("semantic_search", {"mode": "auto"}),
        ("semantic_search", {"max_per_doc": 2}),
        ("kb_search", {"min_score": 0.5}),
        ("kb_search", {"vendor_filter": "acme"}),
        ("kb_retrieve_evidence", {"max_per_doc": 2}),
        ("kb_retrieve_evidence", {"top_k": 21}),
    ],
)
async def test_an_argument_that_the_explained_tool_does_not_take_is_refused(
    settings: Settings, tool: str, argument: dict[str, Any]
) -> None:
    async with opened(settings) as kb:
        with pytest.raises(WinnowError) as caught:
            await _explain(kb, "backup", tool=tool, **argument)
    assert (caught.value.reason, next(iter(argument)) in caught.value.message) == ("INVALID_REQUEST", True)


async def test_scripts_cannot_ask_for_explanations(settings: Settings) -> None:
    async with opened(settings) as kb:
        await kb.call("kb.explain_ranking", {"query": "backup"}, kb.caller("test", DIRECT))
        with pytest.raises(WinnowError, match="no operation"):
            await kb.call("kb.explain_ranking", {"query": "backup"}, kb.caller("test", SCRIPT, "run"))


async def test_an_explanation_neither_reads_nor_leaves_a_cached_ranking(settings: Settings) -> None:
    async with opened(settings) as kb:
        caller = kb.caller("test")
        first = await kb.call("semantic_search", {"query": "backup gateway"}, caller)
        explained = await _explain(kb, "backup gateway")
        again = await kb.call("semantic_search", {"query": "backup gateway"}, caller)
        await _explain(kb, "zebra proxy")
        fresh = await kb.call("semantic_search", {"query": "zebra proxy"}, caller)
    assert [row["id"] for row in first.payload["results"]] == [row["section_id"] for row in explained["results"]]
    assert (first.cache_hit, again.cache_hit, fresh.cache_hit) == (False, True, False)


@pytest.fixture
def run(settings: Settings) -> Any:
    def why(*arguments: str) -> Any:
        given = ["--store", str(settings.store), "--embedder", settings.embedder]
        return CliRunner().invoke(why_app, [*arguments, *given])

    return why


def test_an_engine_explains_as_the_store_does(settings: Settings, tmp_path: Path) -> None:
    pages = {f"{number:03}.md": _note(number) for number in range(20)}
    own = _index(settings, tmp_path, pages)

    async def explain() -> tuple[str, dict[str, Any]]:
        async with opened(own) as kb:
            return type(kb).__name__, await _explain(kb, "backup gateway", document="015.md")

    _, here = asyncio.run(explain())
    with over_engines():
        assert asyncio.run(explain()) == ("EngineKnowledge", here)


def test_the_command_prints_one_screen_for_five_rows(run: Any) -> None:
    shown = run("backup gateway", "--project", MINE)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert len(lines) <= 24
    assert lines[0].startswith(
        "10 rows of semantic_search in project mine, of 100 passages ranked: hybrid, convex"
    )
    assert lines[-1] == "... 5 more: --rows 10"
    rows = [line for line in lines if line.lstrip().startswith(("1.", "2.", "3.", "4.", "5."))]
    (heads,) = [line for line in lines if line.split()[:2] == ["score", "dense"]]
    assert {len(line) for line in rows} == {len(heads)}
    assert max(map(len, lines)) <= 140


def test_the_command_prints_why_a_document_did_not_come_and_what_to_do(run: Any) -> None:
    shown = run("backup lantern", "--project", MINE, "--document", "notes/060.md", "--rows", "0")
    assert shown.exit_code == 0, shown.output
    _, _, document = shown.stdout.partition("document notes/060.md\n")
    assert document.splitlines()[0].startswith("  it did not come: its best passage is ranked 61st")
    assert document.splitlines()[1].startswith("  next: ask for more rows: --top-k 61;")


def test_a_file_of_this_machine_that_is_not_indexed_is_told_how_to_ingest_it(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "new notes.md"
    file.write_text("backup\n", "utf-8")
    payload = json.loads(run("backup", "--project", MINE, "--document", str(file), "--json").stdout)
    assert payload["document"]["outcome"] == "not_indexed"
    assert payload["document"]["next"].startswith(
        f"the file is on this machine: winnow ingest '{file}' --project mine;"
    )


def test_the_command_takes_an_id_a_title_and_a_citation(run: Any) -> None:
    asked = ("guide/policy.md", "Policy", "guide/policy.md, p. 3")
    found = [json.loads(run("backup", "--project", MINE, "--document", name, "--json").stdout) for name in asked]
    ids = {each["document"]["document_id"] for each in found}
    (id,) = ids
    passage = found[0]["document"]["passages"][0]["section_id"]
    for name in (id, passage):
        payload = json.loads(run("backup", "--project", MINE, "--document", name, "--json").stdout)
        assert payload["document"]["file"] == "guide/policy.md"
    assert [bool(each["warnings"]) for each in found] == [False, False, True]


def _field_names(record: type) -> set[str]:
    return {field.name for field in fields(record)}


def test_the_documentation_has_every_field_and_every_outcome() -> None:
    page = (Path(__file__).parents[2] / "docs" / "searching.md").read_text("utf-8")
    _, _, section = page.partition("## Why this ranking\n")
    section, _, _ = section.partition("\n## ")
    documented = set(re.findall(r"`(\w+)`", section))
    records = (RankingExplanation, QueryReading, LegSummary, LegScore, StepScore, RankedPassage)
    records += (MissingWord, ExplainedVerdict, VerdictSignal, DocumentOutcome)
    named = set().union(*map(_field_names, records), get_args(Outcome))
    assert sorted(named - documented) == []
