"""The pictures of docs/console.md: ``python -m tests.console_pictures STORE PROJECT QUESTION NODE``.

Needs a browser, as the tests of the console do (docs/testing.md). NODE is a node of the graph to show.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote_plus

from playwright.async_api import async_playwright

from tests.consoles import console_over
from winnow.server.console.pages import PAGES
from winnow.server.settings.loading import load

FOLDER = Path(__file__).parents[1] / "docs" / "console"
_WIDTH, _HEIGHT = 960, 720


async def draw_pages(store: str, project: str, question: str, node: str) -> None:
    """Write a picture of each page that the navigation names, of a document and of a marked page."""
    # Without the paths of this machine.
    asked = {
        "/": f"/?q={quote_plus(question)}&compare=1",
        "/graph": f"/graph?node={quote_plus(node)}#drawing",
        "/settings": "/settings#writes-by-agents",
    }
    flags = {"store": store, "project": project, "tools": ("all", "claims")}
    async with (
        console_over(load(flags)) as console,
        async_playwright() as started,
        await started.chromium.launch(
            executable_path=os.environ["WINNOW_BROWSER"], args=["--no-sandbox"]
        ) as browser,
    ):
        page = await browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        page.set_default_timeout(120_000)
        await page.goto(console.application.address)
        await page.wait_for_url(f"{console.base}/")

        async def draw(address: str, name: str, theme: str = "light") -> None:
            await page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            await page.goto(console.base + address)
            await page.screenshot(path=FOLDER / f"{name}.png")

        for each in PAGES:
            if each.label:
                await draw(asked.get(each.path, each.path), each.label.lower())
        await draw("/", "first-page-dark", "dark")
        await draw(asked["/"], "search")
        (passage, *_) = re.findall(r'href="[^"?]*(/page\?passage_id=[^"]+)"', await page.content())
        await draw(passage.replace("&amp;", "&"), "marked-page")
        await page.get_by_role("main").get_by_role("link").first.click()
        await page.screenshot(path=FOLDER / "document.png")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    asyncio.run(draw_pages(*sys.argv[1:5]))
