"""HTTP with keys: who is let in, on every route, and what a key may do."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import Tool
from starlette.types import Receive, Scope, Send

from tests.certificates import make_certificate
from tests.serving import serve
from tests.two_projects import BLUE, QUESTION, RED, WORDS, Client, make_client, make_store
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.errors import WinnowError
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.reports.readiness import Readiness
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_file import FILE, read_keys, replace_keys, revoke_key, rotate_key
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.storage.keys.records import KeyText
from winnow.server.transports.access.authentication import KEYS_UNUSABLE, Authentication
from winnow.server.transports.access.failed_attempts import FREE_ATTEMPTS
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.addresses import parse_networks
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.facade.routes import describe_refusal
from winnow.server.transports.http import PATH
from winnow.server.transports.operating.pages import Operations
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

ROUTES = (PATH, "/health", "/metrics", "/nowhere", "/")
METHODS = ("GET", "POST", "DELETE", "PUT", "OPTIONS", "HEAD")
SEARCH = {"query": QUESTION}
PAGE = Path(__file__).parents[2] / "docs" / "hosting.md"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return make_store(tmp_path_factory.mktemp("keys")).model_copy(update={"execute_code": "off"})


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    async with open_application(settings, wait_for_model=False, starts_engine=True) as app:
        await app.kb.open()
        yield app


@pytest.fixture
def keys(settings: Settings, tmp_path: Path) -> Path:
    """A folder with a file of keys of its own: a test may change it."""
    return tmp_path


@pytest.fixture
def red(keys: Path) -> Client:
    return make_client(keys, "red", RED)


@pytest.fixture
def access(keys: Path, red: Client) -> HttpAccess:
    return HttpAccess(KeyRing(keys), (RED, BLUE))


def server_of(application: Application) -> Server[str]:
    return build_server(Dispatcher(application.context, application.settings), application)


def operations_of(application: Application) -> Operations:
    return Operations(application.health, readiness=application.readiness, figures=application.figures)


@asynccontextmanager
async def requests(application: Application, access: HttpAccess) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server with these rules."""
    async with (
        serve(server_of(application), access=access, operations=operations_of(application)) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
    ):
        yield http


@asynccontextmanager
async def connected(http: httpx2.AsyncClient, client: Client, mode: str = "auto") -> AsyncIterator[McpClient]:
    """An MCP client with a key."""
    async with httpx2.AsyncClient(headers=client.headers, timeout=60) as own:
        transport = streamable_http_client(f"{http.base_url}{PATH}", http_client=own)
        async with McpClient(transport, mode=mode) as mcp:
            yield mcp


async def reason_of(mcp: McpClient, tool: str, **arguments: Any) -> str:
    """The reason of a refused call, "" for an answer."""
    result = await mcp.call_tool(tool, arguments)
    assert result.structured_content is not None
    error = result.structured_content.get("error")
    return str(error["details"]["reason"]) if error else ""


async def test_without_a_key_every_route_and_method_is_a_bare_401(
    application: Application, access: HttpAccess
) -> None:
    async with requests(application, access) as http:
        for method in METHODS:
            for route in ROUTES:
                answer = await http.request(method, route)
                told = answer.status_code, answer.headers["www-authenticate"]
                assert (method, route, *told) == (method, route, 401, "Bearer")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_probes_need_no_key_and_learn_nothing_but_whether_the_server_runs(
    application: Application, access: HttpAccess, red: Client, keys: Path, method: str
) -> None:
    operator = make_client(keys, "operator")
    async with requests(application, access) as http:
        for route, state in (("/health/live", "ok"), ("/health/ready", "ready")):
            answer = await http.request(method, route)
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
            assert method == "HEAD" or answer.json() == {"status": state}
        assert (await http.get("/health/ready", headers=red.headers)).json() == {"status": "ready"}
        told = (await http.get("/health/ready", headers=operator.headers)).json()
        assert told == {"status": "ready", "reasons": []}


async def test_what_resembles_a_probe_needs_a_key(application: Application, access: HttpAccess) -> None:
    async with requests(application, access) as http:
        for method in ("POST", "DELETE", "PUT", "OPTIONS", "TRACE"):
            assert (await http.request(method, "/health/live")).status_code == 401
        for route in (
            "/health/live/",
            "/health/live/x",
            "/health/ready/../../metrics",
            "/health/Live",
            "/health/",
        ):
            assert (await http.get(route)).status_code == 401
        assert (await http.get("/health/live", headers={"x-api-key": str(KeyText.create())})).status_code == 401
        assert (await http.get(f"/health/live?key={KeyText.create()}")).status_code == 400


