"""Values that a script keeps for the next scripts of its session."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from .awaitable import Nothing, Number, Rows, Sizes, Text
from .rows import to_row
from .transport import call

_NESTING = 64
_MOST_BITS = 4_096  # of an integer; Python writes no more than 4,300 digits
# A call holds 64 KiB; a piece takes less with its escapes.
_CHARS_AT_ONCE, _BYTES_AT_ONCE = 56_000, 60_000
_HINTS = {
    "set": "save(name, sorted(value))",
    "frozenset": "save(name, sorted(value))",
    "generator": "save(name, list(value))",
    "map": "save(name, list(value))",
    "filter": "save(name, list(value))",
    "zip": "save(name, list(value))",
    "bytes": "save(name, value.decode())",
    "date": "save(name, str(value))",
    "datetime": "save(name, str(value))",
}
_ANY_HINT = "dicts, lists, texts, numbers, True, False and None can be saved"


def save(name: str, value: Any) -> Nothing:
    """Keep a value for the next scripts of this session, under a name.

        rows = semantic_search("retry policy", top_k=100)
        save("candidates", [{"id": row.id, "title": row.title} for row in rows])

    name: up to 100 letters, digits, spaces and . : / _ -; a name that exists is replaced. value: JSON: dicts,
    lists, texts, numbers, True, False; keys become texts. None removes the name. A session keeps 1 MiB and 100
    names, until it ends or half an hour passes without use. One SDK call for each 50 KB.
    """
    text = json.dumps(_to_data(value, "value", 0), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate becomes a question mark
    total, sent = len(text.encode()), 0
    for piece in _split(text):
        call("save", {"name": name, "text": piece, "start": sent, "bytes": total})
        sent += len(piece.encode())
    return Nothing()


def load(name: str, default: Any = None) -> Any:
    """A value that an earlier script of this session saved, or `default`.

        seen = load("seen", [])
        fresh = [row for row in semantic_search("retry policy", top_k=50) if row.id not in seen]
        save("seen", seen + [row.id for row in fresh])

    name: as in save. Dicts are rows again: value.title and value["title"]. One SDK call for each 200,000
    characters.
    """
    parts: list[Any] = []
    while not parts or parts[-1]["next"] is not None:
        part = call("load", {"name": name, "start": parts[-1]["next"] if parts else 0})
        if part["version"] is None:
            return default
        is_same = not parts or part["version"] == parts[0]["version"]
        parts = [*parts, part] if is_same else []  # another script saved it meanwhile: from the beginning
    return _to_awaitable(json.loads("".join(part["text"] for part in parts)))


def saved() -> Sizes:
    """The names of this session's saved values, and their sizes in bytes.

        for name, size in saved().items():
            print(name, size)

    Most recently saved last.
    """
    return Sizes(call("saved", {})["sizes"])


def _to_awaitable(value: Any) -> Any:
    if isinstance(value, list):
        return Rows(to_row(item) if isinstance(item, dict) else item for item in value)
    if isinstance(value, dict):
        return to_row(value)
    if isinstance(value, str):
        return Text(value)
    return Number(value) if type(value) is int else value


def _to_data(value: Any, path: str, depth: int) -> Any:
    """The value as JSON has it. Raises TypeError or ValueError that names the place."""
    if depth > _NESTING:
        raise ValueError(f"save: value is nested deeper than {_NESTING} levels, or contains itself")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise ValueError(f"save: {path} is an integer of {value.bit_length():,} bits; save(name, hex(value))")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"save: {path} is {value}, which JSON does not have; use None or a text")
        return value
    if isinstance(value, dict):
        data = {
            _to_key(key, path): _to_data(item, f"{path}[{key!r}]"[:80], depth + 1) for key, item in value.items()
        }
        if len(data) != len(value):
            raise ValueError(f"save: {path} has two keys that are the same as texts")
        return data
    if isinstance(value, (list, tuple)):
        return [_to_data(item, f"{path}[{index}]"[:80], depth + 1) for index, item in enumerate(value)]
    kind = type(value).__name__
    raise TypeError(f"save: {path} is of type {kind!r}, which JSON does not have; {_HINTS.get(kind, _ANY_HINT)}")


def _to_key(key: Any, path: str) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, int)):
        return json.dumps(key)
    raise TypeError(f"save: {path} has a key of type {type(key).__name__!r}; keys are texts: use str(key)")


def _split(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        length = _CHARS_AT_ONCE
        while len(json.dumps(text[start : start + length], ensure_ascii=False).encode()) > _BYTES_AT_ONCE:
            length = length * 4 // 5
        yield text[start : start + length]
        start += length
