r"""The text of Markdown as its reader sees it: the signs that are marks, and the characters in their place.

Marks are the signs of headings, lists, block quotations, tables, rules and fences, those of emphasis and code, of
links and images with their addresses, references to footnotes, escapes, character references, and the tags of HTML
that only shape a text. Within fenced code only the lines of the fence are marks; within a code span only its
signs. Signs of emphasis count in pairs within a paragraph, and not within words: ``2*3*4`` keeps them. A bar is a
mark in a line that begins with a bar. A reference is a mark if the text defines it. A sign before a number is a
mark only at the beginning of a paragraph or of a list, because elsewhere it may be a minus. Struck-out text
becomes "~~", a raised number is written with "^", and a lowered one, beside digits, with "_". Everything else
stays, such as numbers, words, signs of formulas and boxes.

A text that is not Markdown rarely has such signs. A caller that must be certain also compares with the text
itself. Takes time in proportion to the length of the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from winnow.server.text.markup.possessive import compile_possessive

# Characters from a start to an end, and the text that a reader sees in their place.
Mark = tuple[int, int, str]

# A block may begin on the line of a list item, after the item's sign.
_FENCE = re.compile(
    r"^[ \t]{0,12}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}){0,3}(?P<sign>`{3,}+|~{3,}+)[^`\n]*+$", re.MULTILINE
)
# What stands between angles is text unless it is a tag: "if a <b and c=d> holds" has none.
_ATTRIBUTE = (
    r"(?:[a-z:@][\w:.@-]{0,60}+\s?=\s?(?:\"[^\"<>]{0,400}+\"|'[^'<>]{0,400}+')"
    r"|(?:align|alt|bgcolor|border|cellpadding|cellspacing|class|color|colspan|dir|face|height|href|id|lang|name|rel|rowspan"
    r"|size|src|start|style|target|title|type|valign|value|width)\s?=\s?[^\s\"'=<>`]{1,400}+"
    r"|(?:compact|hidden|noshade|nowrap|open|reversed)(?=[\s/>]))"
)
_TAG = (
    r"</?(?:a|abbr|b|blockquote|br|caption|center|cite|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]"
    r"|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|small|span|strike|strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt"
    rf"|u|ul|var)(?:\s{{1,50}}+{_ATTRIBUTE}){{0,30}}+\s{{0,50}}+/?>"
)
# Directly before the marks of code there is no backtick, except an escaped backtick.
_NO_TICK = r"(?:(?<!`)|(?<=\\`))"
# The first alternative that fits counts. Lines come first, because their signs have no meaning within a line.
# A control character between blanks is the bullet of a symbol font, as some programs write it.
_SIGN = compile_possessive(
    r"(?P<line>^[ \t]*+(?:\|?[ \t]*+(?::?-{3,}+:?|:-++:?|-++:)[ \t]*+\|[-:| \t]*+"
    r"|(?P<rule>[-*_=])(?:[ \t]*+(?P=rule)){2,}+)[ \t]*+$)"
    r"|(?P<block>^[ \t]*+(?:>[ \t]?)++|^[ \t]{0,3}#{1,6}(?=[ \t])|^[ \t]*+[-*+](?=[ \t]))"
    r"|(?P<bullet>(?<!\S)[\u2022\u2023\u25aa\u25e6\uf0b7\x80-\x84\x86-\x9f](?!\S)|\u2022(?=\s)"
    r"|^[ \t]*+[\u25cf\u25cb\u25a0\u25a1](?=\s))"
    r"|(?P<paragraph>\n[ \t]*+(?=\n))"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])|(?P<break>\\(?=\n))"
    rf"|(?P<padded>(?P<run>{_NO_TICK}`{{2,5}}) "
    r"(?P<within>(?:(?!\n[ \t]*\n)(?:[^`]|(?!(?P=run))`++)){1,1000}) (?P=run)(?!`))"
    rf"|(?P<code>(?P<ticks>{_NO_TICK}`{{1,4}})(?!`)"
    r"(?P<inside>(?:(?!\n[ \t]*\n)[^`]){1,1000})(?P=ticks)(?!`))"
    r"|(?P<note>\[\^(?P<label>[^\]\s]{1,60})\](?!:))"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\](?:\((?P<address>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'))?\)"
    r"|(?=\[)(?P<reference>\[[^\[\]\n]{0,100}\]))?)"
    rf"|(?P<tag>{_TAG}|<!--(?:(?!<!--).){{0,2000}}?-->)"
    r"|<(?P<link>https?://[^<>\s]{1,500})>"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});)"
    r"|(?P<emphasis>\*{1,3}|_{1,3}|~~)"
    r"|(?P<bar>\|)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_DIVIDED = re.compile(r"[^\W\d_]-[*_]+ [*_]*[^\W\d_]")
_BREAKS = re.compile(r"</?(?:br|p|div|td|th|tr|li|h\d|hr|dd|dt)\b", re.IGNORECASE)
# Groups of ``_SIGN`` that are marks wherever they stand, and what is seen in their place.
_ALONE = {"line": "", "bullet": "", "break": ""}
# A sign before a number at the start of a line is a minus or a comparison, unless the line before belongs to a
# list.
_NUMBER = re.compile(r"[ \t]*[.,]?\d")
_LIST_LINE = re.compile(r"[ \t]{2}|[ \t]?(?:[-*+>#]|\d{1,9}[.)])[ \t]|[ \t]*\Z")
_LONGEST_LINE = 8_000
# The largest number of signs of emphasis that wait for the end of a pair.
_MOST_OPENED = 100
_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^?([^\[\]\n]{1,100})\]:", re.MULTILINE)
# Readers of PDF and office files number the references to notes.
_NOTE_NUMBER = re.compile(r"[\d*\u2020\u2021]{1,4}")
_STRUCK = re.compile(r"<(?P<end>/?)(?P<name>del|s|strike)\b", re.IGNORECASE)
# Replaces struck-out text, so that a quote neither contains that text nor skips it.
STRUCK_OUT = "~~"
_RAISED_NUMBER = re.compile(r"[ \t]*[-+\u2212\u2013]?[.,]?\d")
_RAISED = re.compile(r"<sup\b", re.IGNORECASE)
# Where a lowered number begins, or one that is moved ends: 10 with a lowered 2 is not 102.
_PARTED = re.compile(r"<(?:sub|/su[bp])\b", re.IGNORECASE)


def fences_of(text: str) -> list[tuple[int, int, int, int]]:
    """The fenced blocks of a text: the start and end of each block's first line, then of its last line.

    A block that is not closed extends to the end of the text.
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
    text: str,
    start: int,
    end: int,
    fences: Sequence[tuple[int, int, int, int]],
    *,
    links: bool = True,
    pairs: bool = True,
) -> Iterator[Mark]:
    """The marks from ``start`` to ``end`` of a text, in order. Both must be borders of lines.

    ``fences`` are those of the text (``fences_of``). Without ``links``, addresses and tags count as text. Without
    ``pairs``, signs of emphasis and of code count as text: readers of files write the signs of a page as they are,
    and two such signs look like a pair.
    """
    at = start
    for first, first_end, last, last_end in fences:
        if last_end <= start or first >= end:
            continue
        yield from _signs(text, at, max(at, min(first, end)), links=links, pairs=pairs)
        if first >= start:
            yield first, min(first_end, end), ""
        if start <= last < end:
            yield last, min(last_end, end), ""
        at = min(max(last_end, at), end)
    yield from _signs(text, at, end, links=links, pairs=pairs)


