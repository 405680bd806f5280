"""The graph tools: names, fields, counts, caps, pages, scope, errors; vendors and relationships."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from tests.ingesting import ingest_paths
from tests.plain_store import copy_store
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts import flat_schema
from winnow.server.errors import WinnowError
from winnow.server.ids import entity_id, section_id
from winnow.server.ingest.pipeline import Target
from winnow.server.models import Chunk, Document
from winnow.server.operations.answers.budget import measure
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node, normalise_name
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.words.tokens import count_tokens
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server
from winnow.server.transports.wire import call_tool

pytestmark = pytest.mark.anyio

GRAPH_TOOLS = [
    "graph_describe",
    "graph_expand",
    "graph_paths",
    "graph_parents",
    "graph_children",
    "graph_entities_for_sections",
    "graph_sections_for_entities",
    "find_vendor_info",
]
UNLISTED = {"graph_parents", "graph_children"}  # callable: graph_expand reaches the same along PART_OF
# Sections that are this long are passages of their own.
FILLER = "Nothing else is said in this place. " * 30
PAGES = {
    "config.md": f"# Config\n\n## Maps\n\nA ConfigMap holds settings for a Pod. {FILLER}\n\n"
    f"## Secrets\n\nA Secret holds what a ConfigMap must not. {FILLER}\n",
    "kubelet.md": "# Kubelet\n\nThe kubelet mounts a Secret into a Pod.\n\n## Probes\n\nProbes know Rocket.\n",
    "acme.md": "---\nvendor: Acme\n---\n# Acme\n\nAcme sells Rocket to Wile.\n",
    "twins.md": f"# Twins\n\n## Birth\n\nCastor and Pollux are born. {FILLER}\n\n"
    f"## Stars\n\nPollux follows Castor. {FILLER}\n",
    "hidden.md": "---\ndoc_tag: inner\n---\n# Hidden\n\nA Secret of Cloaked stays here.\n",
}
KINDS = {
    "ConfigMap": "identifier",
    "Secret": "term",
    "Pod": "term",
    "kubelet": "term",
    "Rocket": "product",
    "Wile": "person",
    "Acme": "vendor",
    "Cloaked": "term",
    "Castor": "term",
    "Pollux": "term",
}
ABOUT = {"acme.md": ("Acme", "Rocket", "Wile")}
HUB = 50_000
HOSTILE = "x') MATCH (n) DETACH DELETE n //"


def entity(project: str, name: str, kind: str) -> Node:
    return Node(entity_id(project, normalise_name(name)), "Entity", kind, name)


def graph_of(document: Document, chunks: Sequence[Chunk]) -> DocumentGraph:
    """The facts of one page, by rule: outline, mentions, subject."""
    owner = document.id
    nodes = [Node(owner, "Document", document.type, document.title, 0, 0, document.doc_tag, document.uri, owner)]
    edges = []
    for chunk in chunks:
        place = owner
        for depth in range(1, len(chunk.heading_path) + 1):
            path = chunk.heading_path[:depth]
            section = Node(
                section_id(document.project, document.uri, path), "Section", "section", path[-1], depth,
                anchor=path[-1].lower(), document_id=owner,
            )  # fmt: skip
            nodes.append(section)
            edges.append(Edge(section.id, place, "PART_OF", evidence=(chunk.id,), document_id=owner))
            place = section.id
        nodes.append(Node(chunk.id, "Chunk", "chunk", document.title, tokens=chunk.tokens, document_id=owner))
        edges.append(Edge(chunk.id, place, "PART_OF", evidence=(chunk.id,), document_id=owner))
        for name, kind in KINDS.items():
            if said := chunk.text.count(name):
                nodes.append(entity(document.project, name, kind))
                weight = float(said)
                edges.append(Edge(chunk.id, nodes[-1].id, "MENTIONS", weight, 0.9, (chunk.id,), document_id=owner))
    for name in ABOUT.get(document.uri.rpartition("/")[2], ()):
        nodes.append(entity(document.project, name, KINDS[name]))
        edges.append(Edge(owner, nodes[-1].id, "ABOUT", 2.0, 1.0, (chunks[0].id,), document_id=owner))
    return DocumentGraph(owner, tuple({node.id: node for node in nodes}.values()), tuple(dict.fromkeys(edges)))


def hub_of(document: Document, chunks: Sequence[Chunk]) -> DocumentGraph:
    """One entity with 50,000 neighbours, some with pathological names."""
    names = [HOSTILE, "\u202eright to left", "👩‍👩‍👧‍👦" * 20, "備份" * 90]
    names += [f"spoke {number}" for number in range(HUB - len(names))]
    centre = entity(document.project, "Hub", "module")
    spokes = [entity(document.project, name, "function") for name in names]
    edges = [
        Edge(spoke.id, centre.id, "CALLS", 1.0, 0.5, (chunks[0].id,), document_id=document.id) for spoke in spokes
    ]
    page = Node(document.id, "Document", document.type, "Hub", anchor=document.uri, document_id=document.id)
    chunk = Node(chunks[0].id, "Chunk", "chunk", "Hub", tokens=9, document_id=document.id)
    return DocumentGraph(document.id, (page, chunk, centre, *spokes), tuple(edges))


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A store with a small graph in one project and a hub in another; lexical search only, which is quicker."""
    home = tmp_path_factory.mktemp("graphed")
    settings = load_settings(
        store=home / "store", project="notes", projects=("notes", "hub"), embedding="off", execute_code="off"
    )
    for folder, pages in (("notes", PAGES), ("hub", {"hub.md": "# Hub\n\nThe Hub is called by everything.\n"})):
        (home / folder).mkdir()
        for name, text in pages.items():
            (home / folder / name).write_text(text, "utf-8")
    backends = open_backends(settings, wait_for_model=False)
    graph = SqliteGraph(settings.store / "graph.sqlite3")
    try:
        for project, build in (("notes", graph_of), ("hub", hub_of)):
            ingest_paths(Target(project, backends.catalogue, backends.store, None), [home / project])
            documents = backends.catalogue.documents(project)
            graphs = [build(one, backends.catalogue.chunks(one.id, project)) for one in documents]
            graph.apply(project, graphs)
            graph.derive(project)
    finally:
        graph.close()
        backends.close()
    return settings


