"""``winnow stats``: contents and size of a store, and counters of its running servers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Annotated, Any

import typer

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path
from winnow.server.commands.engine import ask_engine, format_waits
from winnow.server.commands.entry.statistics import ask_servers, summarize_metrics
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.commands.terminal.stores import require_index
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import unknown_project
from winnow.server.settings.settings import MIB, Settings
from winnow.server.storage.files.disk_use import measure_parts
from winnow.server.storage.files.lock import WRITER, find_holder
from winnow.server.storage.keys.records import KeyText
from winnow.server.text.sizes import count_of
from winnow.server.transports.addresses import parse_address

app = command()

_SECONDS = 3.0
_KEY_VARIABLE = "WINNOW_KEY"
_MOST_PROJECTS = 10
_MOST_KEY_BYTES = 1_000  # a key has 80
_INTERRUPTED = (
    "  its last ingest did not end (it was interrupted, or failed) with {documents} in the index; the same winnow "
    "ingest again goes on from there"
)


@app.command(
    epilog="A server with keys is asked with the key in a file (--key-file), or in the variable WINNOW_KEY: every "
    "user of this machine can read the arguments of a command.\n\n"
    + examples(
        "winnow stats",
        "winnow stats --http 127.0.0.1:8765 --json",
        "winnow stats --http 127.0.0.1:8765 --key-file operator.key",
    )
)
def stats(
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="a running server to ask, of any store", show_default=False
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file", metavar="FILE", help="file with a key of that server, alone in it", show_default=False
        ),
    ] = None,
    project: ProjectOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Count what the store holds, by project, and what its running servers and their engine did.

    Servers on this store are found automatically, on any transport. --http asks a server of any store, and needs
    none here; with --store too, the figures are of both. --project counts the documents of that project alone;
    bytes on disk and counters of servers are those of all projects.

    The store may be in use: only its catalogue is read.
    """
    with report_errors(as_json=as_json):
        figures: dict[str, Any] = {}
        if store is not None or project is not None or not http:
            settings = load_settings(store=store, project=project)
            figures = _collect_figures(settings, settings.project if project is not None else None)
            figures["servers"] = ask_servers(settings.store)
        figures["server"] = _fetch_health(http, _read_key(key_file)) if http else None
    if as_json:
        print_json(figures)
        return
    print_lines(*(_format_store(figures) if "store" in figures else ()))
    print_lines(*(_format_remote(http, figures["server"]) if http else ()))


def _collect_figures(settings: Settings, project: str | None) -> dict[str, Any]:
    """The figures of the store; of its projects, those of ``project`` alone unless it is None."""
    path = catalogue_path(settings)
    require_index(settings.store)
    is_written = find_holder(settings.store, WRITER) is not None
    with closing(Catalogue(path)) as catalogue:
        names = [info.name for info in catalogue.projects()]
        projects = [
            {**asdict(info), "is_interrupted": not is_written and catalogue.has_unfinished_write(info.name)}
            for info in catalogue.projects()
            if project in (None, info.name)
        ]
    if project is not None and not projects:
        raise unknown_project(project, names, can_create=False)
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


def _read_key(file: Path | None) -> KeyText | None:
    """The key in the file, otherwise in the variable; None without either.

    Raises ``WinnowError("INVALID_REQUEST")`` for a file that cannot be read and for a text that is no key.
    """
    try:
        place = str(file) if file else _KEY_VARIABLE
        text = _read_start(file) if file else os.environ.get(_KEY_VARIABLE, "")
    except (OSError, ValueError) as error:
        raise WinnowError("INVALID_REQUEST", f"{place}: cannot be read ({error})") from None
    key = KeyText.parse(text.strip())
    if key is None and (file or text):
        raise WinnowError("INVALID_REQUEST", f"{place} does not hold a key, as winnow key add NAME prints it")
    return key


