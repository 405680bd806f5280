"""The change that setup makes to each configuration file, worked out before anything is written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from winnow.server.commands.setup.clients import CLIENTS, Client, ConfigPlace
from winnow.server.commands.setup.editing.config_text import (
    find_entry,
    read_config_text,
    with_entry,
    without_entry,
)
from winnow.server.commands.setup.files import (
    ConfigFile,
    list_backups,
    read_config_file,
    remove_backup,
    replace_config_file,
    require_writable,
)
from winnow.server.commands.setup.launch import NAME, Launch, entry_of, launch_in, shown_entry
from winnow.server.commands.setup.machine import Machine
from winnow.server.commands.setup.switches import Switch, find_switches
from winnow.server.errors import WinnowError


class ChangeState(StrEnum):
    """The kinds of changes to a file."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Home:
    """One configuration file of a client on this machine; the file itself may be missing."""

    client: Client
    path: Path

    @property
    def servers(self) -> tuple[str, ...]:
        """The key path of our entry."""
        return (*self.client.servers, NAME)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file, its bytes after the change (None: it is removed), and what its entry says then.

    ``launch`` is what it starts, ``switches`` what keeps the client from that, ``shown`` the entry for display.
    ``is_reversal``: the change undoes what setup did, and setup would do it again. ``restores`` is the copy with
    the bytes of before, where there is one.
    """

    home: Home
    file: ConfigFile
    state: ChangeState
    after: bytes | None
    launch: Launch | None = None
    switches: tuple[Switch, ...] = ()
    shown: Mapping[str, Any] | None = None
    restores: Path | None = None
    is_reversal: bool = False

    def write(self) -> Path | None:
        """Write the file; returns the copy of what it was. Raises ``WinnowError``.

        A reversal leaves no copies: the file is what it was before setup.
        """
        if self.after == self.file.data:
            return None
        kept = replace_config_file(self.file, self.after, keeps_copy=not self.is_reversal)
        if self.restores is not None:
            remove_backup(self.restores)
        return kept


def find_homes(machine: Machine, clients: Sequence[Client] = CLIENTS) -> list[Home]:
    """Every configuration file of these clients on this machine, in the order of the table.

    A file that two paths lead to, by links, is there once.
    """
    homes: dict[tuple[str, str], Home] = {}
    for client in clients:
        for path in _paths_of(client, machine):
            homes.setdefault((client.name, os.path.realpath(path)), Home(client, path))
    return list(homes.values())


def _paths_of(client: Client, machine: Machine) -> Iterator[Path]:
    for place in client.places[machine.system]:
        for path in machine.paths(place.file):
            signs = [sign for template in place.signs for sign in machine.paths(template)] or [path.parent]
            if any(map(os.path.exists, signs)):
                yield path


def places_of(client: Client, machine: Machine) -> list[str]:
    """The paths where a client's file would be, for messages."""
    folders = {name: str(folder) for name, folder in machine.folders().items()}
    return [_fill(place, folders) for place in client.places[machine.system]]


def _fill(place: ConfigPlace, folders: dict[str, str]) -> str:
    return place.file.format(**folders)


def plan_entry(home: Home, launch: Launch) -> FileChange:
    """The change that gives a client this launch. Raises ``WinnowError`` for a file that is not to be touched."""
    file = read_config_file(home.path)
    form = home.client.format
    before = find_entry(read_config_text(file.text, form), home.servers)
    entry = entry_of(home.client, launch, before)
    text = file.text if entry == before else with_entry(file.text, form, home.servers, entry)
    config = read_config_text(text, form)
    said = launch_in(find_entry(config, home.servers), home.client.shape)
    switches = tuple(find_switches(home.client, config, entry))
    if entry == before:
        return FileChange(home, file, ChangeState.UNCHANGED, file.data, said, switches)
    require_writable(file)
    state = ChangeState.ADDED if before is None else ChangeState.UPDATED
    shown = shown_entry(home.client, launch, entry)
    return FileChange(home, file, state, file.encode(text), said, switches, shown)


def plan_removal(home: Home) -> FileChange:
    """The change that takes our entry out. Raises ``WinnowError`` for a file that is not to be touched.

    Where the file is as setup made it, it becomes what it was before, byte for byte.
    """
    file = read_config_file(home.path)
    entry = find_entry(read_config_text(file.text, home.client.format), home.servers)
    if entry is None:
        return FileChange(home, file, ChangeState.ABSENT, file.data)
    require_writable(file)
    form = home.client.format
    if (copy := _find_copy_before(home, file, entry)) is not None:
        after, path = copy
        return FileChange(home, file, ChangeState.REMOVED, after, restores=path, is_reversal=True)
    if file.encode(with_entry("", form, home.servers, entry)) == file.data:
        return FileChange(home, file, ChangeState.REMOVED, None, is_reversal=True)
    after = file.encode(without_entry(file.text, form, home.servers))
    return FileChange(home, file, ChangeState.REMOVED, after)


def _find_copy_before(home: Home, file: ConfigFile, entry: Any) -> tuple[bytes, Path] | None:
    """The copy of which this file was made: adding the entry to it gives the file, byte for byte."""
    form = home.client.format
    for path in list_backups(file):
        with suppress(WinnowError):  # a copy that is no configuration any more proves nothing
            earlier = read_config_file(path)
            if find_entry(read_config_text(earlier.text, form), home.servers) is not None:
                continue
            if earlier.encode(with_entry(earlier.text, form, home.servers, entry)) == file.data:
                return earlier.data or b"", path
    return None
