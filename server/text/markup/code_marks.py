r"""Marks of code in Markdown, and escapes of backticks that are not marks.

A backtick of a text that becomes Markdown is escaped if the Markdown has marks of code. Otherwise the backtick
would pair with one of these marks, and all later marks of the paragraph would pair wrongly.
"""

from __future__ import annotations

import re

_RUN = re.compile(r"`+")
_FENCE = re.compile(r"`{3,}")
# A backslash before an escaped backtick, or at the end of a text that a mark may follow, is escaped, too.
_LITERAL = re.compile(r"(?<!\\)(?P<slashes>\\*)(?P<tick>`|\Z)")


def escape_backticks(text: str) -> str:
    r"""``text`` with its backticks escaped, so that they are not marks.

    >>> escape_backticks("a ` b"), escape_backticks("C:\\")
    ('a \\` b', 'C:\\\\')
    """
    if "`" not in text and not text.endswith("\\"):
        return text
    return _LITERAL.sub(lambda found: found["slashes"] * 2 + ("\\`" if found["tick"] else ""), text)


def code_span(text: str) -> str:
    """One line of code between marks that are longer than any backticks within it; "" for no text.

    >>> code_span("x"), code_span("x `div` y")
    ('`x`', '`` x `div` y ``')
    """
    if not text.strip():
        return ""
    if "`" not in text:
        return f"`{text}`"
    marks = "`" * (1 + max(len(run) for run in _RUN.findall(text)))
    return f"{marks} {text} {marks}"


def fenced(text: str, language: str = "") -> str:
    """Lines of code between fences that are longer than any within them."""
    fence = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(text))])
    return f"{fence}{language}\n{text}\n{fence}"