@pytest.fixture(scope="module")
async def served(chosen: Settings) -> AsyncIterator[Application]:
    """One running winnow for all of them; each test has a connection of its own."""
    async with open_application(chosen, wait_for_model=True) as application:
        yield application


@pytest.fixture
async def client(served: Application) -> AsyncIterator[Client]:
    async with Client(build_server(Dispatcher(served.context, served.settings), served)) as connected:
        yield connected


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool, checked: its text contains every id, and its size is within the maximum."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.content[0], TextContent)
    payload = dict(result.structured_content)
    assert [id for id in ids_in(payload) if id not in result.content[0].text] == []
    return payload


def ids_in(value: Any) -> set[str]:
    if isinstance(value, Mapping):
        named = {part for name, part in value.items() if name.endswith("id") and isinstance(part, str)}
        named -= {value.get("document_id")}
        return named.union(*(ids_in(part) for name, part in value.items() if name != "meta"))
    if isinstance(value, list):
        return set().union(*(ids_in(part) for part in value))
    return set()


async def refusal(client: Client, tool: str, **arguments: Any) -> tuple[str, str]:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    error = result.structured_content["error"]
    return error["details"]["reason"], error["message"]


def tokens_of(payload: Mapping[str, Any]) -> int:
    """The size of the structured channel, which is the larger one."""
    return measure({name: value for name, value in payload.items() if name != "meta"}).tokens


def titles(payload: Mapping[str, Any]) -> list[str]:
    return [row["title"] for row in payload["results"]]


def name_of(name: str) -> str:
    return entity_id("notes", normalise_name(name))


# --- what is listed ----------------------------------------------------------------------------------------------


async def test_the_graph_tools_are_listed(client: Client) -> None:
    listed = [tool.name for tool in (await client.list_tools()).tools]
    assert [name for name in listed if name in GRAPH_TOOLS] == [
        name for name in GRAPH_TOOLS if name not in UNLISTED
    ]


@pytest.mark.parametrize(
    ("flags", "kept"),
    [({"graph": "off"}, []), ({"kb_v2_enabled": False}, ["find_vendor_info"])],
)
async def test_they_are_not_listed_where_the_graph_is_off_nor_without_the_tools_that_lead_to_them(
    chosen: Settings, flags: dict[str, Any], kept: list[str], tmp_path: Path
) -> None:
    copy = copy_store(chosen.store, tmp_path / "store")
    settings = chosen.model_copy(update={"store": copy, "projects": (), **flags})
    async with (
        open_application(settings, wait_for_model=True) as application,
        Client(build_server(Dispatcher(application.context, settings), application)) as client,
    ):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert [name for name in listed if name in GRAPH_TOOLS] == kept
        for name in set(GRAPH_TOOLS) - set(kept):
            with pytest.raises(MCPError, match="unknown tool"):
                await client.call_tool(name, {})


