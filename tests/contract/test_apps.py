"""The MCP App of ``kb_show`` as a client gets it: its extension, the tool's link to it, its policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any

import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents

from tests.serving import serve as serve_http
from winnow.server import DATA
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.text.words.tokens import count_tokens
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.http import PATH
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

EXTENSION, MIME_TYPE, URI = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app", "ui://winnow/shown-page"
SHOWS_APPS = (advertise(EXTENSION, {"mimeTypes": [MIME_TYPE]}),)
SHOWS_OTHERS = (advertise(EXTENSION, {"mimeTypes": ["text/uri-list"]}),)
ERAS = ["legacy", "auto"]
META = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
PAGE = (DATA / "shown_page.html").read_text("utf-8")
# What makes markup, code or requests of a text. The page uses none of them.
SINKS = (
    "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "createContextualFragment", "DOMParser",
    "srcdoc", "eval", "new Function", "import(", "fetch", "XMLHttpRequest", "WebSocket", "EventSource",
    "sendBeacon", "location", "window.open", ".href", "javascript:", "localStorage", "cookie",
    "setHTML", "parseHTML", "Worker", "http:", "https:",
)  # fmt: skip


@asynccontextmanager
async def serve(application: Application, **changed: Any) -> AsyncIterator[Application]:
    settings = application.settings.model_copy(update=changed)
    async with open_application(settings, wait_for_model=False) as opened:
        yield opened


@pytest.fixture
async def with_pages(application: Application) -> AsyncIterator[Application]:
    async with serve(application, tools=("all", "pages")) as opened:
        yield opened


def connect(application: Application, era: str = "auto", extensions: Any = SHOWS_APPS) -> Client:
    server = build_server(Dispatcher(application.context, application.settings), application)
    return Client(server, mode=era, extensions=extensions)


async def meta_of_tool(client: Client) -> Any:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    return listed["kb_show"].meta


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_shows_apps_finds_the_page_of_the_tool_and_reads_it(
    with_pages: Application, era: str
) -> None:
    async with connect(with_pages, era) as client:
        assert (client.server_capabilities.extensions or {})[EXTENSION] == {}
        meta = await meta_of_tool(client)
        assert meta == {"ui": {"resourceUri": URI}}
        listed = {resource.uri: resource for resource in (await client.list_resources()).resources}
        app = listed[URI]
        (contents,) = (await client.read_resource(meta["ui"]["resourceUri"])).contents
    assert isinstance(contents, TextResourceContents)
    assert (contents.text, contents.uri) == (PAGE, URI)
    assert (contents.mime_type, contents.meta) == (MIME_TYPE, META)
    assert (app.mime_type, app.meta, app.size) == (MIME_TYPE, META, len(PAGE.encode()))


@pytest.mark.parametrize("era", ERAS)
async def test_over_http_each_client_s_own_word_counts(with_pages: Application, era: str) -> None:
    server = build_server(Dispatcher(with_pages.context, with_pages.settings), with_pages)
    async with serve_http(server) as (host, port):
        address = f"http://{host}:{port}{PATH}"
        async with (
            Client(address, mode=era, extensions=SHOWS_APPS) as shows,
            Client(address, mode=era, extensions=SHOWS_OTHERS) as other,
        ):
            assert (shows.server_capabilities.extensions or {})[EXTENSION] == {}
            assert await meta_of_tool(shows) == {"ui": {"resourceUri": URI}}
            assert await meta_of_tool(other) is None


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("extensions", [None, SHOWS_OTHERS], ids=["nothing", "other types"])
async def test_a_client_that_did_not_say_it_shows_such_pages_gets_the_tool_without_a_link(
    with_pages: Application, era: str, extensions: Any
) -> None:
    async with connect(with_pages, era, extensions) as client:
        assert await meta_of_tool(client) is None


async def test_the_link_is_of_one_tool_and_costs_few_tokens(with_pages: Application) -> None:
    """For a host that shows a model the whole object of a tool; its description and schema are as ever."""
    async with connect(with_pages) as client, connect(with_pages, extensions=None) as other:
        tools, plain = (await client.list_tools()).tools, (await other.list_tools()).tools
    assert [tool.name for tool in tools if tool.meta] == ["kb_show"]
    assert [tool.model_copy(update={"meta": None}) for tool in tools] == plain
    linked = next(tool for tool in tools if tool.meta)
    assert count_tokens(json.dumps({"_meta": linked.meta}, separators=(",", ":"))) <= 20


async def test_a_server_without_the_pack_has_neither_the_extension_nor_the_page(application: Application) -> None:
    async with connect(application) as client:
        assert EXTENSION not in (client.server_capabilities.extensions or {})
        assert URI not in {resource.uri for resource in (await client.list_resources()).resources}
        with pytest.raises(MCPError, match="is not a resource of this server"):
            await client.read_resource(URI)


async def test_the_page_asks_for_the_tool_by_the_name_that_is_listed(application: Application) -> None:
    async with (
        serve(application, tools=("all", "pages"), tool_names="dotted") as dotted,
        connect(dotted) as client,
    ):
        (contents,) = (await client.read_resource(URI)).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.text == PAGE.replace('data-tool="kb_show"', 'data-tool="kb.show"')


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the texts of its style and script."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {"style": [], "script": []}
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.texts:
            self.texts[self._open].append(data)


@pytest.fixture(scope="module")
def elements() -> Elements:
    parser = Elements()
    parser.feed(PAGE)
    return parser


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_admits_the_style_and_the_script_of_the_page_and_nothing_else(elements: Elements) -> None:
    """After a change of either, its digest is in the failure."""
    (policy,) = [value for tag, name, value in elements.attributes if (tag, name) == ("meta", "content")][:1]
    (style,), (script,) = elements.texts["style"], elements.texts["script"]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = PAGE.index("http-equiv"), PAGE.index("<style>"), PAGE.index("<script>")
    assert sorted(head) == list(head)


def test_the_page_has_no_address_and_no_inline_handler(elements: Elements) -> None:
    names = {name for _, name, _ in elements.attributes}
    assert {"src", "href", "action", "srcdoc", "style"} & names == set()
    assert [name for name in names if name.startswith("on")] == []
    assert {"link", "iframe", "object", "embed", "form", "base", "a"} & {*elements.names} == set()


@pytest.mark.parametrize("sink", SINKS)
def test_the_script_makes_no_markup_code_or_request_of_a_text(sink: str) -> None:
    assert sink not in PAGE


def test_a_picture_is_the_only_source_that_the_script_sets(elements: Elements) -> None:
    (script,) = elements.texts["script"]
    assert re.findall(r"\.src = (.*)", script) == ["`data:image/png;base64,${block.data}`;"]
    assert re.findall(r'setAttribute\("([\w-]+)"', script) == ["aria-disabled", "aria-pressed"]
