"""``kb.expand_excerpt``: one passage with the text around it."""

from __future__ import annotations

from winnow.server.contracts import ExcerptAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.excerpts import KB_EXPAND_EXCERPT
from winnow.server.tools.base import Tool
from winnow.server.tools.kb import is_offered, render_excerpt

DESCRIPTION = """\
Show a passage with the text before and after it.
Use when: a quote begins or ends in the middle.
Do not use when: the passage alone will do (kb_read_excerpt).
Returns at most: 800 tokens.
If you need more, call: kb_read_excerpt with next_start_char as start_char.
Defaults: 150, 150. Max: 800."""


TOOL = Tool(
    operation=KB_EXPAND_EXCERPT,
    title="Expand an excerpt",
    description=DESCRIPTION,
    answer=ExcerptAnswer,
    lines=render_excerpt,
    max_size=Size(ANSWER_TOKENS["excerpt"], ANSWER_BYTES),
    is_offered=is_offered,
)
