"""The research tools over the two projects of a server: shapes, limits, filters, errors and scope."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from tests.research_store import FACTS, HIDDEN, MINE, THEIRS, research_backends, research_settings
from winnow.server.backends.opening import Backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.errors import WinnowError
from winnow.server.models import Filters
from winnow.server.operations import knowledge
from winnow.server.operations.knowledge import OPERATIONS, KnowledgeBase
from winnow.server.operations.research.models import collection_of
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

QUERIES = ("query", "query_hybrid")
SERVER = os.environ.get("WINNOW_TEST_QDRANT_URL", "")
ENGINES: Mapping[str, dict[str, Any]] = {
    "edge": {},
    "qdrant-local": {"qdrant_url": ":memory:"},
    **({"qdrant-server": {"qdrant_url": SERVER}} if SERVER else {}),
}
ITEM = {"render_text", "score", "citekey", "section", "page_span", "section_path", "doi", "id", "title"}
# Of a document with pages and a citekey.
MORE = {"page_labels", "locator", "link", "authors", "year"}


@pytest.fixture(scope="module", params=ENGINES)
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Settings, Backends]]:
    """The settings and the open backends of each engine."""
    settings = research_settings(tmp_path_factory.mktemp("research"), **ENGINES[request.param])
    with research_backends(settings) as backends:
        yield settings, backends
        if request.param == "qdrant-server":
            store: Any = backends.store._current.store
            store._client.delete_collection(store._name)


@pytest.fixture
def backends(opened: tuple[Settings, Backends]) -> Backends:
    return opened[1]


@pytest.fixture
def own(backends: Backends) -> Iterator[Backends]:
    """The backends, for a test that changes the settings of the project."""
    yield backends
    backends.catalogue.save_project_settings(MINE, ProjectSettings())


@asynccontextmanager
async def serving(settings: Settings, backends: Backends) -> AsyncIterator[Client]:
    kb = KnowledgeBase(lambda: _Kept(backends), settings)
    application = Application(settings, kb)
    try:
        async with Client(build_server(Dispatcher(application.context, settings), application)) as client:
            yield client
    finally:
        await application.close()


class _Kept:
    """Backends that several servers use one after another."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backends, name)

    def close(self) -> None:
        """Leave them open for the next server."""


@pytest.fixture
async def client(opened: tuple[Settings, Backends]) -> AsyncIterator[Client]:
    async with serving(*opened) as connected:
        yield connected


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None
    assert not result.is_error, result.structured_content
    return result.structured_content