def _signs(text: str, start: int, end: int, *, links: bool, pairs: bool) -> Iterator[Mark]:
    """The marks of a part without fences."""
    marks: list[Mark] = []
    # Signs of the paragraph that become marks when they are closed.
    emphasis: list[re.Match[str]] = []
    brackets: list[re.Match[str]] = []
    struck: list[re.Match[str]] = []
    for found in _SIGN.finditer(text, start, end):
        kind = found.lastgroup or ""
        if found["paragraph"] is not None:
            emphasis, brackets, struck = [], [], []
        elif kind in _ALONE:
            marks.append((*found.span(), _ALONE[kind]))
        elif found["line"] is not None:
            marks.append((*found.span(), ""))
        elif found["block"] is not None:
            if not _may_be_minus(text, found, links=links):
                marks.append((*found.span(), ""))
        elif found["note"]:
            if _NOTE_NUMBER.fullmatch(found["label"]) or _is_defined(text, found["label"]):
                marks.append((*found.span(), ""))
        elif found["tag"] and links:
            marks.append(_tag(text, found, struck))
        elif found["escaped"]:
            marks.append((found.start(), found.start() + 1, ""))
        elif (found["code"] or found["padded"]) and not pairs:
            marks += _signs(text, *_inside_code(found), links=links, pairs=pairs)
        elif found["emphasis"] and not pairs:
            continue
        elif found["code"] or found["padded"]:
            start, end = _inside_code(found)
            marks += ((found.start(), start, ""), (end, found.end(), ""))
        elif found["entity"]:
            marks.append((*found.span(), html.unescape(found[0])))
        elif found["emphasis"]:
            marks += _close_emphasis(text, found, emphasis)
        elif found["bar"]:
            marks += _bar(text, found)
        elif links:
            marks += _link(text, found, brackets)
    yield from _outermost(sorted(marks))


