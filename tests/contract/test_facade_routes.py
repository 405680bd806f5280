"""The routes of the façade: while the server ends, prompts with arguments, and versions of tools."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.serving import serve
from winnow import __version__
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.facade.routes import facade_routes, is_of_facade
from winnow.server.transports.facade.service import FacadeService
from winnow.server.transports.http import PATH
from winnow.server.transports.operating.pages import Operations, build_pages
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

Http = httpx2.AsyncClient
PROMPT = "/mcp/prompt/winnow/answer_question/1"
PACK = {
    "id": "count_words",
    "version": "2.3.4",
    "title": "Count words",
    "description": "Counts words.",
    "hints": {"readOnly": True},
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "outputSchema": {"type": "object"},
    "execution": {"kind": "http", "method": "GET", "url": "http://127.0.0.1:9/"},
    "caps": {"network": ["any"]},
}


@pytest.fixture(scope="module")
def settings(store: Path) -> Settings:
    return load_settings(store=store, project="handbook", embedding="off", execute_code="off")


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    async with open_application(settings, wait_for_model=False) as app:
        await app.ready()
        yield app


@asynccontextmanager
async def facade_of(application: Application) -> AsyncIterator[tuple[Http, FacadeService, Operations]]:
    dispatcher, operations = Dispatcher(application.context, application.settings), Operations()
    server, facade = build_server(dispatcher, application), FacadeService(dispatcher, application)
    async with (
        serve(server, facade=facade, operations=operations) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
    ):
        yield http, facade, operations


async def test_while_the_server_ends_every_route_is_refused_in_the_envelope(application: Application) -> None:
    async with facade_of(application) as (http, facade, operations):
        operations.drain.begin()
        for route in facade_routes(facade):
            path = route.path.replace("{", "").replace("}", "")
            (method,) = (route.methods or set()) - {"HEAD"}
            answer = await http.request(method, path)
            (error,) = answer.json()["errors"]
            seen = answer.status_code, error["code"], error["details"]["reason"], answer.headers["retry-after"]
            assert (path, is_of_facade(path), *seen) == (path, True, 503, "UNAVAILABLE", "SHUTTING_DOWN", "5")
            assert (answer.json()["ok"], answer.json()["data"]) == (False, None)
        assert (await http.post("/mcp")).json()["error"]["code"] == "BACKEND_UNAVAILABLE"


async def test_the_schemas_that_discovery_names_are_no_reads_of_a_client(settings: Settings) -> None:
    few = settings.model_copy(update={"reads_per_minute": 1})
    async with (
        open_application(few, wait_for_model=False) as application,
        facade_of(application) as (http, _, _),
    ):
        rows = (await http.get("/mcp/discover")).json()["tools"]
        named = [row[kind] for row in rows for kind in ("inputSchemaRef", "outputSchemaRef")]
        assert len(named) > 10
        seen = [(await http.get(path)).status_code for path in named]
        assert seen == [200] * len(named)
        assert (await http.get("/mcp/discover")).status_code == 429


async def test_refusals_over_http_are_counted_by_their_true_reasons(settings: Settings) -> None:
    few = settings.model_copy(update={"reads_per_minute": 1, "calls_per_minute": 1})
    async with (
        open_application(few, wait_for_model=False) as application,
        facade_of(application) as (http, _, operations),
    ):
        seen = [(await http.get("/mcp/discover")).status_code for _ in range(2)]
        seen.append((await http.post("/mcp/tool/kb.search", json={"query": 1})).status_code)
        seen.append((await http.post("/mcp/tool/kb.search", json={"query": "backups"})).status_code)
        seen.append((await http.post("/mcp/tool/kb.search", content=b"x")).status_code)
        seen.append((await http.get("/nowhere")).status_code)
        head = f"POST /mcp/tool/kb.search HTTP/1.1\r\nhost: {http.base_url.host}:{http.base_url.port}\r\n"
        _, left = await asyncio.open_connection(http.base_url.host, http.base_url.port)
        left.write(f"{head}content-type: application/json\r\ncontent-length: 9\r\n\r\n".encode())
        await left.drain()
        left.close()
        async with asyncio.timeout(30):
            while "CLIENT_LEFT" not in (counted := operations.metrics.snapshot()["refusals"].get("http", {})):
                await asyncio.sleep(0.05)
    assert seen == [200, 429, 400, 429, 415, 404]
    assert counted == {
        "RATE_LIMIT": 2,
        "INVALID_REQUEST": 1,
        "MEDIA_TYPE": 1,
        "not found": 1,
        "CLIENT_LEFT": 1,
    }


async def test_no_route_redirects_and_one_with_a_slash_too_many_is_a_404(application: Application) -> None:
    async with facade_of(application) as (http, facade, operations):
        routes = [*facade_routes(facade), *build_pages(operations)]
        paths = [PATH, *(re.sub(r"[{}]", "", route.path) for route in routes)]
        for path in paths:
            for odd in (f"{path}/", f"{path}//", f"/{path}", f"/{path}/"):
                for method in ("GET", "POST", "DELETE"):
                    answer = await http.request(method, f"{http.base_url}".rstrip("/") + odd)
                    seen = method, odd, answer.status_code, answer.headers.get("location")
                    assert seen == (method, odd, 404, None)


async def test_a_prompt_is_its_template_or_with_arguments_its_text(application: Application) -> None:
    async with facade_of(application) as (http, _, _):
        template = (await http.get(PROMPT)).json()
        filled = (await http.get(PROMPT, params={"question": "who keeps the {{ key }}"})).json()
        assert template["spec"] == filled["spec"]
        assert ("{%" in template["body"], "{%" in filled["body"]) == (True, False)
        assert "who keeps the {{ key }}" in filled["body"]
        for query in ("?question=x&questio=y", "?question=x&question=y", "?question="):
            refused = await http.get(PROMPT + query)
            code = refused.json()["errors"][0]["code"]
            assert (query, refused.status_code, code) == (query, 400, "INVALID_INPUT")


async def test_the_tool_of_a_short_route_has_a_schema_where_it_is_not_listed(application: Application) -> None:
    async with facade_of(application) as (http, _, _):
        answered = (await http.post("/v1/search", json={"query": "backups"})).json()["meta"]
        listed = [tool["name"] for tool in (await http.get("/mcp/discover")).json()["tools"]]
        assert answered["tool"] not in listed
        for kind in ("input", "output"):
            schema = await http.get(f"/mcp/schema/{answered['tool']}/{answered['version']}/{kind}.json")
            assert (schema.status_code, schema.json()["type"]) == (200, "object")


async def test_a_tool_of_the_operator_has_the_version_that_its_file_states(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "count_words.tool.yaml").write_text(json.dumps(PACK))
    (tmp_path / "count_words.tool.yaml").chmod(0o644)
    tmp_path.chmod(0o755)
    chosen = settings.model_copy(update={"tool_packs": (tmp_path,)})
    async with open_application(chosen, wait_for_model=False) as app, facade_of(app) as (http, _, _):
        tools = {tool["name"]: tool for tool in (await http.get("/mcp/discover")).json()["tools"]}
        own = tools["count_words"]
        assert (own["version"], tools["help"]["version"]) == ("2.3.4", __version__)
        assert own["inputSchemaRef"] == "/mcp/schema/count_words/2.3.4/input.json"
        assert (await http.get(own["inputSchemaRef"])).json()["required"] == ["text"]
        assert (await http.get(f"/mcp/schema/count_words/{__version__}/input.json")).status_code == 404
        called = (await http.post("/mcp/tool/count_words", json={"text": "a b"})).json()
        # Its site is not there; an error states the version as well.
        assert (called["errors"][0]["details"]["reason"], called["meta"]["version"]) == (
            "SOURCE_UNAVAILABLE",
            "2.3.4",
        )
