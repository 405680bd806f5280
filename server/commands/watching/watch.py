"""``winnow watch``: keep the index up to date while files change."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.server.commands.terminal.output import (
    FAILED,
    EmbedderOption,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json_line,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.server.jobs.watching.status import PathStatus

app = command()

# Whether the watcher still runs.
IsRunning = Callable[[], Awaitable[bool]]

_LOOK_SECONDS, _PROGRESS_SECONDS = 0.3, 3.0
_EPILOG = """
Watches the sources of the store (winnow sources list) until Ctrl-C: a changed file can be searched after about a
second. PATHs that are not among them are added first. Everything is scanned at the start and every ten minutes
(WINNOW_WATCH_SCAN_MINUTES). Where the system reports no changes, as on network drives, folders are listed every
ten seconds (WINNOW_WATCH_POLL_SECONDS).

When 25 or more documents and a quarter of a source are gone at once, they are kept until you confirm that:
winnow sources confirm ID. A folder that is not there loses nothing.

Servers of the store share the work: winnow watch uses their engine, or starts it. With WINNOW_DAEMON=off it holds
the store itself.

""" + examples(
    "winnow watch docs/", "winnow watch", "winnow watch ~/notes --project private", "winnow watch --once --json"
)


@app.command(epilog=_EPILOG)
def watch(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH...]", help="folders and files to add and watch")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="scan every source once, then end")] = False,
    project: ProjectOption = None,
    embedder: EmbedderOption = None,
    store: StoreOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print each change of a state as a line of JSON")
    ] = False,
) -> None:
    """Keep the index up to date while files change."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project, embedder=embedder)
        _add_missing(settings, paths or [])
        is_fine = asyncio.run(_watch(settings, once=once, as_json=as_json))
    if not is_fine:
        raise typer.Exit(FAILED)


def _add_missing(settings: Settings, paths: Sequence[Path]) -> None:
    """Add the paths that no source of the project has. Raises ``WinnowError`` without any source."""
    from winnow.server.commands.ingest.addresses import refuse_addresses
    from winnow.server.commands.watching.sources import hidden_names, make_source, with_free_id
    from winnow.server.ingest.file_discovery import check_paths
    from winnow.server.jobs.watching.sources import change_sources, read_sources

    refuse_addresses(paths)
    check_paths(paths)
    before = read_sources(settings.store)
    known = {path for one in before if one.project == settings.project for path in one.paths}
    for path in paths:
        if str(path.resolve()) not in known:
            made = make_source(settings, [path], "", {})
            before = change_sources(settings.store, lambda now, made=made: [*now, with_free_id(made, now)])  # type: ignore[misc]
            print_to_stderr(f"added source {before[-1].id}: {made.paths[0]}")
    hidden = hidden_names(settings)
    if all(one.project in hidden for one in before):
        raise WinnowError("INVALID_REQUEST", "there is nothing to watch; add a folder: winnow watch PATH")


async def _watch(settings: Settings, *, once: bool, as_json: bool) -> bool:
    """Watch until a signal, or with ``once`` until every path was scanned; whether all paths are fine."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    began, shown = time.time(), _Shown(as_json=as_json)
    async with _watcher_running(settings) as is_running:
        while not stopping.is_set():
            rows = shown.update(settings.store)
            if once and rows and all(_is_settled(row, began) for row in rows):
                return all(row.state in ("events", "polling") for row in rows)
            if not await is_running():
                raise WinnowError(
                    "INDEX_UNAVAILABLE", "the engine has left, so nothing is watched now; run: winnow watch"
                )
            await _sleep(stopping, _LOOK_SECONDS)
    return True


def _is_settled(row: PathStatus, began: float) -> bool:
    return row.state in ("away", "failed") or (row.scanned_at >= began and not row.indexing)


async def _sleep(stopping: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.ensure_future(stopping.wait())
    await asyncio.wait([waiting], timeout=seconds)
    waiting.cancel()


@asynccontextmanager
async def _watcher_running(settings: Settings) -> AsyncIterator[IsRunning]:
    """A watcher in the engine, or in this process; yields a coroutine function: whether it still runs."""
    from winnow.server.engine.sharing import shares_engine

    opener = _in_engine if shares_engine(settings) else _in_this_process
    async with opener(settings) as is_running:
        yield is_running


@asynccontextmanager
async def _in_engine(settings: Settings) -> AsyncIterator[IsRunning]:
    from winnow.server.engine.client import EngineKnowledge
    from winnow.server.storage.files.lock import ENGINE, find_holder

    kb = EngineKnowledge(settings, waits_for_model=True, watches=True)

    async def is_running() -> bool:
        """Whether there is an engine; the one that follows a crash is asked to watch by the client."""
        return find_holder(settings.store, ENGINE) is not None

    try:
        await kb.open()
        await kb.watch()
        yield is_running
    finally:
        await kb.aclose()


@asynccontextmanager
async def _in_this_process(settings: Settings) -> AsyncIterator[IsRunning]:
    from winnow.server.backends.opening import open_backends
    from winnow.server.jobs.watching.store_watcher import watcher_of

    backends = await asyncio.to_thread(open_backends, settings, wait_for_model=True, repairs_vectors=True)
    watcher = watcher_of(settings, lambda: backends)

    async def is_running() -> bool:
        return True

    try:
        watcher.start()
        yield is_running
    finally:
        await asyncio.to_thread(watcher.stop)
        backends.close()


class _Shown:
    """Prints each change of a path's state once, and the progress of an ingest every few seconds."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._rows: dict[tuple[str, str], PathStatus] = {}
        self._progress_at = 0.0

    def update(self, store: Path) -> Sequence[PathStatus]:
        """Print what has changed; returns all states."""
        from winnow.server.jobs.watching.status import PathStatus, read_status

        rows = read_status(store).paths
        for row in rows:
            key = row.source, row.path
            if row != self._rows.get(key) and not (row.indexing and self._is_early()):
                self._print(row, self._rows.get(key) or PathStatus(row.source, row.path, row.project))
                self._rows[key] = row
        return rows

    def _is_early(self) -> bool:
        now = time.monotonic()
        if now - self._progress_at < _PROGRESS_SECONDS:
            return True
        self._progress_at = now
        return False

    def _print(self, row: PathStatus, former: PathStatus) -> None:
        from winnow.server.commands.watching.sources import format_attention, format_status

        if self._as_json:
            print_json_line(asdict(row))
            return
        print_lines(f"{row.source}: {row.path}: {format_status(row)}")
        if (row.failures, row.held) != (former.failures, former.held):
            print_lines(*(f"{row.source}: {line}" for line in format_attention(row)))