@pytest.mark.parametrize("name", GRAPH_TOOLS[:-1])
def test_every_description_says_when_to_call_it_in_the_words_agreed_upon(name: str) -> None:
    (tool,) = [tool for tool in TOOLS if tool.name.replace(".", "_") == name]
    assert "Use after `kb.search` to explore relationships between the top 1–3 candidates." in tool.description
    assert (
        "Do not call if `neo4j_disabled=true` (use `kb.search`/`kb.retrieve_evidence` only)." in tool.description
    )
    assert "Do not fetch text until you have narrowed to ≤3 passages." in tool.description
    parts = ("Use when:", "Do not use when:", "Returns at most:", "If you need more, call:", "Defaults:", "Max:")
    assert [part for part in parts if part not in tool.description] == []


async def test_arguments_have_the_defaults_and_bounds_of_their_contract(client: Client) -> None:
    schemas = {tool.name.replace(".", "_"): flat_schema(tool.arguments) for tool in TOOLS}
    tools = {name: schema["properties"] for name, schema in schemas.items()}
    defaults = {
        name: {
            key: value["default"] for key, value in tools[name].items() if value.get("default") not in (None, [])
        }
        for name in GRAPH_TOOLS
    }
    paged = {"page_size": 25, "include_snippet": False}
    assert defaults == {
        "graph_describe": paged,
        "graph_expand": {**paged, "hops": 1, "direction": "both"},
        "graph_paths": {"max_hops": 3, "limit": 10},
        "graph_parents": {**paged, "hops": 5},
        "graph_children": {**paged, "hops": 1},
        "graph_entities_for_sections": {"page_size": 25},
        "graph_sections_for_entities": paged,
        "find_vendor_info": {"include_content": False, "max_results": 50},
    }
    assert tools["graph_expand"]["hops"]["maximum"] == 5
    assert (tools["graph_paths"]["max_hops"]["maximum"], tools["graph_paths"]["limit"]["maximum"]) == (6, 50)
    assert (
        tools["find_vendor_info"]["max_results"]["minimum"],
        tools["find_vendor_info"]["max_results"]["maximum"],
    ) == (
        1,
        100,
    )
    assert set(tools["find_vendor_info"]) == {
        "vendor_name", "include_content", "max_results", "entity_types", "scope", "cursor"
    }  # fmt: skip


# --- nodes -------------------------------------------------------------------------------------------------------

PROJECTION = {"id", "label", "title", "type", "level", "tokens", "doc_tag", "anchor"}


@pytest.mark.parametrize(
    ("tool", "arguments", "counts"),
    [
        ("graph_describe", {}, True),
        ("graph_describe", {"ids": ["Secret"]}, True),
        ("graph_describe", {"ids": ["DOCUMENT"]}, False),
        ("graph_expand", {"ids": ["Secret"]}, True),
        ("graph_expand", {"ids": ["Secret"], "types": ["MENTIONS"]}, True),
        ("graph_expand", {"ids": ["Secret"], "types": ["CO_OCCURS"]}, False),
        ("graph_entities_for_sections", {"section_ids": ["DOCUMENT"]}, True),
        ("graph_sections_for_entities", {"entity_ids": ["Secret"]}, True),
        ("graph_children", {"ids": ["DOCUMENT"]}, False),
    ],
)
async def test_counts_of_mentions_say_what_they_count(
    client: Client, tool: str, arguments: dict[str, Any], counts: bool
) -> None:
    row = (await call(client, "semantic_search", query="Acme sells Rocket", response_mode="preview"))["results"][0]
    named = {
        name: [row["metadata"]["document_id"]] if value == ["DOCUMENT"] else value
        for name, value in arguments.items()
    }
    told = await call(client, tool, **named)
    assert any("recognised mentions only" in warning for warning in told["meta"]["warnings"]) is counts


async def test_a_node_is_named_by_its_id_by_a_passage_of_the_session_or_by_its_name(client: Client) -> None:
    found = await call(client, "kb_search", query="ConfigMap holds settings for a Pod")
    passage = found["results"][0]
    ids = [passage["passage_id"], name_of("Secret"), "  configmap ", "Kubelet", "nothing of this name"]
    told = await call(client, "graph_describe", ids=ids)
    assert [row["id"] for row in told["results"][:3]] == [
        passage["section_id"], name_of("Secret"), name_of("ConfigMap")
    ]  # fmt: skip
    assert [(row["label"], row["title"]) for row in told["results"][3:]] == [("Entity", "kubelet")]
    assert told["missing_ids"] == ["nothing of this name"]


