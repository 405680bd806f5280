"""``execute_code``: a script searches as often as it likes, and only its result comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sandbox import Outcome, Usage
from server.columns import columned
from server.contracts import ExecuteCode, OutcomeAnswer, parse
from server.errors import REASONS
from server.kept import URI_TEMPLATE as RESULT_URI
from server.printable import caret, printable_data
from server.scripts import ALLOWANCES, KIB, LONGEST_SECONDS
from server.settings import Settings
from server.tiers import Size, dumps
from server.tools.base import Context, Result, Tool

_TEMPLATE = """\
Run a Python script over the user's knowledge base. Only its result returns: what it reads costs no tokens.
Use when: you need several searches, counting, comparing, joining.
Do not use when: one search answers.
In the script (sync or await, no import needed):
semantic_search(query, top_k=10, response_mode="metadata"|"preview"|"full", filter_ids=[...])
search_many([query, ...])  a page each
grep(query, regex, top_k=10)  row.match, row.matches
kb.search(query), kb.retrieve_evidence(question)  row.preview, row.quote
fetch(ids, level="full", max_tokens=None)  row.content
rerank(query, rows), filter_rows, dedupe, group_by(rows, "file"), quotes(rows), \
format_for_agent, graph.expand, graph.paths, budget; help(name) prints more
from skills import map_reduce, timeline, ...  help topic skills
Pages are lists of rows: row.id row.title row.section row.file row.score row.type.
Return value: a top-level return, result, or the last expression; plain data. print() comes back too.
Everyday Python runs, with json re math datetime collections itertools statistics; no files, network, processes.
{limits}
If you need more, call: help with topic sdk.
Example:
rows = semantic_search("backup encryption", top_k=50)
best = rerank("which cipher", rows, top_k=3)
return [{"file": r.file, "text": r.content[:300]} for r in fetch(best)]"""

_LIMITS = (
    "Returns at most: {tokens:,} tokens, {stdout} KB of stdout. Defaults: timeout {seconds:g}. Max: {seconds:g} s "
    "(timeout up to {longest:g}), {memory} MB, {calls} SDK calls, {metadata:,} metadata rows, {previews} "
    "previews, {full} full documents."
)


def _limits_of(settings: Settings) -> str:
    allowed = ALLOWANCES[settings.limits]
    metadata, previews, full = allowed.rows.values()
    return _LIMITS.format(
        tokens=allowed.limits.result_tokens,
        stdout=allowed.limits.stdout_tail_bytes // KIB,
        seconds=settings.wall_seconds,
        longest=LONGEST_SECONDS,
        memory=settings.memory_mb,
        calls=allowed.limits.sdk_calls,
        metadata=metadata,
        previews=previews,
        full=full,
    )


# What the description says of the language, and what instead where scripts run on a smaller one.
_SMALLER_LANGUAGE: Mapping[str, str] = MappingProxyType(
    {
        "(sync or await, no import needed)": "(without await, no import needed)",
        ", budget; help(name) prints more\nfrom skills import map_reduce, timeline, ...  help topic skills": (
            ", budget"
        ),
        "Everyday Python runs, with json re math datetime collections itertools statistics; no files, network, "
        "processes.": "Smaller Python: json re math datetime collections itertools; no inheritance, properties, "
        "yield, del, contextlib, enum, statistics, files, network, processes.",
    }
)


def _worded(_: str, settings: Settings) -> str:
    """The description as this server's settings make it true."""
    description = _TEMPLATE.replace("{limits}", _limits_of(settings))
    if settings.sandbox != "monty":
        return description
    for whole, smaller in _SMALLER_LANGUAGE.items():
        description = description.replace(whole, smaller)
    return description


DESCRIPTION = _worded("", Settings.model_construct())


# The result, what was printed and an error's words, all at their longest and as JSON.
_MOST = Size(40_000, 128 * KIB)

# How a verdict that is not "ok" reads on the wire. Error types name the reason more closely than the status.
_REASON_OF_STATUS: Mapping[str, str] = MappingProxyType(
    {
        "error": "USER_CODE_ERROR",
        "rejected": "CODE_REJECTED",
        "timeout": "TIMEOUT",
        "memory": "MEMORY",
        "limit": "OUTPUT_BYTES",
        "crashed": "SANDBOX_CRASH",
        "cancelled": "TIMEOUT",
        "unavailable": "SANDBOX_UNAVAILABLE",
    }
)
_REASON_OF_TYPE: Mapping[str, str] = MappingProxyType(
    {"CallLimit": "SDK_CALLS", "SDK_ROWS": "SDK_ROWS", "QUEUE_FULL": "QUEUE_FULL"}
)
_ERROR_CHARS: Mapping[str, int] = MappingProxyType(
    {"type": 200, "message": 4000, "source_line": 1000, "hint": 2000}
)
_RETRYABLE = frozenset({"TIMEOUT", "SANDBOX_CRASH", "QUEUE_FULL"})