async def test_a_server_that_cannot_open_its_store_is_alive_and_not_ready(
    application: Application, access: HttpAccess, keys: Path
) -> None:
    async def fail() -> None:
        raise WinnowError("INDEX_HELD", "another process holds /srv/private")

    operations = replace(operations_of(application), readiness=Readiness(fail, Drain()))
    operator = make_client(keys, "operator")
    async with (
        serve(server_of(application), access=access, operations=operations) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
    ):
        assert (await http.get("/health/live")).status_code == 200
        answer = await http.get("/health/ready")
        assert (answer.status_code, answer.json()) == (503, {"status": "not ready"})
        told = (await http.get("/health/ready", headers=operator.headers)).json()
        assert told["reasons"] == ["another process holds /srv/private"]


async def test_the_metrics_of_a_server_count_its_calls_its_refusals_and_what_it_holds(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    operator = make_client(keys, "operator")
    operations = replace(operations_of(application), metrics=application.kb.metrics)
    async with (
        serve(server_of(application), access=access, operations=operations) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
    ):

        async def read() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
            text = (await http.get("/metrics", headers=operator.headers)).text
            samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
            return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}

        def of(name: str, **labels: str) -> float:
            return after.get((name, frozenset(labels.items())), 0) - before.get(
                (name, frozenset(labels.items())), 0
            )

        before = await read()
        async with connected(http, red) as mcp:
            answers = [await mcp.call_tool("kb_search", SEARCH) for _ in range(3)]
            await mcp.call_tool("kb_read_excerpt", {"passage_id": "unknown"})
            with pytest.raises(MCPError):
                await mcp.read_resource("winnow://nowhere")
        assert (await http.get("/health")).status_code == 401
        after = await read()
    tokens = sum(answer.structured_content["meta"]["usage"]["tokens"] for answer in answers)
    assert of("winnow_calls_total", tool="kb.search", verdict="ok") == 3
    assert of("winnow_answer_tokens_total", tool="kb.search") == tokens
    assert of("winnow_call_seconds_count", tool="kb.search") == 3
    assert of("winnow_refusals_total", door="call", reason="NOT_FOUND") == 1
    assert sum(of(name, **dict(labels)) for name, labels in after if ("door", "read") in labels) == 1
    assert of("winnow_refusals_total", door="http", reason="unauthorized") >= 1
    looked_up = {
        result: of("winnow_cache_lookups_total", cache="rankings", result=result) for result in ("hit", "miss")
    }
    assert looked_up == {"hit": 2, "miss": 1}  # in the key's own cache
    assert after["winnow_index_documents", frozenset({("project", RED)})] > 0
    assert {"catalogue", "vectors", "graph"} == {
        dict(labels)["part"] for name, labels in after if name == "winnow_store_bytes"
    }


async def test_routes_of_oauth_are_a_404_in_json_with_and_without_a_key(
    application: Application, access: HttpAccess, red: Client
) -> None:
    routes = ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server")
    async with requests(application, access) as http:
        for route in (*routes, "openid-configuration"):
            for headers in ({}, red.headers):
                answer = await http.get(f"/.well-known/{route}", headers=headers)
                assert (answer.status_code, answer.json()["error"]["status"]) == (404, 404)
                assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER  {}"])
async def test_a_key_is_taken_in_either_header(
    application: Application, access: HttpAccess, red: Client, form: str
) -> None:
    async with requests(application, access) as http:
        for headers in ({"authorization": form.format(red.text)}, {"x-api-key": red.text}):
            assert (await http.get("/health", headers=headers)).status_code == 200
            # A wrong method is reported to clients with a valid key only.
            assert (await http.put(PATH, headers=headers)).status_code == 405


