"""``winnow engine``: show or stop the process that several servers of a store share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.commands.terminal.output import Json, Store, command, print_json, print_lines, report_errors
from server.errors import WinnowError
from server.settings import load_settings

app = command(
    no_args_is_help=True,
    help="Show or end the process that several servers of a store share.",
    epilog="Examples: winnow engine status | winnow engine status --json | winnow engine stop",
)

# An engine finishes or abandons its work within half of this.
_END_SECONDS = 15.0
_POLL_SECONDS = 0.05


@app.command(epilog="Examples: winnow engine status | winnow engine status --store notes --json")
def status(store: Store = None, as_json: Json = False) -> None:
    """Show the engine of the store: process, memory, clients. Starts nothing."""
    with report_errors(as_json=as_json):
        folder = load_settings(store=store).store
        found = ask_engine(folder, "status")
    if as_json:
        print_json({"running": found is not None, "store": str(folder), **(found or {})})
        return
    print_lines(*_format_status(folder, found))


@app.command(epilog="Examples: winnow engine stop | winnow engine stop --store notes")
def stop(store: Store = None, as_json: Json = False) -> None:
    """Stop the engine; an ingest can be resumed. The next call of a server starts another engine."""
    with report_errors(as_json=as_json):
        folder = load_settings(store=store).store
        found = ask_engine(folder, "stop")
        if found is not None:
            _wait_for_end(folder, found["pid"])
    if as_json:
        print_json({"stopped": found is not None, "store": str(folder), **(found or {})})
        return
    print_lines(f"process {found['pid']} has ended" if found else f"no engine runs for {folder}")


def engine_warnings(store: Path, does: str) -> tuple[str, ...]:
    """A warning if an engine runs on the store: ``does`` says what it does with the replaced index."""
    from server.backends.files.lock import ENGINE, find_holder

    there = find_holder(store, ENGINE)
    return (f"{there} {does}",) if there else ()


def ask_engine(store: Path, what: str) -> Mapping[str, Any] | None:
    """The engine's answer to "status" or "stop"; None if no engine runs for the store."""
    from server.engine import endpoint
    from server.engine.client import query_engine

    return asyncio.run(query_engine(store, what)) if endpoint.is_supported() else None


def _wait_for_end(store: Path, pid: int) -> None:
    from server.backends.files.lock import ENGINE, find_holder

    until = time.monotonic() + _END_SECONDS
    while (there := find_holder(store, ENGINE)) is not None and there.pid == pid:
        if time.monotonic() > until:
            raise WinnowError("TIMEOUT", f"process {pid} was asked to stop and still runs; try again in a moment")
        time.sleep(_POLL_SECONDS)


def _format_status(store: Path, found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return [f"no engine runs for {store}; a server starts one with its first call (setting daemon = on)"]
    lines = [
        f"process {found['pid']} (winnow {found['build']}) has had {found['store']} for "
        f"{found['uptime_seconds']:.0f} s: "
        f"{found['pss_mb']:.0f} MB, {len(found['clients'])} clients, {found['ingests']} ingests"
    ]
    lines += [
        f"  process {one['pid']}: project {one['project']}, {one['calls']:,} calls in {one['seconds']:.0f} s"
        for one in found["clients"]
    ]
    return lines + format_waits(found.get("waits", {}))


def format_waits(waits: Mapping[str, Any]) -> list[str]:
    """Lines with the time that reads waited for writers."""
    return [
        f"  waits at {name}: {one['reads']:,} reads; of the latest 95 of 100 at most {one['p95_ms']} ms, "
        f"the longest {one['longest_ms']} ms"
        for name, one in waits.items()
    ]