async def _handle(context: Context, arguments: dict[str, Any]) -> Result:
    request, warnings = parse(ExecuteCode, arguments)

    async def report(usage: Usage, message: str) -> None:
        seconds = usage.wall_ms / 1000
        await context.progress(seconds, message or f"running for {seconds:.0f} s, {usage.sdk_calls} SDK calls")

    outcome = await context.scripts.run(
        request.code, client=context.client, timeout=request.timeout, progress=report
    )
    payload = to_payload(outcome)
    return Result(
        payload, render(payload), summary=_headline(payload), warnings=warnings, failed=outcome.status != "ok"
    )


def to_payload(outcome: Outcome) -> dict[str, Any]:
    """The outcome for the wire: its error also carries the code and the details of every winnow error."""
    payload: dict[str, Any] = printable_data(outcome.to_json())
    # Twenty names that no agent acts on would cost every call more than most results.
    payload["walls"] = {"missing": payload["walls"]["missing"]}
    payload["stdout"] = without_result(payload["stdout"], payload["result"])
    if outcome.error is None:
        return {name: value for name, value in payload.items() if name != "error"}
    reason = _reason(outcome)
    details: dict[str, Any] = {"reason": reason, "retryable": reason in _RETRYABLE}
    told = {name: _clip(name, value) for name, value in payload["error"].items() if value is not None}
    if "retry_after_s" in told:
        details["retry_after_s"] = told.pop("retry_after_s")
    if "kept_as" in told:
        details["execution_id"] = told.pop("kept_as")
        details["result_uri"] = RESULT_URI.format(execution_id=details["execution_id"])
    payload["error"] = {**told, "code": REASONS[reason].value, "details": details}
    return payload


def without_result(stdout: str, result: Any) -> str:
    """What was printed, without the result where a script prints what it returns: it is sent once."""
    if result is None or not stdout:
        return stdout
    written = {result if isinstance(result, str) else str(result), dumps(result), json.dumps(result)}
    written |= {json.dumps(result, indent=indent, ensure_ascii=False) for indent in (2, 4)}
    if stdout.strip() in {text.strip() for text in written}:
        return ""
    for text in sorted(written, key=len, reverse=True):
        if len(text) >= _WORTH_CUTTING:
            stdout = f"\n{stdout}".replace(f"\n{text}\n", "\n").removeprefix("\n")
    return stdout


_WORTH_CUTTING = 40  # a shorter one may be printed for a reason


def _clip(name: str, value: Any) -> Any:
    """A script words its own exceptions, and may word them without end."""
    limit = _ERROR_CHARS.get(name)
    return value if limit is None or len(value) <= limit else f"{value[: limit - 1]}…"


def _reason(outcome: Outcome) -> str:
    kind = outcome.error.type if outcome.error else ""
    return _REASON_OF_TYPE.get(kind) or _REASON_OF_STATUS[outcome.status]


def render(payload: dict[str, Any]) -> str:
    """The payload as text: the result as compact JSON, tables as columns, or how it ended; stdout; the error."""
    is_ok = payload["status"] == "ok"
    lines = [f"result: {dumps(columned(payload['result']))}" if is_ok else _headline(payload)]
    if payload["stdout"]:
        lines.append(f"stdout:\n{payload['stdout']}")
    if "error" in payload:
        lines.extend(_error_lines(payload["error"]))
    if payload["walls"]["missing"]:
        lines.append(f"walls_missing: {', '.join(payload['walls']['missing'])}")
    return "\n".join(lines)


def _headline(payload: dict[str, Any]) -> str:
    usage = payload["usage"]
    return (
        f"{payload['status']}: {usage['sdk_calls']} SDK calls, {usage['rows']} rows, "
        f"{usage['tokens_kept_out']} tokens kept out"
    )


def _error_lines(error: dict[str, Any]) -> list[str]:
    where = f" (line {error['line']})" if "line" in error else ""
    lines = [f"{error['code']}/{error['details']['reason']}: {error['type']}: {error['message']}{where}"]
    if "source_line" in error:
        lines.append(f"  {error['source_line']}")
        pointer = caret(error["source_line"], error.get("column", 0))
        if pointer is not None:
            lines.append(f"  {pointer}")
    if "hint" in error:
        lines.append(f"hint: {error['hint']}")
    return lines


def _offered(context: Context) -> bool:
    return context.scripts.available


TOOL = Tool(
    name="execute_code",
    title="Run a retrieval script",
    description=DESCRIPTION,
    arguments=ExecuteCode,
    answer=OutcomeAnswer,
    handler=_handle,
    most=_MOST,
    idempotent=False,
    offered=_offered,
    worded=_worded,
)
