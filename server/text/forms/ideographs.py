"""Letters and signs of Chinese and Japanese, whose lines end anywhere: white space between them says nothing."""

from __future__ import annotations

# For a class of characters in a pattern: punctuation, kana, ideographs, full widths.
IDEOGRAPHIC = r"\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
