"""``read_result``: reads a script result that was too large to be sent, part by part."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.scripts import ResultAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.state import READ_RESULT
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Context, Tool

DESCRIPTION = """\
Read on, as JSON text, in a script's result that was too large.
Use when: execute_code named an execution_id, and you need the result as it is.
Do not use when: less will do: start the next script with read_result(execution_id).
Returns at most: max_tokens tokens.
If you need more, call: this with next_start_char as start_char.
Defaults: max_tokens 1000. Max: 8000."""


def _render_result(payload: dict[str, Any]) -> list[str]:
    start, end = payload["start_char"], payload["start_char"] + len(payload["text"])
    lines = [f"result {payload['execution_id']}: characters {start:,} to {end:,} of {payload['total_chars']:,}"]
    lines += frame_text(payload["text"])
    if payload["truncated"]:
        lines.append(f"next_start_char: {payload['next_start_char']}")
    return lines


def is_offered(context: Context) -> bool:
    return context.scripts.available


TOOL = Tool(
    operation=READ_RESULT,
    title="Read on in a large result",
    description=DESCRIPTION,
    answer=ResultAnswer,
    lines=_render_result,
    max_size=Size(ANSWER_TOKENS["full"], ANSWER_BYTES),
    is_offered=is_offered,
    needs_scripts=True,
    listed=False,
)
