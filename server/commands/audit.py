"""``winnow audit``: what scripts did on this store."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from server.audit import read, since_of
from server.commands.output import Json, Store, command, errors_shown, print_json
from server.errors import WinnowError
from server.settings import load_settings

app = command()

_HEAD = ("time", "verdict", "ms", "calls", "rows", "kept out", "returned", "source", "client")
_HASH_CHARS = 12


@app.command(epilog="Examples: winnow audit | winnow audit --since 7d --json")
def audit(
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="7d, 12h, or a date: 2026-01-31", show_default=False),
    ] = None,
    last: Annotated[int, typer.Option("--last", metavar="N", min=1, help="the last N executions")] = 50,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Show what scripts did: verdict, calls, rows, tokens kept out and returned; no query text."""
    with errors_shown(as_json=as_json):
        settings = load_settings(store=store)
        records = list(read(settings.audit_folder, None if since is None else _moment(since)))
        summary = _summary(records)
        if as_json:
            print_json({"summary": summary, "executions": records[-last:]})
            return
        sys.stdout.write(_table(records[-last:]) + _told(summary))


def _moment(since: str) -> datetime:
    try:
        return since_of(since, datetime.now(UTC))
    except ValueError:
        raise WinnowError("INVALID_REQUEST", f"--since: not {since!r}; write 7d, 12h, or 2026-01-31") from None


def _summary(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    verdicts = Counter(str(record.get("verdict")) for record in records)
    sums = {name: sum(int(record.get(name, 0)) for record in records) for name in _SUMMED}
    return {"executions": len(records), "verdicts": dict(sorted(verdicts.items())), **sums}


_SUMMED = ("sdk_calls", "rows", "tokens_kept_out", "tokens_returned")


def _table(records: Sequence[dict[str, Any]]) -> str:
    rows = [_HEAD, *map(_row, records)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
    return "\n".join(lines) + "\n"


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    numbers = (f"{int(record.get(name, 0)):,}" for name in ("wall_ms", *_SUMMED))
    verdict = " ".join(filter(None, (str(record.get("verdict")), record.get("error"))))
    source = str(record.get("source_sha256", ""))[:_HASH_CHARS]
    return (str(record.get("time", ""))[:19], verdict, *numbers, source, str(record.get("client", "")))


def _told(summary: dict[str, Any]) -> str:
    verdicts = ", ".join(f"{count:,} {name}" for name, count in summary["verdicts"].items()) or "none"
    return (
        f"\n{summary['executions']:,} executions ({verdicts}); {summary['tokens_kept_out']:,} tokens kept out, "
        f"{summary['tokens_returned']:,} returned\n"
    )
