"""Quotes: the few spans of some passages that say most of a question. Pure and deterministic, without a model.

A quote is a span whole, with some tokens of its own passage around it while there is room for them. What is cut is
marked "…". A span that is too long for a quote is cut around the stretch that says most of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from server.spans import Span, clip, matches, next_word, scored_spans, terms, word_before
from server.tokens import count_tokens, first_tokens, last_tokens

# About 120 tokens of English: a quote is read whole, and a line without an end is none.
MAX_QUOTE_CHARS = 500
# Spans that a similarity is asked for, characters of each that it sees (more than its model reads), and its share.
SIMILAR_SPANS = 24
_SIMILAR_CHARS = 2000
SIMILARITY_SHARE = 0.5
# What the marks on both sides of a quote cost.
_MARK_TOKENS = 2

Similarity = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Quote:
    """Characters ``start`` to ``end`` of passage number ``passage``, scored 0 to 1; ``text`` shows them."""

    passage: int
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    passage: int
    span: Span


def quotes(
    question: str,
    passages: Sequence[str],
    *,
    limit: int,
    max_tokens: int,
    context_tokens: int,
    similarity: Similarity | None = None,
) -> list[Quote]:
    """At most ``limit`` quotes from ``passages``, best first; none of a span that says no term of ``question``.

    A quote has at most ``max_tokens`` tokens and ``MAX_QUOTE_CHARS`` characters; ``context_tokens`` is how much
    of its passage may stand before it, and after it. What was quoted is not quoted again, whichever passage
    repeats it. A smaller ``limit`` gives the first of the same quotes.

    ``similarity``, where given, scores texts by their likeness to the question (1: the same). It is asked once,
    for the ``SIMILAR_SPANS`` spans that score best without it, and only those are quoted.

    >>> quotes("How long are backups kept?", ["Backups are encrypted. Backups are kept for ninety days."],
    ...        limit=1, max_tokens=80, context_tokens=0)[0].text
    'Backups are kept for ninety days.'
    """
    asked = terms(question)
    ranked = _ranked(passages, asked)
    if similarity is not None:
        ranked = _by_similarity(passages, ranked[:SIMILAR_SPANS], similarity)
    chosen: list[Quote] = []
    said = _Said()
    for candidate in ranked:
        if len(chosen) >= limit:
            break
        text, span = passages[candidate.passage], candidate.span
        if said.includes(text[span.start : span.end]):
            continue
        quote = _text(text, span, asked, max_tokens, context_tokens)
        if quote:
            said.add(text[span.start : span.end], quote)
            chosen.append(Quote(candidate.passage, span.start, span.end, quote, span.score))
    return chosen


class _Said:
    """What was quoted so far, whatever its case and white space."""

    def __init__(self) -> None:
        self._spans: set[str] = set()
        self._quotes: list[str] = []

    def add(self, span: str, quote: str) -> None:
        self._spans.add(_plain(span))
        self._quotes.append(_plain(quote))

    def includes(self, span: str) -> bool:
        plain = _plain(span)
        return plain in self._spans or any(plain in quote for quote in self._quotes)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _ranked(passages: Sequence[str], asked: frozenset[str]) -> list[_Candidate]:
    """Every span that says a term of the question, by score, then the shorter, then the earlier one."""
    found = [
        _Candidate(number, span)
        for number, text in enumerate(passages)
        for span in scored_spans(text, asked)
        if span.score > 0
    ]
    return sorted(found, key=_order)


def _order(candidate: _Candidate) -> tuple[float, int, int, int]:
    span = candidate.span
    return (-span.score, span.end - span.start, candidate.passage, span.start)


def _by_similarity(
    passages: Sequence[str], ranked: Sequence[_Candidate], similarity: Similarity
) -> list[_Candidate]:
    texts = [
        passages[candidate.passage][candidate.span.start : candidate.span.end][:_SIMILAR_CHARS]
        for candidate in ranked
    ]
    scored = [
        replace(candidate, span=replace(candidate.span, score=_joined(candidate.span.score, likeness)))
        for candidate, likeness in zip(ranked, similarity(texts) if texts else (), strict=True)
    ]
    return sorted(scored, key=_order)


def _joined(score: float, likeness: float) -> float:
    return (1 - SIMILARITY_SHARE) * score + SIMILARITY_SHARE * min(1.0, max(0.0, float(likeness)))


def _text(text: str, span: Span, asked: frozenset[str], max_tokens: int, context_tokens: int) -> str:
    body = text[span.start : span.end]
    if len(body) > MAX_QUOTE_CHARS or count_tokens(body) > max_tokens:
        return _shortened(body, asked, max_tokens)
    left, right = text[: span.start], text[span.end :]
    room = max_tokens - count_tokens(body) - _MARK_TOKENS
    context = min(context_tokens, room // max(1, bool(left.strip()) + bool(right.strip())))
    while context > 0:
        quote = f"{_before(left, context)}{body}{_after(right, context)}"
        if len(quote) <= MAX_QUOTE_CHARS and count_tokens(quote) <= max_tokens:
            return quote
        context = context * 2 // 3
    return body


def _shortened(body: str, asked: frozenset[str], max_tokens: int) -> str:
    """The part of a span that says most of the question, as long as a quote may be."""
    found = matches(body, asked)
    width = min(MAX_QUOTE_CHARS, len(body))
    while width > 0:
        quote = clip(body, found, width)
        tokens = count_tokens(quote)
        if tokens <= max_tokens:
            return quote
        width = min(width - 1, width * max_tokens // tokens)
    return ""


def _before(left: str, context: int) -> str:
    """The end of what stands before a span, from a word's beginning on; nothing where only white space is."""
    near = left[-MAX_QUOTE_CHARS:]
    at = len(near) - len(last_tokens(near, context))
    cut = len(left) - len(near) + next_word(near, at, len(near))
    kept = left[cut:].lstrip()
    return f"{'…' if left[:cut].strip() else ''}{kept}" if kept else ""


def _after(right: str, context: int) -> str:
    """The beginning of what stands after a span, up to a word's end; nothing where only white space is."""
    near = right[:MAX_QUOTE_CHARS]
    cut = word_before(near, len(first_tokens(near, context)), 0)
    kept = right[:cut].rstrip()
    return f"{kept}{'…' if right[cut:].strip() else ''}"
