"""``read_result``: on through the result of a script that was too large to be sent."""

from __future__ import annotations

from typing import Any

from server.contracts.scripts import ReadResult, ResultAnswer
from server.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from server.tools.base import Context, Result, Tool, ask

DESCRIPTION = """\
Read on in the result of an execute_code script that was too large to be sent, as JSON text.

Use when: execute_code answered ResultTooLarge with an execution_id, and you need what it found as it is.
Do not use when: a smaller result would do: change the script, or begin one with read_result(execution_id), which \
has the whole value there.
Returns at most: max_tokens tokens.
If you need more, call: this again with next_start_char as start_char.
Defaults: start_char 0, max_tokens 1000. Max: max_tokens 8000.
Example: {"execution_id": "<id>"}"""


async def _handle(context: Context, arguments: dict[str, Any]) -> Result:
    return await ask(context, "read_result", arguments, _lines)


def _lines(payload: dict[str, Any]) -> list[str]:
    start, end = payload["start_char"], payload["start_char"] + len(payload["text"])
    lines = [f"result {payload['execution_id']}: characters {start:,} to {end:,} of {payload['total_chars']:,}"]
    lines.append(payload["text"])
    if payload["truncated"]:
        lines.append(f"next_start_char: {payload['next_start_char']}")
    return lines


def _offered(context: Context) -> bool:
    return context.scripts.available


TOOL = Tool(
    name="read_result",
    title="Read on in a large result",
    description=DESCRIPTION,
    arguments=ReadResult,
    answer=ResultAnswer,
    handler=_handle,
    most=Size(ANSWER_TOKENS["full"], ANSWER_BYTES),
    offered=_offered,
)
