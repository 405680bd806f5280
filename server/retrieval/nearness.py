"""Whether a value of the kind that a question asks for stands near the question's subject in a passage. Pure.

The subject is the question's content words without those that name the value ("port", "seconds"), each weighted by
its rareness. A word counts in full where it stands near the value, and in part where only a heading above has it.
Some words have to stand at one of these places: names with digits ("3.2.0", "IPv6"), and of a question for a
version the rarest word, which is mostly the product.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from winnow.server.text.asked_values import AskedValue, ValueKind, find_values, names_value

_NEAR_CHARS = 100
_ABOVE_SHARE = 0.5
# The share of the subject from which a value counts as near it. Dates and ports are rare in texts: those of other
# subjects stand apart; numbers and versions are everywhere, often far from the words of a question. Names of those
# who made other things are in the same lists.
_LEAST_NEAR: Mapping[ValueKind, float] = MappingProxyType(
    {
        "number": 0.25,
        "date": 0.4,
        "version": 0.25,
        "port": 0.4,
        "name": 0.6,
        "variable": 0.4,
        "flag": 0.4,
        "path": 0.4,
    }
)
# A shorter stem is looked for at the beginning of a word alone: "us" is in too many.
_MIN_INNER_CHARS = 4
# A name with digits; the "v" before a version is no part of it.
_NAME_WITH_DIGITS = re.compile(r"(?<![^\Wv])\d{1,9}\.\d[\w.]{0,30}(?<!\.)|(?!v\d)[A-Za-z]{1,30}-?\d\w{0,30}")
_NAME_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the subject: its stems in texts, its share of the subject, and whether a value needs it."""

    pattern: re.Pattern[str]
    share: float
    is_needed: bool


def is_stated_near(
    asked: AskedValue,
    question: str,
    weights: Mapping[str, float],
    forms: Mapping[str, Collection[str]],
    passages: Iterable[tuple[str, str]],
) -> bool:
    """Whether one of the passages (headings and text) has a value that is asked for near the question's subject.

    ``weights``: of the content words of the question, in order; ``forms``: their stems.

    >>> words = {"gateway": frozenset({"gateway"})}
    >>> passages = [("", "The gateway listens on port 8443.")]
    >>> is_stated_near(AskedValue("port"), "Which port is the gateway's?", {"gateway": 1.0}, words, passages)
    True
    """
    words = list(_build_words(asked, question, weights, forms))
    return any(_has_near(asked, question, words, *passage) for passage in passages)


def _build_words(
    asked: AskedValue, question: str, weights: Mapping[str, float], forms: Mapping[str, Collection[str]]
) -> Iterator[_Word]:
    subject = {word: weight for word, weight in weights.items() if not names_value(word, asked.kind)} or dict(
        weights
    )
    names = _NAME_WITH_DIGITS.findall(question)
    needed = {*names, max(subject, key=lambda word: subject[word])} if asked.kind == "version" else {*names}
    # A name with dots is no content word. In the row of a table it may be all that a value has of the subject.
    subject |= {name: _NAME_WEIGHT * max(subject.values()) for name in names if name not in subject}
    total = sum(subject.values())
    for word, weight in subject.items():
        pattern = _compile_stems(forms[word]) if word in forms else _compile_name(word)
        yield _Word(pattern, weight / total, word in needed)


def _has_near(asked: AskedValue, question: str, words: Sequence[_Word], headings: str, text: str) -> bool:
    places = [[match.start() for match in word.pattern.finditer(text)] for word in words]
    above = [word.pattern.search(headings) is not None for word in words]
    for start, end in find_values(text, asked, question, headings):
        near = [_is_between(found, start - _NEAR_CHARS, end + _NEAR_CHARS) for found in places]
        shares = [1.0 if near_it else _ABOVE_SHARE * over_it for near_it, over_it in zip(near, above, strict=True)]
        counted = list(zip(words, shares, strict=True))
        is_whole = all(share > 0 for word, share in counted if word.is_needed)
        if is_whole and sum(word.share * share for word, share in counted) >= _LEAST_NEAR[asked.kind]:
            return True
    return False


def _is_between(places: Sequence[int], low: int, high: int) -> bool:
    index = bisect_left(places, low)
    return index < len(places) and places[index] <= high


def _compile_name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.])v?{re.escape(name)}(?!\w)", re.IGNORECASE)


def _compile_stems(stems: Collection[str]) -> re.Pattern[str]:
    """A pattern of a word's stems in a text; a stemmed "policy" ends in "i", which the text has as "y"."""
    shortened = (stem[:-1] if len(stem) > _MIN_INNER_CHARS and stem.endswith("i") else stem for stem in stems)
    return re.compile(
        "|".join(
            ("" if len(stem) >= _MIN_INNER_CHARS else r"(?<![^\W_])") + re.escape(stem) for stem in shortened
        ),
        re.IGNORECASE,
    )
