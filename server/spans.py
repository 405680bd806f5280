"""Spans of a text and how well each answers a question: pure, deterministic, shared by previews and quotes.

A span is a whole fenced code block, a list item, a table row, or a sentence. The score of a span is the share
of the question's terms that it holds; ties go to the shorter span, then to the earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_FENCE = re.compile(
    r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_LINE_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+|^[ \t]*\|", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t]*\n")
# A sentence ends at . ? ! followed by white space, or at full-width punctuation, which needs none.
_SENTENCE_END = re.compile(r"[.?!]+[\"'”’)\]]*(?=\s)|[。！？]+[」』”]*")
# A dot after one of these, or after a single capital letter, does not end a sentence.
_DOTTED = (
    "e.g i.e etc cf vs al approx dr mr mrs ms prof st fig eq sec vol pp ed inc ltd co dept est jan feb mar apr "
    "jun jul aug sep sept oct nov dec"
)
_ABBREVIATIONS = frozenset(_DOTTED.split())
_WORD_BEFORE = re.compile(r"([A-Za-z][A-Za-z.]*)$")
_TERMS = re.compile(r"[^\W_]+")
_MIN_TERM_CHARS = 3


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` of a text, and the score of what stands there."""

    start: int
    end: int
    score: float = 0.0


def terms(text: str) -> frozenset[str]:
    """The terms a question is compared by: lower case, split on non-alphanumerics, 3 characters or more.

    >>> sorted(terms("How do I open a file?"))
    ['file', 'how', 'open']
    """
    return frozenset(term for term in _TERMS.findall(text.lower()) if len(term) >= _MIN_TERM_CHARS)


def split_spans(text: str) -> list[Span]:
    """Every span of ``text``, in order, without the white space around it."""
    return [span for start, end, fenced in _blocks(text) for span in _within(text, start, end, fenced=fenced)]


def best_spans(text: str, question: frozenset[str], limit: int = 1) -> list[Span]:
    """The spans that hold most of the question's terms, best first."""
    scored = [_scored(text, span, question) for span in split_spans(text)]
    return sorted(scored, key=lambda span: (-span.score, span.end - span.start, span.start))[:limit]


def preview(text: str, question: frozenset[str], max_chars: int) -> str:
    """The best span of ``text``, at most ``max_chars`` long, cut marks included.

    A span that is too long is cut around the first term it matches, so that the match stays in the preview.
    """
    best = best_spans(text, question)
    if not best:
        return ""
    return _clip(" ".join(text[best[0].start : best[0].end].split()), question, max_chars)


def _scored(text: str, span: Span, question: frozenset[str]) -> Span:
    found = question & terms(text[span.start : span.end])
    return Span(span.start, span.end, len(found) / max(1, len(question)))


def _clip(line: str, question: frozenset[str], max_chars: int) -> str:
    if len(line) <= max_chars:
        return line
    lowered = line.lower()
    places = [place for term in question if (place := lowered.find(term)) >= 0]
    first = min(places, default=0)
    start = 0 if first < max_chars - 2 - 40 else min(first - 40, len(line) - max_chars + 2)
    head = "…" if start > 0 else ""
    body = line[start : start + max_chars - len(head)]
    if start + len(body) < len(line):
        body = body[: max_chars - len(head) - 1] + "…"
    return head + body


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Fenced code blocks, and the stretches of text between them."""
    position = 0
    for fence in _FENCE.finditer(text):
        yield position, fence.start(), False
        yield fence.start(), fence.end(), True
        position = fence.end()
    yield position, len(text), False


def _within(text: str, start: int, end: int, *, fenced: bool) -> Iterator[Span]:
    if fenced:
        yield from _trimmed(text, start, end)
        return
    for cut_from, cut_to in _pairs(start, end, sorted(_cuts(text, start, end))):
        yield from _trimmed(text, cut_from, cut_to)


def _cuts(text: str, start: int, end: int) -> set[int]:
    cuts = {match.start() for match in _BLANK.finditer(text, start, end)}
    cuts |= {match.start() for match in _LINE_ITEM.finditer(text, start, end)}
    cuts |= {match.end() for match in _SENTENCE_END.finditer(text, start, end) if _ends_sentence(text, match)}
    return cuts


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match.group()[0] != "." or len(match.group()) > 1:
        return True
    before = _WORD_BEFORE.search(text, max(0, match.start() - 20), match.start())
    if before is None:
        # "1. First" is a list item's number, not a sentence.
        return not text[max(0, text.rfind("\n", 0, match.start()) + 1) : match.start()].strip().isdigit()
    word = before.group(1)
    return not (word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I"))


def _pairs(start: int, end: int, cuts: list[int]) -> Iterator[tuple[int, int]]:
    edges = [start, *(cut for cut in cuts if start < cut < end), end]
    return pairwise(edges)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield Span(start, end)
