"""``winnow audit``: the audit records of a store, for scripts and for direct calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.runtime.audit import GAP, KINDS, AuditKind, read_records, since_of
from winnow.server.runtime.reports.audit_sums import Record, split_gaps, sum_calls, sum_executions
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.store_folder import map_os_errors
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

app = command()

_SHOWN = 50  # lines of a table: two screens
_HASH_CHARS = 12
_CELL_CHARS = 60
_LIST_CHARS = 1_000


@app.command(
    epilog=examples(
        "winnow audit", "winnow audit --since 7d --json", "winnow audit --tool kb_search", "winnow audit --key ci"
    )
)
def audit(
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="7d, 12h, or a date: 2026-01-31", show_default=False),
    ] = None,
    tool: Annotated[
        str | None,
        typer.Option("--tool", metavar="NAME", help="only calls of this tool", show_default=False),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="NAME", help="only those of this access key, by name or id", show_default=False
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            "--last",
            metavar="N",
            min=1,
            help="the last N executions and calls (50; with --json and --since, all)",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Show scripts and direct calls on this store: verdicts, rows, tokens; no query text."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        start = None if since is None else _parse_since(since)
        name = None if tool is None else _normalize_tool(tool)
        executions = list(_read_records(settings, start, "executions")) if name in (None, "execute_code") else []
        calls = [
            record
            for record in _read_records(settings, start, "calls")
            if name in (None, _normalize_tool(str(record.get("tool")))) or GAP in record
        ]
        if name is not None:
            _check_tool(settings, tool or "", name)
        names = _read_key_names(settings)
        executions, calls = _with_names(executions, names), _with_names(calls, names)
        if key is not None:
            ids = _find_key(settings, key, names)
            executions, calls = _of_key(executions, ids), _of_key(calls, ids)
        script_gaps, executions = split_gaps(executions, "executions")
        call_gaps, calls = split_gaps(calls, "calls")
        gaps = sorted([*script_gaps, *call_gaps], key=lambda gap: str(gap.get("from")))
        summary = {**sum_executions(executions), "calls": sum_calls(calls)}
        if as_json:
            # A program that names a time counts what it gets: by default nothing of that time is left out.
            most = last or (_SHOWN if start is None else max(len(executions), len(calls), 1))
            shown = {"executions": executions[-most:], "calls": calls[-most:], "gaps": gaps}
            left_out = {"executions": max(0, len(executions) - most), "calls": max(0, len(calls) - most)}
            print_json({"summary": summary, **shown, "left_out": left_out})
            return
        most = last or _SHOWN
        if name in (None, "execute_code"):
            print_lines(*_format_table(executions[-most:]), "")
            print_lines(*_tell_left_out(executions, most, "executions"), _format_summary(summary), "")
        print_lines(*_format_table(calls[-most:], _CALL_COLUMNS), "")
        print_lines(*_tell_left_out(calls, most, "calls"), _format_call_summary(summary["calls"]))
        print_lines(*map(_format_gap, gaps))


def _read_records(settings: Settings, since: datetime | None, kind: AuditKind) -> Iterator[dict[str, Any]]:
    with map_os_errors(settings.store):
        yield from read_records(settings.audit_folder, since, kind)


def _check_tool(settings: Settings, said: str, name: str) -> None:
    """Raise ``WinnowError`` if there is no such tool, and none of the operator's of which the audit has a call."""
    from winnow.server.tools.table import TAKEN_NAMES, TOOLS

    if name in TAKEN_NAMES:
        return
    called = {str(record.get("tool")) for record in _read_records(settings, None, "calls") if GAP not in record}
    if name not in map(_normalize_tool, called):
        known = sorted({tool.name for tool in TOOLS} | called)
        near = get_close_matches(said, known, n=1)
        advice = f"did you mean {near[0]}?" if near else f"the tools are: {', '.join(known)}"
        raise WinnowError("NOT_FOUND", one_line(f"there is no tool {said[:80]!r}; {advice}", _LIST_CHARS))


def _read_key_names(settings: Settings) -> dict[str, str]:
    """The names of keys by id; where they cannot be read, none and a note on stderr."""
    from winnow.server.storage.keys.key_file import read_key_names

    try:
        return read_key_names(settings.store)
    except WinnowError as error:
        print_to_stderr(f"note: keys are shown by their ids: {error.message}")
        return {}


