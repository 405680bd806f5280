"""Sums over lines of the audit log: executions of scripts, and calls of tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from winnow.server.runtime.audit import GAP, AuditKind

Record = Mapping[str, Any]

_SUMMED = ("sdk_calls", "rows", "tokens_kept_out", "tokens_returned")


def split_gaps(
    records: Sequence[dict[str, Any]], kind: AuditKind
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The gaps of these records, each with the kind of what is missing, and the other records."""
    gaps = [{"kind": kind, **record[GAP]} for record in records if isinstance(record.get(GAP), dict)]
    return gaps, [record for record in records if GAP not in record]


def sum_executions(records: Sequence[Record]) -> dict[str, Any]:
    """The number of executions, by verdict, and the sums of their figures."""
    sums = {name: sum(int(record.get(name, 0)) for record in records) for name in _SUMMED}
    return {"executions": len(records), "verdicts": _count_verdicts(records), **sums}


def sum_calls(records: Sequence[Record]) -> dict[str, Any]:
    """The number of calls, by verdict and by tool, and the sums of their figures."""
    return {
        "count": len(records),
        "verdicts": _count_verdicts(records),
        "tools": dict(sorted(Counter(str(record.get("tool")) for record in records).items())),
        "rows": sum(int(record.get("rows", 0)) for record in records),
        "tokens": sum(int(record.get("tokens", 0)) for record in records),
    }


def _count_verdicts(records: Sequence[Record]) -> dict[str, int]:
    return dict(sorted(Counter(str(record.get("verdict")) for record in records).items()))