def _read_start(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(_MOST_KEY_BYTES).decode("ascii")


def _fetch_health(address: str, key: KeyText | None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        # Not urllib, which follows redirections and uses proxies: the key is for this server alone.
        with closing(HTTPConnection(*parse_address(address), timeout=_SECONDS)) as connection:
            connection.request("GET", "/health", headers=headers)
            with connection.getresponse() as answer:
                if answer.status != HTTPStatus.OK:
                    raise _explain_refusal(address, answer.status, has_key=key is not None)
                health = json.load(answer)
                if not isinstance(health, dict) or "version" not in health:
                    raise ValueError("it is another program")
    except (OSError, ValueError, HTTPException):
        raise WinnowError(
            "INDEX_UNAVAILABLE", f"no winnow answers at {address}; start one with: winnow serve --http {address}"
        ) from None
    return dict(health)


def _explain_refusal(address: str, status: int, *, has_key: bool) -> WinnowError:
    if status == HTTPStatus.UNAUTHORIZED:
        why = (
            "refuses this key: it is wrong, revoked or expired (winnow key list)"
            if has_key
            else f"answers and needs a key; name a file with one (--key-file FILE), or set {_KEY_VARIABLE}"
        )
        return WinnowError("SCOPE_VIOLATION", f"the server at {address} {why}")
    return WinnowError("INDEX_UNAVAILABLE", f"what answers at {address} refuses with HTTP status {status}")


def _format_store(figures: dict[str, Any]) -> list[str]:
    parts = ", ".join(f"{name} {size / MIB:,.1f} MiB" for name, size in figures["disk_bytes"].items())
    lines = [f"{figures['store']}: {parts}"]
    if figures["held_by"]:
        lines.append(f"held by {figures['held_by']}")
    lines += format_waits((figures["engine"] or {}).get("waits", {}))
    for project in figures["projects"]:
        lines += _format_project(project)
    for server in figures["servers"]:
        lines += _format_local(server)
    return lines


def _format_project(project: Mapping[str, Any]) -> list[str]:
    documents, chunks = count_of(project["documents"], "document"), count_of(project["chunks"], "chunk")
    return [
        f"{project['name']}: {documents}, {chunks}, generation {project['generation']}, "
        f"vectors of {project['embedding'] or 'no single model'}",
        *([_INTERRUPTED.format(documents=documents)] if project["is_interrupted"] else []),
    ]


def _format_remote(address: str, server: dict[str, Any]) -> list[str]:
    """Lines for a server that was asked over HTTP; it says no more than its status to a key for some projects."""
    name = f"the server at {address} (winnow {server.get('version', 'of an unknown version')})"
    if "answers" not in server:
        return [
            f"{name} gives its status alone, {server.get('status')}: its counters take a key without --projects"
        ]
    return _format_server(server, name)


def _format_local(server: dict[str, Any]) -> list[str]:
    name = f"process {server['pid']} serves {_list_projects(server)} on {server['transport']}"
    return _format_server(server, name)


def _format_server(server: dict[str, Any], name: str) -> list[str]:
    counted, queue = summarize_metrics(server), server["queue"]
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in counted["verdicts"].items()) or "none"
    given, kept_out = f"{counted['tokens']:,}", f"{counted['tokens_kept_out']:,}"
    return [
        f"{name} for {server['uptime_seconds']:,} s: {count_of(counted['calls'], 'call')} ({verdicts})",
        f"  tokens: {given} given, {kept_out} kept out by {count_of(counted['scripts'], 'script')}",
        f"  queue: {queue['running']} run, {queue['waiting']} wait; {counted['queue_seconds']:.1f} s waited",
        *(f"  {line}" for line in format_alerts(server)),
        *(f"  {line}" for line in _format_caches(server)),
    ]


def _list_projects(server: Mapping[str, Any]) -> str:
    """The projects of a server; one of an earlier version states the first alone."""
    projects = server.get("projects") or [server["project"]]
    more = f" and {len(projects) - _MOST_PROJECTS} more" if len(projects) > _MOST_PROJECTS else ""
    return ", ".join(projects[:_MOST_PROJECTS]) + more


def format_alerts(server: Mapping[str, Any]) -> list[str]:
    """One line for each capacity of a server that is nearly used up."""
    ratios = server.get("capacities", {})
    return [f"alert: {name} is used to {ratios[name]:.0%}" for name, on in server.get("alerts", {}).items() if on]


def _format_caches(server: dict[str, Any]) -> list[str]:
    lines = []
    for name, counts in server.get("caches", {}).items():
        lookups = counts["hits"] + counts["misses"]
        rate = f"{counts['hits'] / lookups:.0%} of {lookups:,} lookups found" if lookups else "never asked"
        lines.append(f"cache {name}: {rate}, {count_of(counts['entries'], 'entry', 'entries')}")
    return lines
