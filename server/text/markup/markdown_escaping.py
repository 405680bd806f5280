r"""Text as Markdown that shows exactly this text: nothing in it is a heading, a link, code, HTML or another block.

White space becomes single blanks, so a text is one line and cannot begin a block of its own; signs that mean
something to CommonMark, GitHub or pandoc are escaped, as are the starts of blocks and of addresses. Control and
invisible characters are removed. A reader of Markdown sees the text as it was.
"""

from __future__ import annotations

import re

from winnow.server.text.printable import printable

_SIGNS = re.compile(r"[\\`*_\[\]<>&$~^|{}@]")
# Signs that begin a block: headings, lists, rules, definitions, metadata; and the numbers of lists.
_START = re.compile(
    r"\A(?:[#+\-:=%]|(?P<number>\(?(?:[0-9]{1,9}|[A-Za-z#]|[ivxlcdmIVXLCDM]{1,8}))(?=[.)](?:\s|\Z)))"
)
# An address that some readers link although nothing marks it.
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data|xmpp)(?=:)|\b(www)(?=\.)")


def escape_line(text: str) -> str:
    r"""``text`` as one line of Markdown.

    >>> escape_line("# A [link](http://a.example)\n- and *more*")
    '\\# A \\[link\\](http\\://a.example) - and \\*more\\*'
    """
    line = " ".join(printable(text).split())
    escaped = _ADDRESS.sub(lambda found: f"{found[0]}\\", _SIGNS.sub(r"\\\g<0>", line))
    start = _START.match(escaped)
    if start is None:
        return escaped
    return f"{start[0]}\\{escaped[start.end() :]}" if start["number"] else f"\\{escaped}"
