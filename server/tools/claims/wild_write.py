"""``wild_write``: writes an entry with claims and their evidence."""

from __future__ import annotations

from winnow.server.contracts.claims.answers import WriteAnswer
from winnow.server.operations.claims.table import CLAIMS_WRITE
from winnow.server.tools.base import Tool
from winnow.server.tools.claims.rendering import ENTRY_SIZE, may_write, render_written

DESCRIPTION = """\
Write an entry: 1 to 20 claims, each with quotes of passages. The server looks for each and says what it found.
Use when: you found something out that later sessions should know and check.
Do not use when: the entry exists (wild_revise).
Returns at most: the entry as it was checked, 20,000 tokens.
If you need more, call: wild_read with entry_id.
Defaults: confidence .8, stance supports. Max: 20 claims, 20 quotes each, 50,000 characters."""

TOOL = Tool(
    operation=CLAIMS_WRITE,
    name="wild_write",
    title="Write an entry",
    description=DESCRIPTION,
    answer=WriteAnswer,
    lines=render_written,
    max_size=ENTRY_SIZE,
    pack="claims",
    read_only=False,
    idempotent=False,
    is_offered=may_write,
)
