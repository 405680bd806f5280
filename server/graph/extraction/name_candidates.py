"""Names in prose that nobody declared: capitalised spans, identifiers, acronyms, recurring terms. Pure.

What is found here is a candidate. A candidate becomes an entity when two documents say it, or when one is titled
so; the ``Ledger`` counts. Every pattern looks at a character a bounded number of times.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from server.graph.extraction.names import entity_key
from server.graph.extraction.prose import GAP, Prose
from server.graph.extraction.rules import Rule
from server.text.stop_words import STOPWORDS

# Capitals of the scripts that have them; \w cannot tell them from small letters.
_CAPITALS = "".join(one for one in map(chr, range(0x0590)) if one.isupper()) + "\u1e9e\u10a0-\u10c5\u1f08-\u1f0f"
_CAPITAL = f"[{_CAPITALS}]"
_WORD = rf"(?:{_CAPITAL}\.(?!\w)|(?:St|Dr|Mr|Mrs|Ms|Jr|Sr)\.|{_CAPITAL}[\w'’&-]{{0,60}}+)"
_NEXT_WORD = rf"(?:{_WORD}|\d(?:[\w-]|\.(?=\d)){{0,20}}+)"
_JOINING = r"(?:of|the|de|del|della|di|da|du|des|la|le|van|von|der|den|zu|al|el|bin|ibn|y|e)"
_SPAN = re.compile(
    rf"(?<![\w.@#$/\\-]){_WORD}(?:[ \n](?:{_JOINING}[ \n](?:{_JOINING}[ \n])?)?{_NEXT_WORD}){{0,7}}+(?![\w@/\\])"
)
_IDENTIFIER = re.compile(
    r"(?<![\w./\\@$%-])(?:[a-z]+[A-Z][A-Za-z0-9]{1,60}+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){1,10}+"
    r"|[A-Za-z_]\w{1,40}(?:\.[A-Za-z_]\w{1,40}+){1,8}+)(?:\(\))?(?![\w/\\@-])"
)
_CODE_NAME = re.compile(r"(?P<name>-{0,2}[A-Za-z_@][\w@-]{0,60}(?:(?:\.|::|/)[\w@-]{1,60}){0,8})(?:\(\))?")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&]{1,7}s?")
_POSSESSIVE = re.compile(r"['’]s\Z")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|\d")
# What is marked up as code, or shouted, and is a value and no thing.
_LITERALS = frozenset(("true", "false", "null", "none", "nil", "undefined", "yes", "no", "on", "off"))
_STARTS_SENTENCE = frozenset(f".!?:;|*>•·{GAP}")
_OPENING = " \"'“”‘’«(["
_LOOK_BACK = 8
_MAX_PART_WORDS = 5  # words: longer names within a name are too rare to be looked for

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
    """A name as it stands at [start, end): its key, how it is written there, its type, the rule that found it."""

    key: str
    title: str
    type: str
    rule: Rule
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """An acronym and what the document says it stands for."""

    short: str
    long: str
    start: int
    end: int


def find_candidates(prose: Prose) -> Iterator[NameCandidate]:
    """Every candidate of a document, in no particular order."""
    yield from _find_capitalised(prose.text)
    for one in prose.code_spans:
        if found := _CODE_NAME.fullmatch(one.text):
            type = "acronym" if _ACRONYM.fullmatch(found["name"]) else "identifier"
            yield from _build_candidate(found["name"], type, "code span", one.start, one.start + len(one.text))
    for found in _IDENTIFIER.finditer(prose.text):
        yield from _build_candidate(found.group(), "identifier", "identifier", *found.span())
    for one in prose.shown:
        yield from _build_candidate(one.text, "term", "link text", one.start, one.start)
    yield from _find_terms(prose.text)


def find_expansions(text: str) -> Iterator[Expansion]:
    """Acronyms with their expansions, either of them in parentheses (Schwartz and Hearst 2003)."""
    for found in _PARENTHESES.finditer(text):
        inside = found["inside"].strip()
        before = text[max(0, found.start() - _BEFORE_CHARS) : found.start()]
        before = before[max((one.end() for one in _BREAK.finditer(before)), default=0) :]
        if _is_short_form(inside):
            long = _find_long_form(inside, before.rstrip())
            if long:
                start = found.start() - len(before) + before.rindex(long)
                yield Expansion(_singular_acronym(inside), " ".join(long.split()), start, found.end())
        elif (word := _LAST_WORD.search(before)) and _is_abbreviation(word["short"], inside):
            start = found.start() - len(before) + word.start()
            yield Expansion(_singular_acronym(word["short"]), " ".join(inside.split()), start, found.end())


@lru_cache(maxsize=100_000)
def name_parts(title: str) -> tuple[tuple[str, str], ...]:
    """The names that may be within a longer one, as (key, title), longest first, then from the left."""
    words = title.split()
    found: dict[str, str] = {}
    for length in range(min(len(words) - 1, _MAX_PART_WORDS), 0, -1):
        for at in range(len(words) - length + 1):
            some = words[at : at + length]
            if _may_begin(some[0]) and _may_begin(some[-1]) and (key := entity_key(" ".join(some))):
                found.setdefault(key, " ".join(some))
    return tuple(found.items())


# --- capitalised spans


def _find_capitalised(text: str) -> Iterator[NameCandidate]:
    """Spans of capitalised words; a single plain word that only ever begins sentences is none."""
    opening: list[NameCandidate] = []
    confirmed: set[str] = set()
    for found in _SPAN.finditer(text):
        title, start = " ".join(found.group().split()), found.start()
        starts_sentence = _starts_sentence(text, start)
        first, _, rest = title.partition(" ")
        while starts_sentence and rest and first.casefold() in STOPWORDS:
            start += len(first) + 1
            title, starts_sentence = rest, False
            first, _, rest = title.partition(" ")
        for one in _build_candidate(title, *_classify(title), start, found.end()):
            if starts_sentence and not rest and not _INNER_CAPITAL.search(title):
                opening.append(one)
            else:
                confirmed.add(one.key)
                yield one
    yield from (one for one in opening if one.key in confirmed)


def _classify(title: str) -> tuple[str, Rule]:
    if _ACRONYM.fullmatch(title):
        return "acronym", "acronym"
    if " " not in title and _INNER_CAPITAL.search(title):
        return "identifier", "identifier"
    return "term", "capitalised"


def _starts_sentence(text: str, at: int) -> bool:
    stripped = text[max(0, at - _LOOK_BACK) : at].rstrip(_OPENING)
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
    return bool(_SHORT_FORM.fullmatch(text)) and sum(one.isupper() for one in text) >= 2


def _is_abbreviation(short: str, long: str) -> bool:
    return _is_short_form(short) and _find_long_form(short, long) == long


def _singular_acronym(short: str) -> str:
    """CRDs -> CRD."""
    is_plural = short.endswith("s") and short[:-1].isalpha() and short[:-1].isupper()
    return short[:-1] if is_plural and len(short) > 2 else short


def _find_long_form(short: str, before: str) -> str:
    """The words at the end of ``before`` that ``short`` abbreviates, or "": its letters, found from the right."""
    letters = [one.lower() for one in _singular_acronym(short) if one.isalnum()]
    at = len(before)
    for index in range(len(letters) - 1, -1, -1):
        at -= 1
        while at >= 0 and not _is_letter_at(before, at, letters[index], is_first=index == 0):
            at -= 1
        if at < 0:
            return ""
    long = before[at:]
    words = len(long.split())
    is_plausible = 2 <= words <= min(len(letters) + 5, 2 * len(letters)) and short not in long.split()
    return long if is_plausible else ""


def _is_letter_at(text: str, at: int, letter: str, *, is_first: bool) -> bool:
    return text[at].lower() == letter and not (is_first and at and text[at - 1].isalnum())


# --- terms


def _find_terms(text: str) -> Iterator[NameCandidate]:
    """What a document says again and again in two to four words, ranked by C-value (Frantzi and others 2000).

    A phrase counts by its length and frequency, less what it owes to longer phrases around it.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    where: dict[tuple[str, ...], tuple[int, int]] = {}
    for run in _find_runs(text):
        for phrase, start, end in _find_phrases(run):
            counts[phrase] += 1
            where.setdefault(phrase, (start, end))
    frequent = {phrase: count for phrase, count in counts.items() if count >= _MIN_REPETITIONS}
    values = _compute_c_values(frequent)
    best = sorted((-value, phrase) for phrase, value in values.items() if value > 0)[:_MAX_TERMS]
    for _, phrase in best:
        start, end = where[phrase]
        yield from _build_candidate(" ".join(phrase), "term", "term", start, end)