async def test_a_row_has_the_eight_fields_of_a_node_its_passages_and_its_relations_counted(client: Client) -> None:
    told = await call(client, "graph_describe", ids=["ConfigMap", "Maps", "Config"])
    entity, section, document = told["results"]
    beside = {"section_ids", "edges_in", "edges_out"}
    assert set(entity) - beside == {"id", "label", "title", "type"}
    assert set(section) - beside == {"id", "label", "title", "type", "level", "anchor"}
    assert set(document) - beside == {"id", "label", "title", "type", "anchor"}
    assert [set(row) - beside - PROJECTION for row in told["results"]] == [set()] * 3
    assert entity["edges_in"] == {"MENTIONS": 2}
    assert section["edges_out"] == {"PART_OF": 1}
    assert all(row["section_ids"] for row in told["results"])


async def test_every_row_leads_to_passages_that_can_be_read(client: Client) -> None:
    told = await call(client, "graph_expand", ids=["Secret"], hops=2, page_size=100)
    for row in told["results"]:
        read = await client.call_tool("kb_read_excerpt", {"passage_id": row["section_ids"][0]})
        assert not read.is_error, row


async def test_text_comes_only_where_it_is_asked_for(client: Client) -> None:
    plain = await call(client, "graph_expand", ids=["ConfigMap"])
    told = await call(client, "graph_expand", ids=["ConfigMap"], include_snippet=True)
    assert [row for row in plain["results"] if "snippet" in row] == []
    assert [row["title"] for row in told["results"] if 0 < len(row["snippet"]) <= 200] == titles(plain)


async def test_without_ids_the_graph_is_counted_as_a_whole(client: Client) -> None:
    told = await call(client, "graph_describe")
    assert told["graph"]["labels"]["Document"] == 5
    assert told["graph"]["entity_types"] == {"term": 6, "identifier": 1, "person": 1, "product": 1, "vendor": 1}
    assert told["graph"]["relations"]["ABOUT"] == 3


async def test_a_name_of_several_nodes_is_said_to_be_one(client: Client) -> None:
    told = await call(client, "graph_describe", ids=["Acme"])
    warnings = [one for one in told["meta"]["warnings"] if "names several nodes" in one]
    assert (told["results"][0]["label"], len(warnings)) == ("Entity", 1)
    assert f"took {told['results'][0]['id']} (Entity), not " in warnings[0]
    by_id = await call(client, "graph_describe", ids=[told["results"][0]["id"]])
    assert not [one for one in by_id["meta"]["warnings"] if "names several nodes" in one]
    reason, message = await refusal(client, "graph_describe", ids=["Conf"])
    assert (reason, "'ConfigMap'" in message) == ("NOT_FOUND", True)


# --- from nodes to others ----------------------------------------------------------------------------------------


async def test_an_expansion_counts_by_type_first_and_tells_how_each_node_was_reached(client: Client) -> None:
    told = await call(client, "graph_expand", ids=["ConfigMap"])
    assert list(told)[:3] == ["counts", "total", "cut"]
    assert (told["total"], told["cut"], told["counts"]) == (len(told["results"]), 0, told["counts"])
    assert sum(told["counts"].values()) == told["total"]
    for row in told["results"]:
        assert (row["distance"], row["relation"], row["direction"]) == (1, "MENTIONS", "in")
        assert (row["confidence"], "from_id" in row) == (0.9, False)
        assert row["section_ids"] == [row["id"]]


async def test_hops_direction_and_types_decide_what_is_reached(client: Client) -> None:
    first = await call(client, "graph_expand", ids=["ConfigMap"], direction="out")
    assert (first["results"], first["total"]) == ([], 0)
    second = await call(client, "graph_expand", ids=["ConfigMap"], hops=2, types=["mentions"])
    assert {row["title"] for row in second["results"] if row["distance"] == 2} == {"Pod", "Secret"}
    assert {row["from_id"] for row in second["results"] if row["distance"] == 2} <= {
        row["id"] for row in second["results"] if row["distance"] == 1
    }
    reason, message = await refusal(client, "graph_expand", ids=["ConfigMap"], types=["KNOWS"])
    assert (reason, message.startswith("types.0: ")) == ("INVALID_REQUEST", True)