def _with_names(records: Sequence[dict[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The records, each with the name of its key where that is known."""
    return [
        {**record, "key_name": names[_key_of(record)]} if _key_of(record) in names else record
        for record in records
    ]


def _key_of(record: Record) -> str:
    return str(record.get("key", ""))


def _find_key(settings: Settings, said: str, names: Mapping[str, str]) -> frozenset[str]:
    """The ids of the keys of this name or id. Raises ``WinnowError`` if neither the keys nor the audit have it."""
    ids = frozenset(id for id, name in names.items() if said in (id, name))
    if ids:
        return ids
    if said and any(_key_of(record) == said for kind in KINDS for record in _read_records(settings, None, kind)):
        return frozenset({said})
    known = ", ".join(dict.fromkeys(names.values())) or "none"
    raise WinnowError("NOT_FOUND", one_line(f"there is no key {said[:80]!r}; the keys are: {known}", _LIST_CHARS))


def _of_key(records: Sequence[dict[str, Any]], ids: frozenset[str]) -> list[dict[str, Any]]:
    return [record for record in records if _key_of(record) in ids or GAP in record]


def _format_gap(gap: Record) -> str:
    what = f"{gap.get('count')} {gap['kind']}"
    return one_line(
        f"not audited, as the files could not be written: {what}, {gap.get('from')} to {gap.get('to')}"
    )


def _normalize_tool(name: str) -> str:
    return name.replace(".", "_")


def _parse_since(since: str) -> datetime:
    try:
        return since_of(since, datetime.now(UTC))
    except ValueError:
        raise WinnowError("INVALID_REQUEST", f"--since: not {since!r}; write 7d, 12h, or 2026-01-31") from None


# --- sums ---------------------------------------------------------------------------------------------------


def _tell_left_out(records: Sequence[Record], most: int, what: str) -> list[str]:
    """The number of records in the table, where that is not all."""
    if len(records) <= most:
        return []
    return [f"the last {most:,} of {len(records):,} {what}; --last N shows more"]


def _format_summary(summary: Record) -> str:
    return (
        f"{summary['executions']:,} executions ({_format_counts(summary['verdicts'])}); "
        f"{summary['tokens_kept_out']:,} tokens kept out, {summary['tokens_returned']:,} returned"
    )


def _format_call_summary(summary: Record) -> str:
    return (
        f"{count_of(summary['count'], 'call')} ({_format_counts(summary['verdicts'])}); "
        f"{count_of(summary['rows'], 'row')}, "
        f"{summary['tokens']:,} tokens"
    )


def _format_counts(verdicts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {one_line(name, _CELL_CHARS)}" for name, count in verdicts.items()) or "none"


# --- tables -------------------------------------------------------------------------------------------------


def _number_cell(name: str) -> Callable[[Record], str]:
    return lambda record: f"{int(record.get(name, 0)):,}"


def _text_cell(name: str, most: int = _CELL_CHARS) -> Callable[[Record], str]:
    return lambda record: str(record.get(name, ""))[:most]


def _key_cell(record: Record) -> str:
    id, name = _key_of(record), record.get("key_name")
    return f"{name} ({id})" if name else id


def _verdict_cell(record: Record) -> str:
    return " ".join(filter(None, (str(record.get("verdict")), str(record.get("error", "")))))


Columns = Mapping[str, Callable[[Record], str]]

_EXECUTION_COLUMNS: Columns = {
    "time": _text_cell("time", 19),
    "verdict": _verdict_cell,
    "ms": _number_cell("wall_ms"),
    "calls": _number_cell("sdk_calls"),
    "rows": _number_cell("rows"),
    "kept out": _number_cell("tokens_kept_out"),
    "returned": _number_cell("tokens_returned"),
    "source": _text_cell("source_sha256", _HASH_CHARS),
    "client": _text_cell("client"),
    "key": _key_cell,
}
_CALL_COLUMNS: Columns = {
    "time": _text_cell("time", 19),
    "tool": _text_cell("tool"),
    "verdict": _verdict_cell,
    "ms": _number_cell("ms"),
    "rows": _number_cell("rows"),
    "tokens": _number_cell("tokens"),
    "arguments": _text_cell("arguments", _HASH_CHARS),
    "client": _text_cell("client"),
    "key": _key_cell,
    "trace": _text_cell("trace_id"),
}


def _format_table(records: Sequence[Record], columns: Columns = _EXECUTION_COLUMNS) -> list[str]:
    rows = [tuple(columns), *(_format_row(record, columns) for record in records)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _format_row(record: Record, columns: Columns = _EXECUTION_COLUMNS) -> tuple[str, ...]:
    return tuple(one_line(cell(record), _CELL_CHARS) for cell in columns.values())