async def error(client: Client, tool: str, **arguments: Any) -> tuple[str, str]:
    """The reason and the message of a refused call, whose envelope is checked."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    assert result.structured_content is not None
    envelope = result.structured_content["error"]
    assert envelope.keys() == {"code", "message", "details"}
    return envelope["details"]["reason"], envelope["message"]


# --- list_projects -----------------------------------------------------------------------------------------------


async def test_the_projects_in_reach_are_listed_with_collection_and_models(
    client: Client, backends: Backends
) -> None:
    listed = await answer(client, "list_projects")
    assert listed.keys() == {"projects", "count", "meta"}
    model = backends.catalogue.embedding(MINE)
    assert listed["projects"] == [
        {
            "id": project,
            "collection": collection,
            "dense_model": model,
            "sparse_model": "winnow/bm25",
            "hybrid_enabled": True,
        }
        for project, collection in ((MINE, "proj-citeloom-clean-arch"), (THEIRS, "proj-citeloom-other"))
    ]
    assert listed["count"] == 2


async def test_a_created_project_is_listed_without_models_and_one_with_hybrid_off_says_so(
    own: Backends, client: Client
) -> None:
    own.catalogue.save_project_settings(MINE, ProjectSettings(hybrid=False))
    own.catalogue.save_project_settings("not/made", ProjectSettings())
    try:
        by_id = {row["id"]: row for row in (await answer(client, "list_projects"))["projects"]}
        assert by_id[MINE]["hybrid_enabled"] is False
        empty = by_id["not/made"]
        assert (empty["dense_model"], empty["sparse_model"], empty["hybrid_enabled"]) == (None, None, False)
        for tool in QUERIES:
            found = await answer(client, tool, project="not/made", text="proxy")
            assert (found["items"], found["count"]) == ([], 0)
            assert "has no documents yet" in found["meta"]["warnings"][0]
        assert (await answer(client, "inspect_collection", project="not/made", sample=5))["size"] == 0
    finally:
        with own.catalogue._database.transaction() as connection:
            connection.execute("DELETE FROM projects WHERE name = 'not/made'")
            connection.execute("DELETE FROM project_settings WHERE project = 'not/made'")


async def test_a_prefix_narrows_the_list_and_no_project_is_no_error(client: Client) -> None:
    assert [row["id"] for row in (await answer(client, "list_projects", prefix="citeloom/o"))["projects"]] == [
        THEIRS
    ]
    nothing = await answer(client, "list_projects", prefix="private")
    assert (nothing["projects"], nothing["count"]) == ([], 0)


async def test_a_store_that_cannot_be_opened_has_no_projects_and_a_warning_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = research_settings(tmp_path, store=tmp_path / "file", embedder="minilm", embedding="off")
    async with (
        open_application(settings, wait_for_model=False) as application,
        Client(build_server(Dispatcher(application.context, settings), application)) as client,
    ):
        listed = await answer(client, "list_projects")
        assert (listed["projects"], listed["count"]) == ([], 0)
        assert listed["meta"]["warnings"][0].startswith("INDEX_UNAVAILABLE: ")


# --- query and query_hybrid --------------------------------------------------------------------------------------


async def test_a_query_answers_in_the_shape_of_its_contract(client: Client, backends: Backends) -> None:
    found = await answer(
        client, "query", project=MINE, text="proxy policy gateway", filters={"tags": ["architecture"]}
    )
    assert found.keys() == {"items", "count", "model", "meta"}
    assert (found["count"], found["model"]) == (len(found["items"]), backends.catalogue.embedding(MINE))
    for item in found["items"]:
        assert item.keys() == {*ITEM, "full_text", *MORE}
        assert item["full_text"] is None
    entities = next(item for item in found["items"] if item["section"] == "Entities and Value Objects")
    assert entities["section_path"] == ["Part I", "Chapter 3"]
    assert (entities["citekey"], entities["doi"]) == ("mine2023", FACTS["doi"])
    assert entities["page_span"] == [45, 45]
    assert entities["render_text"].startswith("Entities and value objects are distinct")
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)


async def test_a_hybrid_query_answers_in_the_shape_of_its_contract(client: Client, backends: Backends) -> None:
    found = await answer(client, "query_hybrid", project=MINE, text="proxy zebra")
    assert found.keys() == {
        "items", "count", "hybrid_enabled", "dense_model", "sparse_model", "fusion", "meta"
    }  # fmt: skip
    assert (found["hybrid_enabled"], found["fusion"]) == (True, "RRF")
    assert (found["dense_model"], found["sparse_model"]) == (backends.catalogue.embedding(MINE), "winnow/bm25")
    assert all(item.keys() - MORE == ITEM for item in found["items"])


async def test_facts_that_a_document_does_not_state_are_null(client: Client) -> None:
    found = await answer(client, "query", project=MINE, text="gateway backup", filters={"path": "plain.md"})
    (item,) = found["items"]
    assert (item["citekey"], item["doi"], item["page_span"], item["section"]) == (None, None, None, None)
    assert (item["section_path"], item["title"]) == ([], "Plain")


async def test_the_hybrid_score_is_the_sum_of_reciprocal_ranks_from_0_with_k_60(
    client: Client, backends: Backends
) -> None:
    text, filters = "proxy zebra policy", Filters(MINE)
    legs = [
        backends.retriever.rank_by_vectors(text, filters, 100),
        backends.retriever.rank_by_words(text, filters, 100),
    ]
    expected: dict[str, float] = {}
    for leg in legs:
        for rank, (chunk, _) in enumerate(leg):
            expected[chunk] = expected.get(chunk, 0.0) + 1 / (60 + rank)
    found = await answer(client, "query_hybrid", project=MINE, text=text)
    scores = {item["id"]: item["score"] for item in found["items"]}
    assert scores == {chunk: pytest.approx(expected[chunk], abs=1e-6) for chunk in scores}
    assert len(scores) == 6
    assert min(scores.values()) >= sorted(expected.values(), reverse=True)[6] - 1e-6


async def test_words_that_the_model_does_not_know_are_found_by_the_hybrid_query_alone(client: Client) -> None:
    best = (await answer(client, "query_hybrid", project=MINE, text="zebra"))["items"][0]
    assert "zebra" in best["render_text"]


async def test_top_k_is_6_and_a_greater_one_is_cut_with_a_warning(client: Client, own: Backends) -> None:
    for tool in QUERIES:
        usual = await answer(client, tool, project=MINE, text="proxy gateway")
        more = await answer(client, tool, project=MINE, text="proxy gateway", top_k=50)
        assert (usual["count"], usual["meta"]["warnings"]) == (6, [])
        assert more["items"] == usual["items"]
        assert "top_k: project 'citeloom/clean-arch' returns at most 6" in more["meta"]["warnings"][0]
        assert (await answer(client, tool, project=MINE, text="proxy gateway", top_k=2))["count"] == 2
    own.catalogue.save_project_settings(MINE, ProjectSettings(top_k=3))
    for tool in QUERIES:
        assert (await answer(client, tool, project=MINE, text="proxy gateway"))["count"] == 3
        assert (await answer(client, tool, project=THEIRS, text="proxy gateway"))["count"] == 6


async def test_text_is_trimmed_to_the_project_s_length_and_whole_on_request(client: Client, own: Backends) -> None:
    own.catalogue.save_project_settings(MINE, ProjectSettings(max_chars_per_chunk=200))
    asked = {"text": "proxy policy", "filters": {"path": "long.md"}}
    item = (await answer(client, "query", project=MINE, **asked, full_text=True))["items"][0]
    assert (len(item["render_text"]), item["render_text"][-1]) == (200, "…")
    assert item["full_text"].startswith(item["render_text"][:-1])
    assert len(item["full_text"]) > 200
    hybrid = (await answer(client, "query_hybrid", project=MINE, **asked))["items"][0]
    assert len(hybrid["render_text"]) == 200
    assert "full_text" not in hybrid


@pytest.mark.parametrize("tool", QUERIES)
async def test_tags_must_all_match_and_a_section_prefix_ends_with_a_word(client: Client, tool: str) -> None:
    async def found(**filters: Any) -> set[tuple[str, str | None]]:
        items = (await answer(client, tool, project=MINE, text="proxy gateway", filters=filters))["items"]
        return {(item["title"], item["section"]) for item in items}

    assert {title for title, _ in await found(tags=["design"])} == {"Clean Architecture", "Plain"}
    assert {title for title, _ in await found(tags=["design", "architecture"])} == {"Clean Architecture"}
    assert {section for _, section in await found(section_prefix="part i")} == {
        "Part I", "Entities and Value Objects"
    }  # fmt: skip
    assert {section for _, section in await found(section_prefix="Part I > Chapter 3")} == {
        "Entities and Value Objects"
    }
    assert {section for _, section in await found(section_prefix="Part II", tags=["architecture"])} == {"Part II"}
    assert await found(section_prefix="Part") != set()
    assert await found(section_prefix="Chapter 3") == set()


@pytest.mark.parametrize("tool", QUERIES)
async def test_a_project_among_the_filters_is_ignored_with_a_warning(client: Client, tool: str) -> None:
    plain = await answer(client, tool, project=MINE, text="proxy gateway")
    for key in ("project", "project_id"):
        widened = await answer(client, tool, project=MINE, text="proxy gateway", filters={key: THEIRS})
        assert widened["items"] == plain["items"]
        assert f"filters.{key} is ignored; use project" in widened["meta"]["warnings"]


PAGE = Path(__file__).parents[2] / "docs/research-tools.md"
EXAMPLES = [
    json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
async def test_every_example_of_the_page_is_answered(client: Client, example: dict[str, Any]) -> None:
    found = await answer(client, example["name"], **example["arguments"])
    assert found.get("count", found.get("size")) > 0
    assert found["meta"]["warnings"] == []


def test_the_page_has_an_example_of_every_tool() -> None:
    assert {example["name"] for example in EXAMPLES} == {*LIMITS, "list_projects"}


# --- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", [*QUERIES, "inspect_collection"])
async def test_a_project_that_does_not_exist_and_one_out_of_reach(client: Client, tool: str) -> None:
    text = {} if tool == "inspect_collection" else {"text": "proxy"}
    reason, message = await error(client, tool, project="not/made", **text)
    assert (reason, f"{MINE}, {THEIRS}" in message, HIDDEN in message) == ("INVALID_PROJECT", True, False)
    unknown = await error(client, tool, project="never-made", **text)
    assert unknown[0] == "SCOPE_VIOLATION"
    assert MINE in unknown[1]
    # One that exists elsewhere is refused in the same words.
    hidden = await error(client, tool, project=HIDDEN, **text)
    assert hidden == ("SCOPE_VIOLATION", unknown[1].replace("never-made", HIDDEN))


async def test_a_project_with_hybrid_off_refuses_the_hybrid_query_alone(client: Client, own: Backends) -> None:
    own.catalogue.save_project_settings(MINE, ProjectSettings(hybrid=False))
    reason, message = await error(client, "query_hybrid", project=MINE, text="proxy")
    assert (reason, "winnow project set citeloom/clean-arch --hybrid" in message) == ("HYBRID_NOT_SUPPORTED", True)
    assert (await answer(client, "query", project=MINE, text="proxy"))["count"] == 6
    assert (await answer(client, "query_hybrid", project=THEIRS, text="proxy"))["count"] == 6


async def test_without_its_model_a_project_is_not_searched_by_meaning(tmp_path: Path) -> None:
    settings = research_settings(tmp_path)
    with research_backends(settings):
        pass
    off = settings.model_copy(update={"embedding": "off"})
    other = research_settings(tmp_path / "b", store=settings.store)
    for changed, reason in ((off, "MODEL_UNAVAILABLE"), (other, None)):
        async with (
            open_application(changed, wait_for_model=False) as application,
            Client(build_server(Dispatcher(application.context, changed), application)) as client,
        ):
            if reason is None:  # the same model elsewhere is the same
                assert (await answer(client, "query", project=MINE, text="proxy"))["count"] == 6
                continue
            assert (await error(client, "query", project=MINE, text="proxy"))[0] == reason
            assert (await error(client, "query_hybrid", project=MINE, text="proxy"))[0] == "HYBRID_NOT_SUPPORTED"
            listed = (await answer(client, "list_projects"))["projects"]
            assert {(row["dense_model"], row["hybrid_enabled"]) for row in listed} == {(None, False)}


async def test_a_missing_lexical_index_is_an_error_of_the_hybrid_query_and_of_the_inspection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collection on the server has lost its sparse vectors."""
    from qdrant_client import models

    settings = research_settings(tmp_path, qdrant_url=":memory:")
    with research_backends(settings) as backends:
        store: Any = backends.store._current.store
        points = [point for page in store.points() for point in page]
        store._client.delete_collection(store._name)
        size = len(points[0].dense)
        dense = models.VectorParams(size=size, distance=models.Distance.COSINE)
        store._client.create_collection(store._name, vectors_config={"dense": dense})
        async with serving(settings, backends) as client:
            reason, message = await error(client, "query_hybrid", project=MINE, text="proxy")
            assert (reason, "the lexical index of project" in message) == ("INDEX_UNAVAILABLE", True)
            reason, message = await error(client, "inspect_collection", project=MINE)
            assert (reason, "has no lexical index" in message) == ("INDEX_UNAVAILABLE", True)


