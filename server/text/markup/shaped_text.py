"""Text whose shape is a part of what it says: raised numbers, and words that are struck out."""

from __future__ import annotations

import re

# A number is raised in signs that stay apart from the number before it: 10 with 9 above is not 109.
_RAISED = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_RAISED_NUMBER = re.compile(r"\s*[+\u2212-]?\d+\s*", re.ASCII)


def raise_number(text: str) -> str:
    """A text that stands above its line: a number in raised digits, another text as it is.

    >>> raise_number("-6"), raise_number("st")
    ('⁻⁶', 'st')
    """
    return text.strip().translate(_RAISED) if _RAISED_NUMBER.fullmatch(text) else text


def strike_out(text: str) -> str:
    """A text that is struck out, in Markdown, line by line; of several blocks, which no mark encloses, nothing.

    >>> strike_out("not "), strike_out(" ")
    ('~~not~~ ', ' ')
    """
    if "\n\n" in text.strip():
        return ""
    return _LINE.sub(r"~~\g<0>~~", text)
