"""LaTeX of bibliographies as plain text: accents, symbols and braces."""

from __future__ import annotations

import re
from functools import lru_cache

from pylatexenc.latex2text import LatexNodes2Text  # type: ignore[import-untyped]

# Text without these needs no parser: braces are left out, and typewriter marks replaced.
_MARKUP = re.compile(r"[\\$~]")
_BRACES = str.maketrans("", "", "{}")
_MARKS = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))
# Deeper groups exceed the stack of the parser.
_DEEPEST = 50
_LONGEST_CHARS = 100_000
_COMMAND = re.compile(r"\\[A-Za-z]+\s?|[{}]|\\")
# Signs that LaTeX would take as a comment or a column; BibTeX has them as text.
_SIGN = re.compile(r"(?<!\\)([%&])")
_DECODER = LatexNodes2Text(math_mode="verbatim", keep_comments=True)
_TEXTS_KEPT = 4_096  # decoded texts in memory: names and journals repeat


@lru_cache(_TEXTS_KEPT)
def decode(text: str) -> str:
    r"""The text without LaTeX, in one line; formulas stay as they are.

    >>> decode(r"M{\"u}ller \& {NASA}: 10--20\,\% of $x^2$")
    'Müller & NASA: 10–20 % of $x^2$'
    """
    text = text[:_LONGEST_CHARS]
    return " ".join((_decode_markup(text) if _MARKUP.search(text) else _decode_plain(text)).split())


def _decode_plain(text: str) -> str:
    for mark, sign in _MARKS:
        text = text.replace(mark, sign)
    return text.translate(_BRACES)


def _decode_markup(text: str) -> str:
    if _depth(text) > _DEEPEST:
        return strip_markup(text)
    try:
        return str(_DECODER.latex_to_text(_SIGN.sub(r"\\\1", text)))
    # The parser raises exceptions of many types on text that is not LaTeX.
    except Exception:
        return strip_markup(text)


def strip_markup(text: str) -> str:
    """The text without commands and braces, where it cannot be parsed as LaTeX."""
    return _COMMAND.sub("", text)


def _depth(text: str) -> int:
    depth = deepest = 0
    for sign in text:
        depth += (sign == "{") - (sign == "}")
        deepest = max(depth, deepest)
    return deepest