async def test_a_collection_that_lost_its_points_is_an_error_and_no_empty_answer(tmp_path: Path) -> None:
    settings = research_settings(tmp_path, qdrant_url=":memory:")
    with research_backends(settings) as backends:
        backends.store.delete(backends.catalogue.chunk_ids(MINE))
        async with serving(settings, backends) as client:
            reason, message = await error(client, "query_hybrid", project=MINE, text="proxy")
            assert (reason, "holds 0 of" in message) == ("INDEX_UNAVAILABLE", True)


LIMITS = {"query": 8, "query_hybrid": 15, "inspect_collection": 5}


@pytest.mark.parametrize("tool", LIMITS)
async def test_each_tool_has_the_time_limit_of_its_contract_and_times_out(
    opened: tuple[Settings, Backends], tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OPERATIONS[tool].seconds == LIMITS[tool]
    short = {tool: replace(OPERATIONS[tool], seconds=0.0)}
    monkeypatch.setattr(knowledge, "OPERATIONS", {**OPERATIONS, **short})
    async with serving(*opened) as client:
        text = {} if tool == "inspect_collection" else {"text": "proxy"}
        assert (await error(client, tool, project=MINE, **text))[0] == "TIMEOUT"


HOSTILE = (
    "",
    " ",
    "x" * 100_000,
    "\x00",
    "../../etc/passwd",
    "a'; DROP TABLE documents; --",
    "citeloom/CLEAN-arch",
)


@pytest.mark.parametrize("project", HOSTILE)
@pytest.mark.parametrize("tool", [*QUERIES, "inspect_collection"])
async def test_a_hostile_project_is_refused_shortly(client: Client, tool: str, project: str) -> None:
    text = {} if tool == "inspect_collection" else {"text": "proxy"}
    reason, message = await error(client, tool, project=project, **text)
    assert reason in ("INVALID_REQUEST", "SCOPE_VIOLATION")
    assert len(message) < 1_000


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"project": MINE}, "text: required"),
        ({"text": "proxy"}, "project: required"),
        ({"project": MINE, "text": "p"}, "text:"),
        ({"project": MINE, "text": "proxy", "top_k": 0}, "top_k:"),
        ({"project": MINE, "text": "proxy", "top_k": 101}, "top_k:"),
        ({"project": MINE, "text": "proxy", "filters": {"tag": "a"}}, "filters.tag: no such argument"),
        ({"project": MINE, "text": "proxy", "filters": {"section_prefix": ["a"]}}, "filters.section_prefix:"),
        ({"project": MINE, "text": "x" * 1_001}, "text:"),
    ],
)
async def test_wrong_arguments_are_named(client: Client, arguments: dict[str, Any], named: str) -> None:
    for tool in QUERIES:
        reason, message = await error(client, tool, **arguments)
        assert (reason, message.startswith(named)) == ("INVALID_REQUEST", True), message


