"""A value with its tables as columns: what many equal records say, their names written once. Pure.

    [{"id": "a", "score": 1}, {"id": "b", "score": 2}]
    {"columns": ["id", "score"], "rows": [["a", 1], ["b", 2]]}

Only where that is shorter as JSON. Records are equal when they have the same names, in whatever order.
"""

from __future__ import annotations

import json
from typing import Any

_AROUND = len('{"columns":[],"rows":}')
_FEWEST = 2


def columned(value: Any) -> Any:
    """The value in its shorter form; a copy where anything changes."""
    if isinstance(value, dict):
        return {name: columned(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    return _table(value) if _is_table(value) else [columned(part) for part in value]


def _is_table(rows: list[Any]) -> bool:
    if len(rows) < _FEWEST or not isinstance(rows[0], dict) or not rows[0]:
        return False
    names = rows[0].keys()
    if not all(isinstance(row, dict) and row.keys() == names for row in rows):
        return False
    written = [len(json.dumps(name, ensure_ascii=False)) for name in names]
    every_time = len(rows) * sum(size + 1 for size in written)
    return _AROUND + sum(written) + len(written) - 1 < every_time


def _table(rows: list[Any]) -> dict[str, Any]:
    names = list(rows[0])
    return {"columns": names, "rows": [[columned(row[name]) for name in names] for row in rows]}
