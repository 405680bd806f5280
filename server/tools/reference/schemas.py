"""JSON schemas as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

TableRow = tuple[str, ...]

# Pairs of keywords that bound a value, and their unit.
_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)


def arguments_table(schema: Mapping[str, Any]) -> str:
    """The arguments of a tool: one row for each argument and each of its fields."""
    return table(("argument", "type", "default", "bounds", "what it is"), _iterate_fields(schema))


def answer_table(schema: Mapping[str, Any]) -> str:
    """The answer of a tool: one row for each field."""
    return table(
        ("field", "type", "bounds"), ((name, kind, bounds) for name, kind, _, bounds, _ in _iterate_fields(schema))
    )


def table(head: TableRow, rows: Iterable[TableRow]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_escape_cell, cells))} |" for cells in lines)


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _iterate_fields(schema: Mapping[str, Any], prefix: str = "") -> Iterator[TableRow]:
    required = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        default = "required" if name in required else _default_of(value)
        inner, is_nullable = _split_null(value)
        kind = f"{_type_of(inner)} or null" if is_nullable else _type_of(inner)
        yield f"`{prefix}{name}`", kind, default, _bounds_of(inner), value.get("description", "")
        child, mark = (inner["items"], "[]") if inner.get("type") == "array" else (inner, "")
        yield from _iterate_fields(child, prefix=f"{prefix}{name}{mark}.")


def _split_null(value: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    options = value.get("anyOf", ())
    others = [option for option in options if option != {"type": "null"}]
    return (others[0], True) if len(options) == 2 and len(others) == 1 else (value, False)


def _type_of(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return " or ".join(f"`{option}`" for option in value["enum"])
    if value.get("type") == "array":
        return f"list of {_type_of(value['items'])}"
    return str(value.get("type", "any"))


def _default_of(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    return "" if default in (None, [], "") else f"`{default}`"


def _bounds_of(value: Mapping[str, Any]) -> str:
    texts = []
    for low, high, unit in _BOUNDS:
        if low in value and high in value:
            texts.append(f"{value[low]:,} to {value[high]:,}{unit}")
        elif low in value or high in value:
            texts.append(f"{'at least' if low in value else 'at most'} {value.get(low, value.get(high)):,}{unit}")
    if "pattern" in value:
        texts.append(f"matches `{value['pattern']}`")
    return ", ".join(texts)
