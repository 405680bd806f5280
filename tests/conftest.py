"""A small real knowledge base for every test: real files, a real index, the real model where it is installed."""

from __future__ import annotations

import gc
import shutil
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from mcp import ClientSession
from mcp_types import CallToolResult

from tests.ingesting import ingest_paths
from tests.over_engine import over_engines
from tests.plain_store import copy_store
from tests.starts.client import Starter, warm_starts
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

# Speed is measured, never asserted: an example takes as long as the load of the machine lets it take.
_EXAMPLES = hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples in each run: a change is judged by what it changes. `make test-random` looks for new ones.
hypothesis_settings.register_profile("repeated", _EXAMPLES, derandomize=True)
hypothesis_settings.register_profile("random", _EXAMPLES, print_blob=True)
hypothesis_settings.load_profile("repeated")

# New objects between two runs of the garbage collector. With Python's 700 it takes eight percent of the processor
# time of tests that start no process.
_NEW_OBJECTS = 10_000

_STARTER: pytest.StashKey[Starter] = pytest.StashKey()

TOPICS = {
    "backups": "Backups are encrypted with AES-256 before they leave the machine, and kept for ninety days.",
    "networking": "A proxy forwards requests to the gateway; the gateway listens on port 8443 by default.",
    "billing": "Invoices are sent on the first day of the month; late payment adds two percent.",
    "onboarding": "New colleagues get a laptop on day one and a mentor for the first six weeks.",
    "incidents": "An incident commander is named within ten minutes and writes the report within two days.",
}
FACTS_PER_TOPIC = 24


def write_corpus(folder: Path) -> Path:
    """Write one Markdown page for each topic: front matter, one fact, and many other sections."""
    for topic, fact in TOPICS.items():
        sections = "\n\n".join(
            f"## {topic.title()} rule {number}\n\n"
            + f"Rule {number} of {topic} concerns case {number * 7}. "
            + f"Whoever handles {topic} in case {number * 7} reads this page first and then asks the owner. " * 8
            for number in range(FACTS_PER_TOPIC)
        )
        front = f"---\ntitle: {topic.title()} handbook\ntags: [handbook, {topic}]\nvendor: acme\n---\n\n"
        path = folder / "guide" / f"{topic}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{front}# {topic.title()}\n\n{fact}\n\n{sections}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test with the mark ``real_starts``, and fixtures made for it, start interpreters."""
    if (starter := item.config.stash.get(_STARTER, None)) is not None:
        starter.is_on = item.get_closest_marker("real_starts") is None
    return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real-starts", action="store_true", help="start an interpreter for each process of winnow")
    parser.addoption("--over-engine", action="store_true", help="each application asks an engine for its store")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out tests that look into an open store, where an engine has it."""
    if item.config.option.over_engine and item.get_closest_marker("own_store") is not None:
        pytest.skip("looks into a store that its own process has open")


def pytest_collection_finish() -> None:
    """What is imported by now is looked at by the garbage collector no more, which runs less often than usual."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Processes of winnow are forks of one that has imported it (tests/starts)."""
    if session.config.option.real_starts:
        return
    stack = ExitStack()
    session.config.stash[_STARTER] = stack.enter_context(warm_starts())
    session.config.add_cleanup(stack.close)


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the settings, store or models of the person who runs it."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINNOW_CONFIG", str(home / "winnow.toml"))
        patch.setenv("WINNOW_STORE", str(home / "store"))
        patch.setenv("WINNOW_MODELS", str(home / "models"))
        patch.setenv("WINNOW_DAEMON", "off")  # engines are in tests/flow/test_engine.py and `make test-engine`
        yield


@pytest.fixture(scope="session", autouse=True)
def _opened_as_asked(request: pytest.FixtureRequest, _own_folders: None) -> Iterator[None]:
    """Applications open their stores themselves, or all of them ask an engine."""
    with over_engines() if request.config.option.over_engine else nullcontext():
        yield


@pytest.fixture(scope="session", autouse=True)
def _errors_fit_their_schema() -> Iterator[None]:
    """The SDK's client validates answers against the tool's schema; here errors are validated, too."""
    call_tool = ClientSession.call_tool

    async def call_and_hold(self: ClientSession, name: str, *arguments: Any, **options: Any) -> Any:
        result: Any = await call_tool(self, name, *arguments, **options)
        if isinstance(result, CallToolResult) and result.is_error:
            await self.validate_tool_result(name, result)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientSession, "call_tool", call_and_hold)
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory, corpus: Path, _own_folders: None) -> Path:
    """An index of the corpus as project "handbook", which is only copied; no process holds it."""
    folder = tmp_path_factory.mktemp("indexed")
    settings = load_settings(store=folder, project="handbook")
    backends = open_backends(settings, wait_for_model=True)
    try:
        report = ingest_paths(target_of(settings, backends, backends.embedder.ready()), [corpus])
        assert (report.documents, report.failures) == (len(TOPICS), ())
    finally:
        backends.close()
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Path]:
    """A copy of the index for one file of tests: what its tests change, no other file meets."""
    folder = copy_store(indexed, tmp_path_factory.mktemp("copied") / "store")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)  # a process of a test may be about to leave it


@pytest.fixture
def settings(store: Path) -> Settings:
    return load_settings(store=store, project="handbook")


@pytest.fixture
async def application(settings: Settings) -> AsyncIterator[Application]:
    """A running winnow over the corpus."""
    async with open_application(settings, wait_for_model=True) as app:
        yield app
