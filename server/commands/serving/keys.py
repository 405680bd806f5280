"""``winnow key``: add, list, revoke, rotate and remove the keys of HTTP clients."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    complete,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.stores import settings_of_store
from winnow.server.errors import WinnowError
from winnow.server.settings.value_types import split_names

if TYPE_CHECKING:
    from winnow.server.storage.keys.records import AccessKey, KeyText

app = command(
    no_args_is_help=True,
    help="Add, list, revoke, rotate and remove the keys of HTTP clients.",
    epilog=examples("winnow key add laptop", "winnow key list", "winnow key revoke ci", "winnow key remove ci"),
)

_EPILOG = """
A store with a key asks every HTTP client for one, also on loopback; clients on stdio need none. A client sends its
key as `Authorization: Bearer KEY` or `X-API-Key: KEY`. The key is shown once: only its hash is stored.

""" + examples(
    "winnow key add laptop",
    "winnow key add ci --projects handbook,api --read-only --rate 300 --expires 90d",
    "winnow key add contractor --projects handbook --expires 2027-01-31 --json",
)
_SHOWN_ONCE = (
    "this is the only time that the key is shown: give it to the client now, which sends it in the header "
    "'Authorization: Bearer KEY' (docs/hosting.md: settings of clients)"
)
_LIFETIME = re.compile(r"(\d{1,5})\s*([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="a key, by its name or its id")]


@app.command(epilog=_EPILOG)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="name of the client, for lists and logs")],
    projects: Annotated[
        list[str] | None,
        typer.Option(
            "--projects", metavar="NAMES", help="projects that the key reaches, of those served; default: all"
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="refuse the tools that change the index to this key")
    ] = False,
    rate: Annotated[
        int | None,
        typer.Option("--rate", metavar="N", help="calls per minute; default: the setting calls_per_minute"),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires",
            metavar="D",
            help="end of the key: 12h, 90d, 8w, or the day at whose beginning it ends, as 2027-01-31 (UTC)",
        ),
    ] = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Add a key and show it, once."""
    from winnow.server.storage.keys.key_file import add_key, new_key

    with report_errors(as_json=as_json):
        now = time.time()
        options = {
            "projects": () if projects is None else _split_projects(projects),
            "read_only": read_only,
            "calls_per_minute": rate,
            "expires_at": None if expires is None else _end_of(expires, now),
        }
        key, text = new_key(name, int(now), **options)
        add_key(_existing(store), key, int(now))
    print_to_stderr(*_note_unknown(store, key.projects))
    _print_secret(key, text, as_json=as_json)


@app.command(name="list", epilog=examples("winnow key list", "winnow key list --json"))
def list_keys(store: StoreOption = None, as_json: Json = False) -> None:
    """List the keys of a store, also those that are revoked or have expired."""
    from winnow.server.storage.keys.key_file import read_keys

    with report_errors(as_json=as_json):
        folder = _existing(store)
        keys = read_keys(folder)
    rows = [_build_row(key) for key in keys]
    if as_json:
        print_json({"store": str(folder), "keys": rows})
        return
    if not rows:
        print_lines(complete("no keys: HTTP is served on loopback only, to every client (winnow key add NAME)"))
    print_lines(*map(_format_row, rows))