async def test_hostile_texts_and_sections_are_only_text(client: Client) -> None:
    for text in ("vendor:acme proxy", '"proxy', "DROP TABLE chunks", "%_[]", "\u202eproxy", "😀 proxy"):
        for tool in QUERIES:
            found = await answer(client, tool, project=MINE, text=text, filters={"section_prefix": f"{text} > %"})
            assert found["items"] == []
            assert (await answer(client, tool, project=MINE, text=text))["count"] == 6


# --- scope -------------------------------------------------------------------------------------------------------


async def test_nothing_of_another_project_is_in_any_answer(client: Client) -> None:
    for project, others in ((MINE, ("theirs", "hidden")), (THEIRS, ("mine2023", "hidden"))):
        answers = [
            await answer(client, tool, project=project, text="gateway backup mine theirs hidden", top_k=6)
            for tool in QUERIES
        ]
        answers.append(await answer(client, "inspect_collection", project=project, sample=5))
        for found in answers:
            text = json.dumps({key: value for key, value in found.items() if key != "meta"})
            assert [other for other in others if other in text] == []


async def test_a_server_confined_to_labels_shows_and_counts_only_those(opened: tuple[Settings, Backends]) -> None:
    settings, backends = opened
    confined = settings.model_copy(update={"environment": "dev"})
    async with serving(confined, backends) as client:
        for tool in QUERIES:
            found = await answer(client, tool, project=MINE, text="proxy policy", filters={"tags": []})
            assert {item["title"] for item in found["items"]} == {"Long"}
        inspected = await answer(client, "inspect_collection", project=MINE, sample=5)
        assert inspected["size"] == found["count"]
        assert {sample["title"] for sample in inspected["sample_payloads"]} == {"Long"}
        assert not {"citekey", "doi", "page_start"} & {*inspected["payload_keys"]}


