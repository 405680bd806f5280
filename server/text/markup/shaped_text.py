"""Text whose shape is a part of what it says: raised and lowered numbers, and words that are struck out."""

from __future__ import annotations

import re

# A number is raised with digits that cannot be read as part of the number before it: 10 with a raised 9 is not
# 109.
_RAISED = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LOWERED = str.maketrans("0123456789+-\u2212", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_RAISED_NUMBER = re.compile(r"\s*[+\u2212-]?\d+\s*", re.ASCII)


def raise_number(text: str) -> str:
    """A text that stands above its line: a number becomes raised digits, any other text stays as it is.

    >>> raise_number("-6"), raise_number("st")
    ('⁻⁶', 'st')
    """
    return text.strip().translate(_RAISED) if _RAISED_NUMBER.fullmatch(text) else text


def lower_number(text: str) -> str:
    """A text that stands below its line, beside a digit: a number becomes lowered digits; see ``raise_number``.

    >>> lower_number("2"), lower_number("max")
    ('₂', 'max')
    """
    return text.strip().translate(_LOWERED) if _RAISED_NUMBER.fullmatch(text) else text


def strike_out(text: str) -> str:
    """Struck-out text as Markdown, line by line; "" for a text of several blocks, which no mark can enclose.

    >>> strike_out("not "), strike_out(" ")
    ('~~not~~ ', ' ')
    """
    if "\n\n" in text.strip():
        return ""
    return _LINE.sub(r"~~\g<0>~~", text)
