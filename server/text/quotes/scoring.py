"""Selects quotes: the spans of passages that match a question best. Deterministic, without a model.

Two scores rank the spans: the share of the question's terms in a span, and its similarity to the question, if a
model computes it. Both are wrong at times: terms do not find synonyms, and similarity confuses one function, flag
or number with another. The more of the question's terms are found, the more weight the terms have:

    score        weight
    terms        found²: found is the largest share of the question's terms in one span and the headings above it
    similarity   1 - found²

Nearly all terms of keywords and exact names are found, so their spans rank by terms. Of a question in everyday
words a third or a half are found, many of them in any sentence ("what", "does"), so its spans rank by similarity.

A quote is a whole span with its context: first the neighbours that match the question too, then the text around
them, in whole spans if there is room, otherwise only some tokens of that text. Omissions are marked "…". A span
that is too long for a quote is cut around the part that matches the question best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from winnow.server.text.limits import MAX_QUOTE_CHARS
from winnow.server.text.words.spans import Span, clip, match_spans, matches, next_word, terms, word_before
from winnow.server.text.words.tokens import count_tokens, first_tokens, last_tokens

# The spans whose similarity is computed, and the characters of each that are used (more than the model reads).
SIMILAR_SPANS = 24
_SIMILAR_CHARS = 2000
# If this share of the question's terms is found in one span and its headings, no passages beyond ``from_most`` are
# considered: they would only add spans that look like an answer.
ENOUGH_FOUND = 0.75
# The weight of a passage's score in a ranking, relative to the span's own score.
PRIOR_SHARE = 0.5
# A span below this similarity is quoted only if it contains a term of the question.
LEAST_LIKENESS = 0.2
# The number of quotes of one ranked passage that may come before the first quotes of other passages.
PER_PASSAGE = 2
# The share of the first quote's worth below which quotes are padding.
NEAR_BEST = 0.6
# Tokens of the marks on both sides of a quote.
_MARK_TOKENS = 2

Similarity = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Quote:
    """Characters ``start`` to ``end`` of passage number ``passage``; ``text`` contains them and their context.

    ``confidence`` is the share of the question's terms in ``text``, 0 to 1. ``likeness`` is the similarity of the
    characters alone, 0 to 1; None if it was not computed. ``worth`` is the number that spans are ranked by.
    """

    passage: int
    start: int
    end: int
    text: str
    confidence: float
    likeness: float | None = None
    worth: float = 0.0


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage to quote from; ``found``: the largest share of the question's terms in a span and the headings."""

    text: str
    spans: Sequence[Span]
    found: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Span number ``index`` of a passage; candidates are ranked by ``worth``."""

    passage: int
    index: int
    span: Span
    worth: float
    likeness: float | None = None


def quotes(
    question: str,
    passages: Sequence[str],
    *,
    limit: int,
    max_tokens: int,
    context_tokens: int,
    priors: Sequence[float] | None = None,
    similarity: Similarity | None = None,
    headings: Sequence[str] | None = None,
    from_most: int | None = None,
) -> list[Quote]:
    """At most ``limit`` quotes from ``passages``, best first, from spans that contain a term of ``question``.

    ``priors``, if given, are the passages' scores in the search that found them, 0 to 1. Spans are then ranked by
    their own score and their passage's together; a passage without a matching span is quoted with its first one
    (its title may have matched); and the third quote of a passage comes after the first two of every other.
    Without priors, ties go to the shorter, then to the earlier span. ``from_most`` is the number of passages that
    may be quoted. Later passages are considered only if no span of the first ``from_most`` passages contains, with
    its headings, ``ENOUGH_FOUND`` of the question's terms.

    A quote has at most ``max_tokens`` tokens and ``MAX_QUOTE_CHARS`` characters; ``context_tokens`` is the context
    on each side, rounded up to whole spans if there is room. A text is quoted once, even if several passages
    contain it. A smaller ``limit`` gives the first of the same quotes.

    ``similarity``, if given, scores texts by their similarity to the question (1: equal). It is called once, for
    the ``SIMILAR_SPANS`` spans that score best by their terms. These spans come first, also spans without a term
    of the question if they are similar enough; the other spans follow, ranked by their terms. ``headings``, if
    given, are the headings above each passage. Their terms count for the weight of the terms, not for the score of
    a span.

    >>> quotes("How long are backups kept?", ["Backups are encrypted. Backups are kept for ninety days."],
    ...        limit=1, max_tokens=80, context_tokens=0)[0].text
    'Backups are kept for ninety days.'
    """
    asked = terms(question)
    read = _read_passages(passages, headings, asked, from_most)
    ranked = _rank_spans(read, priors, similarity)
    chosen: list[Quote] = []
    quoted_texts = _QuotedTexts()
    for candidate in ranked:
        if len(chosen) >= limit:
            break
        text, span, quoted = read[candidate.passage].text, candidate.span, {quote.passage for quote in chosen}
        if from_most is not None and len(quoted) >= from_most and candidate.passage not in quoted:
            continue
        if quoted_texts.includes(text[span.start : span.end]):
            continue
        spans = read[candidate.passage].spans
        neighbours, index = _unquoted_neighbours(text, spans, candidate.index, quoted_texts)
        quote = _build_text(text, neighbours, index, asked, max_tokens, context_tokens)
        if quote:
            quoted_texts.add(text[span.start : span.end], quote)
            confidence = len({match.term for match in matches(quote, asked)}) / max(1, len(asked))
            chosen.append(
                Quote(
                    candidate.passage,
                    span.start,
                    span.end,
                    quote,
                    confidence,
                    candidate.likeness,
                    candidate.worth,
                )
            )
    return chosen


def count_near_best(chosen: Sequence[Quote]) -> int:
    """The number of quotes before the first that is worth less than ``NEAR_BEST`` of the first.

    All of them where no model scored the first: the shares of words are too few numbers to tell what is weak.

    >>> count_near_best([Quote(0, 0, 1, "a", 1.0, likeness=0.5, worth=worth) for worth in (1.0, 0.9, 0.3, 0.85)])
    2
    """
    if not chosen or chosen[0].likeness is None:
        return len(chosen)
    least = NEAR_BEST * chosen[0].worth
    return next((number for number, quote in enumerate(chosen) if quote.worth < least), len(chosen))


def _read_passages(
    passages: Sequence[str], headings: Sequence[str] | None, asked: frozenset[str], from_most: int | None
) -> list[_Passage]:
    """The passages to quote from: all, or the first ``from_most`` if these contain enough of the question."""
    above = headings if headings is not None else [""] * len(passages)
    read = [_read_passage(text, heading, asked) for text, heading in zip(passages, above, strict=True)]
    return read[:from_most] if _share_found(read[:from_most]) >= ENOUGH_FOUND else read


def _read_passage(text: str, heading: str, asked: frozenset[str]) -> _Passage:
    spans = match_spans(text, asked)
    above = {match.term for match in matches(heading, asked)}
    found = max((len(above | span_terms) for _, span_terms in spans if span_terms), default=0)
    return _Passage(text, [span for span, _ in spans], found / max(1, len(asked)))


def _share_found(read: Sequence[_Passage]) -> float:
    return max((passage.found for passage in read), default=0.0)


def _rank_spans(
    read: Sequence[_Passage], priors: Sequence[float] | None, similarity: Similarity | None
) -> list[_Candidate]:
    """The spans in the order in which they are quoted."""
    ranked = _rank_candidates(read, priors, needs_terms=True)
    if similarity is not None:
        best = _rank_candidates(read, priors, needs_terms=False)[:SIMILAR_SPANS]
        similar = _rank_by_similarity(read, best, priors, similarity)
        first = {(candidate.passage, candidate.index) for candidate in similar}
        ranked = [*similar, *(one for one in ranked if (one.passage, one.index) not in first)]
    return ranked if priors is None else _spread_passages(ranked)


def _spread_passages(ranked: Sequence[_Candidate]) -> list[_Candidate]:
    """Move the candidates after the ``PER_PASSAGE`` best of each passage to the end."""
    first: list[_Candidate] = []
    then: list[_Candidate] = []
    of_passage: Counter[int] = Counter()
    for candidate in ranked:
        of_passage[candidate.passage] += 1
        (first if of_passage[candidate.passage] <= PER_PASSAGE else then).append(candidate)
    return [*first, *then]


class _QuotedTexts:
    """The texts that were quoted so far, ignoring case and white space."""

    def __init__(self) -> None:
        self._spans: set[str] = set()
        self._quotes: list[str] = []

    def add(self, span: str, quote: str) -> None:
        self._spans.add(_normalise(span))
        self._quotes.append(_normalise(quote))

    def includes(self, span: str) -> bool:
        plain = _normalise(span)
        return plain in self._spans or any(plain in quote for quote in self._quotes)


def _normalise(text: str) -> str:
    return " ".join(text.split()).casefold()


def _unquoted_neighbours(
    text: str, spans: Sequence[Span], index: int, quoted: _QuotedTexts
) -> tuple[Sequence[Span], int]:
    """Span ``index`` with its neighbours up to spans that were quoted already, and its index among these."""
    here = spans[index]
    first = last = index
    while first > 0 and here.start - (span := spans[first - 1]).end < MAX_QUOTE_CHARS:
        if quoted.includes(text[span.start : span.end]):
            break
        first -= 1
    while last + 1 < len(spans) and (span := spans[last + 1]).start - here.end < MAX_QUOTE_CHARS:
        if quoted.includes(text[span.start : span.end]):
            break
        last += 1
    return spans[first : last + 1], index - first


def _rank_candidates(
    read: Sequence[_Passage], priors: Sequence[float] | None, *, needs_terms: bool
) -> list[_Candidate]:
    """The spans that may be quoted, best first by their terms."""
    candidates = [
        _Candidate(number, index, span, span.score + _prior_of(priors, number))
        for number, passage in enumerate(read)
        for index, span in enumerate(passage.spans)
        if not needs_terms
        or span.score > 0
        or (priors is not None and index == 0 and not any(other.score for other in passage.spans))
    ]
    return sorted(candidates, key=_sort_key)


def _prior_of(priors: Sequence[float] | None, passage: int) -> float:
    return 0.0 if priors is None else PRIOR_SHARE * priors[passage]


def _sort_key(candidate: _Candidate) -> tuple[float, int, int, int]:
    span = candidate.span
    return (-candidate.worth, span.end - span.start, candidate.passage, span.start)


def _rank_by_similarity(
    read: Sequence[_Passage],
    ranked: Sequence[_Candidate],
    priors: Sequence[float] | None,
    similarity: Similarity,
) -> list[_Candidate]:
    """The candidates with a term of the question or similar to it, by both scores; see the table of weights."""
    weight = _share_found(read) ** 2
    texts = [
        read[candidate.passage].text[candidate.span.start : candidate.span.end][:_SIMILAR_CHARS]
        for candidate in ranked
    ]
    candidates = []
    for candidate, computed in zip(ranked, similarity(texts) if texts else (), strict=True):
        likeness = min(1.0, max(0.0, float(computed)))
        if candidate.span.score or likeness >= LEAST_LIKENESS:
            score = weight * candidate.span.score + (1 - weight) * likeness
            worth = score + _prior_of(priors, candidate.passage)
            candidates.append(replace(candidate, worth=worth, likeness=likeness))
    return sorted(candidates, key=_sort_key)


def _extend(text: str, spans: Sequence[Span], index: int, max_tokens: int) -> Span:
    """Extend the span by matching neighbours, the better side first, as long as the quote has room."""
    first = last = index
    while True:
        sides = [
            neighbour
            for neighbour in (first - 1, last + 1)
            if 0 <= neighbour < len(spans) and spans[neighbour].score > 0
        ]
        for neighbour in sorted(sides, key=lambda neighbour: -spans[neighbour].score):
            start, end = spans[min(neighbour, first)].start, spans[max(neighbour, last)].end
            if _fits(text[start:end], max_tokens):
                first, last = min(neighbour, first), max(neighbour, last)
                break
        else:
            return Span(spans[first].start, spans[last].end, spans[index].score)


def _build_text(
    text: str, spans: Sequence[Span], index: int, asked: frozenset[str], max_tokens: int, context_tokens: int
) -> str:
    span = _extend(text, spans, index, max_tokens) if context_tokens else spans[index]
    body = text[span.start : span.end]
    if not _fits(body, max_tokens):
        return _shorten(body, asked, max_tokens)
    if context_tokens:
        for start, end in _whole_contexts(text, spans, span, context_tokens):
            quote = _add_cut_marks(text, start, end)
            if _fits(quote, max_tokens):
                return quote
    return _add_cut_context(text, spans, span, max_tokens, context_tokens)


def _fits(quote: str, max_tokens: int) -> bool:
    return len(quote) <= MAX_QUOTE_CHARS and count_tokens(quote) <= max_tokens


def _whole_contexts(
    text: str, spans: Sequence[Span], span: Span, context_tokens: int
) -> Iterator[tuple[int, int]]:
    """The span with whole spans as context on both sides; then with those on one side only."""
    near = span.start - len(last_tokens(text[max(0, span.start - MAX_QUOTE_CHARS) : span.start], context_tokens))
    far = span.end + len(first_tokens(text[span.end : span.end + MAX_QUOTE_CHARS], context_tokens))
    start = min(
        (other.start for other in spans if near < other.end and other.start < span.start), default=span.start
    )
    end = max((other.end for other in spans if other.start < far and other.end > span.end), default=span.end)
    if start < span.start and end > span.end:
        yield start, end
    if end > span.end:
        yield span.start, end
    if start < span.start:
        yield start, span.end


def _add_cut_marks(text: str, start: int, end: int) -> str:
    return f"{'…' if text[:start].strip() else ''}{text[start:end]}{'…' if text[end:].strip() else ''}"


def _add_cut_context(text: str, spans: Sequence[Span], span: Span, max_tokens: int, context_tokens: int) -> str:
    """The span with up to ``context_tokens`` on both sides, as far as there is room; without context, no marks."""
    first, last = spans[0].start, spans[-1].end
    room = max_tokens - count_tokens(text[span.start : span.end]) - _MARK_TOKENS
    context = min(context_tokens, room // max(1, (first < span.start) + (span.end < last)))
    while context > 0:
        start, end = _context_start(text, first, span.start, context), _context_end(text, span.end, last, context)
        quote = _add_cut_marks(text, start, end)
        if (start, end) != (span.start, span.end) and _fits(quote, max_tokens):
            return quote
        context = context * 2 // 3
    return text[span.start : span.end]


def _shorten(body: str, asked: frozenset[str], max_tokens: int) -> str:
    """The part of a span that matches the question best, cut to the maximum length of a quote."""
    term_matches = matches(body, asked)
    width = min(MAX_QUOTE_CHARS, len(body))
    while width > 0:
        quote = clip(body, term_matches, width)
        tokens = count_tokens(quote)
        if tokens <= max_tokens:
            return quote
        width = min(width - 1, width * max_tokens // tokens)
    return ""


def _context_start(text: str, first: int, start: int, context: int) -> int:
    """The start of the context before ``start``, which is the start of a word and not before ``first``."""
    near = text[max(first, start - MAX_QUOTE_CHARS) : start]
    cut = next_word(near, len(near) - len(last_tokens(near, context)), len(near))
    return start - len(near[cut:].lstrip())


def _context_end(text: str, end: int, last: int, context: int) -> int:
    """The end of the context after ``end``, which is the end of a word and not after ``last``."""
    near = text[end : min(last, end + MAX_QUOTE_CHARS)]
    cut = word_before(near, len(first_tokens(near, context)), 0)
    return end + len(near[:cut].rstrip())
