"""The values that a text states, of a kind that a question may ask for: a number, a date, a path. Pure.

Each kind has one pattern, and a condition on what stands before a match where a pattern alone takes too much: the
number of a list item or of a version does not answer "how many". Repetitions are bounded, so any text takes linear
time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from winnow.server.text.answers.kinds import AskedFor, AskedKind, ValueForm

_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|"
    "hundreds?|thousands?|millions?|billions?|dozens?|twice|half|"
    "zero|(?:only|exactly|at most) one(?! of)|one to|unlimited|no limit|infinite(?:ly)?|"
    "(?:once )?(?:a|an|one|per|every) (?:second|minute|hour|day|week|month|year)|"
    "zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|zwanzig|dreißig|neunzig|hundert|tausend|"
    "deux|trois|quatre|cinq|sept|huit|neuf|dix|vingt|trente|cent|mille|"
    "dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|veinte|treinta|cien|mil"
)
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?|januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|"
    "février|mars|avril|juin|"
    "juillet|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|"
    "julio|agosto|septiembre|"
    "octubre|noviembre|diciembre"
)
_UNITS = (
    "%|[kmgt]i?b|bytes?|bits?|m?s|ms|h|x|kb|mb|gb|seconds?|minutes?|hours?|days?|weeks?|months?|years?|times?|"
    "percent|points?|characters?"
)
_PATTERNS: Mapping[AskedKind, str] = MappingProxyType(
    {
        "number": rf"(?<![\w.:/#_\\-])(?<!\w[(\[])[~+-]?(?:\d{{1,3}}(?:[,'\u00a0\u202f]\d{{3}})+(?:\.\d+)?|"
        rf"\.?\d{{1,15}}(?:\.\d{{1,9}})?)"
        rf"(?:[ \u00a0]?(?:%|[kKMGT]i?[Bb]?|[mµn]?s|min|[hdwmx]))?(?![\w]|[.:/]\w|-(?!(?:{_UNITS})\b)\w)|"
        rf"(?<!\bno )\b(?:{_NUMBER_WORDS})\b",
        "date": rf"\b\d{{4}}-\d\d(?:-\d\d)?\b|\b(?:\d{{1,2}}\.? )?(?:{_MONTHS})\.? (?:\d{{1,2}}(?:st|nd|rd|"
        rf"th)?(?:,? \d{{4}})?|"
        rf"\d{{4}})\b|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of |de )?(?:{_MONTHS})\b|"
        rf"(?<![\w.,:/#-])(?:1[0-9]{{3}}|20[0-4]\d)s?(?![\w%]|[.,:/]\d| ?(?:{_UNITS})\b)|"
        r"\b\d{1,2}(?:st|nd|rd|th) century\b",
        "version": rf"(?<![\w.:/-])v\d{{1,4}}(?:\.\w{{1,9}}){{0,4}}\b|\b(?:versions?|releases?|version[es]n|"
        rf"ausgabe) v?\d{{1,4}}\b|"
        rf"(?<![\w:/.-])\d{{1,4}}\.\d{{1,4}}(?!\.\d+\.\d)(?:\.\w{{1,9}})?(?![\w%]|\.\d| ?(?:{_UNITS})\b)",
        "port": r"(?<![\w.,#=-])\d{2,5}(?![\w%,]|\.\d| ?(?:[kmgt]i?b|bytes|seconds?|minutes?|m?s|days?)\b)",
        "command": r"`[^`\n]{1,200}`|(?<!\w)--?[a-z][\w-]{0,40}|"
        r"(?<![\w.])~?/[\w.-]{2,60}(?:/[\w.*-]{0,60}){0,9}|"
        r"\$\w{2,60}|\b[a-z\d]{1,40}(?:[_.][a-z\d]{1,40}){1,6}(?:\(\))?(?!\w)|\b\w{1,40}\(\)|"
        r"\b[a-z]{1,30}[A-Z]\w{0,60}|\b[A-Z]{2,30}(?:_[A-Z\d]{1,30}){1,6}\b|\*\*?[a-z][\w.-]{1,60}\*\*?",
        "name": r"\b[A-Z][\w.-]{0,60}\w\b|`[^`\n]{1,80}`",
    }
)
# Names and identifiers are told from plain words by their capitals; in all else case says nothing.
_KEEPS_CASE = frozenset(["name", "command"])
_COMPILED = {
    kind: re.compile(pattern, re.MULTILINE if kind in _KEEPS_CASE else re.MULTILINE | re.IGNORECASE)
    for kind, pattern in _PATTERNS.items()
}
# A number behind one of these counts nothing: it names a version, a section or a port.
_NAMES_A_NUMBER = re.compile(
    r"(?:\b(?:versions?|release|python|linux|kubernetes|chapter|section|table|figure|rfc|step|man|"
    r"page|port|ports|ssh|tls|"
    r"http|ipv|posix|iso|in|since|v|abschnitt|tabelle|seite|kapitel) ?|^[ \t>#]*|^[ \t>]*\()$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_OPENS_A_SENTENCE = re.compile(r"(?:^|[.!?:|]|^[ \t]*(?:[-*+•#]+|\d{1,3}[.)]))[ \t\"'(*_]*$")
_PORT_WORD = re.compile(r"\bports?(?![a-z])|\b(?:puertos?|listen(?:s|ing)?)\b|/(?:tcp|udp)\b", re.IGNORECASE)
_MOST_PORTS = 65_535
_BEFORE_CHARS = 120

# The kinds of which a text states a value, or visibly does not. Reasons, lists and definitions have any form.
STATED_KINDS = frozenset(_PATTERNS)
# A value that has not the form which is asked for counts this much: units may stand in the head of a table.
_OTHER_FORM_SHARE = 0.6
_TIME = (
    r"(?:[mµn]s|milliseconds?|microseconds?|s|secs?|seconds?|min|mins|minutes?|h|hours?|d|"
    r"days?|weeks?|months?|years?|"
    r"sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|secondes?|heures?|jours?|semaines?|mois|ans|"
    r"segundos?|minutos?|horas?|días?|semanas?|meses|años?)\b"
)
_SIZE = (
    r"(?:[kmgt]i?b?|bytes?|bits?|characters?|chars?|pages?|lines?|tokens?|words?|entries|"
    r"octets|zeichen|caractères)\b"
)
_LENGTH = (
    r"(?:characters?|chars?|bytes?|letters?|digits?|lines?|tokens?|words?|m|cm|km|pages?|zeichen|caractères)\b"
)
# By form: what stands behind a number, or the whole of any other value.
_FORMS: Mapping[ValueForm, re.Pattern[str]] = MappingProxyType(
    {
        "time": re.compile(rf"[ \u00a0-]?{_TIME}", re.IGNORECASE),
        "size": re.compile(rf"[ \u00a0-]?{_SIZE}", re.IGNORECASE),
        "length": re.compile(rf"[ \u00a0-]?(?:{_TIME}|{_LENGTH})", re.IGNORECASE),
        "share": re.compile(r" ?%| ?percent\b| ?prozent\b", re.IGNORECASE),
        "path": re.compile(r".*[\w~]?/[\w.].*|.*\w\.[a-z]{2,8}"),
        "flag": re.compile(r"--?\w.*"),
        "variable": re.compile(r"\$\w+|[A-Z][A-Z\d]*(?:_[A-Z\d]+)+|[A-Z]{4,}"),
        "shell": re.compile(r"[a-z][\w.-]*(?: .*)?"),
    }
)
# By form: the names of units that may stand some words from a number, as in "in seconds, by default 30".
_NAMED_TIME = r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|[mµun]?sec|sekunden?|minuten?|stunden?"
_NAMED_UNITS: Mapping[ValueForm, re.Pattern[str]] = MappingProxyType(
    {
        "time": re.compile(_NAMED_TIME, re.IGNORECASE),
        "size": re.compile(_SIZE, re.IGNORECASE),
        "length": re.compile(rf"{_NAMED_TIME}|{_LENGTH}", re.IGNORECASE),
        "share": re.compile(r"percent|fraction|proportion|\bshare|prozent|anteil", re.IGNORECASE),
    }
)
_DECIMAL_SHARE = re.compile(r"0?\.\d+")
_UNIT = re.compile(r"[a-zµ%]+$", re.IGNORECASE)
_WORDS_BETWEEN = 40
_COUNTED_STEM_CHARS = 6
# The names of a template and of its parameters are no text.
_TEMPLATE = re.compile(r"\{\{[^{}]*$")


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value that a text states: its characters, and how well its form fits what is asked for, 0 to 1."""

    start: int
    end: int
    text: str
    fit: float


