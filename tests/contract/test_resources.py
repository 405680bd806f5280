"""MCP resources: passages of the session and help pages, in memory and over HTTP, in both protocol eras."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    PromptReference,
    ResourceTemplateReference,
    TextResourceContents,
)

from tests.serving import serve
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts.excerpts import MAX_EXCERPT_BYTES
from winnow.server.errors import WinnowError
from winnow.server.models import Chunk, Document, Passage
from winnow.server.runtime.sessions.passage_store import URI_TEMPLATE, PassageStore
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.http import PATH
from winnow.server.transports.protocol import build_server
from winnow.server.transports.resources import PAGES, ResourceContent, read_resource

pytestmark = pytest.mark.anyio

Era = Literal["legacy", "2026-07-28"]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")
NOT_FOUND = {"legacy": -32002, "2026-07-28": INVALID_PARAMS}
QUERY = "how are backups encrypted"
TOOLS = ("kb_search", "execute_code")


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> Era:
    mode: Era = request.param
    return mode


@pytest.fixture(scope="module")
async def application(store: Path) -> AsyncIterator[Application]:
    """One winnow for the tests in this process: their clients have sessions of their own."""
    async with open_application(load_settings(store=store, project="handbook"), wait_for_model=True) as app:
        yield app


@pytest.fixture
def server(application: Application) -> Server[str]:
    return build_server(Dispatcher(application.context, application.settings), application)


@pytest.fixture
async def client(server: Server[str], era: Era) -> AsyncIterator[Client]:
    async with Client(server, mode=era) as connected:
        yield connected


async def search(client: Client, **arguments: Any) -> dict[str, Any]:
    """The answer of a search, which keeps its passages in the client's session."""
    result = await client.call_tool("kb_search", {"query": QUERY} | arguments)
    assert not result.is_error
    return dict(result.structured_content)


