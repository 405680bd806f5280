"""The MCP App of ``kb_show`` in a real browser, in a host that speaks the bridge and asks a real server.

The host is a page with a frame, as the extension describes it: sandboxed, of another origin, with the policy that
the app's ``_meta`` asks for. Without Playwright and Debian's Chromium the tests are skipped (docs/testing.md).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp_types import TextResourceContents

from tests.hostile_pages import EVIL, KILN, PLAIN, write_files
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls, pytest.mark.slow]

HOST, VIEW = "http://host.test/", "http://view.test/"


@pytest.fixture(scope="module")
async def application(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Application]:
    folder = tmp_path_factory.mktemp("app")
    settings = load_settings(store=folder / "store", project="p", embedding="off", tools=("all", "pages"))
    backends = open_backends(settings, wait_for_model=False)
    try:
        files = write_files(folder / "files")
        assert ingest_paths(target_of(settings, backends, None), [files]).failures == ()
    finally:
        backends.close()
    async with open_application(settings, wait_for_model=False) as opened:
        yield opened


# A minimal host. What the view sends is kept in `sent`; calls go to the server by `callTool`.
HOST_PAGE = """<!doctype html><html lang="en"><title>host</title><body style="margin:0">
<iframe title="view" sandbox="allow-scripts" src="VIEW" style="border:0;width:100%;height:2000px"></iframe>
<script>
window.sent = []; window.settings = SETTINGS;
const frame = document.querySelector("iframe");
window.tell = (message) => frame.contentWindow.postMessage({jsonrpc: "2.0", ...message}, "*");
addEventListener("message", async (event) => {
  if (event.source !== frame.contentWindow) return;
  const message = event.data;
  window.sent.push(message);
  if (message.method === "ui/initialize") {
    const {hostCapabilities, hostContext} = window.settings;
    window.tell({id: message.id, result: {protocolVersion: "2026-01-26", hostInfo: {name: "host", version: "1"},
                                          hostCapabilities, hostContext}});
  } else if (message.method === "tools/call") {
    try { window.tell({id: message.id, result: await window.callTool(message.params)}); }
    catch (error) { window.tell({id: message.id, error: {code: -32000, message: "the host refuses"}}); }
  }
});
</script>"""
CAN_CALL: dict[str, Any] = {"serverTools": {}}


def policy_of(csp: dict[str, list[str]]) -> str:
    """The policy that the extension has a host make of ``_meta.ui.csp``."""
    resources, connections = " ".join(csp["resourceDomains"]), " ".join(csp["connectDomains"])
    return (
        f"default-src 'none'; script-src 'self' 'unsafe-inline' {resources}; style-src 'self' 'unsafe-inline' "
        f"{resources}; connect-src 'self' {connections}; img-src 'self' data: {resources}; font-src 'self'; "
        "media-src 'self' data:; frame-src 'none'; object-src 'none'; base-uri 'self'"
    )


@dataclass
class Host:
    """A host with one view: the page, the view's frame, and what went wrong in it."""

    page: Any
    client: Client
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def view(self) -> Any:
        return self.page.frames[1]

    async def call(self, params: dict[str, Any]) -> Any:
        self.calls.append(params)
        result = await self.client.call_tool(params["name"], params["arguments"])
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def tell(self, method: str, params: Any) -> None:
        await self.page.evaluate("message => window.tell(message)", {"method": method, "params": params})

    async def show(self, **arguments: Any) -> dict[str, Any]:
        """Call the tool as a model does, and give the view what it was asked and what it answered."""
        result = await self.client.call_tool("kb_show", arguments)
        await self.tell("ui/notifications/tool-input", {"arguments": arguments})
        await self.tell("ui/notifications/tool-result", result.model_dump(mode="json", by_alias=True))
        return dict(result.structured_content or {})

    async def until(self, status: str) -> None:
        """Wait until the view says this."""
        await self.view.get_by_role("status").filter(has_text=status).wait_for()

    async def text(self, selector: str) -> str:
        return str(await self.view.locator(selector).inner_text())

    async def sent(self, method: str) -> list[Any]:
        kept: list[Any] = await self.page.evaluate("window.sent")
        return [message["params"] for message in kept if message.get("method") == method]


