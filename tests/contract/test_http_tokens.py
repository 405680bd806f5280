"""HTTP with tokens of an issuer: where clients get them, who is let in, and what a token may do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from tests.oidc_issuer import AUDIENCE, Issuer, serve_issuer
from tests.serving import serve
from tests.two_projects import BLUE, QUESTION, RED, make_client, make_store
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.access.failed_attempts import FREE_ATTEMPTS
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.addresses import parse_networks
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.http import PATH
from winnow.server.transports.oidc.records import OidcOptions
from winnow.server.transports.oidc.token_rules import TokenRule
from winnow.server.transports.oidc.tokens import SKEW_SECONDS, TokenVerifier, identify
from winnow.server.transports.operating.pages import Operations
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

ROUTES = (PATH, "/health", "/metrics", "/nowhere", "/")
METADATA = ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp")
RULES = (
    TokenRule(claim="sub", value="mallory", refuse=True),
    TokenRule(claim="team", value="red", projects=(RED,), calls_per_minute=3),
    TokenRule(claim="team", value="blue", projects=(BLUE,), read_only=False),
    TokenRule(claim="team", value="elsewhere", projects=("elsewhere",)),
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return make_store(tmp_path_factory.mktemp("tokens")).model_copy(update={"execute_code": "off"})


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    async with open_application(settings, wait_for_model=False, starts_engine=True) as app:
        await app.kb.open()
        yield app


@pytest.fixture(scope="module")
async def issuer() -> AsyncIterator[Issuer]:
    async with serve_issuer() as running:
        yield running


@pytest.fixture
def access(issuer: Issuer, tmp_path: Path) -> HttpAccess:
    options = OidcOptions(issuer.address, AUDIENCE, ("kb:read",), RULES)
    proxies = parse_networks("--trusted-proxy", ["192.0.2.1"])
    tokens = TokenVerifier(options)
    return HttpAccess(KeyRing(tmp_path), (RED, BLUE), always_needs_keys=True, proxies=proxies, tokens=tokens)


def token(issuer: Issuer, team: str = "red", **claims: object) -> dict[str, str]:
    """The header with a token of this team."""
    return {"authorization": f"Bearer {issuer.token(team=team, scope='kb:read', **claims)}"}


@asynccontextmanager
async def requests(
    application: Application, access: HttpAccess, settings: Settings | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server with these rules; ``settings`` replaces those of its limits."""
    server = build_server(Dispatcher(application.context, settings or application.settings), application)
    operations = Operations(application.health, readiness=application.readiness, figures=application.figures)
    async with (
        serve(server, access=access, operations=operations) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
    ):
        yield http


@asynccontextmanager
async def connected(
    http: httpx2.AsyncClient, headers: dict[str, str], mode: str = "auto"
) -> AsyncIterator[McpClient]:
    """An MCP client with a token."""
    async with httpx2.AsyncClient(headers=headers, timeout=60) as own:
        transport = streamable_http_client(f"{http.base_url}{PATH}", http_client=own)
        async with McpClient(transport, mode=mode) as mcp:
            yield mcp


async def test_the_metadata_names_the_resource_as_the_client_reaches_it_and_the_issuer(
    application: Application, access: HttpAccess, issuer: Issuer
) -> None:
    async with requests(application, access) as http:
        host = f"{http.base_url.host}:{http.base_url.port}"
        for route in METADATA:
            answer = await http.get(route)
            assert answer.json() == {
                "resource": f"https://{host}/mcp",
                "resource_name": "winnow",
                "authorization_servers": [issuer.address],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["kb:read"],
            }
            assert (await http.post(route)).status_code == 405
            assert (await http.get(route, headers={"host": "evil.example"})).status_code == 421
            assert (await http.get(route, headers={"origin": "https://evil.example"})).status_code == 403
        for route in ("/.well-known/oauth-authorization-server", f"{METADATA[0]}/other"):
            answer = await http.get(route)
            assert (answer.status_code, "is no issuer" in answer.text) == (404, True)
            assert answer.json()["error"]["message"].split()[-1] in METADATA


async def test_without_a_token_every_route_says_where_to_get_one(
    application: Application, access: HttpAccess
) -> None:
    async with requests(application, access) as http:
        host = f"{http.base_url.host}:{http.base_url.port}"
        for method in ("GET", "POST", "DELETE", "PUT"):
            for route in ROUTES:
                answer = await http.request(method, route)
                assert (method, route, answer.status_code) == (method, route, 401)
                assert answer.headers["www-authenticate"] == (
                    f'Bearer scope="kb:read", resource_metadata="https://{host}{METADATA[1]}"'
                )


async def test_a_token_without_scope_rule_or_project_is_a_403_and_a_wrong_one_a_401(
    application: Application, access: HttpAccess, issuer: Issuer
) -> None:
    async with requests(application, access) as http:
        for headers, status, error in (
            (token(issuer), 200, ""),
            ({"authorization": f"Bearer {issuer.token(team='red')}"}, 403, "insufficient_scope"),
            (token(issuer, "green"), 403, "insufficient_scope"),
            (token(issuer, sub="mallory"), 403, "insufficient_scope"),
            (token(issuer, "elsewhere"), 403, ""),
            (token(issuer, aud="https://other.example"), 401, "invalid_token"),
            (token(issuer, exp=int(time.time()) - 600), 401, "invalid_token"),
            ({"x-api-key": issuer.token(team="red", scope="kb:read")}, 401, ""),
        ):
            answer = await http.get("/health", headers=headers)
            told = answer.headers.get("www-authenticate", "")
            assert (answer.status_code, f'error="{error}"' in told) == (status, bool(error))


