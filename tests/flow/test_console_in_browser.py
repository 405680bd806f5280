"""The console in a real browser: every page by keyboard, narrow and wide, light and dark, judged by axe-core.

Without Playwright and Debian's Chromium the tests are skipped (docs/testing.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from tests.consoles import Console, console_over, find_addresses, make_store
from tests.hostile_pages import EVIL
from winnow.server.console.pages import PAGES
from winnow.server.settings.loading import Configuration

pytestmark = [pytest.mark.anyio, pytest.mark.walls, pytest.mark.slow]

NARROW, WIDE = 320, 1280
# A page that follows an ingest loads itself again, because its user chose that; axe-core knows no such choice.
CHOSEN = {"/sources?live=on": ["meta-refresh"]}


@pytest.fixture(scope="module")
def made(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """The store, which is made where there is a browser."""
    return make_store(tmp_path_factory.mktemp("console"))


@dataclass
class Window:
    """A window that has entered a console, what went wrong in it, and requests that failed, with the reason."""

    page: Any
    console: Console
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)

    async def show(self, address: str) -> None:
        await self.page.goto(self.console.base + address)

    async def path(self) -> str:
        return str(self.page.url).removeprefix(self.console.base)


@asynccontextmanager
async def window_of(
    made: Configuration, browser: Any, *, theme: str = "light", width: int = WIDE
) -> AsyncIterator[Window]:
    """A window that was opened with the printed address. Nothing goes wrong in it, or anywhere else."""
    async with console_over(made) as console:
        context = await browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        page = await context.new_page()
        window = Window(page, console)
        page.on("request", lambda request: window.requests.append(request.url))
        page.on("requestfailed", lambda request: window.stopped.update({request.url: request.failure}))
        page.on("console", lambda message: window.problems.append(message.text))
        page.on("pageerror", lambda error: window.problems.append(str(error)))
        await page.goto(console.application.address)
        await page.wait_for_url(f"{console.base}/")
        yield window
        assert window.problems == []
        own = (f"{console.origin}/", "data:")
        assert [
            url for url in window.requests if not url.startswith(own) and window.stopped.get(url) != "csp"
        ] == []
        await context.close()


async def addresses_in(window: Window) -> list[str]:
    """An address of every page, found by the cookie of the window."""
    (cookie,) = await window.page.context.cookies()
    async with httpx2.AsyncClient(
        base_url=window.console.base, cookies={cookie["name"]: cookie["value"]}, timeout=60
    ) as http:
        return await find_addresses(http)


async def read_violations(window: Window, axe: str) -> list[Any]:
    # Run beside the page, as by the tools of a developer: its policy allows no script.
    await window.page.evaluate(axe)
    found: list[Any] = await window.page.evaluate(
        "axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))"
    )
    return found


async def test_the_printed_address_leads_to_the_first_page_and_works_once(
    made: Configuration, browser: Any
) -> None:
    async with window_of(made, browser) as window:
        assert await window.page.title() == "Search · winnow"
        other = await (await browser.new_context()).new_page()
        await other.goto(window.console.application.address)
        assert "was used already" in await other.get_by_role("alert").inner_text()
        await other.context.close()


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_every_page_is_accessible_and_as_wide_as_the_window(
    made: Configuration, browser: Any, axe: str, theme: str, width: int
) -> None:
    violations: dict[str, Sequence[Any]] = {}
    widths: dict[str, int] = {}
    async with window_of(made, browser, theme=theme, width=width) as window:
        for address in await addresses_in(window):
            await window.show(address)
            found = await read_violations(window, axe)
            violations[address] = [each for each in found if each[0] not in CHOSEN.get(address, ())]
            widths[address] = await window.page.evaluate("document.documentElement.scrollWidth")
        errors = [problem for problem in window.problems if "the server responded with a status of 40" in problem]
        window.problems[:] = [problem for problem in window.problems if problem not in errors]
    assert {address: found for address, found in violations.items() if found} == {}
    assert {address: found for address, found in widths.items() if found > width} == {}


async def test_the_doctor_is_asked_by_keyboard_and_its_findings_are_accessible(
    made: Configuration, browser: Any, axe: str
) -> None:
    async with window_of(made, browser, theme="dark", width=NARROW) as window:
        await window.show("/doctor")
        assert await window.page.get_by_role("table").count() == 0
        await window.page.get_by_role("button", name="Check this installation").press("Enter")
        await window.page.get_by_role("table").wait_for()
        assert await window.page.get_by_role("row").filter(has_text="store: folder").count() == 1
        assert await read_violations(window, axe) == []
        assert await window.page.evaluate("document.documentElement.scrollWidth") <= NARROW


async def test_a_search_is_made_and_read_by_keyboard_alone(made: Configuration, browser: Any) -> None:
    async with window_of(made, browser, width=NARROW) as window:
        keyboard = window.page.keyboard
        await keyboard.press("Tab")
        assert await focused(window) == "Skip to the content"
        await keyboard.press("Enter")
        await keyboard.press("Tab")
        await keyboard.type("how long are backups kept")
        await keyboard.press("Enter")
        await window.page.get_by_role("heading", name="Result").wait_for()
        for _ in range(40):
            await keyboard.press("Tab")
            if await window.page.evaluate("document.activeElement.closest('ol') !== null"):
                break
        await keyboard.press("Enter")
        await window.page.wait_for_url("**/page?passage_id=*")
        assert await window.page.locator("mark").count() == 1


async def test_every_page_of_the_navigation_is_reached_by_keyboard_alone(
    made: Configuration, browser: Any
) -> None:
    async with window_of(made, browser) as window:
        labelled = [page for page in PAGES if page.label]
        for place, page in enumerate(labelled):
            await window.show("/")
            for _ in range(place + 2):  # behind the link that skips the navigation
                await window.page.keyboard.press("Tab")
            assert await focused(window) == page.label
            await window.page.keyboard.press("Enter")
            await window.page.wait_for_url(window.console.base + page.path)
            assert await window.page.locator("nav [aria-current=page]").inner_text() == page.label


async def test_the_graph_is_walked_by_keyboard_in_the_drawing(made: Configuration, browser: Any) -> None:
    async with window_of(made, browser) as window:
        node = next(
            each for each in await addresses_in(window) if each.startswith("/graph?node=") and "%" not in each
        )
        await window.show(node)
        first = window.page.locator("svg a").first
        target = await first.get_attribute("href")
        await first.focus()
        await window.page.keyboard.press("Enter")
        await window.page.wait_for_url(window.console.origin + target)


async def focused(window: Window) -> str:
    return str(await window.page.evaluate("document.activeElement.textContent.trim()"))


async def test_documents_that_are_markup_and_code_stay_text(made: Configuration, browser: Any) -> None:
    async with window_of(made, browser) as window:
        for address in await addresses_in(window):
            await window.show(address)
            assert "taken" not in (await window.page.title()).split("</script>")[0]
            assert (
                await window.page.evaluate("document.querySelectorAll('script, iframe, base, object').length") == 0
            )
            assert (
                await window.page.evaluate("document.querySelectorAll('[onerror], [onload], [style]').length") == 0
            )
        await window.show("/document?id=rules+%3Cb%3E.md")
        text = await window.page.locator("#text").inner_text()
        assert [line for line in EVIL if line not in text] == []
        window.problems[:] = [
            each for each in window.problems if "the server responded with a status of 40" not in each
        ]


async def test_the_policy_stops_a_script_and_a_style_that_got_into_a_page(
    made: Configuration, browser: Any
) -> None:
    async with window_of(made, browser) as window:
        (cookie,) = await window.page.context.cookies()
        add = """html => { document.getElementById("main").append(
            document.createRange().createContextualFragment(html)); }"""
        for html in (
            "<script>document.title = 'taken'</script>",
            "<script src='http://evil.test/x.js'></script>",
            "<img src=x onerror=\"document.title = 'taken'\">",
            "<a id=trap href=\"javascript:document.title='taken'\">x</a>",
            "<iframe src='http://evil.test/'></iframe>",
            "<form id=out action='http://evil.test/'><button>x</button></form>",
        ):
            await window.page.evaluate(add, html)
        await window.page.locator("#trap").click()
        assert await window.page.title() == "Search · winnow"
        assert await window.page.evaluate("document.cookie") == ""
        assert cookie["httpOnly"] is True
        await window.page.evaluate("document.querySelector('#out button').click()")
        async with asyncio.timeout(30):
            while "form-action" not in "".join(window.problems):
                await window.page.wait_for_timeout(20)
        assert len([each for each in window.problems if "Content Security Policy" in each]) >= 5
        assert set(window.stopped.values()) == {"csp"}
        window.problems.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_colours_follow_the_theme_of_the_system(made: Configuration, browser: Any, theme: str) -> None:
    async with window_of(made, browser, theme=theme) as window:
        paper = await window.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(28, 28, 30)"}[theme]


async def test_a_server_at_another_port_gets_no_cookie_of_the_console(made: Configuration, browser: Any) -> None:
    """A browser sends strict cookies to all ports of a host, once a page of the host asks for the next one."""
    received: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nset-cookie: own=1\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx")
        await writer.drain()
        writer.close()

    async with (
        await asyncio.start_server(answer, "127.0.0.1", 0) as other,
        window_of(made, browser) as window,
    ):
        page = await window.page.context.new_page()
        for path in ("", "documents", "again"):
            await page.goto(f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/{path}")
        assert [b"own=1" in head for head in received if b"/again" in head] == [True]
        assert [b"winnow_console" in head for head in received] == [False] * len(received)
        await window.show("/documents")
        assert await window.page.title() == "Documents · winnow"