# --- inspect_collection ------------------------------------------------------------------------------------------


async def test_the_figures_of_a_collection_are_those_counted_by_other_means(
    client: Client, opened: tuple[Settings, Backends]
) -> None:
    settings, backends = opened
    found = await answer(client, "inspect_collection", project=MINE)
    points = [point for page in backends.store.points() for point in page if point.payload["project"] == MINE]
    assert (
        found["size"] == len(points) == len(backends.catalogue.chunk_ids(MINE)) == len([*backends.store.ids(MINE)])
    )
    assert found["named_vectors"] == ["dense", "sparse"]
    assert all(point.dense is not None and point.sparse.indices for point in points)
    keys = {"project": "project_id", "paths": "source_path"}
    held = {
        keys.get(key, key) for point in points for key, value in point.payload.items() if value not in ("", ())
    }
    assert held <= {*found["payload_keys"]}
    has_indexes = str(settings.qdrant_url or "") != ":memory:"  # the emulation has none
    assert found["indexes"] == {
        "keyword": sorted(
            ("project_id", "source_path", "doc_tag", "environment", "repository", "tags", "type", "vendor")
            if has_indexes
            else ()
        ),
        "fulltext": ["chunk_text"],
        "numeric": ["updated"] if has_indexes else [],
    }
    assert found["storage"]["on_disk_vectors"] is True
    assert found["sample_payloads"] == []
    assert (found["project"], found["collection"]) == (MINE, "proj-citeloom-clean-arch")