async def test_a_token_in_the_url_is_refused(application: Application, access: HttpAccess, issuer: Issuer) -> None:
    async with requests(application, access) as http:
        for url in (f"/health?access_token={issuer.token()}", f"/health?a={issuer.token()}", f"/{issuer.token()}"):
            assert (await http.get(url, headers=token(issuer))).status_code == 400


async def test_expired_tokens_do_not_make_an_address_wait_and_forged_ones_do_not_lock_others_out(
    application: Application, access: HttpAccess, issuer: Issuer
) -> None:
    expired = token(issuer, exp=int(time.time()) - 600)
    async with requests(application, access) as http:
        for _ in range(2 * FREE_ATTEMPTS):
            assert (await http.get("/health", headers=expired)).status_code == 401
        forged = {"authorization": "Bearer eyJhbGciOiJub25lIn0.e30."}
        answers = [await http.get("/health", headers=forged) for _ in range(FREE_ATTEMPTS + 3)]
        assert [answer.status_code for answer in answers] == [401] * (FREE_ATTEMPTS + 1) + [429] * 2
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert (await http.get("/health", headers=token(issuer, sub="new"))).status_code == 200


async def test_keys_go_on_beside_tokens(
    application: Application, access: HttpAccess, issuer: Issuer, tmp_path: Path
) -> None:
    key = make_client(tmp_path, "laptop", RED)
    async with requests(application, access) as http:
        for headers in (key.headers, {"x-api-key": key.text}, token(issuer)):
            assert (await http.get("/health", headers=headers)).status_code == 200


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_subject_is_one_client_with_its_projects_rate_and_session(
    application: Application, access: HttpAccess, issuer: Issuer, mode: str
) -> None:
    async with requests(application, access) as http:
        shown = []
        for number in range(4):
            # Each connection has a token of its own, as after a refresh.
            async with connected(http, token(issuer, sub=f"eve-{mode}", jti=str(number)), mode) as mcp:
                result = await mcp.call_tool("kb_search", {"query": QUESTION})
                assert result.structured_content is not None
                shown.append(result.structured_content)
        assert len({answer["session_id"] for answer in shown[:3]}) == 1
        assert [answer.get("error", {}).get("details", {}).get("reason") for answer in shown] == [
            *[None] * 3,
            "RATE_LIMIT",
        ]
        assert "ceruleanic" not in str(shown)
        async with connected(http, token(issuer, "blue"), mode) as mcp:
            result = await mcp.call_tool("kb_search", {"query": QUESTION})
            assert ("ceruleanic" in str(result), "scarletine" in str(result)) == (True, False)


async def test_lines_of_the_audit_log_have_the_id_of_the_subject(
    application: Application, access: HttpAccess, issuer: Issuer, settings: Settings
) -> None:
    async with requests(application, access) as http, connected(http, token(issuer, sub="audited")) as mcp:
        await mcp.call_tool("kb_search", {"query": QUESTION})
    lines = (settings.audit_folder / "calls.jsonl").read_text("utf-8")
    assert f'"key":"{identify(issuer.address, "audited")}"' in lines


async def test_the_end_of_a_token_ends_its_stream_and_its_session(
    application: Application, access: HttpAccess, issuer: Issuer
) -> None:
    ends = token(issuer, exp=int(time.time()) - SKEW_SECONDS + 4)
    async with requests(application, access) as http:
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        accept = {"accept": "application/json, text/event-stream"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
        begun = await http.post(PATH, json=body, headers={**ends, **accept})
        session = {"mcp-session-id": begun.headers["mcp-session-id"], "accept": "text/event-stream"}
        async with asyncio.timeout(30):
            async with http.stream("GET", PATH, headers={**ends, **session}) as events:
                async for _ in events.aiter_bytes():
                    pass
        answer = await http.get(PATH, headers={**ends, **session})
        assert (answer.status_code, 'error="invalid_token"' in answer.headers["www-authenticate"]) == (401, True)
        # The session goes on with the next token of its owner, and with no other.
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        for headers, status in ((token(issuer), 200), (token(issuer, sub="bob"), 404)):
            again = await http.post(PATH, json=listing, headers={**headers, **session, **accept})
            assert again.status_code == status


async def test_a_harvest_is_an_alert_in_the_audit_log_and_then_a_limit(
    application: Application, settings: Settings, access: HttpAccess, issuer: Issuer
) -> None:
    greedy = settings.model_copy(update={"harvest_passages": 1})
    async with (
        requests(application, access, greedy) as http,
        connected(http, token(issuer, "blue", sub="greedy")) as mcp,
    ):
        first, *_, last, reading = [
            await mcp.call_tool(tool, arguments)
            for tool, arguments in (
                ("kb_search", {"query": QUESTION, "top_k": 10}),
                ("kb_documents", {}),
                ("kb_search", {"query": "every gate closes at ten", "top_k": 10}),
                ("kb_search", {"query": "gate"}),
                ("kb_retrieve_evidence", {"question": QUESTION}),
            )
        ]
    assert (first.is_error, last.is_error, reading.is_error) == (False, True, False)
    assert "RATE_LIMIT" in str(last.structured_content)
    lines = (settings.audit_folder / "calls.jsonl").read_text("utf-8").splitlines()
    (alerted,) = [line for line in lines if '"alert":{"harvest"' in line]
    assert f'"key":"{identify(issuer.address, "greedy")}"' in alerted
