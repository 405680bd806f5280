"""``kb.repeats``: text that several documents have."""

from __future__ import annotations

from pydantic import Field

from winnow.server.contracts.base import CursorText
from winnow.server.contracts.corpus.documents import Narrowed

MAX_REPEAT_ROWS = 1_000
MAX_PLACES = 50  # of one repeated text
MAX_REPEAT_CHARS = 2_000  # of a repeated text, as it is shown


class FindRepeats(Narrowed):
    """Arguments of ``kb.repeats``."""

    min_chars: int = Field(default=200, ge=20, le=100_000, description="the least length of a repeated text")
    limit: int = Field(default=100, ge=1, le=MAX_REPEAT_ROWS, description="rows of a page")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )
