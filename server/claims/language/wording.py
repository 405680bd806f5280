"""Warnings about the words of a claim: numbers, dates, units and negations that its quotes do not have.

A warning is a reason to look again, never a verdict: a claim may round a number or say the opposite of what a
quote denies, and a claim without a warning may still be wrong. The rules are tables and arithmetic, no model:

    kind      warned of
    number    a number, or a name with digits, of the claim that no quote has
    unit      a quote has the number with another unit, or without one
    date      a day or month of the claim that no quote has
    negation  a negation in the claim or the quote alone, or a word that is negated in only one of them
    language  there is no table for the language, so that words of negation and numbers in words are not compared

Numbers are compared by value: "1,000" is "1 000", "1 s" is "1000 ms", "ninety" is "90". Where a separator can be
read in two ways ("1,234"), either will do. The tables are of English, German, French and Spanish; a text whose
language is unknown is read as English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from winnow.server.claims.language.wording_tables import (
    DOUBTFUL_NUMBERS,
    LANGUAGES,
    LanguageTable,
    Unit,
    find_unit,
)
from winnow.server.text.forms.normal_forms import normalize

WarningKind = Literal["number", "unit", "date", "negation", "language"]
# Claims and quotes are shorter; of a longer text the beginning is read.
_MOST_CHARS = 4_000
_MOST_WARNINGS = 20
_SHOWN_CHARS = 60
# The number of words that a negation reaches, fillers included.
_NEGATION_REACH = 5
# Words are compared by this many first characters: "increase" and "increased" are one word.
_STEM_CHARS = 6
# A looser comparison decides whether a quote is about a claim at all: "backup" and "backed" are one word.
_BEGINNING_CHARS = 4

_PLAIN = str.maketrans(
    {**dict.fromkeys("‐‑‒–—−", "-"), **dict.fromkeys("’‘ʼ′", "'"), **dict.fromkeys("\u00a0\u2009\u202f", " ")}
)
_ELISION = re.compile(r"n't\b|\b(?:[cdjlmnst]|qu)'(?=\w)")
# Also after another word ("at minus 5"). "moins" and "menos" are left out because of "au moins 5" and "al menos
# 5".
_MINUS = re.compile(r"(?i:\bminus) (?=\d)")
_NUMBER = r"\d{1,3}(?:[,.' ]\d{3}){1,6}(?![\d])(?:[.,]\d{1,20})?|\d{1,30}(?:[.,]\d{1,20})?"
_TOKEN = re.compile(
    r"(?P<iso>\b\d{4}-\d{2}(?:-\d{2})?\b)"
    r"|(?P<slashed>\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b)"
    r"|(?P<dotted>\b\d{1,10}(?:\.\d{1,10}){2,8}\b)"
    rf"|(?P<number>(?<![\w])(?:(?<=[\s(\[])-|\A-)?(?:{_NUMBER}))(?P<ordinal>(?:st|nd|rd|th)\b)?(?P<glued>k\b)?"
    r"|(?P<word>n't|\w{1,80}'|[^\W_]{1,80})"
    r"|(?P<sign>[%€$£¥]|°[CF])"
)
_DIGIT = re.compile(r"\d")
# Months that are other words where they begin with a small letter.
_VERBS = ("march", "mar", "may", "dec")


@dataclass(frozen=True, slots=True)
class WordingWarning:
    """A statement of a claim that its quotes lack: the kind, the words of the claim, and a sentence about it."""

    kind: WarningKind
    words: str
    message: str


@dataclass(frozen=True, slots=True)
class _Token:
    """A part of a text: ``kind`` is a group of the pattern, ``folded`` its casefolded text."""

    kind: str
    text: str
    folded: str


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A number with its possible values and its unit; ``is_doubtful``: whether the word may not be a number."""

    shown: str
    values: frozenset[Decimal]
    unit: Unit | None = None
    is_doubtful: bool = False