def _inside_code(found: re.Match[str]) -> tuple[int, int]:
    """The place of the text between marks of code, without the blanks that part the marks from backticks in it."""
    return found.span("within" if found["padded"] else "inside")


def _outermost(marks: Iterable[Mark]) -> Iterator[Mark]:
    """The marks that are not within another mark. A struck-out text is a single mark."""
    last = 0
    for start, end, seen in marks:
        if start >= last:
            yield start, end, seen
            last = end


def _may_be_minus(text: str, found: re.Match[str], *, links: bool) -> bool:
    """Whether the sign that begins a line may belong to the number after it, because no list precedes the line."""
    start, sign = found.start(), found[0].strip(" \t")
    if sign not in ("-", "+", ">") or not _NUMBER.match(text, found.end()):
        return False
    if start == 0:
        return not links
    line = text.rfind("\n", max(start - _LONGEST_LINE, 0), start - 1) + 1
    return _LIST_LINE.match(text, line, start - 1) is None


def _is_defined(text: str, label: str) -> bool:
    """Whether a text defines the target of a reference to a link or a note."""
    return label.casefold() in _definitions(text)


@lru_cache(maxsize=2)
def _definitions(text: str) -> frozenset[str]:
    return frozenset(label.casefold() for label in _DEFINITION.findall(text))


def _close_emphasis(text: str, sign: re.Match[str], opened: list[re.Match[str]]) -> Iterator[Mark]:
    """The marks of the pair that this sign closes, if any. A sign that may open a pair is added to ``opened``."""
    start, end = sign.span()
    before, after = text[start - 1 : start], text[end : end + 1]
    may_close = bool(before) and not before.isspace() and not after.isalnum()
    may_open = bool(after) and not after.isspace() and not before.isalnum()
    if may_close:
        for number in range(len(opened) - 1, -1, -1):
            if opened[number][0] == sign[0]:
                if sign[0] == "~~":
                    yield opened[number].start(), end, STRUCK_OUT
                    del opened[number:]
                    return
                yield (*opened[number].span(), "")
                # A word that is divided at the end of a line of a page: "some-** what".
                yield start, end + bool(_DIVIDED.match(text, start - 2, end + 4)), ""
                del opened[number:]
                return
    if may_open:
        opened.append(sign)
        del opened[:-_MOST_OPENED]


def _bar(text: str, found: re.Match[str]) -> Iterator[Mark]:
    first = text.rfind("\n", max(found.start() - _LONGEST_LINE, 0), found.start()) + 1
    line = text[first : found.start()].lstrip(" \t")
    if not line or line.startswith("|"):
        yield (*found.span(), " ")


def _tag(text: str, found: re.Match[str], struck: list[re.Match[str]]) -> Mark:
    """The mark of a tag. The mark of a tag that ends a struck-out text includes that text."""
    start, end = found.span()
    if tag := _STRUCK.match(found[0]):
        if not tag["end"]:
            struck.append(found)
        elif struck:
            return struck.pop().start(), end, STRUCK_OUT
    if _RAISED.match(found[0]) and text[start - 1 : start].isdigit() and _RAISED_NUMBER.match(text, end):
        return start, end, "^"
    if _PARTED.match(found[0]) and text[start - 1 : start].isdigit() and text[end : end + 1].isdigit():
        return start, end, "_"
    return start, end, " " if _BREAKS.match(found[0]) else ""


def _link(text: str, found: re.Match[str], brackets: list[re.Match[str]]) -> Iterator[Mark]:
    """The marks of a link or an image that ends here, or of an address between angles."""
    if found["link"]:
        yield found.start(), found.start() + 1, ""
        yield found.end() - 1, found.end(), ""
    elif found["open"]:
        brackets.append(found)
    elif brackets:
        opened = brackets.pop()
        reference = (found["reference"] or "")[1:-1]
        is_reference = found["reference"] is not None and (not reference or _is_defined(text, reference))
        if found["address"] is not None or is_reference:
            yield (*opened.span(), "")
            yield (*found.span(), "")
