"""``kb.expand_excerpt``: one passage with what stands around it."""

from __future__ import annotations

from typing import Any

from server.contracts import ExcerptAnswer, ExpandExcerpt
from server.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from server.tools.base import Context, Tool, ToolResult, ask
from server.tools.kb import excerpt_lines, offered

DESCRIPTION = """\
Show a passage with the text before and after it.
Use when: a quote begins or ends in the middle.
Do not use when: the passage alone will do (kb_read_excerpt).
Returns at most: 800 tokens.
If you need more, call: kb_read_excerpt with next_start_char as start_char.
Defaults: 150, 150. Max: 800."""


async def _handle(context: Context, arguments: dict[str, Any]) -> ToolResult:
    return await ask(context, "kb.expand_excerpt", arguments, excerpt_lines)


TOOL = Tool(
    name="kb.expand_excerpt",
    title="Expand an excerpt",
    description=DESCRIPTION,
    arguments=ExpandExcerpt,
    answer=ExcerptAnswer,
    handler=_handle,
    most=Size(ANSWER_TOKENS["excerpt"], ANSWER_BYTES),
    offered=offered,
)
