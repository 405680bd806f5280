"""Two keys for different projects: nothing of one is seen by the other.

The tests walk the tables of tools, of operations (the calls of scripts) and of resources, and build the arguments
from the schemas. A new tool is tried without a change here; one whose arguments these values do not fill fails
``test_the_walk_reaches_every_tool_and_operation`` until that test has arguments for it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference, ResourceTemplateReference

from tests.serving import serve
from tests.two_projects import BLUE, QUESTION, RED, WORDS, Client, make_client, make_store
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import DIRECT, OPERATIONS, SCRIPT, Caller
from winnow.server.runtime.sessions.result_store import URI_TEMPLATE as RESULT_URI
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.tools.table import TOOLS
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.http import PATH
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

LARGE_RESULT = "0123456789abcdef"
SAVED = "notes"
# Answers without a text of a document; rerank, kb.count and jobs have tests of their own.
OF_JOBS = {"ingest_from_source", "job_status", "job_cancel"}
OF_NO_TEXT = {"help", "tokens", "list_projects", "index_state", "save", "saved", "rerank", "kb.count"}
# tests/contract/test_claim_tools.py has notebooks of two keys.
OF_CLAIMS = {name for name in OPERATIONS if name.startswith("claims.")}
OF_CLAIMS |= {tool.name for tool in TOOLS if tool.pack == "claims"}
# Of what they are given, and of no document.
_OF_ARGUMENTS = {"citations.audit.check", "exports.render.markdown", "planner.multi_perspective"}
OF_ARGUMENTS = _OF_ARGUMENTS | {name.replace(".", "_") for name in _OF_ARGUMENTS}
OF_NO_DOCUMENT = OF_NO_TEXT | OF_JOBS | OF_CLAIMS | OF_ARGUMENTS
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Side:
    """A client, and the ids of what its project and its session hold, by the name of an argument."""

    client: Client
    word: str
    values: Values

    @property
    def caller(self) -> Caller:
        return Caller(self.client.connection, SCRIPT)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return make_store(tmp_path_factory.mktemp("apart"), "auto")


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    """A server over an engine where there are any: the rights of a key must reach that process."""
    chosen = settings.model_copy(update={"daemon": "on", "engine_idle_minutes": 0.01})
    async with open_application(chosen, wait_for_model=True, starts_engine=True) as app:
        await app.kb.open()
        yield app


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
async def sides(application: Application, keys: Path) -> tuple[Side, Side]:
    red = make_client(keys, "red", RED)
    blue = make_client(keys, "blue", BLUE)
    return await _side(application, red, RED), await _side(application, blue, BLUE)


async def _side(application: Application, client: Client, project: str) -> Side:
    """Have a client search, save and fail with a large result, and note the ids that it could give away."""
    kb, caller, word = application.kb, Caller(client.connection, SCRIPT), WORDS[project]
    rows = (await kb.call("semantic_search", {"query": QUESTION}, caller)).payload["results"]
    passages = (await kb.call("kb.search", {"query": QUESTION, "page_size": 1}, caller)).payload
    documents = (await kb.call("kb.documents", {"limit": 1}, caller)).payload
    text = json.dumps(word)
    await kb.call("save", {"name": SAVED, "text": text, "start": 0, "bytes": len(text)}, caller)
    kb.results.put(client.connection, LARGE_RESULT, json.dumps([word] * 100))
    chunk, passage = rows[0]["id"], passages["results"][0]["passage_id"]
    entity = (await kb.call("graph.entities_for_sections", {"section_ids": [chunk]}, caller)).payload
    values = {
        "project": project,
        "project_id": project,
        "chunk": chunk,
        "passage": passage,
        "document": documents["results"][0]["id"],
        "uri": f"{word}-0.md",
        "vendor": f"{word} works",
        "entity": entity["results"][0]["id"] if entity.get("results") else f"{word} works",
        "cursor": passages["next_cursor"],
        "scratch_uri": passages["results"][0]["scratch_uri"],
    }
    return Side(client, word, {name: value for name, value in values.items() if value})


# Name of an argument -> values of a side that fill it; others are filled with a word of that side.
FITTING: Mapping[str, tuple[str, ...]] = {
    "project": ("project",),
    "project_id": ("project",),
    "passage_id": ("passage", "chunk"),
    "passage_ids": ("passage", "chunk"),
    "ids": ("chunk", "document", "entity", "passage"),
    "section_ids": ("chunk", "document", "passage"),
    "filter_ids": ("chunk",),
    "from_ids": ("chunk", "entity"),
    "to_ids": ("entity", "chunk", "document"),
    "entity_ids": ("entity", "vendor"),
    "vendor_name": ("vendor",),
    "document": ("document", "uri", "chunk"),
    "documents": ("document", "uri"),
    "path": ("uri",),
    "uri": ("uri", "document"),
    "cursor": ("cursor",),
}
CONSTANTS: Mapping[str, Any] = {
    "execution_id": LARGE_RESULT,
    "name": SAVED,
    "pattern": "(?s).+",
    "start": 0,
    "bytes": 1,
    "min_chars": 20,
    "group_by": "document",
    "sample": 3,
    "response_mode": "full",
    "code": "return 1",
}


def _fillings(schema: Mapping[str, Any], side: Side) -> Iterator[dict[str, Any]]:
    """Arguments for a schema: the required ones, alone and beside each other one that fits a value of the side."""
    fields, needed = schema.get("properties", {}), schema.get("required", [])
    base = {name: _fill(name, fields[name], side, 0) for name in needed}
    yield base
    for name, field in fields.items():
        for number in range(len(FITTING.get(name, ("word",)))):
            if name in needed or name in FITTING or name in CONSTANTS:
                yield {**base, name: _fill(name, field, side, number)}
    yield {**base, **{name: CONSTANTS[name] for name in fields if name in CONSTANTS}}
    if "scope" in fields:
        yield {**base, "scope": {"project_id": side.values["project"]}}


def _fill(name: str, field: Mapping[str, Any], side: Side, number: int) -> Any:
    if name in CONSTANTS:
        return CONSTANTS[name]
    kinds = {field.get("type"), *(kind.get("type") for kind in field.get("anyOf", ()))}
    if name == "rows":
        return [{"id": side.values["chunk"]}]
    fitting = FITTING.get(name)
    value = side.values.get(fitting[number], side.word) if fitting else QUESTION
    return [value] if "array" in kinds else value


def _spill(text: str, arguments: Mapping[str, Any], side: Side) -> bool:
    """Whether a text holds the word of a side, beyond an echo of what was asked for."""
    for value in _strings(arguments):
        text = text.replace(json.dumps(value)[1:-1], "")
    return side.word in text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)


@asynccontextmanager
async def connected(application: Application, keys: Path, *sides: Side) -> AsyncIterator[list[McpClient]]:
    """An MCP client over HTTP for each side, at one server."""
    server = build_server(Dispatcher(application.context, application.settings), application)
    access = HttpAccess(KeyRing(keys), (RED, BLUE))
    async with AsyncExitStack() as stack:
        host, port = await stack.enter_async_context(serve(server, access=access))
        clients = []
        for side in sides:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=side.client.headers, timeout=60))
            transport = streamable_http_client(f"http://{host}:{port}{PATH}", http_client=http)
            clients.append(await stack.enter_async_context(McpClient(transport)))
        yield clients


async def _call_tools(mcp: McpClient, asking: Side, about: Side) -> dict[str, bool]:
    """Call every tool with values of ``about``; whether an answer to ``asking`` holds its word, by tool."""
    listed = {tool.name: tool.input_schema for tool in (await mcp.list_tools()).tools}
    unlisted = {tool.name.replace(".", "_"): tool.arguments.model_json_schema() for tool in TOOLS}
    spilled: dict[str, bool] = {}
    for name, schema in {**unlisted, **listed}.items():
        for arguments in _fillings(schema, about) if name != "execute_code" else ():
            answer = await mcp.call_tool(name, arguments)
            text = answer.model_dump_json(by_alias=True)
            spilled[name] = spilled.get(name, False) or _spill(text, arguments, about)
    return spilled


async def _call_operations(application: Application, asking: Side, about: Side) -> dict[str, bool]:
    """As ``_call_tools``, for the operations that tools and scripts call."""
    spilled: dict[str, bool] = {}
    for name, operation in OPERATIONS.items():
        schema = operation.arguments.model_json_schema()
        spilled[name] = False
        for arguments in _fillings(schema, about):
            try:
                caller = asking.caller if operation.in_scripts else Caller(asking.client.connection, DIRECT)
                answer = await application.kb.call(name, arguments, caller)
                text = json.dumps([answer.payload, answer.warnings, [link.title for link in answer.links]])
            except WinnowError as error:
                text = json.dumps(error.envelope())
            spilled[name] = spilled[name] or _spill(text, arguments, about)
    return spilled


async def test_the_walk_reaches_every_tool_and_operation(
    application: Application, sides: tuple[Side, Side], keys: Path
) -> None:
    """Each side finds its own word everywhere, or the tests below would prove nothing."""
    async with connected(application, keys, *sides) as (mcp, _):
        own = await _call_tools(mcp, sides[0], sides[0])
    assert {name for name, is_spilled in own.items() if not is_spilled} - OF_NO_DOCUMENT == set()
    own = await _call_operations(application, sides[0], sides[0])
    assert {name for name, is_spilled in own.items() if not is_spilled} - OF_NO_DOCUMENT == set()


async def test_no_tool_shows_anything_of_the_other_key(
    application: Application, sides: tuple[Side, Side], keys: Path
) -> None:
    async with connected(application, keys, *sides) as clients:
        for mcp, asking, about in zip(clients, sides, reversed(sides), strict=True):
            spilled = await _call_tools(mcp, asking, about)
            assert [name for name, is_spilled in spilled.items() if is_spilled] == []
            named = json.dumps([tool.model_dump(mode="json") for tool in (await mcp.list_tools()).tools])
            assert about.values["project"] not in named


async def test_no_call_of_a_script_shows_anything_of_the_other_key(
    application: Application, sides: tuple[Side, Side]
) -> None:
    for asking, about in (sides, sides[::-1]):
        spilled = await _call_operations(application, asking, about)
        assert [name for name, is_spilled in spilled.items() if is_spilled] == []


async def test_the_ids_and_words_of_the_other_key_count_for_nothing(
    application: Application, sides: tuple[Side, Side]
) -> None:
    for asking, about in (sides, sides[::-1]):
        for side, missing in ((asking, False), (about, True)):
            arguments = {"query": QUESTION, "ids": [side.values["chunk"], side.values["passage"]]}
            answer = (await application.kb.call("rerank", arguments, asking.caller)).payload
            assert (bool(answer["results"]), bool(answer["missing_ids"])) == (not missing, missing)
            counted = (await application.kb.call("kb.count", {"pattern": side.word}, asking.caller)).payload
            assert (counted["matches"] == 0, counted["documents"] == 0) == (missing, missing)


async def test_a_job_is_of_the_keys_that_reach_its_project(
    application: Application, sides: tuple[Side, Side]
) -> None:
    red, blue = (Caller(side.client.connection, DIRECT) for side in sides)
    asked = {"project": BLUE, "source": WORDS[BLUE]}
    job = {"job_id": (await application.kb.call("ingest_from_source", asked, blue)).payload["job_id"]}
    assert (await application.kb.call("job_status", job, blue)).payload["project"] == BLUE
    for operation, arguments, reason in (
        ("ingest_from_source", asked, "SCOPE_VIOLATION"),
        ("job_status", job, "NOT_FOUND"),
        ("job_cancel", job, "NOT_FOUND"),
    ):
        with pytest.raises(WinnowError) as caught:
            await application.kb.call(operation, arguments, red)
        assert (operation, caught.value.reason) == (operation, reason)


async def test_no_resource_prompt_or_completion_shows_anything_of_the_other_key(
    application: Application, sides: tuple[Side, Side], keys: Path
) -> None:
    async with connected(application, keys, *sides) as clients:
        for mcp, asking, about in zip(clients, sides, reversed(sides), strict=True):
            own = [asking.values["scratch_uri"], RESULT_URI.format(execution_id=LARGE_RESULT)]
            for uri in own:
                assert asking.word in (await mcp.read_resource(uri)).model_dump_json()
            listed = [str(resource.uri) for resource in (await mcp.list_resources()).resources]
            for uri in (*listed, own[1], about.values["scratch_uri"]):
                assert about.word not in await _read(mcp, uri)
            session = about.values["scratch_uri"].rsplit("/", 2)[1]
            for template in (await mcp.list_resource_templates()).resource_templates:
                reference = ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
                for name in ("session_id", "passage_id"):
                    done = await mcp.complete(reference, {"name": name, "value": ""}, {"session_id": session})
                    found = done.completion.values
                    assert not {about.values["passage"], session}.intersection(found)
            for prompt in (await mcp.list_prompts()).prompts:
                argument = (prompt.arguments or [])[0].name
                shown = await mcp.get_prompt(prompt.name, {argument: "x"})
                assert about.values["project"] not in shown.model_dump_json()
                reference_of_prompt = PromptReference(type="ref/prompt", name=prompt.name)
                completed = await mcp.complete(reference_of_prompt, {"name": argument, "value": ""})
                assert completed.completion.values == []


async def _read(mcp: McpClient, uri: str) -> str:
    try:
        return (await mcp.read_resource(uri)).model_dump_json()
    except MCPError as error:
        return f"{error} {error.error.data}"


@pytest.mark.walls
async def test_scripts_of_two_keys_share_nothing(application: Application, sides: tuple[Side, Side]) -> None:
    await application.ready()
    if not application.scripts.available:
        pytest.skip(application.scripts.why_not)
    for asking, about in (sides, sides[::-1]):
        code = f"""
found = [row.text for row in semantic_search({QUESTION!r}, top_k=100, response_mode="full")]
found += [row.text for row in scan("(?i)secret .+").all()]
return [found, load({SAVED!r}), saved(), [d.title for d in documents()]]
"""
        outcome = await application.scripts.run(code, client=asking.client.connection)
        text = json.dumps(outcome.result)
        assert (outcome.status, asking.word in text, about.word in text) == ("ok", True, False), outcome.error