@dataclass(frozen=True, slots=True)
class _Date:
    """A date in each way in which it can be read: year, month and day, 0 for a part that is not stated."""

    shown: str
    readings: frozenset[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class _Facts:
    """The compared parts of a text. ``names`` are words with digits; ``negated`` the stems after negations."""

    quantities: tuple[_Quantity, ...]
    dates: tuple[_Date, ...]
    names: Mapping[str, str]
    has_negation: bool
    negated: frozenset[str]
    affirmed: frozenset[str]


def check_wording(claim: str, quotes: Sequence[str], language: str = "en") -> tuple[WordingWarning, ...]:
    """The warnings about a claim and the quotes that support it; () without a quote.

    A number, unit or date must be in one of the quotes, and the negations of the claim must be those of one of
    them. ``language`` (ISO 639-1) is that of the quotes, "" if it is unknown.

    >>> [each.message for each in check_wording("Kept 30 days.", ["Backups are kept for ninety days."])]
    ['the claim says "30 days", which the quote does not']
    """
    if not quotes:
        return ()
    table = LANGUAGES.get(language or "en")
    stated = _read_facts(claim, table)
    proofs = [_read_facts(quote, table) for quote in quotes]
    found = [*_check_numbers(stated, proofs), *_check_dates(stated, proofs)]
    if table is None:
        message = (
            f"negations and numbers in words are not compared: there is no table for the language {language!r}"
        )
        found.append(WordingWarning("language", language[:_SHOWN_CHARS], message))
    else:
        found.extend(_check_negations(stated, proofs))
    return tuple(dict.fromkeys(found))[:_MOST_WARNINGS]


def shares_words(claim: str, quote: str, language: str = "en") -> bool:
    """Whether a claim and a quote have a number or a word of content in common; the ends of words do not count.

    True also if that cannot be decided: for a language without a table, or a claim in another language.

    >>> [shares_words("Backups are kept.", quote) for quote in ("a backup is on tape", "it is in the yard")]
    [True, False]
    """
    table = LANGUAGES.get(language or "en")
    words = [token.folded for token in _tokens(claim)]
    if table is None or table.fillers.isdisjoint(words):
        return True
    ours, theirs = ({_beginning(word, table) for word in each} - {""} for each in (words, _folded(quote)))
    return bool(ours & theirs)


def _folded(text: str) -> Iterator[str]:
    return (token.folded for token in _tokens(text))


def _beginning(word: str, table: LanguageTable) -> str:
    """The compared part of a word: a number as a whole, the beginning of a word of content, "" for other words."""
    if _DIGIT.search(word):
        return word
    return word[:_BEGINNING_CHARS] if _is_content(word, table) else ""


# --- what a text states


def _read_facts(text: str, table: LanguageTable | None) -> _Facts:
    tokens = list(_tokens(text))
    dates: list[_Date] = []
    quantities: list[_Quantity] = []
    names: dict[str, str] = {}
    at = 0
    while at < len(tokens):
        if date := _read_date(tokens, at, table):
            dates.append(date[0])
            quantities.extend(_numbers_of(date[0]))
            at += date[1]
        elif quantity := _read_quantity(tokens, at, table):
            quantities.append(quantity[0])
            at += quantity[1]
        else:
            if tokens[at].kind == "dotted" or _DIGIT.search(tokens[at].folded):
                names[tokens[at].folded] = tokens[at].text
            at += 1
    negated, affirmed, has_negation = _read_negations(tokens, table) if table else (set(), set(), False)
    return _Facts(tuple(quantities), tuple(dates), names, has_negation, frozenset(negated), frozenset(affirmed))


def _tokens(text: str) -> Iterator[_Token]:
    plain = normalize("NFC", text[:_MOST_CHARS]).translate(_PLAIN)
    plain = _ELISION.sub(lambda match: f" {match[0]} " if match[0] == "n't" else f"{match[0]} ", plain)
    plain = _MINUS.sub("-", plain)
    for match in _TOKEN.finditer(plain):
        kind = next(name for name in ("iso", "slashed", "dotted", "number", "word", "sign") if match[name])
        yield _Token(kind, match[0], match[0].casefold())


def _read_quantity(tokens: Sequence[_Token], at: int, table: LanguageTable | None) -> tuple[_Quantity, int] | None:
    """The number that begins here, with its unit, and the number of its tokens."""
    sign = find_unit(tokens[at].text) if tokens[at].kind == "sign" else None
    first = at + 1 if sign and at + 1 < len(tokens) and tokens[at + 1].kind == "number" else at
    number = _read_digits(tokens, first, table) or (_read_words(tokens, first, table) if table else None)
    if number is None:
        return None
    values, end, is_doubtful = number
    unit = sign if first > at else None
    if unit is None and (unit := _unit_at(tokens, end)):
        end += 1
    shown = " ".join(token.text.strip() for token in tokens[at:end]).replace(" %", "%")
    return _Quantity(shown[:_SHOWN_CHARS], values, unit, is_doubtful), end - at


def _unit_at(tokens: Sequence[_Token], at: int) -> Unit | None:
    return find_unit(tokens[at].text) if at < len(tokens) and tokens[at].kind in ("word", "sign") else None


def _read_digits(
    tokens: Sequence[_Token], at: int, table: LanguageTable | None
) -> tuple[frozenset[Decimal], int, bool] | None:
    """The values of a number in digits, also with a word such as "million" after it, and the end of the number."""
    if tokens[at].kind != "number":
        return None
    values = _values(tokens[at].text)
    end = at + 1
    while table and end < len(tokens) and (scale := table.scales.get(tokens[end].folded)):
        values = frozenset(value * scale for value in values)
        end += 1
    return values, end, False


def _values(text: str) -> frozenset[Decimal]:
    r"""The possible values of a number in digits, because a separator before three digits may be of two kinds."""
    digits = text.strip().casefold().rstrip("stndrh")
    factor = 1_000 if digits.endswith("k") else 1
    digits = digits.removesuffix("k").replace(" ", "").replace("'", "")
    marks = [mark for mark in digits if mark in ",."]
    readings = set()
    if len(set(marks)) == 2:
        whole, _, part = digits.rpartition(marks[-1])
        readings.add(f"{whole.replace(',', '').replace('.', '')}.{part}")
    elif len(marks) == 1:
        readings.add(digits.replace(",", "."))
        if re.search(r"[1-9]\d*[,.]\d{3}$", digits):
            readings.add(re.sub(r"[,.]", "", digits))
    else:
        readings.add(re.sub(r"[,.]", "", digits))
    return frozenset(Decimal(reading) * factor for reading in readings)


def _read_words(
    tokens: Sequence[_Token], at: int, table: LanguageTable
) -> tuple[frozenset[Decimal], int, bool] | None:
    """The value of a number in words ("twenty-five", "two hundred"), and the end of the number."""
    total = current = 0
    end = at
    while end < len(tokens):
        word = tokens[end].folded
        if word in table.tens:
            current += table.tens[word]
        elif word in table.small and not (end > at and tokens[end - 1].folded in table.small):
            current += table.small[word]
        elif word in table.scales and (end > at or word in ("hundert", "tausend", "cent", "mille", "cien", "mil")):
            scale = table.scales[word]
            current = max(current, 1) * scale
            if scale > 100:
                total, current = total + current, 0
        else:
            break
        end += 1
    if end == at:
        return None
    is_doubtful = end == at + 1 and tokens[at].folded in DOUBTFUL_NUMBERS
    return frozenset([Decimal(total + current)]), end, is_doubtful


def _read_date(tokens: Sequence[_Token], at: int, table: LanguageTable | None) -> tuple[_Date, int] | None:
    """The date that begins here, in digits or as a month with a day or year, and the number of its tokens."""
    token = tokens[at]
    if token.kind == "iso":
        year, month, *day = map(int, token.text.split("-"))
        return _Date(token.text, frozenset([(year, month, day[0] if day else 0)])), 1
    if token.kind == "slashed":
        first, second, year = map(int, re.split(r"[/.]", token.text))
        return _Date(token.text, frozenset([(year, first, second), (year, second, first)])), 1
    return _read_named_month(tokens, at, table) if table else None


def _read_named_month(tokens: Sequence[_Token], at: int, table: LanguageTable) -> tuple[_Date, int] | None:
    """A date such as "6 March 2024", "March 6, 2024" or "March 2024"."""
    day = year = 0
    end = at
    if day := _whole_number(tokens, end, 31):
        end += 1
        if end < len(tokens) and tokens[end].folded in ("of", "de"):
            end += 1
    month = table.months.get(tokens[end].folded, 0) if end < len(tokens) else 0
    if not month or (tokens[end].folded in _VERBS and tokens[end].text.islower()):
        return None
    end += 1
    if not day and (day := _whole_number(tokens, end, 31)):
        end += 1
    if end + 1 < len(tokens) and tokens[end].folded in ("de", "of"):
        end += 1
    if year := _whole_number(tokens, end, 9999, least=1000):
        end += 1
    if not (day or year):
        return None
    shown = " ".join(token.text for token in tokens[at:end])
    return _Date(shown[:_SHOWN_CHARS], frozenset([(year, month, day)])), end - at


def _whole_number(tokens: Sequence[_Token], at: int, most: int, least: int = 1) -> int:
    """The number in digits at this place, if it is whole and in these bounds; 0 otherwise."""
    if at >= len(tokens) or tokens[at].kind != "number":
        return 0
    digits = tokens[at].folded.rstrip("stndrh")
    return int(digits) if digits.isdecimal() and len(digits) <= 4 and least <= int(digits) <= most else 0


def _numbers_of(date: _Date) -> Iterator[_Quantity]:
    """The year and the day of a date. In a quote they prove numbers of a claim; in a claim they need no proof."""
    for reading in date.readings:
        for number in (reading[0], reading[1], reading[2]):
            yield _Quantity(date.shown, frozenset([Decimal(number)]), is_doubtful=True)


def _read_negations(tokens: Sequence[_Token], table: LanguageTable) -> tuple[set[str], set[str], bool]:
    """The stems that are negated, those that are not, and whether there is any negation."""
    words = [token.folded for token in tokens]
    stems = {word[:_STEM_CHARS] for word in words if _is_content(word, table)}
    negated: set[str] = set()
    has_negation = False
    for at, word in enumerate(words):
        if word not in table.negations or (at + 1 < len(words) and words[at + 1] in table.not_negating):
            continue
        has_negation = True
        following = (each for each in words[at + 1 : at + 1 + _NEGATION_REACH] if _is_content(each, table))
        negated.update(each[:_STEM_CHARS] for each in [next(following, "")] if each)
    return negated, stems - negated, has_negation


def _is_content(word: str, table: LanguageTable) -> bool:
    return word not in table.fillers and word not in table.negations and any(map(str.isalpha, word))


# --- what the quotes lack


def _check_numbers(stated: _Facts, proofs: Sequence[_Facts]) -> Iterator[WordingWarning]:
    known = [quantity for proof in proofs for quantity in proof.quantities]
    for quantity in stated.quantities:
        if quantity.is_doubtful or any(_proves(each, quantity) for each in known):
            continue
        others = sorted({each.shown for each in known if each.values & quantity.values})
        if quantity.unit and others:
            message = f'the claim says "{quantity.shown}" and the quote "{others[0]}"'
            yield WordingWarning("unit", quantity.shown, message)
        else:
            yield WordingWarning("number", quantity.shown, _lacks(quantity.shown))
    names = {name for proof in proofs for name in proof.names}
    for folded, name in stated.names.items():
        if folded not in names:
            yield WordingWarning("number", name, _lacks(name))


def _proves(known: _Quantity, quantity: _Quantity) -> bool:
    """Whether a number of a quote equals that of the claim, in the same unit or in one that converts to it."""
    if quantity.unit is None:
        return bool(known.values & quantity.values)
    if known.unit is None or known.unit.dimension != quantity.unit.dimension:
        return False
    ours = {value * quantity.unit.factor for value in quantity.values}
    return any(value * known.unit.factor in ours for value in known.values)


def _check_dates(stated: _Facts, proofs: Sequence[_Facts]) -> Iterator[WordingWarning]:
    known = [reading for proof in proofs for date in proof.dates for reading in date.readings]
    for date in stated.dates:
        if not any(_is_within(reading, each) for reading in date.readings for each in known):
            yield WordingWarning("date", date.shown, _lacks(date.shown))


def _is_within(claimed: tuple[int, int, int], known: tuple[int, int, int]) -> bool:
    """Whether a date agrees with a date of a quote in all the parts that it states."""
    return all(ours in (0, theirs) for ours, theirs in zip(claimed, known, strict=True))


def _check_negations(stated: _Facts, proofs: Sequence[_Facts]) -> Iterator[WordingWarning]:
    found = [_compare_negations(stated, proof) for proof in proofs]
    if all(found) and (first := found[0]):
        yield first


def _compare_negations(stated: _Facts, proof: _Facts) -> WordingWarning | None:
    for negated, affirmed, owner, other in (
        (stated.negated, proof.affirmed, "claim", "quote"),
        (proof.negated, stated.affirmed, "quote", "claim"),
    ):
        if differing := sorted(negated & affirmed):
            word = differing[0]
            return WordingWarning("negation", word, f'the {owner} negates "{word}…", the {other} does not')
    if stated.has_negation != proof.has_negation:
        owner, other = ("claim", "quote") if stated.has_negation else ("quote", "claim")
        return WordingWarning("negation", "", f"the {owner} has a negation, the {other} has none")
    return None


def _lacks(shown: str) -> str:
    return f'the claim says "{shown}", which the quote does not'
