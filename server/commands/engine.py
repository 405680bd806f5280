"""``winnow engine``: show or stop the process that several servers of a store share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.text.sizes import count_of

app = command(
    no_args_is_help=True,
    help="Show or end the process that several servers of a store share.",
    epilog=examples("winnow engine status", "winnow engine status --json", "winnow engine stop"),
)

# An engine finishes or abandons its work within half of this.
_END_SECONDS = 15.0
_POLL_SECONDS = 0.05


@app.command(epilog=examples("winnow engine status", "winnow engine status --store notes --json"))
def status(store: StoreOption = None, as_json: Json = False) -> None:
    """Show the engine of the store: process, memory, clients. Starts nothing."""
    with report_errors(as_json=as_json):
        folder = load_settings(store=store).store
        engine = ask_engine(folder, "status")
    if as_json:
        print_json({"running": engine is not None, "store": str(folder), **(engine or {})})
        return
    print_lines(*_format_status(folder, engine))


@app.command(epilog=examples("winnow engine stop", "winnow engine stop --store notes"))
def stop(store: StoreOption = None, as_json: Json = False) -> None:
    """Stop the engine; an ingest can be resumed. The next call of a server starts another engine."""
    with report_errors(as_json=as_json):
        folder = load_settings(store=store).store
        engine = ask_engine(folder, "stop")
        if engine is not None:
            _wait_for_end(folder, engine["pid"])
    if as_json:
        print_json({"stopped": engine is not None, "store": str(folder), **(engine or {})})
        return
    print_lines(f"process {engine['pid']} has ended" if engine else f"no engine runs for {folder}")


def engine_warnings(store: Path, consequence: str) -> tuple[str, ...]:
    """A warning if an engine runs on the store: ``does`` says what it does with the replaced index."""
    from winnow.server.storage.files.lock import ENGINE, find_holder

    holder = find_holder(store, ENGINE)
    return (f"{holder} {consequence}",) if holder else ()


def ask_engine(store: Path, what: str) -> Mapping[str, Any] | None:
    """The engine's answer to "status" or "stop"; None if no engine runs for the store."""
    from winnow.server.engine import endpoint
    from winnow.server.engine.client import query_engine

    return asyncio.run(query_engine(store, what)) if endpoint.is_supported() else None


def _wait_for_end(store: Path, pid: int) -> None:
    from winnow.server.storage.files.lock import ENGINE, find_holder

    until = time.monotonic() + _END_SECONDS
    while (holder := find_holder(store, ENGINE)) is not None and holder.pid == pid:
        if time.monotonic() > until:
            raise WinnowError("TIMEOUT", f"process {pid} was asked to stop and still runs; try again in a moment")
        time.sleep(_POLL_SECONDS)


def _format_status(store: Path, engine: Mapping[str, Any] | None) -> list[str]:
    if engine is None:
        return [f"no engine runs for {store}; a server starts one with its first call (setting daemon = on)"]
    lines = [
        f"process {engine['pid']} (winnow {engine['build']}) has had {engine['store']} for "
        f"{engine['uptime_seconds']:.0f} s: "
        f"{engine['pss_mb']:.0f} MB, {count_of(len(engine['clients']), 'client')}, "
        f"{count_of(engine['ingests'], 'ingest')}"
        f"{', watching' if engine.get('watching') else ''}"
    ]
    lines += [
        f"  process {client['pid']}: project {client['project']}, {count_of(client['calls'], 'call')} "
        f"in {client['seconds']:.0f} s"
        for client in engine["clients"]
    ]
    return lines + format_waits(engine.get("waits", {}))


def format_waits(waits: Mapping[str, Any]) -> list[str]:
    """Lines with the time that reads waited for writers."""
    return [
        f"  waits at {name}: {row['reads']:,} reads; of the latest 95 of 100 at most {row['p95_ms']} ms, "
        f"the longest {row['longest_ms']} ms"
        for name, row in waits.items()
    ]
