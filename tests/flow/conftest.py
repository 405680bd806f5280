"""What flow tests share: an index to write to, what a default server lists, a browser and its judge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.entry.app import Application
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.ingest.pipeline import Target
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.tools.table import TOOLS

AXE = "axe-core@4.14.1"
BROWSERS = ("chromium-headless-shell", "chromium")


@pytest.fixture
def backends(tmp_path: Path) -> Iterator[Backends]:
    settings = load_settings(store=tmp_path / "store", project="p", embedding="off")
    opened = open_backends(settings, wait_for_model=True)
    yield opened
    opened.close()


@pytest.fixture
def target(backends: Backends) -> Target:
    return Target("p", backends.catalogue, backends.store, None)


@pytest.fixture(scope="session")
def demonstrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The store and the result of a first `winnow demo`, which embeds the documentation of Python: a minute.

    The store has the place that `winnow eval --golden --store` gives to the same documents: the folder "stdlib".
    """
    store = tmp_path_factory.mktemp("demonstrated") / "stdlib"
    winnow = Path(sys.executable).with_name("winnow")
    done = subprocess.run(
        [winnow, "demo", "--store", store, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return store, json.loads(done.stdout)


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, which judges pages by the rules of accessibility."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None or subprocess.run([npm, "pack", "--silent", AXE], cwd=folder, capture_output=True).returncode:
        pytest.skip(f"{AXE} cannot be had from npm")
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        source = packed.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode()


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Any]:
    """A Chromium; without Playwright and Debian's Chromium, its tests are skipped (docs/testing.md)."""
    playwright = pytest.importorskip("playwright.async_api", reason="needs Playwright: pip install playwright")
    program = os.environ.get("WINNOW_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), "")
    if not program:
        pytest.skip("needs a Chromium: Debian's package, or its path in WINNOW_BROWSER")
    async with playwright.async_playwright() as started:
        browser = await started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture
def listed(settings: Settings) -> list[str]:
    """The tools in their order, on a host with every wall."""
    application = Application(settings, make_knowledge_base(settings, wait_for_model=False))
    context = application.context("", _silent)
    usual = [one for one in TOOLS if one.listed and not one.pack]
    offered = [one.name for one in usual if one.name == "execute_code" or one.is_offered(context.settings)]
    return [name.replace(".", "_") for name in offered]


async def _silent(seconds: float, message: str) -> None:
    """Ignore progress."""