@app.command(epilog=examples("winnow key revoke laptop", "winnow key revoke 1f0c9a2b --json"))
def revoke(name: KeyArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """End a key for good, also for connections that are open."""
    from winnow.server.storage.keys.key_file import revoke_key

    with report_errors(as_json=as_json):
        key = revoke_key(_existing(store), name, int(time.time()))
    if as_json:
        print_json(_build_row(key))
    else:
        print_lines(_format_row(_build_row(key)))


@app.command(epilog=examples("winnow key rotate laptop", "winnow key rotate 1f0c9a2b --json"))
def rotate(name: KeyArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """Replace a key by a new one with the same rights, and show it, once. The earlier one ends at once."""
    from winnow.server.storage.keys.key_file import rotate_key

    with report_errors(as_json=as_json):
        key, text = rotate_key(_existing(store), name, int(time.time()))
    _print_secret(key, text, as_json=as_json)


@app.command(epilog=examples("winnow key remove laptop", "winnow key remove 1f0c9a2b --json"))
def remove(name: KeyArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """Take a revoked or expired key off the list. Its lines in the audit log stay."""
    from winnow.server.storage.keys.key_file import remove_key

    with report_errors(as_json=as_json):
        key, left = remove_key(_existing(store), name, int(time.time()))
    if as_json:
        print_json(_build_row(key))
        return
    print_lines(f"removed: {_format_row(_build_row(key))}")
    if not left:
        print_lines("that was the last key: a server that starts from now on asks its clients for none")


def _existing(store: str | None) -> Path:
    """The folder of the store. Raises ``WinnowError("NOT_FOUND")`` where there is none: keys are of a store."""
    return settings_of_store(store).store


def _split_projects(given: list[str]) -> tuple[str, ...]:
    try:
        names = tuple(dict.fromkeys(name for names in given for name in split_names(names)))
    except ValueError as error:
        raise WinnowError("INVALID_REQUEST", f"--projects: {error}") from None
    # An unset variable of a shell must not make a key for everything.
    if not names:
        raise WinnowError("INVALID_REQUEST", "--projects names no project; leave the option out for all of them")
    return names


def _note_unknown(store: str | None, projects: tuple[str, ...]) -> list[str]:
    """A sentence about projects that the store does not have; they may be created later."""
    from winnow.server.commands.projects.common import open_catalogue

    try:
        with open_catalogue(store) as opened:
            names = [info.name for info in opened.catalogue.existing_projects()]
    except WinnowError:  # there is no store yet
        return []
    unknown = [name for name in projects if name not in names]
    there = ", ".join(names[:10]) or "none yet"
    return [f"note: the store has no project {', '.join(unknown)}; its projects: {there}"] if unknown else []


def _end_of(text: str, now: float) -> int:
    """The time, in seconds since 1970, that ``--expires`` means."""
    match = _LIFETIME.fullmatch(text.strip())
    try:
        if match:
            moment = datetime.fromtimestamp(now, UTC) + int(match[1]) * _UNITS[match[2]]
        else:
            moment = datetime.fromisoformat(text.strip())
        end = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise WinnowError(
            "INVALID_REQUEST", f"--expires takes 12h, 90d, 8w, or a date as 2027-01-31 (got {text[:40]!r})"
        ) from None
    if end <= now:
        raise WinnowError("INVALID_REQUEST", f"--expires: {text[:40]} is over; name a date in the future")
    return end


def _print_secret(key: AccessKey, text: KeyText, *, as_json: bool) -> None:
    if as_json:
        print_json({**_build_row(key), "key": str(text)})
        return
    # The key alone is on standard output, so that it can be piped into a file of secrets.
    print_to_stderr(_format_row(_build_row(key)), _SHOWN_ONCE)
    print_lines(str(text))


def _build_row(key: AccessKey) -> dict[str, Any]:
    times = {name: getattr(key, f"{name}_at") for name in ("created", "rotated", "expires", "revoked")}
    return {
        "id": key.id,
        "name": key.name,
        "state": key.state(time.time()),
        "ends_with": key.tail,
        "projects": list(key.projects),
        "read_only": key.read_only,
        "calls_per_minute": key.calls_per_minute,
        **{name: _iso(at) for name, at in times.items() if at is not None},
    }


def _format_row(row: dict[str, Any]) -> str:
    projects = ", ".join(row["projects"]) or "all projects"
    facts = [
        "read-only" if row["read_only"] else "",
        f"{row['calls_per_minute']:,} calls a minute" if row["calls_per_minute"] else "",
        *(f"{name} {row[name]}" for name in ("created", "rotated", "expires", "revoked") if name in row),
    ]
    ending = "".join(f", {fact}" for fact in facts if fact)
    return f"{row['id']} {row['name']} ({row['state']}, ends with {row['ends_with']}): {projects}{ending}"


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
