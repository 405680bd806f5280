"""Where the bulk of a result is, and a smaller form of it, in words for the one who returned it. Plain JSON in."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

_PLACES = 3
_MANY_KEYS = 40  # an object with more of them is a table by name: its values are counted together
_KEY_CHARS = 40
_DEEPEST = 4
_BYTES_PER_TOKEN = 4  # of English and JSON, on average
_SMALL_BYTES = 80  # a field that names something, not one that holds its text
_FIELDS = 4
_ROOM = 0.8  # of the bound: an estimate is one


def largest(value: Any) -> str:
    """The places that take most, with their bytes: ``result[*]['content'] 31,204 bytes, ...``."""
    found: Counter[str] = Counter()
    _gather(value, "result", found, 0)
    return ", ".join(f"{place} {size:,} bytes" for place, size in found.most_common(_PLACES))


def smaller(value: Any, bound: int, unit: str) -> str:
    """What to return instead, as a script would write it."""
    room = int(bound * _ROOM) * (_BYTES_PER_TOKEN if unit == "tokens" else 1)
    place = "result"
    while isinstance(value, dict) and (bulk := _bulk(value)) is not None:
        place, value = f"{place}[{bulk[:_KEY_CHARS]!r}]", value[bulk]
    told = _instead(value, place, room)
    return (
        f"make {place} smaller: {told}; {_ANY}" if told and place != "result" else f"{told}; {_ANY}".lstrip("; ")
    )


def _bulk(value: dict[str, Any]) -> str | None:
    """The name of what takes most of an object; None where no one does: then it is a table by name."""
    name = max(value, key=lambda key: _size(value[key]), default=None)
    return name if name is not None and 2 * _size(value[name]) >= _size(value) else None


def _instead(value: Any, place: str, room: int) -> str:
    """A smaller form of the value at this place; "" where there is none to be told."""
    if isinstance(value, list) and value:
        return _fewer(value, place, room)
    if isinstance(value, dict) and value:
        kept = min(len(value), max(1, room * len(value) // max(_size(value), 1)))
        return f"return fewer: dict(list({place}.items())[:{kept}])"
    return f"return its beginning: {place}[:{room:_}]" if isinstance(value, str) else ""


_ANY = "summarize(rows, max_content_length=100) and format_for_agent(rows, max_tokens=1000) shorten rows"


def _fewer(rows: list[Any], place: str, room: int) -> str:
    names = _names(rows)
    if not names:
        kept = max(1, room * len(rows) // max(_size(rows), 1))
        return f"return fewer: {place}[:{min(kept, len(rows))}]"
    small = [{name: row[name] for name in names if name in row} for row in rows]
    kept = min(len(rows), max(1, room * len(rows) // max(_size(small), 1)))
    some = place if kept == len(rows) else f"{place}[:{kept}]"
    fields = ", ".join(map(repr, names))
    return f"return [{{name: row.get(name) for name in [{fields}]}} for row in {some}]"


def _names(rows: list[Any]) -> list[str]:
    """The fields of records that are small in all of them, in order; none where these are no records."""
    if not all(isinstance(row, dict) for row in rows):
        return []
    small = [name for name in rows[0] if all(_size(row.get(name)) <= _SMALL_BYTES for row in rows)]
    return [name[:_KEY_CHARS] for name in small][:_FIELDS]


def _gather(value: Any, place: str, found: Counter[str], depth: int) -> None:
    if depth < _DEEPEST and isinstance(value, list) and value:
        for item in value:
            _gather(item, f"{place}[*]", found, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict) and value:
        for name, item in value.items():
            key = "*" if len(value) > _MANY_KEYS else repr(name[:_KEY_CHARS])
            _gather(item, f"{place}[{key}]", found, depth + 1)
    else:
        found[place] += _size(value)


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
