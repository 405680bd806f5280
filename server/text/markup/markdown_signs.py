"""Decides whether a text is Markdown by signs that plain text does not have.

A table rule, a closed fence or two headings are enough alone; a heading with another sign, and two kinds of weaker
signs (list items, links, emphasis), are enough together. Figures: docs/decisions/0003-retrieval.md.
"""

from __future__ import annotations

import re
from itertools import islice

# Signs that are counted; more do not change the answer.
_MOST_SIGNS = 3
_TABLE_RULE = re.compile(r"^ {0,3}\|?[ \t]{0,3}:?-{3,}+:?[ \t]{0,3}\|[-:| \t]{0,400}+$", re.M)
_FENCE = re.compile(r"^[ \t]{0,12}(?:`{3,}+[^`\n]{0,100}+|~{3,}+[^\n]{0,100}+)$", re.M)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+[^\s#][^\n]{0,300}+$", re.M)
_ITEM = re.compile(r"^ {0,12}(?:[-*+]|\d{1,3}[.)])[ \t]+\S", re.M)
_LINK = re.compile(r"!?\[[^\[\]\n]{1,200}+\]\([^\s()]{1,500}+(?:[ \t]+\"[^\"\n]{0,200}+\")?\)")
_EMPHASIS = re.compile(r"\*\*[^\s*][^*\n]{0,200}+\*\*|`[^`\n]{1,160}+`")


def is_markdown(text: str) -> bool:
    """Whether the text has the signs of Markdown."""
    if _TABLE_RULE.search(text) or _count(_FENCE, text) >= 2:
        return True
    headings, weaker = _count(_HEADING, text), (_ITEM, _LINK, _EMPHASIS)
    if headings >= 2:
        return True
    kinds = [_count(pattern, text) for pattern in weaker]
    return bool(headings and any(kinds)) or sum(count >= 2 for count in kinds) >= 2


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in islice(pattern.finditer(text), _MOST_SIGNS))