async def text_at(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.uri == uri
    return contents.text


async def refusal(client: Client, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    assert caught.value.message == caught.value.data["message"]
    return caught.value


async def test_the_template_says_what_a_passage_is_and_whom_it_is_for(client: Client) -> None:
    (template, result) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == URI_TEMPLATE == "winnow://scratch/{session_id}/{passage_id}"
    assert template.mime_type == "text/plain"
    assert template.annotations is not None
    assert (template.annotations.audience, template.annotations.priority) == (["assistant"], 0.1)
    assert (result.uri_template, result.mime_type) == ("winnow://result/{execution_id}", "application/json")


async def test_a_result_s_passage_is_read_by_its_uri_and_is_what_full_search_results_say(client: Client) -> None:
    answer = await search(client, top_k=2)
    for row in answer["results"]:
        assert row["scratch_uri"] == f"winnow://scratch/{answer['session_id']}/{row['passage_id']}"
        text = await text_at(client, row["scratch_uri"])
        full = await client.call_tool(
            "semantic_search", {"filter_ids": [row["section_id"]], "response_mode": "full"}
        )
        assert text == full.structured_content["results"][0]["content"]
        assert len(text.encode()) == row["size_bytes"]


async def test_no_passage_is_listed_however_many_are_kept(client: Client) -> None:
    await search(client)
    listed = (await client.list_resources()).resources
    pages = [page for page in listed if page.uri.startswith("winnow:")]
    assert [page.uri for page in pages] == ["winnow://help/playbook", "winnow://help/sdk"]
    assert {page.uri.partition(":")[0] for page in listed} == {"winnow", "skill"}
    for page in pages:
        text = await text_at(client, page.uri)
        assert (page.mime_type, page.size) == ("text/markdown", len(text.encode()))


async def test_another_session_s_passage_is_out_of_scope_whether_or_not_there_is_such_a_session(
    server: Server[str], era: Era
) -> None:
    async with Client(server, mode=era) as mine, Client(server, mode=era) as other:
        theirs = await search(other)
        mine_now = await search(mine)
        assert mine_now["session_id"] != theirs["session_id"]
        (row, *_) = theirs["results"]
        real = await refusal(mine, row["scratch_uri"])
        invented = await refusal(mine, f"winnow://scratch/0123456789ab/{row['passage_id']}")
        own = await refusal(mine, f"winnow://scratch/{mine_now['session_id']}/{row['passage_id']}")
        assert (real.code, real.data["code"]) == (INVALID_PARAMS, "SCOPE_VIOLATION")
        assert real.data.pop("uri") == row["scratch_uri"] != invented.data.pop("uri")
        assert (real.code, real.message, real.data) == (invented.code, invented.message, invented.data)
        assert own.data["details"]["reason"] == "NOT_FOUND"
        assert await text_at(other, row["scratch_uri"])


async def test_an_unknown_passage_is_not_found_in_the_code_of_the_era_and_says_what_to_do(
    client: Client, era: Era
) -> None:
    session_id = (await search(client))["session_id"]
    error = await refusal(client, f"winnow://scratch/{session_id}/0000000000")
    assert (error.code, error.data["code"]) == (NOT_FOUND[era], "INVALID_ARGUMENT")
    assert error.data["details"]["reason"] == "NOT_FOUND"
    assert "kb_search" in error.message
    assert "section_id" in error.message


async def test_a_uri_without_a_resource_is_not_found_in_the_code_of_the_era_and_named_in_data(
    client: Client, era: Era
) -> None:
    for uri in ("winnow://nothing", "winnow://result/0123456789abcdef", "https://example.org/"):
        error = await refusal(client, uri)
        assert (error.code, error.data["uri"]) == (NOT_FOUND[era], uri)
        assert error.data["details"]["reason"] == "NOT_FOUND"


async def test_hostile_uris_are_refused_by_their_form(client: Client, era: Era) -> None:
    answer = await search(client, top_k=1)
    session_id, passage_id = answer["session_id"], answer["results"][0]["passage_id"]
    hostile = [
        "",
        "/etc/passwd",
        "file:///etc/passwd",
        "winnow://help/sdk/../../secret",
        "winnow://help/SDK",
        f"winnow://scratch/{session_id}/{passage_id}/",
        f"winnow://scratch/{session_id}/{passage_id}?session_id=other",
        f"winnow://scratch/{session_id}/../{session_id}/{passage_id}",
        f"winnow://scratch//{session_id}/{passage_id}",
        f"winnow://scratch/{session_id}/{passage_id.upper()}W",
        f"http://scratch/{session_id}/{passage_id}",
        f"winnow://scratch/{session_id}/{passage_id}\n",
        f"winnow://scratch/{session_id}/%2e%2e",
        "winnow://scratch/{session_id}/{passage_id}",
        "\x1b[31mred\u202e",
        "winnow://scratch/" + "a" * 100_000,
    ]
    for uri in hostile:
        error = await refusal(client, uri)
        assert (error.code, error.data["details"]["reason"]) == (NOT_FOUND[era], "NOT_FOUND")
        assert "\x1b" not in error.message + error.data["uri"]
        assert len(error.message) < 500
        assert len(error.data["uri"]) <= 2_000


@given(st.text(max_size=60) | st.text(alphabet="winow:/scrath0123456789abv{}._%", max_size=60))
def test_any_text_is_a_page_or_is_refused(uri: str) -> None:
    session = PassageStore(10**6, 60).session("a")
    if uri in PAGES:
        assert read_resource(uri, ResourceContent(session.id), TOOLS, Settings()).contents
        return
    with pytest.raises(WinnowError) as caught:
        read_resource(uri, ResourceContent(session.id), TOOLS, Settings())
    assert caught.value.reason in ("SCOPE_VIOLATION", "NOT_FOUND")


def passage(text: str) -> Passage:
    document = Document("one", "handbook", "one.md", "notes", "One", "markdown", content_hash="")
    return Passage(Chunk("one", "one", 0, (), text, 0, len(text), 1), document)


def test_a_passage_leaves_without_escapes_and_within_its_bound() -> None:
    session = PassageStore(10**7, 60).session("a")
    coloured = session.keep(passage("\x1b[31mred\x1b[0m\x07 and \ud800"), "handbook")
    (contents,) = read_resource(coloured.uri, ResourceContent(session.id, coloured), TOOLS, Settings()).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.text == "red and \ufffd"
    long = session.keep(
        replace(passage(""), chunk=replace(passage("日本語" * 20_000).chunk, id="two")), "handbook"
    )
    (contents,) = read_resource(long.uri, ResourceContent(session.id, long), TOOLS, Settings()).contents
    assert isinstance(contents, TextResourceContents)
    assert MAX_EXCERPT_BYTES - 3 < len(contents.text.encode()) <= MAX_EXCERPT_BYTES
    assert ("日本語" * 20_000).startswith(contents.text)


async def test_a_server_without_scripts_has_no_sdk_page(application: Application) -> None:
    off = application.settings.model_copy(update={"execute_code": "off"})
    async with open_application(off, wait_for_model=False) as app:
        server = build_server(Dispatcher(app.context, app.settings), app)
        async with Client(server) as client:
            listed = (await client.list_resources()).resources
            assert [page.name for page in listed if page.uri.startswith("winnow:")] == ["playbook"]
            assert (await refusal(client, "winnow://help/sdk")).data["details"]["reason"] == "NOT_FOUND"
            assert "execute_code" not in await text_at(client, "winnow://help/playbook")


async def test_completion_offers_a_session_its_own_ids_and_nobody_else_s(server: Server[str], era: Era) -> None:
    template = ResourceTemplateReference(uri=URI_TEMPLATE)

    async def complete(client: Client, name: str, value: str, **filled: str) -> tuple[list[str], bool | None]:
        result = await client.complete(template, {"name": name, "value": value}, context_arguments=filled)
        return result.completion.values, result.completion.has_more

    async with Client(server, mode=era) as client, Client(server, mode=era) as other:
        assert await complete(client, "passage_id", "") == ([], False)
        theirs = await search(other)
        mine = await search(client, top_k=100, page_size=50, options={"max_per_doc": 100})
        session_id = mine["session_id"]
        ids = {row["passage_id"] for row in mine["results"]}
        assert len(ids) == 50
        assert await complete(client, "session_id", "") == ([session_id], False)
        assert await complete(client, "session_id", session_id[:3]) == ([session_id], False)
        assert await complete(client, "session_id", theirs["session_id"]) == ([], False)
        values, more = await complete(client, "passage_id", "")
        assert (set(values), more) == (ids, False)
        one = values[7]
        assert await complete(client, "passage_id", one[:9], session_id=session_id) == ([one], False)
        assert await complete(client, "passage_id", "", session_id=theirs["session_id"]) == ([], False)
        for wrong in ({"name": "project", "value": ""}, {"name": "", "value": "x" * 10_000}):
            with pytest.raises(MCPError) as caught:
                await client.complete(template, wrong)
            assert caught.value.code == INVALID_PARAMS
        with pytest.raises(MCPError):
            await client.complete(
                ResourceTemplateReference(uri="winnow://help/{page}"), {"name": "page", "value": ""}
            )


async def test_completion_stops_at_a_hundred_and_says_that_there_are_more(client: Client) -> None:
    ids: set[str] = set()
    for topic in ("backups", "networking", "billing", "onboarding", "incidents"):
        answer = await search(
            client, query=f"who handles {topic}", top_k=50, page_size=50, options={"max_per_doc": 50}
        )
        ids |= {row["passage_id"] for row in answer["results"]}
    assert len(ids) > 100
    result = await client.complete(
        ResourceTemplateReference(uri=URI_TEMPLATE), {"name": "passage_id", "value": ""}
    )
    assert len(result.completion.values) == len(set(result.completion.values) & ids) == 100
    assert result.completion.has_more is True


async def test_a_prompt_s_argument_completes_to_nothing_and_an_unknown_prompt_is_refused(client: Client) -> None:
    argument = {"name": "question", "value": "how"}
    result = await client.complete(PromptReference(name="answer_question"), argument)
    assert result.completion.values == []
    with pytest.raises(MCPError) as caught:
        await client.complete(PromptReference(name="no_such_prompt"), argument)
    assert caught.value.code == INVALID_PARAMS


async def test_a_client_that_reads_too_often_is_told_when_to_come_back_and_others_are_not(
    server: Server[str], era: Era
) -> None:
    async with Client(server, mode=era) as eager, Client(server, mode=era) as patient:
        for _ in range(Settings().reads_per_minute):
            await eager.read_resource("winnow://help/playbook", cache_mode="bypass")
        with pytest.raises(MCPError) as caught:
            await eager.read_resource("winnow://help/playbook", cache_mode="bypass")
        assert (caught.value.code, caught.value.data["details"]["reason"]) == (INTERNAL_ERROR, "RATE_LIMIT")
        assert 0 < caught.value.data["details"]["retry_after_s"] <= 60
        assert await text_at(patient, "winnow://help/playbook")


# --- HTTP: one application, many clients --------------------------------------------------------------------


@asynccontextmanager
async def http(server: Server[str]) -> AsyncIterator[str]:
    """The server's address on loopback."""
    async with serve(server) as (host, port):
        yield f"http://{host}:{port}{PATH}"


async def test_http_clients_of_the_handshake_era_have_a_session_each(server: Server[str]) -> None:
    async with http(server) as url, Client(url, mode="legacy") as a, Client(url, mode="legacy") as b:
        of_a, of_b = await search(a), await search(b)
        assert of_a["session_id"] != of_b["session_id"] == (await search(b))["session_id"]
        uri = of_a["results"][0]["scratch_uri"]
        assert await text_at(a, uri)
        assert (await refusal(b, uri)).data["code"] == "SCOPE_VIOLATION"


async def test_http_requests_of_the_handshake_era_with_an_invented_session_or_none_read_nothing(
    server: Server[str],
) -> None:
    """The session of a call depends on the SDK's check of that header."""
    async with http(server) as url, Client(url, mode="legacy") as client, httpx2.AsyncClient() as raw:
        row = (await search(client))["results"][0]
        request = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": row["scratch_uri"]}}
        for forged in ({"mcp-session-id": "0" * 32}, {"mcp-session-id": ""}, {}):
            headers = {"accept": "application/json, text/event-stream", **forged}
            response = await raw.post(url, json=request, headers=headers)
            assert "AES-256" not in response.text
            assert response.status_code in (400, 404), response.text


async def test_http_requests_of_the_2026_protocol_have_sessions_of_their_own_and_cannot_name_another(
    server: Server[str],
) -> None:
    """The session header is not checked in that protocol: it must not select a session."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(http(server))
        headers: list[str] = []

        async def note(response: httpx2.Response) -> None:
            headers.extend(response.headers.get_list("mcp-session-id"))

        listening = await stack.enter_async_context(httpx2.AsyncClient(event_hooks={"response": [note]}))
        transport = streamable_http_client(url, http_client=listening)
        old = await stack.enter_async_context(Client(transport, mode="legacy"))
        theirs = await search(old)
        forging = httpx2.AsyncClient(headers={"mcp-session-id": headers[0]})
        transport = streamable_http_client(url, http_client=await stack.enter_async_context(forging))
        forger = await stack.enter_async_context(Client(transport, mode="2026-07-28"))
        plain = await stack.enter_async_context(Client(url, mode="2026-07-28"))
        sessions = {theirs["session_id"], *[(await search(one))["session_id"] for one in (forger, plain)]}
        assert len(sessions) == 3
        refused = await refusal(forger, theirs["results"][0]["scratch_uri"])
        assert refused.data["code"] == "SCOPE_VIOLATION"