async def test_the_headers_that_the_page_gives_to_clients_carry_a_key(
    application: Application, access: HttpAccess, red: Client
) -> None:
    """Clients put their key where an example has a variable or the name of a prompt."""
    blocks = re.findall(r"^```json\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    configurations = [json.loads(block) for block in blocks]
    servers = [config.get("mcpServers", config.get("servers"))["winnow"] for config in configurations]
    assert len(servers) == 2  # Claude Code and VS Code
    async with requests(application, access) as http:
        for server in servers:
            assert httpx2.URL(server["url"]).path == PATH
            sent = {name: re.sub(r"\$\{.+?\}", red.text, value) for name, value in server["headers"].items()}
            assert (await http.get("/health", headers=sent)).status_code == 200
            assert (await http.get("/health", headers=server["headers"])).status_code == 401


async def test_looking_for_oauth_with_a_wrong_key_costs_one_attempt_for_each_call(
    application: Application, access: HttpAccess, red: Client
) -> None:
    """VS Code sends its key to the well-known routes, too, and none to `/register`."""
    wrong = {"x-api-key": str(KeyText.create())}
    routes = ("oauth-protected-resource/mcp", "oauth-authorization-server", "openid-configuration")
    async with requests(application, access) as http:
        for _ in range(FREE_ATTEMPTS):  # more than these, and the address would have to wait
            assert (await http.post(PATH, headers=wrong)).status_code == 401
            for route in routes:
                assert (await http.get(f"/.well-known/{route}", headers=wrong)).status_code == 404
            assert (await http.post("/register", json={})).status_code == 401
        assert (await http.post(PATH, headers=wrong)).status_code == 401


async def test_a_wrong_key_is_refused_whatever_is_wrong(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    old = make_client(keys, "old", expires_at=int(time.time()) - 1)
    gone, turned = make_client(keys, "gone"), make_client(keys, "turned")
    revoke_key(keys, "gone", int(time.time()))
    rotate_key(keys, "turned", int(time.time()))
    wrong = red.text[:-1] + ("0" if red.text[-1] != "0" else "1")
    texts = (
        "",
        "x",
        red.text[:-1],
        red.text.upper(),
        wrong,
        str(KeyText.create()),
        old.text,
        gone.text,
        turned.text,
    )
    schemes = (f"Basic {red.text}", red.text, f"Bearer {red.text} {red.text}", f"Bearer{red.text}", "Bearer")
    for headers in (
        *({"x-api-key": text} for text in texts),
        *({"authorization": f"Bearer {text}"} for text in texts[1:]),
        *({"authorization": scheme} for scheme in schemes),
    ):
        # A server of its own for each, because an address with wrong keys has to wait.
        async with requests(application, access) as http:
            answer = await http.get("/health", headers=headers)
        assert (headers, answer.status_code, answer.headers["www-authenticate"]) == (headers, 401, "Bearer")


async def test_two_keys_in_one_request_are_refused(
    application: Application, access: HttpAccess, red: Client
) -> None:
    async with requests(application, access) as http:
        both = [("authorization", f"Bearer {red.text}"), ("x-api-key", red.text)]
        for headers in (both, [both[0], both[0]], [both[1], both[1]]):
            answer = await http.get("/health", headers=headers)
            assert (answer.status_code, "one key" in answer.text) == (400, True)


async def test_a_key_in_the_url_is_refused_and_said_so(
    application: Application, access: HttpAccess, red: Client
) -> None:
    queries = ("key=x", "api_key=x", "apikey=x", "x-api-key=x", "access_token=x", "a=1&token=x", f"a={red.text}")
    async with requests(application, access) as http:
        for route in (
            *(f"/health?{query}" for query in queries),
            f"/{red.text}",
            f"/health?a=winnow%5f{red.text[7:]}",
        ):
            answer = await http.get(route, headers=red.headers)
            assert (route, answer.status_code, "rotate" in answer.text) == (route, 400, True)
        for route in (f"/health?a={red.text[:-1]}", "/health?monkey=x", "/health"):
            assert (await http.get(route, headers=red.headers)).status_code == 200


async def test_revoked_rotated_and_added_keys_count_from_the_next_request_on(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    async with requests(application, access) as http:
        assert (await http.get("/health", headers=red.headers)).status_code == 200
        _, text = rotate_key(keys, "red", int(time.time()))
        assert (await http.get("/health", headers=red.headers)).status_code == 401
        rotated = {"x-api-key": str(text)}
        assert (await http.get("/health", headers=rotated)).status_code == 200
        revoke_key(keys, "red", int(time.time()))
        assert (await http.get("/health", headers=rotated)).status_code == 401
        later = make_client(keys, "later")
        assert (await http.get("/health", headers=later.headers)).status_code == 200


async def test_a_server_that_needed_keys_never_does_without(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    async with requests(application, access) as http:
        assert (await http.get("/health", headers=red.headers)).status_code == 200
        (keys / FILE).rename(keys / "moved")
        assert (await http.get("/health")).status_code == 503
        assert (await http.get("/health", headers=red.headers)).status_code == 503
        (keys / FILE).write_text("{")
        for headers in ({}, red.headers):
            answer = await http.get("/health", headers=headers)
            assert (answer.status_code, str(keys) in answer.text) == (503, False)
        (keys / FILE).unlink()
        (keys / "moved").rename(keys / FILE)
        assert (await http.get("/health", headers=red.headers)).status_code == 200


@pytest.mark.parametrize("loss", ["gone", "older"])
async def test_a_server_whose_keys_are_lost_is_not_ready_and_logs_the_loss_and_its_end_once(
    application: Application,
    access: HttpAccess,
    red: Client,
    keys: Path,
    loss: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def logged() -> list[str]:
        return [f"{line.levelname} {line.message}" for line in caplog.records if " be used" in line.message]

    older = (keys / FILE).read_bytes()
    make_client(keys, "later")
    now = (keys / FILE).read_bytes()
    with caplog.at_level("INFO", "winnow"):
        async with requests(application, access) as http:
            assert (await http.get("/health/ready")).json() == {"status": "ready"}
            (keys / FILE).unlink()
            if loss == "older":
                (keys / FILE).write_bytes(older)
                (keys / FILE).chmod(0o600)
            for _ in range(2):
                answer = await http.get("/health/ready")
                assert (answer.status_code, answer.json()) == (
                    503,
                    {"status": "not ready", "reasons": [KEYS_UNUSABLE]},
                )
                assert (await http.get("/health", headers=red.headers)).status_code == 503
            assert logged() == ["ERROR the keys cannot be used, so every key is refused"]
            (keys / FILE).write_bytes(now)
            (keys / FILE).chmod(0o600)
            assert (await http.get("/health/ready")).json() == {"status": "ready"}
            assert (await http.get("/health", headers=red.headers)).status_code == 200
    assert logged()[1:] == ["INFO the keys can be used again"]


async def test_a_store_without_keys_serves_every_client_until_it_has_one(
    application: Application, keys: Path
) -> None:
    async with requests(application, HttpAccess(KeyRing(keys), (RED,))) as http:
        assert (await http.get("/health?key=x")).status_code == 200
        assert (await http.get("/.well-known/oauth-protected-resource")).status_code == 404
        client = make_client(keys, "first")
        assert (await http.get("/health")).status_code == 401
        assert (await http.get("/health", headers=client.headers)).status_code == 200


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_revoked_key_ends_open_streams_and_its_session(
    application: Application, access: HttpAccess, red: Client, keys: Path, mode: str
) -> None:
    async with requests(application, access) as http, connected(http, red, mode) as mcp:
        assert await reason_of(mcp, "kb_search", **SEARCH) == ""
        waiting = asyncio.create_task(_end_of_stream(http, red))
        await asyncio.sleep(0.1)
        revoke_key(keys, "red", int(time.time()))
        assert await asyncio.wait_for(waiting, 30) in ("ended", "refused")
        with pytest.raises(Exception):  # noqa: B017 - each version of the SDK raises its own
            await mcp.call_tool("kb_search", SEARCH)


async def _end_of_stream(http: httpx2.AsyncClient, client: Client) -> str:
    """Begin a session and listen to its events; how that ended."""
    headers = {
        **client.headers,
        "accept": "text/event-stream",
        "mcp-session-id": await _begin_session(http, client),
    }
    async with http.stream("GET", PATH, headers=headers) as events:
        async for _ in events.aiter_bytes():
            pass
        return "ended" if events.status_code == 200 else "refused"


async def test_a_session_is_of_the_key_that_began_it(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    blue = make_client(keys, "blue", BLUE)
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    async with requests(application, access) as http, connected(http, red, "legacy") as mcp:
        assert (await mcp.list_tools()).tools
        begun = await _begin_session(http, red)
        for client, status in ((red, 200), (blue, 404)):
            headers = {**client.headers, "accept": "application/json, text/event-stream", "mcp-session-id": begun}
            assert (await http.post(PATH, json=listing, headers=headers)).status_code == status
        anonymous = {"accept": "application/json, text/event-stream", "mcp-session-id": begun}
        assert (await http.post(PATH, json=listing, headers=anonymous)).status_code == 401


async def _begin_session(http: httpx2.AsyncClient, client: Client) -> str:
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {**client.headers, "accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    answer = await http.post(PATH, json=body, headers=headers)
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    session = str(answer.headers["mcp-session-id"])
    await http.post(PATH, json=ready, headers={**headers, "mcp-session-id": session})
    return session


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_all_sessions_of_a_key_share_one_limit_and_one_session(
    application: Application, keys: Path, mode: str
) -> None:
    slow, other = make_client(keys, "slow", RED, calls_per_minute=3), make_client(keys, "other", RED)
    async with requests(application, HttpAccess(KeyRing(keys), (RED, BLUE))) as http:
        shown = []
        for _ in range(3):
            async with connected(http, slow, mode) as mcp:
                result = await mcp.call_tool("kb_search", SEARCH)
                assert result.structured_content is not None
                shown.append((result.structured_content["session_id"], result.is_error))
        assert shown == [(shown[0][0], False)] * 3
        async with connected(http, slow, mode) as mcp:
            result = await mcp.call_tool("kb_search", SEARCH)
            assert result.structured_content is not None
            details = result.structured_content["error"]["details"]
            assert (details["reason"], 0 < details["retry_after_s"] <= 60) == ("RATE_LIMIT", True)
        async with connected(http, other, mode) as mcp:
            assert await reason_of(mcp, "kb_search", **SEARCH) == ""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_refused_call_states_its_wait_in_the_head_of_its_answer(
    application: Application, keys: Path, mode: str
) -> None:
    slow = make_client(keys, "slow", RED, calls_per_minute=1)
    heads: list[tuple[str, str]] = []

    async def note(answer: httpx2.Response) -> None:
        heads.append((answer.headers.get("content-type", ""), answer.headers.get("retry-after", "")))

    async with (
        requests(application, HttpAccess(KeyRing(keys), (RED,))) as http,
        httpx2.AsyncClient(headers=slow.headers, timeout=60, event_hooks={"response": [note]}) as own,
        McpClient(streamable_http_client(f"{http.base_url}{PATH}", http_client=own), mode=mode) as mcp,
    ):
        assert await reason_of(mcp, "kb_search", **SEARCH) == ""
        assert {wait for _, wait in heads} == {""}
        assert await reason_of(mcp, "kb_search", **SEARCH) == "RATE_LIMIT"
        assert [0 < int(wait) <= 60 for _, wait in heads if wait] == [True]


async def test_a_read_only_key_neither_sees_nor_calls_what_writes(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    reader = make_client(keys, "reader", RED, read_only=True)
    writing = {"ingest_from_source", "job_cancel", "wild_write", "wild_revise"}
    async with requests(application, access) as http:
        for client, listed in ((red, writing), (reader, set())):
            async with connected(http, client) as mcp:
                tools = {
                    tool.name for tool in (await mcp.list_tools()).tools if not tool.annotations.read_only_hint
                }
                assert tools == listed
                reason = await reason_of(mcp, "job_cancel", job_id="job_" + "0" * 32)
                assert reason == ("NOT_FOUND" if listed else "SCOPE_VIOLATION")
                assert await reason_of(mcp, "kb_search", **SEARCH) == ""


def _is_read_only(tool: Tool) -> bool:
    return tool.annotations is not None and bool(tool.annotations.read_only_hint)


async def test_a_key_narrows_the_projects_of_the_server(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    blue, both = make_client(keys, "blue", BLUE, "elsewhere"), make_client(keys, "both")
    async with requests(application, access) as http:
        for client, projects in ((red, [RED]), (blue, [BLUE]), (both, [BLUE, RED])):
            async with connected(http, client) as mcp:
                result = await mcp.call_tool("list_projects", {})
                assert result.structured_content is not None
                assert sorted(row["id"] for row in result.structured_content["projects"]) == projects
                found = json.dumps((await mcp.call_tool("kb_search", SEARCH)).structured_content)
                own = RED if RED in projects else BLUE
                assert [word in found for word in WORDS.values()] == [name == own for name in WORDS]
        stranger = make_client(keys, "stranger", "elsewhere")
        assert (await http.get("/health", headers=stranger.headers)).status_code == 403


async def test_a_key_for_some_projects_does_not_read_the_counters_of_all(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    operator = make_client(keys, "operator")
    async with requests(application, access) as http:
        assert (await http.get("/metrics", headers=red.headers)).status_code == 403
        assert (await http.get("/health", headers=red.headers)).json().keys() == {"status", "version"}
        assert (await http.get("/metrics", headers=operator.headers)).status_code == 200


async def test_wrong_keys_make_their_address_wait_and_known_keys_there_go_on(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    fresh = make_client(keys, "fresh")
    async with requests(application, access) as http:
        assert (await http.get("/health", headers=red.headers)).status_code == 200
        statuses = [await _try(http, str(KeyText.create())) for _ in range(FREE_ATTEMPTS + 5)]
        assert statuses[: FREE_ATTEMPTS + 1] == [(401, "")] * (FREE_ATTEMPTS + 1)
        assert {status for status, _ in statuses[FREE_ATTEMPTS + 1 :]} == {429}
        assert all(int(seconds) >= 1 for _, seconds in statuses[FREE_ATTEMPTS + 1 :])
        # A valid key that was not seen before waits as well: otherwise its answer would tell that it is valid.
        assert (await _try(http, fresh.text))[0] == 429
        assert (await _try(http, red.text))[0] == 200
        make_client(keys, "another")
        rotate_key(keys, "fresh", int(time.time()))
        assert (await _try(http, red.text))[0] == 200
        rotate_key(keys, "red", int(time.time()))
        assert (await _try(http, red.text))[0] in {401, 429}


@pytest.mark.parametrize("end", ["revoked", "rotated", "expired"])
async def test_a_client_that_goes_on_with_its_former_key_does_not_lock_out_the_new_one(
    application: Application, access: HttpAccess, red: Client, keys: Path, end: str
) -> None:
    """At one address, where such a client tries again and again. Another secret is a guess as before."""
    now = int(time.time())
    former = make_client(keys, "former", **({"expires_at": now - 1} if end == "expired" else {}))
    if end == "revoked":
        revoke_key(keys, "former", now)
    elif end == "rotated":
        rotate_key(keys, "former", now)
        rotate_key(keys, "former", now)
    guess = former.text[:-1] + ("0" if former.text[-1] != "0" else "1")
    async with requests(application, access) as http:
        assert [await _try(http, former.text) for _ in range(FREE_ATTEMPTS + 5)] == [(401, "")] * (
            FREE_ATTEMPTS + 5
        )
        assert (await _try(http, red.text))[0] == 200
        told = (await http.get("/health", headers={"x-api-key": former.text})).json()["error"]["message"]
        assert "has ended" in told
        statuses = [(await _try(http, guess))[0] for _ in range(FREE_ATTEMPTS + 2)]
        assert statuses == [401] * (FREE_ATTEMPTS + 1) + [429]
        assert (await _try(http, former.text))[0] == 401


async def test_a_key_that_a_backup_brings_back_is_accepted_again(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    kept = read_keys(keys)
    revoke_key(keys, "red", int(time.time()))
    async with requests(application, access) as http:
        assert (await _try(http, red.text))[0] == (await _try(http, red.text))[0] == 401
        replace_keys(keys, kept)
        assert (await _try(http, red.text))[0] == 200


async def test_a_call_whose_key_is_revoked_meanwhile_is_refused_in_words(keys: Path, red: Client) -> None:
    """In JSON, as any other refusal, on both doors."""
    begun = asyncio.Event()

    async def answer_late(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await asyncio.sleep(600)

    guarded = Authentication(answer_late, HttpAccess(KeyRing(keys), (RED, BLUE)), describe_refusal)
    transport = httpx2.ASGITransport(guarded)
    async with httpx2.AsyncClient(transport=transport, base_url="http://here", headers=red.headers) as http:
        calls = [asyncio.create_task(http.post(path)) for path in (PATH, "/mcp/tool/kb.search/1")]
        await begun.wait()
        revoke_key(keys, "red", int(time.time()))
        mcp, facade = [await call for call in calls]
    assert [answer.status_code for answer in (mcp, facade)] == [401, 401]
    assert "has ended" in mcp.json()["error"]["message"]
    assert "has ended" in facade.json()["errors"][0]["message"]


async def test_a_proxy_that_was_not_named_is_logged_once(
    application: Application, access: HttpAccess, red: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise all its clients share one limit, and nothing says why."""
    caplog.set_level("WARNING", "winnow")
    for proxies, count in ((("127.0.0.1",), 0), ((), 1)):
        caplog.clear()
        rules = replace(access, proxies=parse_networks("--trusted-proxy", [*proxies]))
        async with requests(application, rules) as http:
            for _ in range(3):
                headers = {**red.headers, "x-forwarded-for": "192.0.2.9"}
                assert (await http.get("/health", headers=headers)).status_code == 200
        told = [record for record in caplog.records if "X-Forwarded-For" in record.getMessage()]
        assert [record.fields["address"] for record in told] == ["127.0.0.1"] * count


async def _try(http: httpx2.AsyncClient, key: str) -> tuple[int, str]:
    answer = await http.get("/health", headers={"x-api-key": key})
    return answer.status_code, answer.headers.get("retry-after", "")


PROXIES: Mapping[str, tuple[str, int]] = {
    "192.0.2.9": (("192.0.2.9"), 200),
    "198.51.100.1, 192.0.2.9": ("192.0.2.9", 200),  # what a client claims comes first
    "192.0.2.9, 127.0.0.1": ("192.0.2.9", 200),  # through two known proxies
    "192.0.2.9, 198.51.100.1": ("198.51.100.1", 403),
    "192.0.2.9, nonsense": ("127.0.0.1", 403),
    "": ("127.0.0.1", 403),
}


@pytest.mark.parametrize("stated", PROXIES)
async def test_a_proxys_word_decides_which_address_is_allowed(
    application: Application, access: HttpAccess, red: Client, stated: str
) -> None:
    allowed = parse_networks("--allow-address", ["192.0.2.0/24"])
    rules = replace(access, allowed=allowed, proxies=parse_networks("--trusted-proxy", ["127.0.0.1"]))
    headers = {**red.headers, **({"x-forwarded-for": stated} if stated else {})}
    async with requests(application, rules) as http:
        assert (await http.get("/health", headers=headers)).status_code == PROXIES[stated][1]
    # Without a known proxy the header is what a client claims.
    async with requests(application, replace(rules, proxies=())) as http:
        assert (await http.get("/health", headers=headers)).status_code == 403


async def test_hosts_and_pages_are_checked_before_keys(
    application: Application, access: HttpAccess, red: Client
) -> None:
    rules = replace(access, always_needs_keys=True, host_names=frozenset({"winnow.example.com"}))
    async with requests(application, rules) as http:
        for host, status in (("winnow.example.com", 200), ("WINNOW.example.com.:443", 200), ("evil.example", 421)):
            answer = await http.get("/health", headers={**red.headers, "host": host})
            assert (host, answer.status_code) == (host, status)
        for origin, status in (
            ("https://winnow.example.com", 200),
            ("https://evil.example", 403),
            ("https://winnow.example.com.evil.example", 403),
            ("null", 403),
        ):
            for route in ("/health", PATH, "/nowhere"):
                answer = await http.request("GET", route, headers={**red.headers, "origin": origin})
                refused = answer.status_code == 403
                assert (origin, route, refused) == (origin, route, status == 403)


async def test_a_server_with_a_certificate_speaks_tls_alone(
    application: Application, access: HttpAccess, red: Client, keys: Path
) -> None:
    certificate = make_certificate(keys)
    trusted = ssl.create_default_context(cafile=str(certificate.file))
    serving = serve(server_of(application), access=access, certificate=certificate)
    async with serving as (_, port), httpx2.AsyncClient(verify=trusted, headers=red.headers, timeout=60) as http:
        assert (await http.get(f"https://localhost:{port}/health")).status_code == 200
        transport = streamable_http_client(f"https://localhost:{port}{PATH}", http_client=http)
        async with McpClient(transport) as mcp:
            assert await reason_of(mcp, "kb_search", **SEARCH) == ""
        with pytest.raises(httpx2.TransportError):
            await http.get(f"http://localhost:{port}/health")
