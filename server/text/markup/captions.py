"""Captions of tables and figures, which belong to what they name."""

from __future__ import annotations

import re

_LONGEST = 600
_BEGIN = (
    r"[*_]{0,3}(?:table|figure|fig\.|tab\.|tabelle|abbildung|abb\.)[ \t]+"
    r"(?:[A-Z]?\.?\d{1,3}(?:[.-]\d{1,3}){0,4}[a-z]?|[IVXL]{1,6})[*_]{0,3}[ \t]{0,3}(?:[.:|–—]|$)"
)
_CAPTION = re.compile(_BEGIN, re.I | re.M)
_CAPTION_LINE = re.compile(rf"^ {{0,3}}{_BEGIN}", re.I | re.M)
_TABLE_LINE = re.compile(r"^\|", re.M)


def is_caption(text: str) -> bool:
    """Whether a paragraph is a caption: it begins with "Table 3:", "Figure 2." or the like, and is short.

    >>> is_caption("Table 2: Measured values"), is_caption("Table 2 shows what was measured.")
    (True, False)
    """
    return len(text) <= _LONGEST and begins_caption(text)


def begins_caption(text: str) -> bool:
    """Whether a text of any length begins with "Table 3:", "Figure 2." or the like."""
    return bool(_CAPTION.match(text))


def may_have_captioned_table(text: str) -> bool:
    """Whether a Markdown text has a table and a caption, wherever they stand."""
    return bool(_TABLE_LINE.search(text) and _CAPTION_LINE.search(text))
