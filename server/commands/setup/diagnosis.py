"""Why a client does not show the server: checks of its configuration files, and of what they start.

What a configuration says is run only where it is the command of this very installation.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.server.commands.setup.changes import Home, find_homes, places_of
from winnow.server.commands.setup.clients import Client
from winnow.server.commands.setup.editing.config_text import find_entry, read_config_text
from winnow.server.commands.setup.files import read_config_file
from winnow.server.commands.setup.launch import NAME, Launch, argument_of, is_passing, launch_in
from winnow.server.commands.setup.machine import Machine
from winnow.server.commands.setup.switches import find_switches
from winnow.server.commands.terminal.console_script import find_console_script
from winnow.server.commands.terminal.findings import Finding
from winnow.server.errors import WinnowError
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.commands.setup.handshake import Handshake


def examine_clients(machine: Machine, clients: Sequence[Client]) -> Iterator[Finding]:
    """The findings for each client, in the order of the table."""
    shaken: dict[Any, Finding] = {}
    for client in clients:
        homes = find_homes(machine, [client])
        if not homes:
            places = " or ".join(places_of(client, machine))
            advice = "install the client and start it once"
            yield _finding(client, "installed", f"nothing of it is here; its file would be {places}", advice)
        launches = []
        for home in homes:
            launch = yield from _examine_file(home)
            if launch is not None:
                launches.append(launch)
                yield from _examine_launch(client, launch, shaken)
        if len(set(map(_key_of, launches))) > 1:
            yield _finding(client, "homes", "its files start different servers", _again(client))
        if launches:
            yield _finding(client, "restart", f"if it still shows nothing: {client.again}")


def _examine_file(home: Home) -> Generator[Finding, None, Launch | None]:
    """Yield the findings about a file; returns the launch of its entry, None where there is none."""
    client = home.client
    try:
        file = read_config_file(home.path)
        config = read_config_text(file.text, client.format)
    except WinnowError as error:
        message = error.message if str(home.path) in error.message else f"{home.path}: {error.message}"
        yield _finding(client, "file", message, "mend the file; until then the client reads none of it")
        return None
    if file.data is None:
        yield _finding(client, "file", f"{home.path} is not there", _again(client))
        return None
    entry = find_entry(config, home.servers)
    if entry is None:
        named = _named_otherwise(find_entry(config, client.servers))
        also = f"; {', '.join(named)} there seems to be winnow under another name" if named else ""
        yield _finding(client, "entry", f"{home.path} has no entry {NAME}{also}", _again(client))
        return None
    launch = launch_in(entry, client.shape)
    if launch is None:
        yield _finding(client, "entry", f"the entry {NAME} in {home.path} starts no command", _again(client))
        return None
    yield _finding(client, "entry", str(home.path))
    for switch in find_switches(client, config, entry):
        yield _finding(client, "switch", f"{home.path}: {switch.detail}", switch.advice)
    return launch


def _named_otherwise(servers: Any) -> list[str]:
    """Names of entries that seem to start winnow."""
    entries = servers.items() if isinstance(servers, dict) else ()
    return [str(name) for name, entry in entries if isinstance(entry, dict) and NAME in str(entry)]


def _examine_launch(client: Client, launch: Launch, shaken: dict[Any, Finding]) -> Iterator[Finding]:
    """The findings about a command; each is started once, whatever the number of clients that name it."""
    command = Path(launch.command)
    if not command.is_absolute():
        told = f"{launch.command} is no absolute path; a client finds it only in its own PATH"
        yield _finding(client, "command", told, _again(client))
        return
    if not os.path.exists(command):  # false also where the path is none, or may not be entered
        yield _finding(client, "command", f"{command} is not there any more", _again(client))
        return
    own = find_console_script()
    if not _is_same_file(command, own):
        told = f"{command} is not this installation ({own}), so it is not started here"
        yield _finding(client, "command", told, _again(client), essential=False)
        return
    if not launch.serves:
        told = f"it runs winnow {' '.join(launch.args[:1])}, and not winnow serve, so it is not started here"
        yield _finding(client, "command", told, _again(client))
        return
    yield _finding(client, "command", str(command))
    # By its own path: another name of it could lead elsewhere by now, and Python loads modules from beside that.
    launch = replace(launch, command=str(own))
    if launch.untried:
        told = (
            f"{', '.join(launch.untried)} of the entry are not set in this trial, since they are none of winnow's"
        )
        yield _finding(client, "variables", told)
    if is_passing(launch):
        told = "it lies in the cache of uvx or pipx run, which is emptied from time to time"
        yield _finding(
            client, "command", told, f"uv tool install winnow-mcp, then {_again(client)}", essential=False
        )
    store = argument_of(launch.args, "--store")
    if store and not os.path.exists(store):
        # The default store may be missing: nothing was indexed yet. The handshake fails where any other one is.
        advice = f"winnow ingest FOLDER --store {store}, or {_again(client)}"
        yield _finding(client, "store", f"{store} is not there", advice, essential=False)
    if _key_of(launch) not in shaken:
        shaken[_key_of(launch)] = _shake(client, launch)
    yield replace(shaken[_key_of(launch)], group=client.title)


def _is_same_file(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)
    return False


def _shake(client: Client, launch: Launch) -> Finding:
    from winnow.server.commands.setup.handshake import shake_hands

    try:
        return finding_of(client, shake_hands(launch))
    except WinnowError as error:
        log = error.details.get("log") or ["(its log is empty)"]
        return _finding(client, "handshake", f"{error.message}. Its log ends: {' | '.join(log)}", "winnow doctor")


def finding_of(client: Client, done: Handshake) -> Finding:
    """The finding about a server that started. A slow start is advice and no failure, as it is for setup."""
    scripts = "with scripts" if done.has_scripts else "without scripts (winnow doctor says why)"
    told = f"{count_of(len(done.tools), 'tool')}, {done.tokens:,} tokens, {scripts}, {done.seconds:.1f} s"
    return _finding(client, "handshake", told, done.advice, essential=False)


def _key_of(launch: Launch) -> Any:
    return (launch.command, launch.args, tuple(sorted(launch.env.items())))


def _again(client: Client) -> str:
    return f"winnow setup {client.name}"


def _finding(client: Client, check: str, told: str, advice: str = "", *, essential: bool = True) -> Finding:
    """A finding; it is fine where there is nothing to do."""
    return Finding(client.title, check, not advice, told, advice, essential)
