r"""The text of Markdown as its reader sees it: which signs are marks, and what stands in their place.

Marks are the signs of headings, lists, block quotations, tables, rules and fences, those of emphasis and code, of
links and images with their addresses, references to footnotes, escapes, character references, and the tags of
HTML that only shape a text. Within fenced code only the lines of the fence are marks; within a code span only its
signs. Signs of emphasis count in pairs within a paragraph, and not within words: ``2*3*4`` keeps them. A bar is a
mark in a line that begins with one. Nothing else is left out: a number, a word, a sign of a formula stays.

A text that is no Markdown hardly has such signs. A caller that must be certain compares with the text itself, too.
Takes time in proportion to the length of the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

# Characters from a start to an end, and the text that a reader sees in their place.
Mark = tuple[int, int, str]

_FENCE = re.compile(r"^[ \t]{0,12}(?P<sign>`{3,}|~{3,})[^`\n]*$", re.MULTILINE)
_TAG = (
    r"</?(?:a|abbr|b|blockquote|br|caption|center|cite|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]"
    r"|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt"
    r"|u|ul|var)(?:\s[^<>]{0,400})?/?>"
)
# The first alternative that fits counts. Lines first: their signs are no signs within a line.
_SIGN = re.compile(
    r"(?P<line>^[ \t]*(?:\|?[ \t]*:?-{3,}:?[ \t]*\|[-:| \t]*|(?P<rule>[-*_=])(?:[ \t]*(?P=rule)){2,})[ \t]*$)"
    r"|(?P<block>^[ \t]*(?:>[ \t]?)+|^[ \t]{0,3}#{1,6}(?=[ \t])|^[ \t]*[-*+](?=[ \t])(?:[ \t]+\[[ xX]\])?)"
    r"|(?P<bullet>(?<!\S)[\u2022\u2023\u25aa\u25cf\u25cb\u25e6\u25a0\u25a1\uf0b7](?!\S)|\u2022(?=\s))"
    r"|(?P<paragraph>\n[ \t]*(?=\n))"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])|(?P<break>\\(?=\n))"
    r"|(?P<code>(?P<ticks>(?<!`)`{1,4})(?!`)(?P<inside>(?:(?!\n[ \t]*\n)[^`]){1,1000})(?P=ticks)(?!`))"
    r"|(?P<note>\[\^[^\]\s]{1,60}\](?!:))"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\](?:\((?P<address>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'))?\)"
    r"|(?=\[)(?P<reference>\[[^\[\]\n]{0,100}\]))?)"
    rf"|(?P<tag>{_TAG}|<!--.{{0,2000}}?-->)"
    r"|<(?P<link>https?://[^<>\s]{1,500})>"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});)"
    r"|(?P<emphasis>\*{1,3}|_{1,3}|~~)"
    r"|(?P<bar>\|)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_DIVIDED = re.compile(r"[^\W\d_]-[*_]+ [*_]*[^\W\d_]")
_BREAKS = re.compile(r"</?(?:br|p|div|td|th|tr|li|h\d|hr|dd|dt)\b", re.IGNORECASE)
# Groups of ``_SIGN`` that are marks wherever they stand, and what is seen in their place.
_ALONE = {"line": "", "block": "", "bullet": "", "break": "", "note": ""}


def fences_of(text: str) -> list[tuple[int, int, int, int]]:
    """The fenced blocks of a text: where the first line of each begins and ends, then the last one.

    A block that is not closed goes on to the end of the text.
    """
    found: list[tuple[int, int, int, int]] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line["sign"].startswith(opened["sign"]) and line[0].strip() == line["sign"]:
            found.append((*opened.span(), *line.span()))
            opened = None
    if opened is not None:
        found.append((*opened.span(), len(text), len(text)))
    return found


def marks_of(
    text: str, start: int, end: int, fences: Sequence[tuple[int, int, int, int]], *, links: bool = True
) -> Iterator[Mark]:
    """The marks from ``start`` to ``end`` of a text, which are at borders of lines, in order.

    ``fences`` are those of the text (``fences_of``). Without ``links`` an address counts as text, as do tags.
    """
    at = start
    for first, first_end, last, last_end in fences:
        if last_end <= start or first >= end:
            continue
        yield from _signs(text, at, max(at, min(first, end)), links=links)
        if first >= start:
            yield first, min(first_end, end), ""
        if start <= last < end:
            yield last, min(last_end, end), ""
        at = min(max(last_end, at), end)
    yield from _signs(text, at, end, links=links)


def _signs(text: str, start: int, end: int, *, links: bool) -> Iterator[Mark]:
    """The marks of a part without fences."""
    marks: list[Mark] = []
    # Signs of the paragraph that are marks if they are closed.
    emphasis: list[re.Match[str]] = []
    brackets: list[re.Match[str]] = []
    for found in _SIGN.finditer(text, start, end):
        kind = found.lastgroup or ""
        if found["paragraph"] is not None:
            emphasis, brackets = [], []
        elif kind in _ALONE:
            marks.append((*found.span(), _ALONE[kind]))
        elif found["line"] is not None:
            marks.append((*found.span(), ""))
        elif found["escaped"]:
            marks.append((found.start(), found.start() + 1, ""))
        elif found["code"]:
            marks += ((found.start(), found.start("inside"), ""), (found.end("inside"), found.end(), ""))
        elif found["entity"]:
            marks.append((*found.span(), html.unescape(found[0])))
        elif found["emphasis"]:
            marks += _close_emphasis(text, found, emphasis)
        elif found["bar"]:
            marks += _bar(text, found)
        elif links:
            marks += _link(found, brackets)
    yield from sorted(marks)


def _close_emphasis(text: str, sign: re.Match[str], opened: list[re.Match[str]]) -> Iterator[Mark]:
    """Both signs of a pair that this one closes; one that may open a pair is kept in ``opened``."""
    start, end = sign.span()
    before, after = text[start - 1 : start], text[end : end + 1]
    may_close = bool(before) and not before.isspace() and not after.isalnum()
    may_open = bool(after) and not after.isspace() and not before.isalnum()
    if may_close:
        for number in range(len(opened) - 1, -1, -1):
            if opened[number][0] == sign[0]:
                yield (*opened[number].span(), "")
                # A word that is divided at the end of a line of a page: "some-** what".
                yield start, end + bool(_DIVIDED.match(text, start - 2, end + 4)), ""
                del opened[number:]
                return
    if may_open:
        opened.append(sign)


def _bar(text: str, found: re.Match[str]) -> Iterator[Mark]:
    line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].lstrip(" \t")
    if not line or line.startswith("|"):
        yield (*found.span(), " ")


def _link(found: re.Match[str], brackets: list[re.Match[str]]) -> Iterator[Mark]:
    """The marks of a link or an image that ends here, of an address between angles, or of a tag."""
    if found["tag"]:
        yield (*found.span(), " " if _BREAKS.match(found[0]) else "")
    elif found["link"]:
        yield found.start(), found.start() + 1, ""
        yield found.end() - 1, found.end(), ""
    elif found["open"]:
        brackets.append(found)
    elif brackets:
        opened = brackets.pop()
        if found["address"] is not None or found["reference"] is not None:
            yield (*opened.span(), "")
            yield (*found.span(), "")
