"""``kb.extract_evidence``: the sentences of known passages that answer a question."""

from __future__ import annotations

from winnow.server.contracts import EvidenceAnswer
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.evidence import KB_EXTRACT_EVIDENCE
from winnow.server.tools.base import Tool
from winnow.server.tools.kb import is_offered, render_quotes

DESCRIPTION = """\
Quote the sentences of known passages that answer a question.
Use when: kb_search found passages.
Do not use when: you have no ids yet (kb_retrieve_evidence).
Returns at most: max_quotes quotes; about 1,000 tokens by default.
If you need more, call: kb_expand_excerpt, or this with cursor.
Defaults: max_quotes 6. Max: 50 passage_ids."""


TOOL = Tool(
    operation=KB_EXTRACT_EVIDENCE,
    title="Quote from known passages",
    description=DESCRIPTION,
    answer=EvidenceAnswer,
    lines=render_quotes,
    max_size=Size(ANSWER_TOKENS["quotes"], ANSWER_BYTES),
    is_offered=is_offered,
)
