"""Splits a text into spans and scores them against a question; used for previews and quotes.

A span is a fenced code block, closed or not; a row of a table; a heading; or a sentence of the remaining text,
which is first divided at blank lines and list items. The score of a span is the share of the question's terms that
it contains; ties go to the shorter span, then to the earlier one.

Text can be anything, also a megabyte on one line, so every pattern examines a character a bounded number of times:
repetitions are possessive, and lookbehinds are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from winnow.server.text.forms.normal_forms import normalize
from winnow.server.text.markup.possessive import compile_possessive
from winnow.server.text.words.sentences import sentence_ends
from winnow.server.text.words.tokens import halves_a_pair

# A fence within a quotation or a list item has its marks before it.
_FENCE = compile_possessive(
    r"^[ \t>]*+(?:(?:[-*+•]|\d{1,3}[.)])[ \t]++)?+(?P<marks>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)", re.MULTILINE
)
_OWN_LINE = re.compile(r"^[ \t>]*+(?:\||#{1,6}[ \t]|([-=*_~+])\1{2,}+[ \t]*+$)[^\n]*+", re.MULTILINE)
_ITEM = re.compile(r"^[ \t>]*+(?:[-*+•◦‣▪·・–]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))[ \t]", re.MULTILINE)
_BLANK = re.compile(r"\n[^\S\n]*+\n")

# Marks belong to the letters they follow, but Python's \w leaves them out.
_MARKS = r"\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_WORD = compile_possessive(rf"(?:[^\W_]|[{_MARKS}])++")
# Scripts without spaces between words, and Hangul, whose words include particles: terms are pairs of characters.
_PAIRED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff]++"
)
_FOREIGN = re.compile(rf"[^\x00-\x7f\W]|[{_MARKS}]")  # a character of a word that is not ASCII
_MIN_TERM_CHARS = 3
_PREVIEW_SPANS = 3
# A cut moves at most this far to fall between two words.
_WORD_CHARS = 20


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` of a text, and their score (0 to 1)."""

    start: int
    end: int
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class TermMatch:
    """Characters ``start`` to ``end`` of a text match ``term``, alone or within a word."""

    start: int
    end: int
    term: str


def terms(text: str) -> frozenset[str]:
    """The terms of a question: lower case, split on non-alphanumerics, 3 characters or more.

    Lower case is Unicode's case folding. Scripts that write no spaces, and Korean, give pairs of characters.

    >>> sorted(terms("How do I open a file?"))
    ['file', 'how', 'open']
    >>> sorted(terms("資料庫"))
    ['料庫', '資料']
    """
    return frozenset(word.term for word in _words(text) if word.is_pair or len(word.term) >= _MIN_TERM_CHARS)


def matches(text: str, question: frozenset[str]) -> list[TermMatch]:
    """The matches of a question's terms in ``text``, in order; one per word and term.

    A term matches every word that contains it: "encrypt" in "encrypted", "port" in "8443/tcp-port".
    """
    asked = sorted(question)
    if _FOREIGN.search(text) is None:
        lowered = text.lower()
        term_matches = [match for term in asked for match in _find_ascii(lowered, term)]
    else:
        term_matches = [_match(word, term) for word in _words(text) for term in asked if term in word.term]
    return sorted(term_matches, key=lambda match: (match.start, match.end))


def split_spans(text: str) -> list[Span]:
    """The spans of ``text``, in order, stripped. Together they contain everything but white space."""
    return [
        span
        for start, end, is_whole in _blocks(text)
        for span in _split_block(text, start, end, is_whole=is_whole)
    ]


def scored_spans(text: str, question: frozenset[str]) -> list[Span]:
    """The spans of ``text``, in order, with their scores."""
    return [span for span, _ in match_spans(text, question)]