def _find_runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Words with nothing but a space between them, and no stopword among them."""
    run: list[re.Match[str]] = []
    for word in _TOKEN.finditer(text):
        if run and (text[run[-1].end() : word.start()] not in (" ", "\n") or len(run) == _MAX_RUN_WORDS):
            yield run
            run = []
        if word.group().casefold() in STOPWORDS:
            yield run
            run = []
        else:
            run.append(word)
    yield run


def _find_phrases(run: list[re.Match[str]]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    words = [one.group().casefold() for one in run]
    for length in range(2, min(len(run), _MAX_TERM_WORDS) + 1):
        for at in range(len(run) - length + 1):
            phrase = tuple(words[at : at + length])
            if len(phrase[0]) > 2 and len(phrase[-1]) > 2 and not _UNLIKELY_END.search(phrase[-1]):
                yield phrase, run[at].start(), run[at + length - 1].end()


def _compute_c_values(frequent: dict[tuple[str, ...], int]) -> dict[tuple[str, ...], float]:
    around: dict[tuple[str, ...], list[int]] = {}
    for phrase, count in frequent.items():
        for inner in _inner_phrases(phrase):
            around.setdefault(inner, []).append(count)
    return {
        phrase: math.log2(len(phrase)) * (count - _mean(around.get(phrase, ())))
        for phrase, count in frequent.items()
    }


def _inner_phrases(phrase: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for length in range(2, len(phrase)):
        for at in range(len(phrase) - length + 1):
            yield phrase[at : at + length]


def _mean(counts: Iterable[int]) -> float:
    numbers = list(counts)
    return sum(numbers) / len(numbers) if numbers else 0.0
