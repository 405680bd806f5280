"""For a result that is too large: its largest places, and a smaller form that the script could return instead.

The parent does this for a hostile value while its other clients wait. So each value is looked at a bounded number
of times, and values are measured together wherever there may be many of them.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from .frames import dump

_MAX_PLACES = 3
_MANY_KEYS = 40  # objects with more keys are tables by name: their values are counted together
_KEY_CHARS = 40
_MAX_DEPTH = 4
_BYTES_PER_TOKEN = 4  # of English and JSON, on average
_SMALL_BYTES = 80  # a field that names something, not one that holds its text
_MAX_FIELDS = 4
_ROOM = 0.8  # of the bound, because sizes are estimates


def describe_largest(value: Any) -> str:
    """The largest places with their bytes: ``result[*]['content'] 31,204 bytes, ...``."""
    sizes: Counter[str] = Counter()
    level: Mapping[str, list[Any]] = {"result": [value]}
    for _ in range(_MAX_DEPTH):
        level = _open_containers(level, sizes)
    for place, values in level.items():
        sizes[place] += _total_size(values)
    return ", ".join(f"{place} {size:,} bytes" for place, size in sizes.most_common(_MAX_PLACES))


def suggest_smaller(value: Any, bound: int, unit: str) -> str:
    """A smaller form of the result, as a script would write it."""
    room = int(bound * _ROOM) * (_BYTES_PER_TOKEN if unit == "tokens" else 1)
    place = "result"
    for _ in range(_MAX_DEPTH):
        key = _largest_key(value) if isinstance(value, dict) else None
        if key is None:
            break
        place, value = f"{place}[{key[:_KEY_CHARS]!r}]", value[key]
    advice = _suggest_form(value, place, room)
    if advice and place != "result":
        return f"make {place} smaller: {advice}; {_SHORTEN_ROWS}"
    return f"{advice}; {_SHORTEN_ROWS}".lstrip("; ")


def _largest_key(value: dict[str, Any]) -> str | None:
    """The key whose value takes at least half of an object; None where there is none: it is a table by name."""
    if len(value) == 1:
        return next(iter(value))
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
    """The fields of the first row that are small in all rows, in order; none where the rows are not objects."""
    if not all(isinstance(row, dict) for row in rows):
        return []
    large = {name for row in rows for name, item in row.items() if not _is_small(item)}
    small = (name for name in rows[0] if name not in large)
    return [name[:_KEY_CHARS] for name in itertools.islice(small, _MAX_FIELDS)]


def _is_small(value: Any) -> bool:
    return value is None or isinstance(value, (int, float)) or _size(value) <= _SMALL_BYTES


def _open_containers(level: Mapping[str, Sequence[Any]], sizes: Counter[str]) -> Mapping[str, list[Any]]:
    """The parts of all containers by their places; the sizes of other values are added."""
    below: defaultdict[str, list[Any]] = defaultdict(list)
    for place, values in level.items():
        lists = [value for value in values if isinstance(value, list) and value]
        objects = [value for value in values if isinstance(value, dict) and value]
        if len(lists) + len(objects) < len(values):
            sizes[place] += _total_size(
                [value for value in values if not (isinstance(value, (list, dict)) and value)]
            )
        if lists:
            below[f"{place}[*]"] += itertools.chain.from_iterable(lists)
        names = set().union(*objects)
        places = {
            name: f"{place}[{'*' if len(names) > _MANY_KEYS else repr(name[:_KEY_CHARS])}]" for name in names
        }
        for name, item in itertools.chain.from_iterable(each.items() for each in objects):
            below[places[name]].append(item)
    return below


def _total_size(values: Sequence[Any]) -> int:
    """The size of the values without what a list puts around and between them."""
    return _size(values) - len(values) - 1


def _size(value: Any) -> int:
    return len(dump(value))
