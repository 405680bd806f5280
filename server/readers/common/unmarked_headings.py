"""Headings that a file does not mark as such: short lines wholly in bold, alone above a text.

Readers put two noncharacters of Unicode around bold text. ``write_headings`` makes headings of the lines that are
nothing but such text, and removes the marks of all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from winnow.server.text.markup.captions import begins_caption

_BOLD_BEGINS, _BOLD_ENDS = "\ufdd2", "\ufdd3"
# A class of regular expressions.
BOLD_MARKS = f"[{_BOLD_BEGINS}{_BOLD_ENDS}]"
_MARKS = re.compile(BOLD_MARKS)
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_BETWEEN = re.compile(f"{_BOLD_ENDS}([ \t]*){_BOLD_BEGINS}")
_BOLD_LINE = re.compile(f"[ \t]*{_BOLD_BEGINS}([^{_BOLD_BEGINS}{_BOLD_ENDS}]+){_BOLD_ENDS}[ \t]*")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DEEPEST_LEVEL = 6
# A longer line is a sentence. The limits leave room for the titles of articles.
_LONGEST, _MOST_WORDS = 110, 16
# More bold lines below each other are a table, a poem or a title page.
_MOST_BESIDE = 2
# A sentence, a label with its text beside it, or a part of a sentence.
_ENDS_OTHERWISE = re.compile("[.,;:!…。，；：！、·=(\\[{/\\\\|-]\\Z")
# A heading begins with a letter or a digit, not with a small letter; quotes and brackets may precede it.
_BEGINS = re.compile(r"[\"'“‘«「『(\[¿]{0,2}\w")
# A link, a cell of a table, an item of a list, an address.
_OTHERWISE = re.compile(r"\]\(|\A[|>]|\A[-+*•] |://|\w@\w|\A\[image:|©|\(c\) ?\d", re.IGNORECASE)
# Captions of what is no table or figure, and captions in Chinese and Japanese.
_CAPTION = re.compile(
    r"(?:[^\W\d_]+ (?:[A-Z]|\d{1,3})[.-]\d{1,3}\. |(?:listing|algorithm|example) \d{1,3}[:.] |[表図图] ?\d)",
    re.IGNORECASE,
)
# An entry of a table of contents ends with the number of its page.
_ENTRY = re.compile(r"\s\d{1,4}\Z")
_LETTERS = re.compile(r"[^\W\d_]")


def embolden(text: str) -> str:
    """Text between the marks of bold text, line by line."""
    return _LINE.sub(rf"{_BOLD_BEGINS}\g<0>{_BOLD_ENDS}", without_marks(text))


def without_marks(text: str) -> str:
    """Text without the marks of bold text."""
    return _MARKS.sub("", text)


def write_headings(text: str) -> str:
    """Markdown without marks of bold text; bold lines that are headings are one level below the last heading."""
    if _BOLD_BEGINS not in text:
        return without_marks(text)
    return "\n".join(_written(_BETWEEN.sub(r"\1", text).split("\n")))


def _written(lines: Sequence[str]) -> Iterator[str]:
    level, fence = 0, ""
    found = _headings(lines)
    for place, line in enumerate(lines):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
        if not fence and (heading := _HEADING.match(line)):
            level = len(heading[1])
        if place not in found:
            yield without_marks(line)
            continue
        yield f"{'#' * min(level + 1, _DEEPEST_LEVEL)} {without_marks(line).strip()}"
        if place + 1 < len(lines) and lines[place + 1]:
            yield ""


def _headings(lines: Sequence[str]) -> frozenset[int]:
    """The places of bold lines that begin a paragraph, read as headings and have text below them."""
    found: set[int] = set()
    run: list[int] = []
    filled = [place for place, line in enumerate(lines) if line.strip()]
    for place in filled:
        if _BOLD_LINE.fullmatch(lines[place]):
            run.append(place)
            continue
        if len(run) <= _MOST_BESIDE and not _HEADING.match(lines[place]):
            found.update(at for at in run if not (at and lines[at - 1].strip()) or at - 1 in run)
            if _ENTRY.search(lines[place]):
                found.difference_update(at for at in run if _ENTRY.search(without_marks(lines[at])))
        run = []
    return frozenset(at for at in found if reads_as_heading(without_marks(lines[at]).strip()))


def reads_as_heading(text: str) -> bool:
    """Whether a line in bold is a heading, by its words.

    >>> reads_as_heading("Known problems"), reads_as_heading("Do not open the case."), reads_as_heading("Note:")
    (True, False, False)
    """
    text = " ".join(text.split())
    if len(text) > _LONGEST or len(text.split()) > _MOST_WORDS or text[:1].islower():
        return False
    if not (_LETTERS.search(text) and _BEGINS.match(text)) or _ENDS_OTHERWISE.search(text):
        return False
    return not (_OTHERWISE.search(text) or _CAPTION.match(text) or begins_caption(text))
