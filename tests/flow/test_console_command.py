"""``winnow console`` as a process: what it prints, how it ends, and that it keeps no engine alive."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.consoles import console_over
from tests.plain_store import copy_store
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.engine import endpoint
from winnow.server.engine.client import query_engine
from winnow.server.settings.loading import load

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

WINNOW = Path(sys.executable).with_name("winnow")
LIMIT = 60


@contextmanager
def console_process(store: Path, *options: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console over the store, and the address that it prints."""
    command = [WINNOW, "console", "--store", store, "--project", "handbook", "--embedding", "off", *options]
    environment = {**os.environ, "WINNOW_DAEMON": "off", **variables}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            printed = re.search(r"http://127\.0\.0\.1:\d+/enter\?token=[\w-]{43}", process.stdout.readline())
            assert printed is not None, process.stderr and process.stderr.read()
            yield process, printed[0]
        finally:
            process.kill()


def enter(http: httpx2.Client, address: str) -> str:
    """The address of the first page, to which the printed address leads."""
    entered = http.get(address)
    leads_on = re.search('content="0;url=(/[^"]+/)"', entered.text)
    assert (entered.status_code, leads_on is not None) == (200, True)
    assert leads_on is not None
    return address.partition("/enter")[0] + leads_on[1]


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Processes that start meanwhile can be interrupted, also where a shell began this one in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize(("ending", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
def test_it_serves_until_it_is_ended_and_leaves_nothing(
    store: Path, tmp_path: Path, ending: signal.Signals, code: int
) -> None:
    screen = {"DISPLAY": ":nowhere", "TMPDIR": str(tmp_path), "PATH": str(tmp_path)}
    with console_process(store, **screen) as (process, address), httpx2.Client(timeout=LIMIT) as http:
        (page,) = tmp_path.glob("winnow-console-*/console.html")
        assert (page.parent.stat().st_mode & 0o777, address in page.read_text("utf-8")) == (0o700, True)
        assert http.get(f"{enter(http, address)}documents").status_code == 200
        process.send_signal(ending)
        _, errors = process.communicate(timeout=LIMIT)
        assert (process.returncode, "Traceback" in errors) == (code, False)
        assert [*tmp_path.iterdir()] == []


def test_the_address_is_not_on_a_command_line(store: Path, tmp_path: Path) -> None:
    """Every user of a machine can read command lines: the browser gets the path of a private file."""
    opener = tmp_path / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/opened.part\nmv {tmp_path}/opened.part {tmp_path}/opened\n'
    )
    opener.chmod(0o700)
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    with console_process(store, DISPLAY=":nowhere", PATH=path) as (_, address):
        opened = tmp_path / "opened"
        while not opened.exists():
            os.sched_yield()
        given = opened.read_text("utf-8").strip()
        assert given.startswith(f"file://{tempfile.gettempdir()}/winnow-console-")
        assert address.partition("token=")[2] not in given


def test_it_opens_no_browser_where_it_is_told_so(store: Path, tmp_path: Path) -> None:
    with console_process(store, "--no-browser", DISPLAY=":nowhere", TMPDIR=str(tmp_path)):
        assert [*tmp_path.iterdir()] == []


@pytest.fixture
async def own(tmp_path: Path, store: Path) -> AsyncIterator[Path]:
    """A store of the corpus for one test, whose engines leave as soon as they have no client."""
    copied = copy_store(store, tmp_path / "store")
    yield copied
    await until_gone(copied)


async def until_gone(store: Path) -> None:
    """Return once the store has no engine."""
    async with asyncio.timeout(LIMIT):
        while endpoint.is_supported() and await query_engine(store, "status") is not None:
            await asyncio.sleep(0.02)


async def test_two_consoles_of_a_store_run_at_once(own: Path) -> None:
    quiet = ("--no-browser", "--daemon", "--engine-idle-minutes", "0.001")
    with (
        console_process(own, *quiet) as (_, first),
        console_process(own, *quiet) as (_, second),
        httpx2.Client(timeout=LIMIT) as http,
    ):
        pages = [enter(http, address) for address in (first, second)]
        statuses = [http.get(f"{page}documents").status_code for page in pages]
        assert statuses == [200, 200]


def test_a_port_in_use_and_a_store_without_index_are_errors(store: Path, tmp_path: Path) -> None:
    with console_process(store, "--no-browser") as (_, address):
        port = address.partition("/enter")[0].rpartition(":")[2]
        taken = subprocess.run(
            [WINNOW, "console", "--store", store, "--no-browser", "--port", port], capture_output=True, text=True
        )
    assert (taken.returncode, taken.stderr.startswith("winnow: --port: cannot listen on 127.0.0.1:")) == (2, True)
    missing = subprocess.run(
        [WINNOW, "console", "--store", tmp_path / "none", "--no-browser"], capture_output=True, text=True
    )
    assert (missing.returncode, missing.stdout) == (2, "")


@pytest.mark.skipif(not endpoint.is_supported(), reason="engines are not shared on this system")
async def test_a_console_that_is_left_open_keeps_no_engine_alive(own: Path) -> None:
    others = {"embedding": "off", "daemon": "on", "engine_idle_minutes": 0.001}
    configuration = load({"store": own, "project": "handbook", **others})

    def open_over_engine() -> AbstractAsyncContextManager[Application]:
        return open_application(configuration.settings, wait_for_model=True, starts_engine=True)

    async with (
        console_over(configuration, idle_seconds=0.05, open_once=open_over_engine) as console,
        console.entered() as http,
    ):
        for _ in range(2):  # another engine starts for the second page
            async with console.desk.opened():
                assert (await http.get("/documents")).status_code == 200
                assert await query_engine(own, "status") is not None
            await until_gone(own)
