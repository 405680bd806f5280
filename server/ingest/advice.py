"""Advice about a file that was not read, by the reason that its reader states."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LEAVE_OUT = "leave it out with a line in .winnowignore"
_SAVE_AGAIN = "copy it again, or save it again from its program"
_EXPLAIN = "to see how it is read: winnow ingest --explain FILE"
# The first row that matches counts; "" where the reason says what to do by itself.
_ADVICE: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(pattern, re.IGNORECASE), advice)
    for pattern, advice in (
        (r";|pip install|delete stray cells|--\w", ""),
        (r"^(is )?empty", "delete it, or copy it here again"),
        (r"^a link", "to read what it leads to, name that"),
        (r"^(a named pipe|a socket|a device|a folder|not a regular file)", _LEAVE_OUT),
        (r"^binary, not text", f"give it the suffix of its format, or {_LEAVE_OUT}"),
        (
            r"damaged|well-formed|no part|overlap|unknown encoding|without pixels|cannot be read \(",
            _SAVE_AGAIN,
        ),
        (r"old office document", "save it as .docx, .xlsx, .pptx or an OpenDocument file"),
        (r"^(is |has )?(not|no cues|a ZIP archive, but|an OpenDocument file, but)\b", "rename it to what it is"),
        (r"(larger|longer|more) than|grows more|nested too|too large|spans|has a row", "split or simplify it"),
        (r"XML|compressed in a way|parser (crashed|returned)", _SAVE_AGAIN),
        (r"permi(ssion|tted)", "give this account the right to read it"),
        (r"^no such file|was stopped", "ingest again"),
    )
)
_MISNAMED = re.compile(r"^not (a|an) .*$|^not RTF$")


def add_advice(reason: str) -> str:
    """The reason with what to do, unless it says that already.

    >>> add_advice("empty"), add_advice("larger than 8 MiB; split it")
    ('empty; delete it, or copy it here again', 'larger than 8 MiB; split it')
    >>> add_advice("not a PDF")
    'not a PDF, whatever its name says; rename it to what it is'
    """
    advice = next((advice for pattern, advice in _ADVICE if pattern.search(reason)), _EXPLAIN)
    if not advice:
        return reason
    name = ", whatever its name says" if advice.startswith("rename") and _MISNAMED.match(reason) else ""
    return f"{reason}{name}; {advice}"