def find_values(text: str, asked: AskedFor, question: str = "", above: str = "") -> Iterator[StatedValue]:
    """The values in a text of the kind that is asked for, in order, without those that the question itself has.

    ``above``: the headings over the text, which may say that its numbers are ports.

    >>> [value.text for value in find_values("Version 3 waits 30 seconds.", AskedFor("number"))]
    ['30']
    """
    if asked.kind not in _COMPILED or (
        asked.kind == "port" and not (_PORT_WORD.search(text) or _PORT_WORD.search(above))
    ):
        return
    known = question.casefold()
    for match in _COMPILED[asked.kind].finditer(text):
        before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()].rpartition("\n")[2]
        value = match[0].strip("`* ") or match[0]
        if value.casefold() not in known and _is_value(value, asked.kind, before):
            yield StatedValue(match.start(), match.end(), value, _fit_form(text, match, value, asked))


def _fit_form(text: str, match: re.Match[str], value: str, asked: AskedFor) -> float:
    if asked.form == "any":
        return 1.0
    if asked.form == "counted":
        fits = asked.counted[:_COUNTED_STEM_CHARS].rstrip("s") in _cut_around(text, match).casefold()
    elif asked.kind == "number":
        fits = _has_unit(text, match, value, asked.form)
    else:
        fits = _FORMS[asked.form].fullmatch(value) is not None
    return 1.0 if fits else _OTHER_FORM_SHARE


def _has_unit(text: str, match: re.Match[str], value: str, form: ValueForm) -> bool:
    """Whether a number has a unit of a form: behind it, in its own words ("per day"), or named near it."""
    if form == "share" and _DECIMAL_SHARE.fullmatch(value):
        return True
    unit = _UNIT.search(value)
    end = match.end() - len(unit[0]) if unit and value[0] in "0123456789.+-~" else match.end()
    if _FORMS[form].match(text, end) or (not value[0].isdigit() and " " in value):
        return True
    return _NAMED_UNITS[form].search(_cut_around(text, match)) is not None


def _cut_around(text: str, match: re.Match[str]) -> str:
    """The match with the words before and behind it."""
    return text[max(0, match.start() - _WORDS_BETWEEN) : match.end() + _WORDS_BETWEEN]


def _is_value(value: str, kind: AskedKind, before: str) -> bool:
    match kind:
        case "number" if value[-1].isdigit():
            return not (_NAMES_A_NUMBER.search(before) and (value.isdigit() or "." in value))
        case "port":
            return 0 < int(value) <= _MOST_PORTS and not (
                _YEAR.fullmatch(value) and before.rstrip().endswith("in")
            )
        case "command":
            return not _TEMPLATE.search(before)
        case "name":
            return not _OPENS_A_SENTENCE.search(before)
        case _:
            return True
