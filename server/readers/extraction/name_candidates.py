"""Candidate names in prose: capitalised spans, identifiers, acronyms, recurring terms. Pure.

A candidate becomes an entity if two documents contain it or one has it as its title; the ``Ledger`` counts. Every
pattern looks at a character a bounded number of times.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from winnow.server.readers.extraction.names import entity_key
from winnow.server.readers.extraction.prose import GAP, Prose
from winnow.server.readers.extraction.rules import Rule
from winnow.server.text.markup.possessive import compile_possessive
from winnow.server.text.words.stop_words import STOPWORDS

# Capitals of all scripts that have them; \w does not distinguish them from small letters.
_CAPITALS = (
    "".join(letter for letter in map(chr, range(0x0590)) if letter.isupper()) + "\u1e9e\u10a0-\u10c5\u1f08-\u1f0f"
)
_CAPITAL = f"[{_CAPITALS}]"
_WORD = rf"(?:{_CAPITAL}\.(?!\w)|(?:St|Dr|Mr|Mrs|Ms|Jr|Sr)\.|{_CAPITAL}[\w'’&-]{{0,60}}+)"
_NEXT_WORD = rf"(?:{_WORD}|\d(?:[\w-]|\.(?=\d)){{0,20}}+)"
_JOINING = r"(?:of|the|de|del|della|di|da|du|des|la|le|van|von|der|den|zu|al|el|bin|ibn|y|e)"
_SPAN = compile_possessive(
    rf"(?<![\w.@#$/\\-]){_WORD}(?:[ \n](?:{_JOINING}[ \n](?:{_JOINING}[ \n])?)?{_NEXT_WORD}){{0,7}}+(?![\w@/\\])"
)
_IDENTIFIER = compile_possessive(
    r"(?<![\w./\\@$%-])(?:[a-z]+[A-Z][A-Za-z0-9]{1,60}+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){1,10}+"
    r"|[A-Za-z_]\w{1,40}(?:\.[A-Za-z_]\w{1,40}+){1,8}+)(?:\(\))?(?![\w/\\@-])"
)
_CODE_NAME = re.compile(r"(?P<name>-{0,2}[A-Za-z_@][\w@-]{0,60}(?:(?:\.|::|/)[\w@-]{1,60}){0,8})(?:\(\))?")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&]{1,7}s?")
_POSSESSIVE = re.compile(r"['’]s\Z")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|\d")
# Literals that are often marked up as code or in capitals, and are not names.
_LITERALS = frozenset(("true", "false", "null", "none", "nil", "undefined", "yes", "no", "on", "off"))
_STARTS_SENTENCE = frozenset(f".!?:;|*>•·{GAP}")
_OPENING = " \"'“”‘’«(["
_LOOK_BACK = 8
_MAX_PART_WORDS = 5  # longer names within a name are too rare

_PARENTHESES = re.compile(r"\((?P<inside>[^()\n\0]{2,80}+)\)")
_SHORT_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9&./-]{1,9}")
_BEFORE_CHARS = 120
_LAST_WORD = re.compile(r"(?<![\w-])(?P<short>[A-Za-z0-9][A-Za-z0-9&./-]{1,9}) ?\Z")
_BREAK = re.compile(rf"[.;:!?()\[\]{{}}\"{GAP}|]|\n[ \t]*\n")

_TOKEN = re.compile(r"[^\W\d_][\w-]{0,60}+")
_MAX_TERMS = 12  # a document
_MIN_REPETITIONS = 3
_MAX_TERM_WORDS, _MAX_RUN_WORDS = 4, 12  # words
_UNLIKELY_END = re.compile(r"(?:ing|ed|ly)\Z")


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """A name at [start, end): its entity key, its text, its type, and the rule that match it."""

    key: str
    title: str
    type: str
    rule: Rule
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """An acronym (``short``) and its expansion (``long``), at [start, end)."""

    short: str
    long: str
    start: int
    end: int


def find_candidates(prose: Prose) -> Iterator[NameCandidate]:
    """Find the candidates of a document, in no particular order."""
    yield from _find_capitalised(prose.text)
    for span in prose.code_spans:
        if match := _CODE_NAME.fullmatch(span.text):
            type = "acronym" if _ACRONYM.fullmatch(match["name"]) else "identifier"
            yield from _build_candidate(match["name"], type, "code span", span.start, span.start + len(span.text))
    for match in _IDENTIFIER.finditer(prose.text):
        yield from _build_candidate(match.group(), "identifier", "identifier", *match.span())
    for snippet in prose.shortcode_texts:
        yield from _build_candidate(snippet.text, "term", "link text", snippet.start, snippet.start)
    yield from _find_terms(prose.text)


def find_expansions(text: str) -> Iterator[Expansion]:
    """Find acronyms with their expansions, either of them in parentheses (Schwartz & Hearst 2003)."""
    for match in _PARENTHESES.finditer(text):
        inside = match["inside"].strip()
        before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
        before = before[max((mark.end() for mark in _BREAK.finditer(before)), default=0) :]
        if _is_short_form(inside):
            long = _find_long_form(inside, before.rstrip())
            if long:
                start = match.start() - len(before) + before.rindex(long)
                yield Expansion(_singular_acronym(inside), " ".join(long.split()), start, match.end())
        elif (word := _LAST_WORD.search(before)) and _is_abbreviation(word["short"], inside):
            start = match.start() - len(before) + word.start()
            yield Expansion(_singular_acronym(word["short"]), " ".join(inside.split()), start, match.end())


@lru_cache(maxsize=10_000)
def name_parts(title: str) -> tuple[tuple[str, str], ...]:
    """The possible names within a longer name, as (key, title), longest first, then from the left."""
    words = title.split()
    parts: dict[str, str] = {}
    for length in range(min(len(words) - 1, _MAX_PART_WORDS), 0, -1):
        for start in range(len(words) - length + 1):
            part = words[start : start + length]
            if _may_begin(part[0]) and _may_begin(part[-1]) and (key := entity_key(" ".join(part))):
                parts.setdefault(key, " ".join(part))
    return tuple(parts.items())


# --- capitalised spans


def _find_capitalised(text: str) -> Iterator[NameCandidate]:
    """Find spans of capitalised words; a single plain word that only begins sentences is left out."""
    opening: list[NameCandidate] = []
    confirmed: set[str] = set()
    for match in _SPAN.finditer(text):
        title, start = " ".join(match.group().split()), match.start()
        starts_sentence = _starts_sentence(text, start)
        first, _, rest = title.partition(" ")
        while starts_sentence and rest and first.casefold() in STOPWORDS:
            start += len(first) + 1
            title, starts_sentence = rest, False
            first, _, rest = title.partition(" ")
        for candidate in _build_candidate(title, *_classify(title), start, match.end()):
            if starts_sentence and not rest and not _INNER_CAPITAL.search(title):
                opening.append(candidate)
            else:
                confirmed.add(candidate.key)
                yield candidate
    yield from (candidate for candidate in opening if candidate.key in confirmed)


def _classify(title: str) -> tuple[str, Rule]:
    if _ACRONYM.fullmatch(title):
        return "acronym", "acronym"
    if " " not in title and _INNER_CAPITAL.search(title):
        return "identifier", "identifier"
    return "term", "capitalised"


def _starts_sentence(text: str, start: int) -> bool:
    stripped = text[max(0, start - _LOOK_BACK) : start].rstrip(_OPENING)
    if stripped.endswith("\n"):
        above = stripped.rstrip(" \n")
        return not above or "\n\n" in stripped or above[-1] in _STARTS_SENTENCE
    return not stripped or stripped[-1] in _STARTS_SENTENCE or stripped.endswith(("\n-", "\n+"))


def _build_candidate(title: str, type: str, rule: Rule, start: int, end: int) -> Iterator[NameCandidate]:
    title = _POSSESSIVE.sub("", title.removesuffix("()"))
    key, title = entity_key(title), _singular_acronym(title)
    if len(key) > 1 and key not in STOPWORDS and key not in _LITERALS:
        yield NameCandidate(sys.intern(key), title, type, rule, start, end)


def _may_begin(word: str) -> bool:
    return len(word) > 1 and not word.isdigit() and word.casefold() not in STOPWORDS


# --- acronyms


def _is_short_form(text: str) -> bool:
    return bool(_SHORT_FORM.fullmatch(text)) and sum(letter.isupper() for letter in text) >= 2


def _is_abbreviation(short: str, long: str) -> bool:
    return _is_short_form(short) and _find_long_form(short, long) == long


def _singular_acronym(short: str) -> str:
    """The singular of an acronym: CRDs -> CRD."""
    is_plural = short.endswith("s") and short[:-1].isalpha() and short[:-1].isupper()
    return short[:-1] if is_plural and len(short) > 2 else short


def _find_long_form(short: str, before: str) -> str:
    """Find the words at the end of ``before`` that ``short`` abbreviates, matched from the right, or ""."""
    letters = [letter.lower() for letter in _singular_acronym(short) if letter.isalnum()]
    start = len(before)
    for index in range(len(letters) - 1, -1, -1):
        start -= 1
        while start >= 0 and not _is_letter_at(before, start, letters[index], is_first=index == 0):
            start -= 1
        if start < 0:
            return ""
    long = before[start:]
    words = len(long.split())
    is_plausible = 2 <= words <= min(len(letters) + 5, 2 * len(letters)) and short not in long.split()
    return long if is_plausible else ""


def _is_letter_at(text: str, index: int, letter: str, *, is_first: bool) -> bool:
    return text[index].lower() == letter and not (is_first and index and text[index - 1].isalnum())


# --- terms


# A word of prose without capitals, and the offsets of its start and end.
_Word = tuple[str, int, int]
_Phrase = tuple[str, ...]


def _find_terms(text: str) -> Iterator[NameCandidate]:
    """Find the multi-word terms of a document, two to four words, ranked by C-value (Frantzi et al. 2000).

    The C-value grows with a phrase's length and frequency, less its occurrences within longer phrases.
    """
    counts: Counter[_Phrase] = Counter()
    first_span: dict[_Phrase, tuple[int, int]] = {}
    for run in _find_frequent_runs(list(_find_runs(text))):
        for phrase, start, end in _find_phrases(run):
            counts[phrase] += 1
            first_span.setdefault(phrase, (start, end))
    frequent = {phrase: count for phrase, count in counts.items() if count >= _MIN_REPETITIONS}
    values = _compute_c_values(frequent)
    best = sorted((-value, phrase) for phrase, value in values.items() if value > 0)[:_MAX_TERMS]
    for _, phrase in best:
        start, end = first_span[phrase]
        yield from _build_candidate(" ".join(phrase), "term", "term", start, end)


def _find_runs(text: str) -> Iterator[list[_Word]]:
    """Find runs of words separated by single spaces, without stop words."""
    run: list[_Word] = []
    before = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        word = match.group().casefold()
        if run and (start != before + 1 or text[before] not in " \n" or len(run) == _MAX_RUN_WORDS):
            yield run
            run = []
        if word in STOPWORDS:
            yield run
            run = []
        else:
            run.append((word, start, end))
        before = end
    yield run


def _find_frequent_runs(runs: Sequence[Sequence[_Word]]) -> Iterator[Sequence[_Word]]:
    """The parts of runs in which each two adjacent words are frequent: no phrase is more frequent than these."""
    pairs = Counter((first[0], then[0]) for run in runs for first, then in pairwise(run))
    for run in runs:
        begin = 0
        for place, (first, then) in enumerate(pairwise(run), 1):
            if pairs[first[0], then[0]] < _MIN_REPETITIONS:
                if place - begin > 1:
                    yield run[begin:place]
                begin = place
        if len(run) - begin > 1:
            yield run[begin:]


def _find_phrases(run: Sequence[_Word]) -> Iterator[tuple[_Phrase, int, int]]:
    words = [word for word, _, _ in run]
    for length in range(2, min(len(run), _MAX_TERM_WORDS) + 1):
        for start in range(len(run) - length + 1):
            phrase = tuple(words[start : start + length])
            if len(phrase[0]) > 2 and len(phrase[-1]) > 2 and not _UNLIKELY_END.search(phrase[-1]):
                yield phrase, run[start][1], run[start + length - 1][2]


def _compute_c_values(frequent: dict[tuple[str, ...], int]) -> dict[tuple[str, ...], float]:
    outer_counts: dict[tuple[str, ...], list[int]] = {}
    for phrase, count in frequent.items():
        for inner in _inner_phrases(phrase):
            outer_counts.setdefault(inner, []).append(count)
    return {
        phrase: math.log2(len(phrase)) * (count - _mean(outer_counts.get(phrase, ())))
        for phrase, count in frequent.items()
    }


def _inner_phrases(phrase: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for length in range(2, len(phrase)):
        for start in range(len(phrase) - length + 1):
            yield phrase[start : start + length]


def _mean(counts: Iterable[int]) -> float:
    numbers = list(counts)
    return sum(numbers) / len(numbers) if numbers else 0.0