async def test_what_is_named_together_is_related_both_ways_and_points_neither_way(client: Client) -> None:
    for name, other in (("Castor", "Pollux"), ("Pollux", "Castor")):
        told = await call(client, "graph_expand", ids=[name], types=["CO_OCCURS"])
        (row,) = told["results"]
        assert (row["title"], row["relation"], "direction" in row) == (other, "CO_OCCURS", False)
        assert len(row["section_ids"]) == 2
    told = await call(client, "graph_paths", from_ids=["Castor"], to_ids=["Pollux"], max_hops=1)
    assert [edge["relation"] for path in told["results"] for edge in path["edges"]] == ["CO_OCCURS"]


async def test_pages_follow_one_another_without_a_gap_or_a_repetition(client: Client) -> None:
    asked = {"ids": ["Secret", "Pod"], "hops": 3}
    whole = await call(client, "graph_expand", **asked, page_size=100)
    rows, cursor = [], None
    while True:
        page = await call(client, "graph_expand", **asked, page_size=2, **({"cursor": cursor} if cursor else {}))
        rows += page["results"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        assert (page["partial"], page["limit_reason"]) == (True, "page_size")
    assert [row["id"] for row in rows] == [row["id"] for row in whole["results"]]
    assert len(rows) == whole["total"] > 10
    other = await call(client, "graph_expand", **asked, page_size=2)
    reason, _ = await refusal(client, "graph_expand", ids=["Pod"], page_size=2, cursor=other["next_cursor"])
    assert reason == "INVALID_CURSOR"


async def test_parents_lead_up_to_the_document_and_children_down_to_the_passages(client: Client) -> None:
    found = await call(client, "kb_search", query="Secret holds what a ConfigMap must not")
    up = await call(client, "graph_parents", ids=[found["results"][0]["section_id"]])
    assert [(row["label"], row["distance"]) for row in up["results"]][-1] == ("Document", len(up["results"]))
    assert titles(up)[-1] == "Config"
    down = await call(client, "graph_children", ids=[up["results"][-1]["id"]], hops=5)
    assert found["results"][0]["section_id"] in {row["id"] for row in down["results"]}
    assert {row["relation"] for row in [*up["results"], *down["results"]]} == {"PART_OF"}
    none = await call(client, "graph_parents", ids=["ConfigMap"])
    assert (none["results"], "graph_sections_for_entities" in none["meta"]["warnings"][0]) == ([], True)


async def test_sections_lead_to_the_entities_they_speak_of_and_back(client: Client) -> None:
    told = await call(client, "graph_entities_for_sections", section_ids=["Config"])
    assert set(titles(told)) == {"ConfigMap", "Secret", "Pod"}
    first = told["results"][0]
    assert (first["title"], first["weight"], first["relation"]) == ("ConfigMap", 2.0, "MENTIONS")
    back = await call(client, "graph_sections_for_entities", entity_ids=["ConfigMap", "Secret"])
    assert sorted(map(len, (row["entity_ids"] for row in back["results"])), reverse=True) == [
        len(row["entity_ids"]) for row in back["results"]
    ]
    assert back["results"][0]["entity_ids"] == sorted([name_of("ConfigMap"), name_of("Secret")])
    assert set(first["section_ids"]) <= {row["id"] for row in back["results"]}


async def test_paths_are_shortest_first_and_every_step_has_its_passages(client: Client) -> None:
    told = await call(client, "graph_paths", from_ids=["ConfigMap"], to_ids=["kubelet"], max_hops=4)
    hops = [path["hops"] for path in told["results"]]
    assert (hops[0], hops == sorted(hops), told["total"]) == (4, True, len(hops))
    for path in told["results"]:
        assert (path["nodes"][0]["title"], path["nodes"][-1]["title"]) == ("ConfigMap", "kubelet")
        assert len(path["nodes"]) - 1 == len(path["edges"]) == path["hops"]
        assert all(edge["section_ids"] for edge in path["edges"])
    short = await call(client, "graph_paths", from_ids=["ConfigMap"], to_ids=["kubelet"], max_hops=2)
    assert (short["results"], short["complete"]) == ([], True)


# --- bounds ------------------------------------------------------------------------------------------------------

IN_HUB = {"scope": {"project_id": "hub"}}


async def test_a_hub_of_50000_answers_within_its_tokens_and_says_what_was_cut(client: Client) -> None:
    told = await call(client, "graph_expand", ids=["Hub"], **IN_HUB)
    assert (told["total"], told["cut"], told["counts"]) == (HUB, HUB - 199, {"function": HUB})
    assert tokens_of(told) <= 2_000
    assert (told["partial"], len(told["results"]) <= 25) == (True, True)
    wide = await call(client, "graph_expand", ids=["Hub"], page_size=200, **IN_HUB)
    assert 2_000 < tokens_of(wide) <= 8_000
    far = await call(client, "graph_expand", ids=["Hub"], hops=5, page_size=200, include_snippet=True, **IN_HUB)
    assert tokens_of(far) <= 8_000
    described = await call(client, "graph_describe", ids=["Hub"], **IN_HUB)
    assert described["results"][0]["edges_in"] == {"CALLS": HUB}


async def test_the_pages_of_a_hub_end_after_200_nodes(client: Client) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        asked = {"ids": ["Hub"], "page_size": 200, **IN_HUB, **({"cursor": cursor} if cursor else {})}
        page = await call(client, "graph_expand", **asked)
        seen += [row["id"] for row in page["results"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert (len(seen), len(set(seen))) == (199, 199)
    assert (page["cut"] > 0, page["partial"], page["limit_reason"]) == (True, True, "page_size")


@pytest.mark.parametrize(
    "name", [HOSTILE, "'; DROP TABLE graphs; --", "\x1b[31mred\x00", "`]->(n)", "\u202e", "x" * 200, "%", "*"]
)
async def test_a_hostile_name_finds_nothing_or_itself_and_changes_nothing(client: Client, name: str) -> None:
    before = await call(client, "graph_describe", **IN_HUB)
    for tool, argument in (("graph_expand", "ids"), ("graph_sections_for_entities", "entity_ids")):
        result = await client.call_tool(tool, {argument: [name], **IN_HUB})
        text = str(result.content[0].text)  # type: ignore[union-attr]
        assert result.is_error == (name != HOSTILE)
        assert ("\x1b" in text, "\x00" in text) == (False, False)
    reason, _ = await refusal(client, "find_vendor_info", vendor_name=f"{name[:100]} Inc", **IN_HUB)
    assert reason == "NOT_FOUND"
    after = await call(client, "graph_describe", **IN_HUB)
    assert before["graph"] == after["graph"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("graph_expand", {"ids": []}),
        ("graph_expand", {"ids": ["x" * 1_000_000]}),
        ("graph_expand", {"ids": ["a"] * 51}),
        ("graph_expand", {"ids": ["Secret"], "hops": 6}),
        ("graph_expand", {"ids": ["Secret"], "page_size": 201}),
        ("graph_expand", {"ids": ["Secret"], "types": ["MENTIONS]->() DELETE n"]}),
        ("graph_expand", {"ids": ["Secret"], "direction": "sideways"}),
        ("graph_paths", {"from_ids": ["Secret"], "to_ids": ["Pod"], "max_hops": 7}),
        ("graph_paths", {"from_ids": ["Secret"], "to_ids": ["Pod"], "limit": 51}),
        ("find_vendor_info", {"vendor_name": "Acme", "max_results": 101}),
        ("find_vendor_info", {}),
    ],
)
async def test_what_is_out_of_bounds_is_refused_with_its_name(
    client: Client, tool: str, arguments: dict[str, Any]
) -> None:
    reason, message = await refusal(client, tool, **arguments)
    assert reason == "INVALID_REQUEST"
    assert len(message) < 2_000


@hypothesis_settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    tool=st.sampled_from(GRAPH_TOOLS),
    names=st.lists(
        st.one_of(st.sampled_from([*KINDS, "Hub", "Config", HOSTILE]), st.text(max_size=200)), max_size=50
    ),
    size=st.integers(1, 25),
    project=st.sampled_from(["notes", "hub"]),
    snippet=st.booleans(),
)
async def test_no_answer_takes_more_tokens_than_its_page_may(
    served: Application, tool: str, names: list[str], size: int, project: str, snippet: bool
) -> None:
    (found,) = [one for one in TOOLS if one.name.replace(".", "_") == tool]
    fields = found.arguments.model_fields
    given = {
        "ids": names, "from_ids": names, "to_ids": ["Hub", "Pod"], "section_ids": names, "entity_ids": names,
        "vendor_name": names[0] if names else "Acme", "page_size": size, "include_snippet": snippet, "hops": 3,
        "scope": {"project_id": project},
    }  # fmt: skip
    arguments = {name: value for name, value in given.items() if name in fields}
    dispatcher = Dispatcher(served.context, served.settings)
    result = await call_tool(dispatcher, found, arguments, f"client {names}", _silent)
    sent = {name: value for name, value in result.structured_content.items() if name != "meta"}
    size = count_tokens(json.dumps(sent, ensure_ascii=False, separators=(",", ":")))
    assert size <= 2_000


async def _silent(seconds: float, message: str) -> None:
    """A progress callback that does nothing."""


# --- scope -------------------------------------------------------------------------------------------------------


async def test_what_is_out_of_scope_is_in_no_row_no_count_and_no_path(client: Client) -> None:
    inner = {"scope": {"doc_tags": ["inner"]}}
    told = await call(client, "graph_expand", ids=["Secret"], hops=5, page_size=100, **inner)
    assert {row["title"] for row in told["results"]} == {"Hidden", "Cloaked"}
    counted = await call(client, "graph_describe", **inner)
    assert (counted["graph"]["labels"]["Document"], counted["graph"]["entity_types"]) == (1, {"term": 2})
    assert (await refusal(client, "graph_describe", ids=["ConfigMap"], **inner))[0] == "NOT_FOUND"
    paths = await call(client, "graph_paths", from_ids=["Secret"], to_ids=["Cloaked"], **inner)
    assert {node["title"] for path in paths["results"] for node in path["nodes"]} == {
        "Secret",
        "Hidden",
        "Cloaked",
    }
    assert (await refusal(client, "graph_expand", ids=["Hub"]))[0] == "NOT_FOUND"


@pytest.mark.parametrize("tool", GRAPH_TOOLS)
async def test_a_project_out_of_reach_is_refused_by_every_tool(client: Client, tool: str) -> None:
    named = {
        **dict.fromkeys(("graph_describe", "graph_expand", "graph_parents", "graph_children"), "ids"),
        "graph_entities_for_sections": "section_ids",
        "graph_sections_for_entities": "entity_ids",
    }
    arguments: dict[str, Any] = {named[tool]: ["Secret"]} if tool in named else {"vendor_name": "Acme"}
    if tool == "graph_paths":
        arguments = {"from_ids": ["Secret"], "to_ids": ["Pod"]}
    reason, _ = await refusal(client, tool, **arguments, scope={"project_id": "elsewhere"})
    assert reason == "SCOPE_VIOLATION"


# --- vendors and relationships -----------------------------------------------------------------------------------


async def test_a_vendor_is_told_with_its_documents_products_and_people_and_always_with_relations(
    client: Client,
) -> None:
    told = await call(client, "find_vendor_info", vendor_name="acme")
    fields = {"vendor", "mode", "entity_count", "entities", "relationships", "estimated_tokens"}
    assert fields <= set(told)
    assert (told["vendor"], told["mode"], told["entity_count"]) == ("Acme", "metadata", len(told["entities"]))
    assert {(row["label"], row["title"]) for row in told["entities"]} >= {
        ("Document", "Acme"), ("Entity", "Rocket"), ("Entity", "Wile")
    }  # fmt: skip
    known = {told["vendor_id"], *(row["id"] for row in told["entities"])}
    assert {id for one in told["relationships"] for id in (one["source_id"], one["target_id"])} <= known
    assert {one["relationship_type"] for one in told["relationships"]} >= {"ABOUT"}
    sent = told["meta"]["usage"]["tokens"]
    assert abs(told["estimated_tokens"] - sent) <= 0.1 * sent
    assert tokens_of(told) <= 2_000


async def test_entity_types_narrow_what_is_told_of_a_vendor(client: Client) -> None:
    told = await call(client, "find_vendor_info", vendor_name="Acme", entity_types=["product"])
    assert ([row["title"] for row in told["entities"]], told["counts"]) == (["Rocket"], {"product": 1})
    assert told["relationships"]
    one = await call(client, "find_vendor_info", vendor_name="Acme", max_results=1)
    whole = await call(client, "find_vendor_info", vendor_name="Acme")
    assert (one["entity_count"], one["total"], one["cut"]) == (1, whole["total"], whole["total"] - 1)
    assert (one["partial"], one["limit_reason"], one["next_cursor"]) == (True, "page_size", None)
    assert (whole["total"], whole["cut"], whole["partial"]) == (whole["entity_count"], 0, False)


async def test_entity_types_that_nothing_has_are_named_beside_those_that_there_are(client: Client) -> None:
    told = await call(client, "find_vendor_info", vendor_name="Acme", entity_types=["Product ", "prodct", "zzz"])
    assert [row["title"] for row in told["entities"]] == ["Rocket"]
    named = [each for each in told["meta"]["warnings"] if "has the type" in each]
    assert named == [
        "nothing around Acme has the type 'prodct'; nearest: 'product', 'person'",
        "nothing around Acme has the type 'zzz'; there are: 'markdown', 'person', 'product'",
    ]


async def test_what_is_certainly_no_vendor_is_refused_with_the_vendors_that_there_are(client: Client) -> None:
    reason, message = await refusal(client, "find_vendor_info", vendor_name="ConfigMap")
    assert reason == "NOT_FOUND"
    assert message.startswith(
        "'ConfigMap' is no vendor: it is of type identifier; graph_expand shows what is around it; "
        "of vendors, there are: 'Acme'"
    )
    _, near = await refusal(client, "find_vendor_info", vendor_name="Acmee")
    assert "of vendors, nearest: 'Acme'" in near


async def test_content_is_the_passage_behind_an_entity_and_comes_on_request(client: Client) -> None:
    told = await call(client, "find_vendor_info", vendor_name="Acme", include_content=True)
    assert told["mode"] == "full"
    (rocket,) = [row for row in told["entities"] if row["title"] == "Rocket"]
    assert "Acme sells Rocket to Wile." in rocket["content"]


async def test_a_vendor_that_is_none_says_so(client: Client) -> None:
    told = await call(client, "find_vendor_info", vendor_name="Rocket")
    assert told["meta"]["warnings"][0] == "'Rocket' is not known as a vendor; it is of type product"
    assert (await refusal(client, "find_vendor_info", vendor_name="Nobody"))[0] == "NOT_FOUND"


@pytest.mark.parametrize("mode", ["preview", "full"])
async def test_a_search_shows_what_each_result_speaks_of_on_request(client: Client, mode: str) -> None:
    asked = {"query": "Secret holds what a ConfigMap must not", "response_mode": mode, "top_k": 1}
    told = await call(client, "semantic_search", **asked, include_relationships=True)
    (row,) = told["results"]
    assert {one["entity_name"] for one in row["relationships"]} == {"ConfigMap", "Secret"}
    assert row["relationships"][0] == {
        "entity_id": name_of(row["relationships"][0]["entity_name"]),
        "entity_name": row["relationships"][0]["entity_name"],
        "relationship_type": "MENTIONS",
        "confidence": 0.9,
    }
    plain = await call(client, "semantic_search", **asked)
    assert "relationships" not in plain["results"][0]


async def test_rows_without_text_have_no_relationships_and_the_answer_says_so(client: Client) -> None:
    told = await call(client, "semantic_search", query="Secret of a ConfigMap", include_relationships=True)
    assert [row for row in told["results"] if "relationships" in row] == []
    assert "preview or full" in " ".join(told["meta"]["warnings"])


@pytest.mark.own_store
async def test_where_there_is_no_graph_relationships_are_missing_and_the_answer_says_so(
    chosen: Settings, tmp_path: Path
) -> None:
    copy = copy_store(chosen.store, tmp_path / "store")
    settings = chosen.model_copy(update={"store": copy, "graph": "off"})
    asked = {"query": "Secret of a ConfigMap", "response_mode": "full", "include_relationships": True}
    async with open_application(settings, wait_for_model=True) as application:
        told = await application.kb.call("semantic_search", asked, application.caller("test"))
        assert [row for row in told.payload["results"] if "relationships" in row] == []
        assert "the graph is switched off" in " ".join(told.warnings)
        with pytest.raises(WinnowError, match="kb_search") as caught:
            await application.kb.call("graph.expand", {"ids": ["Secret"]}, application.caller("test"))
        assert caught.value.reason == "GRAPH_UNAVAILABLE"


async def test_answers_fit_the_schema_that_is_listed(client: Client) -> None:
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    for tool, arguments in {
        "graph_describe": {"ids": ["Secret"]},
        "graph_expand": {"ids": ["Secret"], "hops": 3, "include_snippet": True},
        "graph_paths": {"from_ids": ["Secret"], "to_ids": ["Rocket"], "max_hops": 6},
        "graph_entities_for_sections": {"section_ids": ["Config"]},
        "find_vendor_info": {"vendor_name": "Acme", "include_content": True},
    }.items():
        jsonschema.validate(await call(client, tool, **arguments), schemas[tool] or {})