@asynccontextmanager
async def host_of(
    application: Application,
    browser: Any,
    capabilities: dict[str, Any] = CAN_CALL,
    context: dict[str, Any] | None = None,
    width: int = 800,
) -> AsyncIterator[Host]:
    """A host that has read the app from the server and shows it."""
    shows = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server, extensions=[shows]) as client:
        tool = next(tool for tool in (await client.list_tools()).tools if tool.name == "kb_show")
        (app,) = (await client.read_resource((tool.meta or {})["ui"]["resourceUri"])).contents
        assert isinstance(app, TextResourceContents)
        policy = policy_of((app.meta or {})["ui"]["csp"])
        page = await browser.new_page(viewport={"width": width, "height": 900})
        host = Host(page, client)
        settings = {"hostCapabilities": capabilities, "hostContext": context or {}}
        bodies = {
            HOST: (HOST_PAGE.replace("VIEW", VIEW).replace("SETTINGS", json.dumps(settings)), ""),
            VIEW: (app.text, policy),
        }

        async def answer(route: Any) -> None:
            host.requests.append(route.request.url)
            if route.request.url not in bodies:
                await route.abort()
                return
            body, header = bodies[route.request.url]
            headers = {"content-security-policy": header} if header else {}
            await route.fulfill(body=body, content_type="text/html; charset=utf-8", headers=headers)

        await page.route("**/*", answer)
        page.on("console", lambda message: host.problems.append(message.text))
        page.on("pageerror", lambda error: host.problems.append(str(error)))
        await page.expose_function("callTool", host.call)
        await page.goto(HOST)
        await page.wait_for_function("window.sent.some(m => m.method === 'ui/notifications/initialized')")
        yield host
        assert host.problems == []
        assert set(host.requests) <= {HOST, VIEW}
        await page.close()


async def test_the_view_shakes_hands_before_it_says_anything_else(application: Application, browser: Any) -> None:
    async with host_of(application, browser) as host:
        sent = await host.page.evaluate("window.sent")
        assert [message["method"] for message in sent[:2]] == ["ui/initialize", "ui/notifications/initialized"]
        assert sent[0]["params"]["protocolVersion"] == "2026-01-26"
        assert {message["jsonrpc"] for message in sent} == {"2.0"}
        assert await host.text("[role=status]") == "Waiting for the page."


async def test_a_page_is_shown_with_its_picture_place_file_and_mark(
    application: Application, browser: Any
) -> None:
    async with host_of(application, browser) as host:
        await host.show(document="kilns.pdf", quote=KILN)
        await host.until("Shown: p. 2")
        picture = host.view.get_by_role("img")
        assert await picture.get_attribute("alt") == (
            "p. 2. kilns.pdf. The quote is marked. It stands here word for word."
        )
        assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
        assert (await host.text("#file"), await host.text("#place")) == ("kilns.pdf", "p. 2")
        assert await host.text("#mark") == "The quote is marked. It stands here word for word."
        assert (await host.text("#url")).endswith("kilns.pdf#page=2")
        assert await host.view.locator("#lines").is_hidden()
        assert await host.view.locator("#warnings").is_hidden()


async def test_pages_are_turned_by_keyboard_alone(application: Application, browser: Any) -> None:
    async with host_of(application, browser) as host:
        await host.show(document="kilns.pdf", quote=KILN)
        await host.until("Shown: p. 2")
        await host.view.locator("body").press("Tab")
        for key, shown, focused in (
            ("Enter", "Shown: p. 1", "previous"),
            ("Tab Enter", "Shown: p. 2", "next"),
            ("Enter", "Shown: p. 3", "next"),
            ("Tab Space", "Shown: p. 2", "back"),
        ):
            for each in key.split():
                await host.page.keyboard.press(each)
            await host.until(shown)
            assert await host.view.evaluate("document.activeElement.id") == focused
        assert await host.text("#mark") == "The quote is marked. It stands here word for word."
        assert [(call["name"], call["arguments"]["page"]) for call in host.calls] == [
            ("kb_show", "1"), ("kb_show", "2"), ("kb_show", "3"),
        ]  # fmt: skip
        assert await host.view.locator("#back").get_attribute("aria-disabled") == "true"


async def test_beyond_the_last_page_the_answer_says_so_and_the_page_stays(
    application: Application, browser: Any
) -> None:
    async with host_of(application, browser) as host:
        await host.show(document="kilns.pdf", page="3")
        await host.until("Shown: p. 3")
        await host.view.get_by_role("button", name="Next page").click()
        await host.until("page: ")
        assert await host.text("#place") == "p. 3"
        assert await host.view.get_by_role("img").is_visible()


async def test_paging_keeps_the_scope_of_the_call(application: Application, browser: Any) -> None:
    async with host_of(application, browser) as host:
        await host.show(document="kilns.pdf", page="1", scope={"project_id": "p"})
        await host.until("Shown: p. 1")
        assert await host.view.locator("#previous").get_attribute("aria-disabled") == "true"
        await host.view.get_by_role("button", name="Next page").click()
        await host.until("Shown: p. 2")
        (call,) = host.calls
        assert call["arguments"].pop("document")
        assert call == {"name": "kb_show", "arguments": {"page": "2", "scope": {"project_id": "p"}}}


