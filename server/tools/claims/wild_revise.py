"""``wild_revise``: revises an entry, adds evidence, records verdicts."""

from __future__ import annotations

from winnow.server.contracts.claims.answers import WriteAnswer
from winnow.server.operations.claims.table import CLAIMS_REVISE
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import ENTRY_SIZE, may_write, render_written

DESCRIPTION = """\
Revise an entry: its topic, source, content or claims; add evidence; record that claims contradict each other.
Use when: an entry is wrong or incomplete, or you judged a pair of claims.
Do not use when: you found something new (wild_write).
Returns at most: the entry as it was checked, 20,000 tokens; of verdicts alone, its status.
If you need more, call: wild_read with entry_id.
Defaults: what is left out stays; earlier revisions are kept. Max: 20 claims, quotes and verdicts."""

TOOL = Tool(
    operation=CLAIMS_REVISE,
    name="wild_revise",
    title="Revise an entry",
    description=DESCRIPTION,
    answer=WriteAnswer,
    lines=render_written,
    max_size=ENTRY_SIZE,
    pack="claims",
    read_only=False,
    idempotent=False,
    is_offered=may_write,
)
