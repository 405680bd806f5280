"""Converts lists of equal records to columns, so that field names are written once.

    [{"id": "a", "score": 1}, {"id": "b", "score": 2}]
    {"columns": ["id", "score"], "rows": [["a", 1], ["b", 2]]}

A list is converted only if the JSON becomes shorter. Records are equal if they have the same field names, in any
order.
"""

from __future__ import annotations

import json
from typing import Any

_AROUND = len('{"columns":[],"rows":}')
_FEWEST = 2


def convert_tables(value: Any) -> Any:
    """Convert all tables within a value; returns a copy if anything changes."""
    if isinstance(value, dict):
        return {name: convert_tables(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    return _to_table(value) if _is_table(value) else [convert_tables(part) for part in value]


def _is_table(rows: list[Any]) -> bool:
    if len(rows) < _FEWEST or not isinstance(rows[0], dict) or not rows[0]:
        return False
    names = rows[0].keys()
    if not all(isinstance(row, dict) and row.keys() == names for row in rows):
        return False
    name_sizes = [len(json.dumps(name, ensure_ascii=False)) for name in names]
    repeated = len(rows) * sum(size + 1 for size in name_sizes)
    return _AROUND + sum(name_sizes) + len(name_sizes) - 1 < repeated


def _to_table(rows: list[Any]) -> dict[str, Any]:
    names = list(rows[0])
    return {"columns": names, "rows": [[convert_tables(row[name]) for name in names] for row in rows]}