async def test_a_host_without_calls_gets_no_buttons_for_pages(application: Application, browser: Any) -> None:
    async with host_of(application, browser, capabilities={}) as host:
        await host.show(document="kilns.pdf", page="1")
        await host.until("Shown: p. 1")
        assert await host.view.get_by_role("button").all_inner_texts() == ["Actual size"]


async def test_a_call_that_the_host_refuses_is_reported(application: Application, browser: Any) -> None:
    context = {"toolInfo": {"tool": {"name": "another_tool", "inputSchema": {"type": "object"}}}}
    async with host_of(application, browser, context=context) as host:
        await host.show(document="kilns.pdf", page="1")
        await host.until("Shown: p. 1")
        await host.view.get_by_role("button", name="Next page").click()
        await host.until("the host refuses")
        assert [call["name"] for call in host.calls] == ["another_tool"]


@pytest.mark.parametrize("line", EVIL)
async def test_texts_that_are_markup_and_code_are_shown_as_text(
    application: Application, browser: Any, line: str
) -> None:
    async with host_of(application, browser) as host:
        answer = await host.show(document="rules <b>.md", quote=line)
        await host.until("Shown.")
        assert line in await host.text("#lines")
        assert await host.text("#title") == EVIL[0]
        assert await host.view.locator("#lines").evaluate(
            "list => [...list.children].map(i => i.textContent)"
        ) == (answer["text"].split("\n"))
        assert await host.view.evaluate("document.querySelectorAll('script').length") == 1
        assert await host.view.evaluate("document.querySelectorAll('iframe, svg, a, base, b').length") == 0
        assert await host.page.title() == "host"
        assert "taken" not in await host.page.evaluate("window.sent")


async def test_lines_have_their_numbers_and_the_quote_its_mark(application: Application, browser: Any) -> None:
    """Also behind a character that JavaScript counts twice."""
    async with host_of(application, browser) as host:
        answer = await host.show(document="rules <b>.md", quote=PLAIN)
        await host.until("Shown.")
        start, end = answer["marked"]
        assert await host.text("mark") == answer["text"][start:end] == PLAIN.rstrip(".")
        line = host.view.get_by_role("listitem").filter(has=host.view.locator("mark"))
        first = await host.view.locator("#lines").evaluate("list => list.start")
        place = await line.evaluate("item => [...item.parentNode.children].indexOf(item)")
        files = await host.client.call_tool("kb_read", {"document": "rules <b>.md"})
        text = (files.structured_content or {})["text"]
        assert text.split("\n")[first + place - 1] == f"🔥 {PLAIN}"
        assert await host.view.locator("#pages").is_hidden()


async def test_an_error_and_a_cancelled_call_are_said(application: Application, browser: Any) -> None:
    async with host_of(application, browser) as host:
        await host.show(document="nothing.pdf")
        await host.until("nothing.pdf")
        await host.tell("ui/notifications/tool-cancelled", {"reason": "by the user"})
        await host.until("The call was cancelled. by the user")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_theme_is_the_host_s_also_when_it_changes(
    application: Application, browser: Any, theme: str
) -> None:
    other = {"light": "dark", "dark": "light"}[theme]

    async def contrast(host: Host) -> float:
        script = """() => {
            const style = getComputedStyle(document.body), canvas = document.createElement("canvas");
            const pen = canvas.getContext("2d", {willReadFrequently: true});
            const light = (color) => {
                pen.fillStyle = color; pen.fillRect(0, 0, 1, 1);
                const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((c) => c / 255)
                    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
            };
            return light(style.color) / light(style.backgroundColor);
        }"""
        return float(await host.view.evaluate(script))

    async with host_of(application, browser, context={"theme": theme}) as host:
        first = await contrast(host)
        await host.tell("ui/notifications/host-context-changed", {"theme": other})
        await host.view.locator(f":root[data-theme={other}]").wait_for()
        second = await contrast(host)
        dark, light = (first, second) if theme == "dark" else (second, first)
        assert (dark > 7, light < 1 / 7) == (True, True)


async def test_at_320_pixels_nothing_is_wider_than_the_view(application: Application, browser: Any) -> None:
    async with host_of(application, browser, width=320) as host:
        for arguments in ({"document": "kilns.pdf", "quote": KILN}, {"document": "rules <b>.md", "quote": PLAIN}):
            await host.show(**arguments)
            await host.until("Shown")
            await host.view.locator("img:visible, li").first.wait_for()
            assert await host.view.evaluate("document.documentElement.scrollWidth") <= 320
        sizes = await host.sent("ui/notifications/size-changed")
        assert {size["width"] for size in sizes} == {320}
        assert len({size["height"] for size in sizes}) > 1


