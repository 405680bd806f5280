"""``kb.read_excerpt``: a bounded part of one passage."""

from __future__ import annotations

from winnow.server.contracts import ExcerptAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.excerpts import KB_READ_EXCERPT
from winnow.server.tools.base import Tool, omit_without_scripts
from winnow.server.tools.kb import is_offered, render_excerpt

DESCRIPTION = """\
Read a part of one passage, with its citation.
Use when: quotes are not enough.
Do not use when: you have no ids yet, or read many passages (execute_code).
Returns at most: max_tokens tokens.
If you need more, call: this with next_start_char as start_char.
Defaults: max_tokens 300. Max: 800."""


TOOL = Tool(
    operation=KB_READ_EXCERPT,
    title="Read an excerpt",
    description=DESCRIPTION,
    answer=ExcerptAnswer,
    lines=render_excerpt,
    max_size=Size(ANSWER_TOKENS["excerpt"], ANSWER_BYTES),
    is_offered=is_offered,
    fit_description=omit_without_scripts(", or read many passages (execute_code)"),
)
