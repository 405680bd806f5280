"""What flow tests share: an empty index to write to, and what a server with default settings lists."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.entry.app import Application, make_knowledge_base
from winnow.server.ingest.pipeline import Target
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.tools.table import TOOLS


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
