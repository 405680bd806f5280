r"""The text of a manual page's source as its reader sees it: which signs of roff are marks, and what they show.

Marks are requests and macros at the beginning of a line that print nothing, the names of those that print their
arguments and quotation marks around these, escapes for fonts and sizes, and comments; ``\-``, ``\(em`` and the
like stand for a character. The arguments of ``.BR`` and the other macros of two fonts are printed without a blank
between them. What this module does not know may print something, and stays as it is. Takes time in proportion to
the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Characters from a start to an end, and the text that a reader sees in their place.
Mark = tuple[int, int, str]

_SOURCE = re.compile(r"^\.(?:TH|Dd)[ \t]", re.MULTILINE)
# A source says what it is in its first macro, which comments may stand before.
_HEAD_CHARS = 20_000
_REQUEST = re.compile(r"^[.'][ \t]*(?P<name>[A-Za-z0-9]{0,4}|\\\")(?P<gap>[ \t]*)(?P<rest>[^\n]*)$", re.MULTILINE)
_SILENT = frozenset(
    {
        "",
        '\\"',
        "TH",
        "PP",
        "LP",
        "P",
        "TP",
        "TQ",
        "HP",
        "RS",
        "RE",
        "PD",
        "UE",
        "ME",
        "EX",
        "EE",
        "br",
        "sp",
        "nf",
        "fi",
    }
    | {"in", "ti", "ft", "ad", "na", "hy", "nh", "ds", "nr", "ne", "ll", "pl", "fam", "ps", "vs", "ta"}
)
_PRINTING = frozenset({"SH", "SS", "B", "I", "R", "SM", "SB", "IP", "UR", "MT"})
_ALTERNATING = frozenset({"BR", "BI", "IB", "IR", "RB", "RI"})
# The indent after the tag of a paragraph.
_INDENT = re.compile(r"[ \t]+[\d.]+[a-z]?[ \t]*\Z")
_ESCAPES = {
    "-": "-", "e": "\\", "\\": "\\", "~": " ", " ": " ", "0": " ", ".": ".", "'": "'", "`": "`",
    "&": "", "/": "", ",": "", ":": "", "%": "", ")": "", "c": "", "|": "", "^": "",
}  # fmt: skip
_NAMED = {
    "aq": "'", "dq": '"', "em": "\u2014", "en": "\u2013", "bu": "\u2022", "co": "\u00a9", "lq": "\u201c",
    "rq": "\u201d", "oq": "\u2018", "cq": "\u2019", "hy": "-", "ti": "~", "ha": "^", "ga": "`", "rs": "\\",
    "mi": "-", "Aq": "'", "R": "\u00ae", "Tm": "\u2122",
}  # fmt: skip
_SIGN = re.compile(
    r"(?P<font>\\f(?:\[[^\]\n]{0,20}\]|\([^\n]{2}|[^\n])|\\s[+-]?\d{1,2}|\\m\[[^\]\n]{0,20}\])"
    r"|\\(?:\*?\((?P<two>[A-Za-z]{2})|\*?\[(?P<long>[A-Za-z]{1,20})\]|\*(?P<one>R))"
    r"|(?P<comment>\\\"[^\n]*)"
    r"|\\(?P<escape>[-e\\~ 0.'`&/,:%)c|^])"
    r"|(?P<quote>\")"
    r"|(?P<gap>[ \t]+)"
)


def is_roff(text: str) -> bool:
    """Whether a text is the source of a manual page."""
    return _SOURCE.search(text, 0, _HEAD_CHARS) is not None


def marks_of(text: str, start: int, end: int) -> Iterator[Mark]:
    """The marks from ``start`` to ``end`` of a source, which are at borders of lines, in order."""
    at = start
    for request in _REQUEST.finditer(text, start, end):
        yield from _signs(text, at, request.start())
        yield from _marks_of_request(text, request)
        at = request.end()
    yield from _signs(text, at, end)


def _marks_of_request(text: str, request: re.Match[str]) -> Iterator[Mark]:
    name = request["name"]
    if name in _SILENT:
        yield *request.span(), ""
        return
    if name not in _PRINTING | _ALTERNATING:
        return
    first, last = request.span("rest")
    yield request.start(), first, ""
    indent = _INDENT.search(text, first, last) if name == "IP" else None
    shown = indent.start() if indent else last
    yield from _signs(text, first, shown, is_argument=True, joins=name in _ALTERNATING)
    if indent:
        yield shown, last, ""


def _signs(text: str, start: int, end: int, *, is_argument: bool = False, joins: bool = False) -> Iterator[Mark]:
    """The marks of text, or of the arguments of a macro, which are printed one after the other if it ``joins``."""
    is_quoted = False
    for found in _SIGN.finditer(text, start, end):
        if found["quote"]:
            is_quoted = not is_quoted
            if is_argument:
                yield *found.span(), ""
        elif found["gap"]:
            if joins and not is_quoted:
                yield *found.span(), ""
        elif found["escape"]:
            yield *found.span(), _ESCAPES[found["escape"]]
        elif name := found["two"] or found["long"] or found["one"]:
            if name in _NAMED:
                yield *found.span(), _NAMED[name]
        else:
            yield *found.span(), ""
