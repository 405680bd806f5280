"""Hints at options that exist, for those that a command does not have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

# An option of another command or program -> those that mean it here, the first that the command has.
_MEANT: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "--limit": ("--top-k", "--rows", "--last", "--passages"),
        "--top": ("--top-k",),
        "--count": ("--top-k", "--last"),
        "--last": ("--limit",),
        "--top-k": ("--limit", "--rows"),
        "--dir": ("--store",),
        "--db": ("--store",),
        "--index": ("--store",),
        "--path": ("--folder", "--store"),
        "--collection": ("--project",),
        "--projects": ("--project",),
        "--project": ("--projects",),
        "--model": ("--embedder",),
        "--format": ("--json",),
        "--port": ("--http",),
        "--host": ("--http", "--host-name"),
        "--key": ("--key-file",),
        "--quiet": ("--json",),
    }
)
# Options that a command does not take because a setting has their value.
_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "--store": "WINNOW_STORE sets it",
        "--project": "WINNOW_PROJECT sets it",
        "--embedder": "WINNOW_EMBEDDER sets it",
    }
)
_LEAST_LIKENESS = 0.75


def hint_at(option: str, known: Collection[str]) -> str:
    """The advice about an option that the command does not have; ``known`` are those that it has.

    >>> hint_at("--limit", ["--top-k", "--json"])
    'did you mean --top-k?'
    >>> hint_at("--store", ["--json"])
    'WINNOW_STORE sets it; the options are: --json'
    """
    meant = [each for each in _MEANT.get(option, ()) if each in known][:1]
    if found := meant or get_close_matches(option, known, n=1, cutoff=_LEAST_LIKENESS):
        return f"did you mean {found[0]}?"
    setting = f"{_SETTINGS[option]}; " if option in _SETTINGS else ""
    return f"{setting}the options are: {', '.join(sorted(known))}"
