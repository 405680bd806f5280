"""Clients that reach several projects: what they are told of them, and what answers without a project say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from tests.serving import serve
from tests.two_projects import BLUE, QUESTION, RED, WORDS, Client, make_client, make_store
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import DIRECT, OPERATIONS, Caller
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.http import PATH
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

WARNING = f"this answer is about project {RED} alone; to look into another, name it with {{}}: {BLUE}"
ARGUMENTS: Mapping[str, Any] = {
    "query": QUESTION,
    "question": QUESTION,
    "pattern": "gate",
    "document": f"{WORDS[RED]}-0.md",
    "ids": [f"{WORDS[RED]} works"],
    "from_ids": [f"{WORDS[RED]} works"],
    "to_ids": [f"{WORDS[RED]} works"],
    "vendor_name": f"{WORDS[RED]} works",
    "topic": QUESTION,
    "goal": QUESTION,
    "content": "Every gate closes at ten.",
}

# They look at what they are given, and at no documents.
OF_ARGUMENTS = {"citations.audit.check"}
# They take one of several arguments, so that none is required.
OF_CHOICES = {"kb.show": {"document": f"{WORDS[RED]}-0.md"}}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Of a server with a third project, which has no documents: no warning names it."""
    made = make_store(tmp_path_factory.mktemp("unnamed"))
    return made.model_copy(update={"execute_code": "off", "projects": (RED, BLUE, "empty")})


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    async with open_application(settings, wait_for_model=False, starts_engine=True) as app:
        await app.kb.open()
        yield app


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def both(keys: Path) -> Client:
    return make_client(keys, "both")


@pytest.fixture(scope="module")
def red(keys: Path) -> Client:
    return make_client(keys, "red", RED)


def _asked(schema: Mapping[str, Any]) -> list[str]:
    """The required arguments, and a query or text where there may be one."""
    return [*schema.get("required", ()), *({"query", "content"} & schema["properties"].keys())]


def fill(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The required arguments of a schema, with values of the first project where there are any."""
    return {name: ARGUMENTS[name] for name in _asked(schema) if name in ARGUMENTS}


async def warnings_of(application: Application, name: str, arguments: Mapping[str, Any], client: Client) -> str:
    """The warnings of an operation in one text; the message of an error."""
    try:
        answer = await application.kb.call(name, arguments, Caller(client.connection, DIRECT))
    except WinnowError as error:
        return error.message
    return "\n".join(answer.warnings)


async def test_every_operation_that_is_given_no_project_says_which_one_it_looked_into_and_names_the_others(
    application: Application, both: Client, red: Client
) -> None:
    seen = set()
    for name, operation in OPERATIONS.items():
        schema = operation.arguments.model_json_schema()
        arguments = fill(schema) or OF_CHOICES.get(name, {})
        named = "project" if "project" in schema["properties"] else "scope.project_id"
        takes_none = "project" in schema.get("required", ()) or not {"scope", "project"}.intersection(
            schema["properties"]
        )
        if takes_none or not set(schema.get("required", ())) <= set(arguments):
            continue
        if name in OF_ARGUMENTS:
            continue
        seen.add(name)
        scope = {"project": RED} if named == "project" else {"scope": {"project_id": RED}}
        unnamed = await warnings_of(application, name, arguments, both)
        assert (name, WARNING.format(named) in unnamed) == (name, True)
        assert (name, BLUE in await warnings_of(application, name, {**arguments, **scope}, both)) == (name, False)
        assert (name, BLUE in await warnings_of(application, name, arguments, red)) == (name, False)
    assert {"kb.search", "kb.scan", "kb.documents", "kb.retrieve_evidence", "claims.search"} <= seen


async def test_a_document_that_is_not_there_may_be_in_another_project(
    application: Application, both: Client
) -> None:
    arguments = {"document": f"{WORDS[BLUE]}-0.md"}
    told = await warnings_of(application, "kb.read", arguments, both)
    assert (
        told.startswith("document: none that this call reaches"),
        WARNING.format("scope.project_id") in told,
    ) == (True, True)
    scope = {"scope": {"project_id": BLUE}}
    assert await warnings_of(application, "kb.read", {**arguments, **scope}, both) == ""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_is_told_of_the_projects_that_its_key_reaches(
    application: Application, keys: Path, both: Client, red: Client, mode: Any
) -> None:
    server = build_server(Dispatcher(application.context, application.settings), application)
    told = {}
    async with serve(server, access=HttpAccess(KeyRing(keys), (RED, BLUE, "empty"))) as (host, port):
        for client in (both, red):
            async with httpx2.AsyncClient(headers=client.headers, timeout=60) as http:
                transport = streamable_http_client(f"http://{host}:{port}{PATH}", http_client=http)
                async with McpClient(transport, mode=mode) as mcp:
                    told[client.key.name] = mcp.instructions or ""
                    scan = await mcp.call_tool("kb_scan", {"pattern": WORDS[BLUE]})
                    warnings = (scan.structured_content or {})["meta"]["warnings"]
                    assert (WARNING.format("scope.project_id") in warnings) == (client is both)
    assert (
        f'{RED} unless it names another: scope {{"project_id": NAME}}. Others here: {BLUE}, empty.' in told["both"]
    )
    assert (told["red"] in told["both"], BLUE in told["red"]) == (True, False)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("semantic_search", {"query": QUESTION, "top_k": 1, "response_mode": mode})
        for mode in ("ids_only", "metadata", "preview", "full")
    ]
    + [
        ("semantic_search", {"query": QUESTION, "top_k": 1, "vendor_filter": "no such vendor"}),
        ("semantic_search", {"query": QUESTION, "top_k": 1, "verbose": True, "and": "so", "on": 1}),
        ("find_vendor_info", {"vendor_name": f"{WORDS[RED]} works", "max_results": 1}),
    ],
)
async def test_the_estimate_of_a_small_answer_has_the_tokens_of_its_warnings(
    application: Application, tool: str, arguments: dict[str, Any]
) -> None:
    async with McpClient(build_server(Dispatcher(application.context, application.settings), application)) as mcp:
        for _ in range(2):  # the second time from the cache
            answer = (await mcp.call_tool(tool, arguments)).structured_content or {}
            assert answer["meta"]["warnings"]
            sent = answer["meta"]["usage"]["tokens"]
            assert abs(answer["estimated_tokens"] - sent) <= 0.1 * sent, (answer["estimated_tokens"], sent)