async def test_the_payload_keys_are_those_of_the_rows_and_samples_are_rows(
    client: Client, backends: Backends
) -> None:
    found = await answer(client, "inspect_collection", project=MINE, sample=5)
    contract = [
        *("project_id", "doc_id", "section_path", "page_start", "page_end", "citekey", "doi", "year", "authors"),
        *("title", "tags", "source_path", "chunk_text", "heading_chain", "embed_model", "version"),
    ]
    assert found["payload_keys"][:16] == contract
    assert found["payload_keys"][16:] == ["environment", "type"]
    assert len(found["sample_payloads"]) == 5
    every = await answer(client, "query", project=MINE, text="proxy gateway")
    assert every["count"] == 6
    chunks = backends.catalogue.passages(backends.catalogue.chunk_ids(MINE), MINE)
    texts = {passage.chunk.text: passage for passage in chunks.values()}
    for sample in found["sample_payloads"]:
        assert sample.keys() <= {*found["payload_keys"]}
        whole = next(text for text in texts if text.startswith(sample["chunk_text"].rstrip("…")))
        passage = texts[whole]
        assert sample["doc_id"] == passage.document.id
        assert sample["source_path"] == passage.document.uri
        if passage.document.uri == "clean.pdf":
            assert sample["page_start"] in (45, 46)
            assert {name: sample[name] for name in ("doi", "year", "authors")} == {
                name: FACTS[name] for name in ("doi", "year", "authors")
            }


@pytest.mark.parametrize(("sample", "reason"), [(-1, "INVALID_REQUEST"), (6, "INVALID_REQUEST")])
async def test_a_sample_has_at_most_5_payloads(client: Client, sample: int, reason: str) -> None:
    assert (await error(client, "inspect_collection", project=MINE, sample=sample))[0] == reason
    for number in (1, 3):
        found = await answer(client, "inspect_collection", project=MINE, sample=number)
        assert len(found["sample_payloads"]) == number


# --- correlation ids ---------------------------------------------------------------------------------------------


async def test_every_answer_has_a_correlation_id_of_its_own_errors_included(client: Client) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_projects", {}),
        *((tool, {"project": MINE, "text": "proxy"}) for tool in QUERIES),
        *((tool, {"project": HIDDEN, "text": "proxy"}) for tool in QUERIES),
        ("inspect_collection", {"project": "not/made"}),
        ("inspect_collection", {"project": MINE, "sample": 99}),
    ]
    ids = [(await client.call_tool(tool, given)).structured_content["meta"]["trace_id"] for tool, given in calls]
    assert len({uuid.UUID(one) for one in ids}) == len(calls)


async def test_an_unknown_tool_has_a_correlation_id_too(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.call_tool("query_everything", {})
    assert caught.value.error.data is not None
    assert uuid.UUID(caught.value.error.data["trace_id"])


async def test_a_refusal_over_the_seam_is_the_same_as_over_the_protocol(opened: tuple[Settings, Backends]) -> None:
    settings, backends = opened
    kb = KnowledgeBase(lambda: _Kept(backends), settings)
    try:
        with pytest.raises(WinnowError, match="there is no project 'not/made'"):
            await kb.call("query", {"project": "not/made", "text": "proxy"}, kb.caller("x"))
        with pytest.raises(WinnowError, match="no operation 'query'"):
            await kb.call("query", {"project": MINE, "text": "proxy"}, kb.caller("x", knowledge.SCRIPT))
    finally:
        await kb.aclose()


@pytest.mark.parametrize("projects", [("thesis/lit", "thesis-lit"), ("a/b-c", "a-b/c", "a-b-c"), ("a/b", "a/c")])
async def test_no_two_projects_have_one_collection(projects: tuple[str, ...]) -> None:
    names = [collection_of(project, projects) for project in projects]
    assert len(set(names)) == len(projects)
    assert [name for name in names if not name.startswith("proj-")] == []
