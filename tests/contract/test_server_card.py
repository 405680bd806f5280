"""The server card and the catalog over HTTP: read before a client connects, true, and silent about the rest."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.serving import serve
from tests.two_projects import BLUE, RED, make_client, make_store
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.addresses import parse_networks
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.extensions.server_card import CARD_PATH, CATALOG_PATH, DESCRIPTION, NAME
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PATHS = (CARD_PATH, CATALOG_PATH)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return make_store(tmp_path_factory.mktemp("card")).model_copy(update={"execute_code": "off"})


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    async with open_application(settings, wait_for_model=False) as app:
        yield app


@asynccontextmanager
async def requests(application: Application, access: HttpAccess) -> AsyncIterator[httpx2.AsyncClient]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with (
        serve(server, access=access) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
    ):
        yield http


@pytest.fixture
def access(tmp_path: Path) -> HttpAccess:
    """The rules of a server without keys."""
    return HttpAccess(KeyRing(tmp_path / "keys.json"), reachable=(RED, BLUE))


async def test_the_catalog_leads_to_the_card_and_the_card_to_the_server(
    application: Application, access: HttpAccess
) -> None:
    async with requests(application, access) as http:
        catalog = await http.get(CATALOG_PATH)
        (entry,) = catalog.json()["entries"]
        assert catalog.headers["content-type"] == "application/ai-catalog+json"
        assert (catalog.json()["specVersion"], entry["type"]) == ("1.0", "application/mcp-server-card+json")
        assert entry["identifier"] == "urn:air:winnow.example.com:mcp:winnow-mcp"
        card = await http.get(entry["url"], headers={"accept": entry["type"]})
        assert card.headers["content-type"] == entry["type"]
        (remote,) = card.json()["remotes"]
        assert (remote["type"], "headers" in remote) == ("streamable-http", False)
        async with Client(streamable_http_client(remote["url"])) as client:
            assert client.server_info is not None
            assert client.server_info.version == card.json()["version"]
            assert client.server_info.title == card.json()["title"]
            assert client.protocol_version in remote["supportedProtocolVersions"]


async def test_the_card_names_the_server_as_the_registry_does() -> None:
    registered = json.loads((ROOT / "server.json").read_text("utf-8"))
    assert (registered["name"], registered["description"]) == (NAME, DESCRIPTION)
    assert len(DESCRIPTION) <= 100


async def test_both_are_read_without_a_key_and_say_that_one_is_needed(
    application: Application, access: HttpAccess, tmp_path: Path
) -> None:
    red = make_client(tmp_path / "keys.json", "red", RED)
    async with requests(application, access) as http:
        for path in PATHS:
            answer = await http.get(path)
            assert (answer.status_code, RED in answer.text, BLUE in answer.text) == (200, False, False)
            assert (await http.head(path)).status_code == 200
            assert (await http.get(path, headers=red.headers)).status_code == 200
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                assert (await http.request(method, path)).status_code == 401
            for other in (f"{path}/", f"{path}/x", path.upper(), f"/x{path}"):
                assert (await http.get(other)).status_code in (401, 404)
        (remote,) = (await http.get(CARD_PATH)).json()["remotes"]
        assert remote["headers"][0]["name"] == "Authorization"
        assert (await http.get("/.well-known/oauth-protected-resource")).status_code == 404


async def test_the_card_names_the_host_that_was_asked_and_no_other(
    application: Application, access: HttpAccess
) -> None:
    named = replace(
        access, host_names=frozenset({"kb.example.org"}), proxies=parse_networks("--trusted-proxy", ["127.0.0.1"])
    )
    async with requests(application, named) as http:
        for path in PATHS:
            assert "https://kb.example.org/mcp" in (await http.get(path, headers={"host": "kb.example.org"})).text
            assert (await http.get(path, headers={"host": "evil.example"})).status_code == 421
            assert (await http.get(path, headers={"origin": "https://evil.example"})).status_code == 403


async def test_a_client_that_has_the_card_gets_no_second_one(application: Application, access: HttpAccess) -> None:
    async with requests(application, access) as http:
        for path in PATHS:
            first = await http.get(path)
            assert first.headers["cache-control"] == "public, max-age=3600"
            for known in (first.headers["etag"], f'"x", W/{first.headers["etag"]}', "*"):
                again = await http.get(path, headers={"if-none-match": known})
                assert (again.status_code, again.content, again.headers["etag"]) == (
                    304,
                    b"",
                    first.headers["etag"],
                )
            assert (await http.get(path, headers={"if-none-match": '"other"'})).status_code == 200
