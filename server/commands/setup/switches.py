"""The switches in a client's file that keep it from starting an entry that is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.commands.setup.clients import Client
from winnow.server.commands.setup.launch import NAME


@dataclass(frozen=True, slots=True)
class Switch:
    """A setting that keeps our entry from being started, and what to do."""

    detail: str
    advice: str


def find_switches(client: Client, config: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[Switch]:
    """Whatever in this file switches our entry off."""
    if client.off is not None and entry.get(client.off[0]) is client.off[1]:
        key, value = client.off
        told = f"the entry is switched off: {key} is {str(value).lower()}"
        yield Switch(told, f"switch {NAME} on in the client, or drop {key}")
    for path in client.listed_off:
        for place, names in _lists_at(config, path):
            if NAME in names:
                yield Switch(f"{place} names {NAME}, which switches it off", f"take {NAME} out of that list")
    for path in client.listed_on:
        for place, names in _lists_at(config, path):
            if NAME not in names:
                told = f"{place} names the servers that may run, and not {NAME}"
                yield Switch(told, f"put {NAME} into that list")


def _lists_at(config: Any, path: Sequence[str], way: str = "") -> Iterator[tuple[str, list[Any]]]:
    """The lists at a key path, with their own paths; a star in the path is any key."""
    if not path:
        if isinstance(config, list):
            yield way, config
        return
    if isinstance(config, dict):
        for key in config if path[0] == "*" else [path[0]] if path[0] in config else []:
            yield from _lists_at(config[key], path[1:], f"{way}.{key}" if way else key)