def match_spans(text: str, question: frozenset[str]) -> list[tuple[Span, frozenset[str]]]:
    """The spans of ``text``, in order, with their scores, each with its terms of ``question``."""
    spans = split_spans(text)
    terms_by_span: list[set[str]] = [set() for _ in spans]
    index = 0
    for match in matches(text, question):
        while match.start >= spans[index].end:
            index += 1
        terms_by_span[index].add(match.term)
    return [
        (Span(span.start, span.end, len(found_terms) / max(1, len(question))), frozenset(found_terms))
        for span, found_terms in zip(spans, terms_by_span, strict=True)
    ]


def preview(text: str, question: frozenset[str], max_chars: int) -> str:
    """The one to three best spans of ``text``, in text order, at most ``max_chars`` long with cut marks.

    A second and third span are added only if they contain further terms and fit whole. A span that is too long is
    cut around its matches. If nothing matches, the preview is the beginning of the text.
    """
    chosen = _choose_spans(text, question, max_chars)
    line = _join_spans(text, chosen)
    return clip(line, matches(line, question), max_chars)


def clip(text: str, term_matches: Sequence[TermMatch], max_chars: int) -> str:
    """Cut ``text`` to ``max_chars`` around the part with the most terms; cuts are marked "…".

    ``term_matches`` are the matches in ``text``; without any, the beginning is kept.
    """
    if len(text) <= max_chars:
        return text
    width = max(0, max_chars - 2)
    start, end = _densest_part(term_matches, width)
    left = max(0, min(start - (width - (end - start)) // 2, len(text) - width))
    left, right = next_word(text, left, start), word_before(text, left + width, end)
    body = text[left:right].strip()
    return f"{'…' if left else ''}{body}{'…' if right < len(text) else ''}"[: max(0, max_chars)]


def next_word(text: str, at: int, limit: int) -> int:
    """``at``, or the start of the next word if ``at`` is within a word and that is near, up to ``limit``."""
    if at == 0 or text[at - 1].isspace():
        return at
    spaces = (place + 1 for place in range(at, min(at + _WORD_CHARS, limit)) if text[place].isspace())
    return next(spaces, at + halves_a_pair(text, at))


def word_before(text: str, at: int, limit: int) -> int:
    """``at``, or the start of the word that it cuts, if that is near and not before ``limit``."""
    if at >= len(text) or text[at].isspace():
        return min(at, len(text))
    spaces = (place for place in range(at - 1, max(at - _WORD_CHARS, limit) - 1, -1) if text[place].isspace())
    return next(spaces, at - halves_a_pair(text, at))


def _densest_part(term_matches: Sequence[TermMatch], width: int) -> tuple[int, int]:
    """The part of at most ``width`` characters with the most distinct terms; ties: the shorter, the earlier."""
    best, most = (0, 0), (0, 0)
    last_index: dict[str, int] = {}  # term -> index of its last match
    left = 0
    for right, match in enumerate(term_matches):
        last_index[match.term] = right
        while left <= right and (
            match.end - term_matches[left].start > width or last_index[term_matches[left].term] > left
        ):
            if last_index[term_matches[left].term] == left:
                del last_index[term_matches[left].term]
            left += 1
        rank = (len(last_index), (term_matches[left].start if last_index else match.end) - match.end)
        if rank > most:
            best, most = (term_matches[left].start, match.end), rank
    return best


def _rank(span: Span) -> tuple[float, int, int]:
    return (-span.score, span.end - span.start, span.start)


def _choose_spans(text: str, question: frozenset[str], max_chars: int) -> list[Span]:
    """The best span, and further ones that add terms of the question, while all of them fit."""
    spans = match_spans(text, question)
    ranked = sorted(
        ((span, span_terms) for span, span_terms in spans if span_terms), key=lambda pair: _rank(pair[0])
    )
    if not ranked:
        return [Span(spans[0][0].start, spans[-1][0].end)] if spans else []
    chosen, covered = [ranked[0][0]], ranked[0][1]
    for span, span_terms in ranked[1:]:
        if len(chosen) == _PREVIEW_SPANS:
            break
        if not span_terms <= covered and len(_join_spans(text, [*chosen, span])) <= max_chars:
            chosen, covered = [*chosen, span], covered | span_terms
    return chosen


def _join_spans(text: str, chosen: Sequence[Span]) -> str:
    """Join the spans to one line, with a mark where text between two of them is omitted."""
    ordered = sorted(chosen, key=lambda span: span.start)
    lines = [" ".join(text[span.start : span.end].split()) for span in ordered]
    gaps = [" … " if text[a.end : b.start].strip() else " " for a, b in pairwise(ordered)]
    return "".join(part for pair in zip(lines, [*gaps, ""], strict=False) for part in pair)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the text: ``size`` characters from ``start`` on; ``term`` is its folded form."""

    start: int
    size: int
    term: str
    is_pair: bool = False


def _find_ascii(lowered: str, term: str) -> Iterator[TermMatch]:
    """The matches of a term in ASCII text: searching is faster there than comparing word by word."""
    at = lowered.find(term)
    while at >= 0:
        end = at + len(term)
        yield TermMatch(at, end, term)
        rest = _WORD.match(lowered, end)  # what follows within the same word
        at = lowered.find(term, rest.end() if rest else end)


def _match(word: _Word, term: str) -> TermMatch:
    """The match of a term in a word; the whole word if folding changed its length."""
    if len(word.term) != word.size:
        return TermMatch(word.start, word.start + word.size, term)
    at = word.start + word.term.index(term)
    return TermMatch(at, at + len(term), term)


def _words(text: str) -> Iterator[_Word]:
    for match in _WORD.finditer(text):
        word = match.group()
        if word.isascii():
            yield _Word(match.start(), len(word), word.lower())
        else:
            yield from _split_word(word, match.start())


def _split_word(word: str, start: int) -> Iterator[_Word]:
    """The character pairs of scripts without spaces, and the words between such runs."""
    last = 0
    for run in _PAIRED.finditer(word):
        yield from _fold_word(word[last : run.start()], start + last)
        yield from _pairs(run.group(), start + run.start())
        last = run.end()
    yield from _fold_word(word[last:], start + last)


def _fold_word(word: str, start: int) -> Iterator[_Word]:
    if word:
        yield _Word(start, len(word), normalize("NFKC", word).casefold())


def _pairs(run: str, start: int) -> Iterator[_Word]:
    for at in range(len(run) - 1):
        yield _Word(start + at, 2, normalize("NFKC", run[at : at + 2]), is_pair=True)


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """The blocks that are whole spans (code, rows, headings), and the text between them."""
    position = 0
    for start, end in _fences(text):
        yield from _lines(text, position, start)
        yield start, end, True
        position = end
    yield from _lines(text, position, len(text))


def _fences(text: str) -> Iterator[tuple[int, int]]:
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line if "`" not in line["rest"] or line["marks"][0] == "~" else None
        elif line["marks"].startswith(opened["marks"]) and not line["rest"].strip():
            yield opened.start(), line.end()
            opened = None
    if opened:
        yield opened.start(), len(text)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    position = start
    for line in _OWN_LINE.finditer(text, start, end):
        yield position, line.start(), False
        yield line.start(), line.end(), True
        position = line.end()
    yield position, end, False


def _split_block(text: str, start: int, end: int, *, is_whole: bool) -> Iterator[Span]:
    cuts = () if is_whole else sorted(_cuts(text, start, end))
    for cut_from, cut_to in pairwise((start, *cuts, end)):
        yield from _trim(text, cut_from, cut_to)


def _cuts(text: str, start: int, end: int) -> set[int]:
    cuts = {match.start() for pattern in (_BLANK, _ITEM) for match in pattern.finditer(text, start, end)}
    return cuts.union(sentence_ends(text, start, end))


def _trim(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    begin, body = start + len(piece) - len(piece.lstrip()), piece.strip()
    if body:
        yield Span(begin, begin + len(body))
