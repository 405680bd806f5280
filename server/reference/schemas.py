"""JSON schemas and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

TableRow = tuple[str, ...]

# Pairs of keywords that bound a value, and what they count.
_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)


def arguments_table(schema: Mapping[str, Any]) -> str:
    """What a tool takes: one row for each argument, and for each field of an argument."""
    return table(("argument", "type", "default", "bounds", "what it is"), _fields(schema))


def answer_table(schema: Mapping[str, Any]) -> str:
    """What a tool answers: one row for each field."""
    return table(
        ("field", "type", "bounds"), ((name, kind, bounds) for name, kind, _, bounds, _ in _fields(schema))
    )


def table(head: TableRow, rows: Iterable[TableRow]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, cells))} |" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _fields(schema: Mapping[str, Any], prefix: str = "") -> Iterator[TableRow]:
    required = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        default = "required" if name in required else _default(value)
        solid, null = _without_null(value)
        kind = f"{_type(solid)} or null" if null else _type(solid)
        yield f"`{prefix}{name}`", kind, default, _bounds(solid), value.get("description", "")
        inner, mark = (solid["items"], "[]") if solid.get("type") == "array" else (solid, "")
        yield from _fields(inner, prefix=f"{prefix}{name}{mark}.")


def _without_null(value: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    options = value.get("anyOf", ())
    solid = [option for option in options if option != {"type": "null"}]
    return (solid[0], True) if len(options) == 2 and len(solid) == 1 else (value, False)


def _type(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return " or ".join(f"`{option}`" for option in value["enum"])
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}"
    return str(value.get("type", "any"))


def _default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    return "" if default in (None, [], "") else f"`{default}`"


def _bounds(value: Mapping[str, Any]) -> str:
    found = []
    for low, high, unit in _BOUNDS:
        if low in value and high in value:
            found.append(f"{value[low]:,} to {value[high]:,}{unit}")
        elif low in value or high in value:
            found.append(f"{'at least' if low in value else 'at most'} {value.get(low, value.get(high)):,}{unit}")
    if "pattern" in value:
        found.append(f"matches `{value['pattern']}`")
    return ", ".join(found)
