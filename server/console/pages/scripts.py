"""Scripts and savings, from the audit log: what agents ran, and the tokens that stayed out of their contexts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from winnow.server.console.desk import CLIENT
from winnow.server.console.drawings import BARS_HEIGHT, BARS_WIDTH, bars
from winnow.server.console.records import Asked, PageView
from winnow.server.errors import WinnowError
from winnow.server.runtime.audit import AuditKind, read_records, since_of
from winnow.server.runtime.reports.audit_sums import Record, split_gaps, sum_calls, sum_executions
from winnow.server.runtime.sessions.identities import describe_client
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.store_folder import map_os_errors

_LAST, _MOST_LAST = 50, 5_000
_DAYS = 30  # bars that fit side by side on a phone
_SINCE = "30d"
_OWN = describe_client(CLIENT)["client"]  # searches in the playground cost no agent anything
_DAY_CHARS = len("2026-01-31")


async def list_scripts(asked: Asked) -> PageView:
    """The last scripts, newest first, with what each took and the walls that it ran behind."""
    last, verdict = max(1, asked.number("last", _LAST, _MOST_LAST)), asked.text("verdict")
    gaps, records = await _read(asked.desk.settings, "executions", asked.text("since"))
    shown = [record for record in records if verdict in ("", record.get("verdict"))]
    values = {
        "summary": sum_executions(shown),
        "verdicts": sorted({str(record.get("verdict")) for record in records}),
        "verdict": verdict,
        "since": asked.text("since"),
        "last": last,
        "records": shown[-last:][::-1],
        "left_out": max(0, len(shown) - last),
        "gaps": gaps,
        "is_audited": asked.desk.settings.audit == "on",
    }
    return PageView("scripts.html", "Scripts", values)


async def show_script(asked: Asked) -> PageView:
    """One execution with its calls, its walls and every figure of its line in the audit."""
    id = asked.text("id")
    _, records = await _read(asked.desk.settings, "executions", "")
    found = next((record for record in records if id and record.get("execution_id") == id), None)
    if found is None:
        raise WinnowError(
            "NOT_FOUND", "no script of the audit has this execution_id; the list of scripts has them"
        )
    return PageView("script.html", "A script", {"record": found})


async def show_savings(asked: Asked) -> PageView:
    """Tokens by day: kept out of contexts by scripts, returned by scripts, and sent by direct calls."""
    since = asked.text("since", _SINCE)
    script_gaps, executions = await _read(asked.desk.settings, "executions", since)
    call_gaps, calls = await _read(asked.desk.settings, "calls", since)
    calls = [record for record in calls if record.get("client") != _OWN]
    days = _by_day(executions, calls)
    drawn = days[-_DAYS:]
    values = {
        "since": since,
        "days": days,
        "drawn": [*zip(drawn, bars([(day["returned"], day["kept_out"]) for day in drawn]), strict=True)],
        "width": BARS_WIDTH,
        "height": BARS_HEIGHT,
        "executions": sum_executions(executions),
        "calls": sum_calls(calls),
        "gaps": [*script_gaps, *call_gaps],
    }
    return PageView("savings.html", "Savings", values)


def _by_day(executions: Sequence[Record], calls: Sequence[Record]) -> list[dict[str, Any]]:
    """The sums of each day (UTC) that has a line, in the order of time."""
    days: dict[str, tuple[list[Record], list[Record]]] = {}
    for at, records in enumerate((executions, calls)):
        for record in records:
            days.setdefault(str(record.get("time", ""))[:_DAY_CHARS], ([], []))[at].append(record)
    return [_day(day, *days[day]) for day in sorted(days)]


def _day(day: str, executions: Sequence[Record], calls: Sequence[Record]) -> dict[str, Any]:
    scripts, direct = sum_executions(executions), sum_calls(calls)
    return {
        "day": day,
        "scripts": scripts["executions"],
        "kept_out": scripts["tokens_kept_out"],
        "returned": scripts["tokens_returned"],
        "calls": direct["count"],
        "sent": direct["tokens"],
    }


async def _read(
    settings: Settings, kind: AuditKind, since: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The gaps and the lines of the audit from this time on; "" for all. Raises ``WinnowError``."""
    try:
        start = since_of(since, datetime.now(UTC)) if since else None
    except ValueError:
        raise WinnowError("INVALID_REQUEST", "since: write 7d, 12h, or 2026-01-31") from None

    def read() -> list[dict[str, Any]]:
        with map_os_errors(settings.store):
            return [*read_records(settings.audit_folder, start, kind)]

    return split_gaps(await asyncio.to_thread(read), kind)
