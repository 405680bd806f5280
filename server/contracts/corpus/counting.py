"""``kb.count``: how many matches of a pattern there are, or documents."""

from __future__ import annotations

from pydantic import Field

from winnow.server.contracts.corpus.scan import Patterned, PatternText


class Count(Patterned):
    """Arguments of ``kb.count``."""

    pattern: PatternText | None = Field(
        default=None, description="count its matches, as kb.scan finds them; without it documents are counted"
    )
