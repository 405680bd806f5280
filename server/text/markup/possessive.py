"""Compiles regular expressions with possessive groups so that every supported Python matches them as it should."""

from __future__ import annotations

import re
import sys

# Before 3.11.5, Python keeps the matched part of a repetition that fails in the middle of a possessive group:
# ``(?:cd)*+`` ends within the "ce" of "abce" (gh-106052). Atomic groups mean the same and are correct there. They
# cost memory for each repetition until the group ends.
_IS_WRONG = sys.version_info < (3, 11, 5)
_PART = re.compile(r"\\.|\[\^?+\]?+(?:\\.|[^\]\\])*\]|\(|\)(?P<quantifier>[*+?]\+|\{\d*,?\d*\}\+)?", re.DOTALL)


def compile_possessive(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile`` of a pattern in which groups have possessive quantifiers, such as ``(?:ab)*+``."""
    return re.compile(with_atomic_groups(pattern) if _IS_WRONG else pattern, flags)


def with_atomic_groups(pattern: str) -> str:
    """The pattern with ``(?>(?:ab)*)`` in place of ``(?:ab)*+``.

    >>> with_atomic_groups(r"a(?:b[)]|c)*+d++")
    'a(?>(?:b[)]|c)*)d++'
    """
    parts: list[str] = []
    opened: list[int] = []
    end = 0
    for found in _PART.finditer(pattern):
        parts += [pattern[end : found.start()], found[0]]
        end = found.end()
        if found[0] == "(":
            opened.append(len(parts) - 1)
        elif found[0].startswith(")"):
            start = opened.pop()
            if found["quantifier"]:
                parts[start] = f"(?>{parts[start]}"
                parts[-1] = f"{found[0][:-1]})"
    return "".join((*parts, pattern[end:]))
