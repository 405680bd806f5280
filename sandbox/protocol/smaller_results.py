"""For a result that is too large: its largest places, and a smaller form that the script could return instead."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

_MAX_PLACES = 3
_MANY_KEYS = 40  # an object with more keys is a table by name: its values are counted together
_KEY_CHARS = 40
_MAX_DEPTH = 4
_BYTES_PER_TOKEN = 4  # of English and JSON, on average
_SMALL_BYTES = 80  # a field that names something, not one that holds its text
_MAX_FIELDS = 4
_ROOM = 0.8  # of the bound, because sizes are estimates


def describe_largest(value: Any) -> str:
    """The largest places with their bytes: ``result[*]['content'] 31,204 bytes, ...``."""
    sizes: Counter[str] = Counter()
    _add_sizes(value, "result", sizes, 0)
    return ", ".join(f"{place} {size:,} bytes" for place, size in sizes.most_common(_MAX_PLACES))


def suggest_smaller(value: Any, bound: int, unit: str) -> str:
    """A smaller form of the result, as a script would write it."""
    room = int(bound * _ROOM) * (_BYTES_PER_TOKEN if unit == "tokens" else 1)
    place = "result"
    while isinstance(value, dict) and (key := _largest_key(value)) is not None:
        place, value = f"{place}[{key[:_KEY_CHARS]!r}]", value[key]
    advice = _suggest_form(value, place, room)
    if advice and place != "result":
        return f"make {place} smaller: {advice}; {_SHORTEN_ROWS}"
    return f"{advice}; {_SHORTEN_ROWS}".lstrip("; ")


def _largest_key(value: dict[str, Any]) -> str | None:
    """The key whose value takes at least half of an object; None where there is none: it is a table by name."""
    name = max(value, key=lambda key: _size(value[key]), default=None)
    return name if name is not None and 2 * _size(value[name]) >= _size(value) else None


def _suggest_form(value: Any, place: str, room: int) -> str:
    """A smaller form of the value at this place, "" where there is none to suggest."""
    if isinstance(value, list) and value:
        return _suggest_fewer_rows(value, place, room)
    if isinstance(value, dict) and value:
        kept = min(len(value), max(1, room * len(value) // max(_size(value), 1)))
        return f"return fewer: dict(list({place}.items())[:{kept}])"
    return f"return its beginning: {place}[:{room:_}]" if isinstance(value, str) else ""


_SHORTEN_ROWS = "summarize(rows, max_content_length=100) and format_for_agent(rows, max_tokens=1000) shorten rows"


def _suggest_fewer_rows(rows: list[Any], place: str, room: int) -> str:
    names = _small_fields(rows)
    if not names:
        kept = max(1, room * len(rows) // max(_size(rows), 1))
        return f"return fewer: {place}[:{min(kept, len(rows))}]"
    small = [{name: row[name] for name in names if name in row} for row in rows]
    kept = min(len(rows), max(1, room * len(rows) // max(_size(small), 1)))
    some = place if kept == len(rows) else f"{place}[:{kept}]"
    fields = ", ".join(map(repr, names))
    return f"return [{{name: row.get(name) for name in [{fields}]}} for row in {some}]"


def _small_fields(rows: list[Any]) -> list[str]:
    """The fields that are small in all rows, in order; none where the rows are not objects."""
    if not all(isinstance(row, dict) for row in rows):
        return []
    small = [name for name in rows[0] if all(_size(row.get(name)) <= _SMALL_BYTES for row in rows)]
    return [name[:_KEY_CHARS] for name in small][:_MAX_FIELDS]


def _add_sizes(value: Any, place: str, sizes: Counter[str], depth: int) -> None:
    if depth < _MAX_DEPTH and isinstance(value, list) and value:
        for item in value:
            _add_sizes(item, f"{place}[*]", sizes, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, dict) and value:
        for name, item in value.items():
            key = "*" if len(value) > _MANY_KEYS else repr(name[:_KEY_CHARS])
            _add_sizes(item, f"{place}[{key}]", sizes, depth + 1)
    else:
        sizes[place] += _size(value)


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
