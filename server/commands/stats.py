"""``winnow stats``: contents and size of a store, and counters of its running servers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Any

import typer

from server.backends.catalogue import Catalogue
from server.backends.files.disk_use import measure_parts
from server.backends.files.lock import find_holder
from server.backends.files.store_folder import require_index
from server.commands.engine import ask_engine, format_waits
from server.commands.terminal.output import Json, Store, command, print_json, print_lines, report_errors
from server.errors import WinnowError
from server.opening import catalogue_path
from server.settings import MIB, Settings, load_settings
from server.transports.statistics import ask_servers, summarize_metrics

app = command()

_SECONDS = 3.0


@app.command(epilog="Examples: winnow stats | winnow stats --http 127.0.0.1:8765 --json")
def stats(
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="a running server to ask as well", show_default=False),
    ] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Count what the store holds, by project, and what its running servers and their engine did.

    Servers on this store are found automatically, on any transport; --http asks a server of any store.

    The store may be in use: only its catalogue is read.
    """
    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        figures = _collect_figures(settings)
        figures["servers"] = ask_servers(settings.store)
        figures["server"] = _fetch_health(http) if http else None
    if as_json:
        print_json(figures)
    else:
        _print_figures(figures)


def _collect_figures(settings: Settings) -> dict[str, Any]:
    path = catalogue_path(settings)
    require_index(settings.store)
    with closing(Catalogue(path)) as catalogue:
        projects = [asdict(info) for info in catalogue.projects()]
    held_by = find_holder(settings.store)
    parts = measure_parts(settings.store)
    return {
        "store": str(settings.store),
        "vectors_on": str(settings.qdrant_url or "disk"),
        "held_by": str(held_by) if held_by else None,
        "engine": ask_engine(settings.store, "status"),
        "projects": projects,
        "disk_bytes": {**parts, "total": sum(parts.values())},
    }


def _fetch_health(address: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"http://{address}/health", timeout=_SECONDS) as answer:
            health: dict[str, Any] = json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        raise WinnowError(
            "INDEX_UNAVAILABLE", f"no winnow answers at {address}; start one with: winnow serve --http {address}"
        ) from None
    return health


def _print_figures(figures: dict[str, Any]) -> None:
    parts = ", ".join(f"{name} {size / MIB:,.1f} MiB" for name, size in figures["disk_bytes"].items())
    lines = [f"{figures['store']}: {parts}"]
    if figures["held_by"]:
        lines.append(f"held by {figures['held_by']}")
    lines += format_waits((figures["engine"] or {}).get("waits", {}))
    lines += [
        f"{project['name']}: {project['documents']:,} documents, {project['chunks']:,} chunks, "
        f"generation {project['generation']}, vectors of {project['embedding'] or 'no single model'}"
        for project in figures["projects"]
    ]
    for server in figures["servers"]:
        lines += _format_server(server)
    lines += _format_caches(figures["server"] or {})
    print_lines(*lines)


def _format_server(server: dict[str, Any]) -> list[str]:
    counted, queue = summarize_metrics(server), server["queue"]
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in counted["verdicts"].items()) or "none"
    given, kept_out = f"{counted['tokens']:,}", f"{counted['tokens_kept_out']:,}"
    return [
        f"process {server['pid']} serves {server['project']} on {server['transport']} for "
        f"{server['uptime_seconds']:,} s: {counted['calls']:,} calls ({verdicts})",
        f"  tokens: {given} given, {kept_out} kept out by {counted['scripts']:,} scripts",
        f"  queue: {queue['running']} run, {queue['waiting']} wait; {counted['queue_seconds']:.1f} s waited",
        *(f"  {line}" for line in format_alerts(server)),
        *(f"  {line}" for line in _format_caches(server)),
    ]


def format_alerts(server: Mapping[str, Any]) -> list[str]:
    """One line for each capacity of a server that is nearly used up."""
    ratios = server.get("capacities", {})
    return [f"alert: {name} is used to {ratios[name]:.0%}" for name, on in server.get("alerts", {}).items() if on]


def _format_caches(server: dict[str, Any]) -> list[str]:
    lines = []
    for name, counts in server.get("caches", {}).items():
        lookups = counts["hits"] + counts["misses"]
        rate = f"{counts['hits'] / lookups:.0%} of {lookups:,} lookups found" if lookups else "never asked"
        lines.append(f"cache {name}: {rate}, {counts['entries']:,} entries")
    return lines
