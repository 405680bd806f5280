"""Writes tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table_markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table, the first as its header; "" without a cell that has text."""
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    width = max(len(row) for row in rows)
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
