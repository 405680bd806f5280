"""``kb.read_excerpt``: a bounded piece of one passage."""

from __future__ import annotations

from server.contracts import ExcerptAnswer, ReadExcerpt
from server.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from server.tools.base import Tool, without_scripts
from server.tools.kb import excerpt_lines, offered

DESCRIPTION = """\
Read a part of one passage, with its citation.
Use when: quotes are not enough.
Do not use when: you have no ids yet, or read many passages (execute_code).
Returns at most: max_tokens tokens.
If you need more, call: this with next_start_char as start_char.
Defaults: max_tokens 300. Max: 800."""


TOOL = Tool(
    name="kb.read_excerpt",
    title="Read an excerpt",
    description=DESCRIPTION,
    arguments=ReadExcerpt,
    answer=ExcerptAnswer,
    operation="kb.read_excerpt",
    lines=excerpt_lines,
    most=Size(ANSWER_TOKENS["excerpt"], ANSWER_BYTES),
    offered=offered,
    worded=without_scripts(", or read many passages (execute_code)"),
)