async def test_the_actual_size_scrolls_and_can_be_focused(application: Application, browser: Any) -> None:
    async with host_of(application, browser, width=320) as host:
        await host.show(document="kilns.pdf", quote=KILN)
        await host.until("Shown: p. 2")
        button = host.view.get_by_role("button", name="Actual size")
        await button.press("Enter")
        figure = host.view.get_by_role("figure")
        assert await button.get_attribute("aria-pressed") == "true"
        assert await figure.evaluate("each => each.scrollWidth > each.clientWidth && each.tabIndex") == 0
        await button.press("Enter")
        assert await figure.evaluate("each => [each.scrollWidth <= each.clientWidth, each.tabIndex]") == [True, -1]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "asked",
    [{"document": "kilns.pdf", "quote": "The kiln is kept at eighty degrees."},
     {"document": "rules <b>.md", "quote": PLAIN}, {"document": "nothing.pdf"}],
    ids=["a picture and a warning", "lines", "an error"],
)  # fmt: skip
async def test_axe_finds_no_violation(
    application: Application, browser: Any, axe: str, theme: str, asked: dict[str, str]
) -> None:
    async with host_of(application, browser, context={"theme": theme}, width=320) as host:
        await host.show(**asked)
        await host.until("nothing.pdf" if asked["document"] == "nothing.pdf" else "Shown")
        await host.view.evaluate(axe)
        found = await host.view.evaluate(
            "axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))"
        )
        assert found == []


async def test_what_others_send_is_ignored_and_requests_of_the_host_are_answered(
    application: Application, browser: Any
) -> None:
    async with host_of(application, browser) as host:
        script = """async () => {
            const odd = [null, 7, "x", [], {}, {method: "ui/notifications/tool-result"}, {jsonrpc: "1.0"}];
            for (const message of odd) document.querySelector("iframe").contentWindow.postMessage(message, "*");
            window.tell({method: "constructor"}); window.tell({method: "toString", params: {}});
            window.tell({method: "ui/notifications/tool-result", params: {content: 7, structuredContent: "x"}});
            window.tell({id: 71, method: "ping"}); window.tell({id: 72, method: "ui/resource-teardown"});
            window.tell({id: 73, method: "valueOf"});
        }"""
        await host.page.evaluate(script)
        await host.page.wait_for_function("window.sent.filter(m => m.id > 70).length === 3")
        kept = await host.page.evaluate("window.sent.filter(m => m.id > 70)")
        assert [(each["id"], each.get("result"), (each.get("error") or {}).get("code")) for each in kept] == [
            (71, {}, None), (72, {}, None), (73, None, -32601),
        ]  # fmt: skip


async def test_an_answer_in_one_text_is_shown_as_one_with_structured_content(
    application: Application, browser: Any
) -> None:
    """As a server sends it whose structured output is off; and a text that is no data is shown as it is."""
    async with host_of(application, browser) as host:
        answer = await host.client.call_tool("kb_show", {"document": "rules <b>.md", "quote": PLAIN})
        text = json.dumps(answer.structured_content)
        await host.tell("ui/notifications/tool-result", {"content": [{"type": "text", "text": text}]})
        await host.until("Shown.")
        assert await host.text("mark") == PLAIN.rstrip(".")
        await host.tell("ui/notifications/tool-result", {"content": [{"type": "text", "text": f"<b>{PLAIN}"}]})
        await host.view.get_by_text(f"<b>{PLAIN}").wait_for()
        assert await host.text("#lines") == f"<b>{PLAIN}"


@pytest.mark.parametrize(
    ("mime_type", "data"),
    [("image/svg+xml", "PHN2Zy8+"), ("text/html", "PGI+"), ("image/png", '"onerror="x'), ("image/png", "a,b")],
)
async def test_an_image_that_is_no_picture_of_a_page_is_not_shown(
    application: Application, browser: Any, mime_type: str, data: str
) -> None:
    async with host_of(application, browser) as host:
        block = {"type": "image", "mimeType": mime_type, "data": data}
        await host.tell("ui/notifications/tool-result", {"content": [block], "structuredContent": {"text": PLAIN}})
        await host.until("Shown.")
        assert await host.view.locator("#image").get_attribute("src") is None
        assert await host.text("#lines") == PLAIN


async def test_a_window_that_is_not_the_host_cannot_make_it_show_anything(
    application: Application, browser: Any
) -> None:
    async with host_of(application, browser) as host:
        await host.show(document="kilns.pdf", page="1")
        await host.until("Shown: p. 1")
        script = """() => window.dispatchEvent(new MessageEvent("message", {source: window, data: {jsonrpc: "2.0",
            method: "ui/notifications/tool-result", params: {structuredContent: {title: "forged"}}}}))"""
        await host.view.evaluate(script)
        assert await host.text("#title") != "forged"
