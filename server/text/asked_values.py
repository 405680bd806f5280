"""The value that a question asks for (a number, a date, a name, ...), and the places where a text has one.

A question asks for a value only where the words it begins with leave no doubt; a text has one in all cases of
doubt. Questions and texts are read as English: no other question asks for a value. Both follow from tables of
patterns, in which every repetition is bounded, so that a text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

# "name": of who made something; "variable": of the environment; "flag": an option; "path": of a file or a folder.
ValueKind = Literal["number", "date", "version", "port", "name", "variable", "flag", "path"]
# "count": how many rows; "span": how long, in time or characters; "rate": how often.
Unit = Literal["any", "time", "size", "share", "count", "span", "rate"]


@dataclass(frozen=True, slots=True)
class AskedValue:
    """A kind of value, and for a number the unit that it is asked in."""

    kind: ValueKind
    unit: Unit = "any"


_TIME = (
    r"(?:milli|micro|nano)?sec(?:ond)?s?|[mnuµ]s|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|fortnights?|months?|years?"
)
_SIZE = r"(?:kilo|mega|giga|tera|kibi|mebi|gibi)?(?:bytes?|bits?)|[kmgt]i?b"
_SHARE = r"per ?cent(?:age)?|fraction|proportion|share"
_STORED = rf"{_SIZE}|memory|space|disk|storage|ram"
_EXTREMES = r"default|maximum|minimum|max|min|largest|smallest|longest|shortest|highest|lowest|total|number|amount"
_QUANTITIES = r"size|length|width|height|depth|rate|limit|count|threshold|capacity|number"
_DURATIONS = r"timeout|duration|interval|period|delay|age|lifetime|latency"
# --- questions ------------------------------------------------------------------------------------------------
# What may stand before: a preposition, a politeness, or a clause that ends in a comma.
_OPENING = (
    r"(?:^|[,.;:!?] )(?:(?:and|but|so|please|tell me|(?:can|could) you tell me|do you know|i want to know) ){0,2}"
    r"(?:(?:on|in|at|by|for|from|since|until|after|up to|to|with|within|over|of|as of|before|during) ){0,2}"
)
# No choice ("A or B") and no purpose ("for?"); behind "in", or a second "the", stands another subject.
_WHICH = (
    r"(?!.{0,200}(?:, [^,]{0,60} or | for\W{0,9}$))(?:what|which)(?:'s| is| are| was)?(?: the)?"
    r"(?: (?!(?:an?|the|this|has|have|had|does|do|did|can|of|to|with|for|that|in|at|between|different)\b)"
    r"[\w/+'-][\w/+.'-]{0,30}){0,%d}? "
)
_ENDS = (
    r"(?= (?:of|for|in|on|that|when|between|per|to|at|allowed|by|an?|the|"
    r"is|was|were|are|did|does|do|has|have|had|will|must|should|can)\b|\W*$)"
)
_NO_VERSION = (
    r"control|numbers?|scheme|string|format|skew|polic(?:y|ies)|manager|constraints?|pinning|commands?|fields?|"
    r"files?|info(?:rmation)?|tags?|history|ranges?|specifiers?|names?|ids?|columns?|options?|flags?|labels?|headers?"
)
# Ports with a plug or a quay have no number; a long or big thing may be a name ("how long strings are stored").
_PLUGGED = r"usb|serial|parallel|hdmi|cables?|plug\w{0,6}|call|ships?"
_MEASURED = r"(?= (?:is|are|was|were|can|could|may|might|must|should|will|would|do|does|did|has|have)\b|\W*$)"
_NAMED_VERSIONS = r"debian|ubuntu|macos|android|windows"  # "bookworm" and "Vista" are versions, too
_MADE = (
    r"wrote|written|created|invented|designed|developed|founded|translated|coined|contributed|authored|drew|drawn|"
    r"maintain(?:s|ed|ing)?|reviewed|leads?|audited|started|made|discovered|named|sponsor(?:s|ed)|funds|funded"
)
_MAKER = r"authors?|creators?|inventors?|founders?|maintainers?"
_MAKERS = (
    r"person|people|company|companies|engineers?|developers?|authors?|organi[sz]ations?|universit(?:y|ies)|vendors?|"
    r"firms?|programmers?|researchers?|institutes?|foundations?"
)
_ACTS = r"(?= (?:[\w-]{1,20} ){0,3}?(?:[a-z]{2,20}s|must|can|may|will|has|is|do i|should|changes?)\b)"
_NO_FILE = r"(?! (?:systems?|formats?|types?|names?|sizes?)\b)"
# The first row with a phrase in the question decides: a release date is no version.
_ASKING: tuple[tuple[ValueKind, Unit, str], ...] = (
    ("date", "any", rf"{_WHICH % 3}(?:dates?|deadline){_ENDS}"),
    ("date", "any", rf"(?:what|which) (?:year|month|decade|century){_ENDS}"),
    ("date", "any", r"when (?:was|were|did)\b|since when\b"),
    ("version", "any", rf"{_WHICH % 3}versions?(?! (?:{_NO_VERSION})\b)\b(?!.{{0,99}}\b(?:{_NAMED_VERSIONS})\b)"),
    ("port", "any", rf"(?!.{{0,99}}\b(?:{_PLUGGED})\b){_WHICH % 2}ports?(?: numbers?)?{_ENDS}"),
    ("number", "share", rf"(?:what|which|how many|how much) (?:{_SHARE})\b"),
    ("number", "time", rf"how (?:many|much) (?:{_TIME}|time)\b"),
    ("number", "size", rf"how (?:many|much) (?:{_STORED})\b|how (?:large|big){_MEASURED}"),
    ("number", "count", r"how many\b(?!-)"),
    ("number", "span", rf"how long{_MEASURED}"),
    ("number", "rate", r"how (?:often|frequently)\b(?!-)"),
    (
        "number",
        "any",
        rf"{_WHICH % 2}(?:{_EXTREMES})(?: [\w'-]{{1,30}}){{0,3}}? (?:{_QUANTITIES}|{_DURATIONS}){_ENDS}",
    ),
    ("number", "any", rf"{_WHICH % 2}(?:number|amount|percentage) of\b(?! the\b)"),
    ("name", "any", rf"who (?:(?:has|have|is|are|was|were) )?(?:(?:first|originally|now|also) )?(?:{_MADE})\b"),
    ("name", "any", rf"who(?:'s| is| are| was| were) (?:the )?(?:\w{{1,30}} )?(?:{_MAKER}) of\b"),
    ("name", "any", rf"(?:which|what) (?:{_MAKERS}) (?:(?:has|have) )?(?:{_MADE})\b"),
    ("variable", "any", rf"(?:which|what) environment variables?{_ACTS}"),
    ("flag", "any", rf"(?:which|what) (?:[\w-]{{1,20}} )?(?:flag|switch|option)s?(?: of [\w -]{{1,30}}?)?{_ACTS}"),
    ("path", "any", rf"(?:which|what) (?:[\w-]{{1,20}} )?(?:file|directory|folder){_NO_FILE}{_ACTS}"),
    ("path", "any", rf"in (?:which|what) (?:file|directory|folder){_NO_FILE} "),
)
_COMPILED_ASKING = tuple((kind, unit, re.compile(_OPENING + pattern)) for kind, unit, pattern in _ASKING)
_READ_CHARS = 300
_KIND_NOUN = re.compile(
    rf"versions?|ports?|tcp|udp|dates?|deadline|year|month|many|much|long|large|big|often|frequently|most|least|"
    rf"oldest|allowed|{_TIME}|{_STORED}|{_SHARE}|{_EXTREMES}",
    re.IGNORECASE,
)
# Words that name the value only in questions for one of its kind.
_NOUNS_OF_KINDS: Mapping[ValueKind, re.Pattern[str]] = MappingProxyType(
    {
        "name": re.compile(rf"{_MADE}|{_MAKERS}|{_MAKER}", re.IGNORECASE),
        "flag": re.compile(r"options?|switch|flags?", re.IGNORECASE),
        "variable": re.compile(r"environment|variables?", re.IGNORECASE),
        "path": re.compile(r"files?|director(?:y|ies)|folders?", re.IGNORECASE),
    }
)

# --- texts ----------------------------------------------------------------------------------------------------
_SPELLED = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundreds?|thousands?|[mb]illions?|dozens?|(?<!non-)zero|"
    r"(?<!no )(?<!the )(?<!this )(?<!that )(?<!which )one(?! (?:of|or|another|can|may|must|would|has|by)\b)"
)
_UNIT = (
    rf"(?P<time>{_TIME}|(?<=\d)[shd])|(?P<size>{_SIZE})|(?P<share>%|{_SHARE})|times|"
    r"(?<=\d)(?!(?:st|nd|rd|th)\b)[a-z]{1,5}"
)
# Numbers in digits and in words, each with the unit behind it.
_DIGITS = (
    r"(?:\d{1,3}(?:[,.'_\u00a0\u202f]\d{3}){1,5}|0x[0-9a-f]{1,16}|\d{1,15}|[¼-¾⅐-ↈ∞])"
    r"(?:\.\d{1,9})?(?:e[+-]?\d{1,3})?[²³¹⁰-⁹¼-¾⅐-⅞]{0,3}"
)
_NUMBERS = (
    rf"(?<![\w.])(?<![a-z]-)(?!(?<=\w\()\d[a-z]?\))(?P<digits>{_DIGITS})(?!\.?\d)"
    rf"(?:[ \u00a0-]?(?:{_UNIT})(?!\w))?(?![^\W_])",
    rf"\b(?:{_SPELLED}|an?)(?:[ -](?:{_UNIT})(?!\w))?(?![^\W_])",
)
_ENDLESS = (
    r"unlimited|unbounded|inf(?:init(?:e|ely|y))?|without(?: an?)? (?:\w{1,20} )?(?:limit|bound|maximum)|"
    r"any (?:number|size|length)|arbitrar(?:y number|ily)|as (?:many|much|large|big|long|deep|often|little)|"
    r"no(?! one)|not|never|none|null|nil|empty|unset|undefined|same|inherit\w{0,3}|all|whole|(?<!at )most|"
    r"(?-i:[A-Z]{1,20}(?:_[A-Z]{1,20}){1,4})"  # the name of a constant
)
_LASTING = (
    rf"{_ENDLESS}|indefinitely|for ?ever|permanently|eternally|until|till|half|overnight|off|disabled|"
    r"p(?:t?\d{1,9}[ymwdhs]){1,6}|(?:\d{1,9}[ymwdhs]){2,6}|immediate(?:ly)?|instant\w{0,9}|moments?|while|during|"
    r"through(?:out)?|dawn|around the clock|life(?:time)?|session|duration|an? (?:decade|century|quarter)|"
    r"(?:for|takes?|took|lasts?|few|several|many) (?:second|minute|hour|day|week|month|year|decade)s|up to the"
)
_PARTS = (
    rf"{_ENDLESS}|half|halves|(?:an?|one|two|three) (?:third|quarter|fifth|\w{{2,8}}th)s?|twice|double|"
    r"(?:tri|quadru)pl\w{1,7}|single|a (?:couple|pair|handful|few|score|number)|several|both|only(?! one)|"
    r"(?:per|every|each) \w{1,20}|minority|majority|remainder|evenly|"
    r"(?<=-)[a-z]{1,3}\d{1,9}[kmgt]?|(?-i:[IVX]{2,6})"
)
_RATES = (
    rf"{_LASTING}|once(?= (?:an?|per|every|each|in)\b|[.,;:)]|\s{{0,3}}\Z)|(?<=only )once|twice|thrice|"
    r"\w{0,5}(?:hourly|daily|nightly|weekly|monthly|quarterly|yearly|annual(?:ly)?)|always|continu\w{3,7}|"
    r"periodic(?:ally)?|constantly|regular(?:ly)?|rarely|seldom|frequently|manually|real.time|fortnightly|random|"
    r"when(?:ever)?|after|upon|(?:per|every|each) \w{1,20}|on (?:demand|request|\w{3,6}days?)|"
    r"at (?:start\w{0,4}|boot|midnight|noon)"
)
# By the unit that is asked in: the units that answer, and the words that do. A number without a unit always may.
_ANSWERING: Mapping[Unit, tuple[frozenset[str], str]] = MappingProxyType(
    {
        "any": (frozenset(("time", "size", "share")), f"{_PARTS}|{_RATES}"),
        "time": (frozenset(("time",)), _LASTING),
        "size": (frozenset(("size", "share")), _PARTS),
        "share": (frozenset(("share",)), _PARTS),
        "count": (frozenset[str](), _PARTS),
        "span": (frozenset(("time", "size")), _LASTING),
        "rate": (frozenset(("time",)), _RATES),
    }
)
_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?"
)
_YEAR = r"(?:1[5-9]|20)\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NOT_COUNTED = rf"(?![ \u00a0-]?(?:{_TIME}|{_SIZE}|{_SHARE}|%|times|rows|lines|characters)(?!\w))"
_DATE = "|".join(
    (
        rf"(?<!\d){_YEAR}[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}})?(?!\d)",
        r"(?<![\d.])\d{1,2}[-/.]\d{1,2}[-/.](?:\d\d)?\d\d(?![\d.])",
        rf"\b(?:{_MONTHS})\b\.?,? (?:{_DAY}(?:,? {_YEAR})?\b|'?\d\d\b|{_YEAR})",
        rf"\b{_DAY}(?: of)?[ -](?:{_MONTHS})\b(?:,?[ -]{_YEAR})?",
        rf"\b(?:q[1-4]|h[12]|spring|summer|autumn|fall|winter|early|mid|late)[ /-](?:of )?{_YEAR}\b",
        rf"(?<![\w.,/#])(?<!\w[-:]){_YEAR}(?:'?s)?(?![\w%]|[.,:/]\d|-\d{{5}}){_NOT_COUNTED}",
        rf"\b(?:in|since|by|until|of|this|last|early|late|mid) (?:{_MONTHS})\b|'\d0s\b|"
        r"\b(?-i:January|February|April|June|July|August|September|October|November|December)\b",
        r"\b\w{3,12} century\b|\b(?:today|yesterday|tomorrow|recently|noon|midnight|never expires)\b|'\d\d\b",
        r"\b\w{1,12} ago\b|\b(?:last|next|this|in) (?:week|month|year|spring|summer|autumn|winter)\b",
        r"\b(?-i:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Jan|Feb|Apr|Aug|Sept?|Oct|Nov|Dec|Christmas|Easter)\b",
        r"\b(?:\w{3,8}th|last) (?:day|month|quarter)\b|\bthe \d{1,2}(?:st|nd|rd|th)\b(?! century)",
        r"\bfy ?'?\d\d|(?<![\d/])\d{1,2}/\d{4}(?![\d/])|\b(?:on|by|until) \d{1,2}/\d{1,2}\b",
        rf"\b(?:in|since|until) 1[0-4]\d\d(?!\w|[.,]\d){_NOT_COUNTED}|\b\d{{1,4}} (?:bce?|ce|ad)\b|\bad \d|"
        r"\bat \d{1,2}(?::\d\d| ?[ap]\.?m)\b|\b(?:since|from) (?:the (?:beginning|start|outset)|day one)\b",
        rf"\b(?:{_TIME}) (?:after|before|later)\b|\bin (?:\d{{1,3}}|an?|{_SPELLED}) (?:day|week|month|year)s?\b",
        # "When was it removed?" "In version 2."
        rf"\b(?:in|since|until|before|after|from|with) v?\d{{1,4}}(?:\.\d{{1,4}}){{1,3}}(?!\w){_NOT_COUNTED}",
        r"\b(?:version\w{0,12}|releases?|python)(?:::)? v?\d{1,9}|\(v?\d{1,4}\.\d|(?:\A|\n)#{1,6} \[?v?\d",
        rf"\b(?:in|since) v?\d{{1,3}}(?=[.,:;)]?(?:\s|\Z)){_NOT_COUNTED}",
    )
)
_NAMED = r"chapter|section|table|figure|step|page|rfc|utf|sha|iso|bug|issue|cve|pep|port|part|note"
_PRODUCTS = r"kernel|linux|python|kubernetes|java|node|windows|jdk|php|c\+\+"
_CODE_NAMES = r"bullseye|bookworm|trixie|focal|jammy|noble|vista|big sur|ventura|sonoma"
_VERSION = "|".join(
    (
        rf"(?<![\d.])v?\d{{1,5}}(?:\.(?:\d{{1,9}}|x\b|\*)){{1,4}}(?:[a-z+]\w{{0,12}})?(?!\w){_NOT_COUNTED}",
        r"(?<!\w)[vr]\d{1,4}(?:(?:alpha|beta|rc)\d{0,3})?(?!\w)|\b20\d\d[a-z]\b|\b2\dh[12]\b|[a-z]:\d{1,4}-[a-z]",
        rf"\b(?:\w{{0,20}}versions?|releases?|revision|level|edition|{_PRODUCTS})[ =:\"'`-]{{0,3}}v?\d{{1,9}}",
        rf"\b(?:py\d{{1,3}}|commit [\da-f]{{5,40}}|latest|lts|nightly|(?-i:HEAD)|{_CODE_NAMES})\b|@sha\d",
        rf"\b(?:in|since|than) v?\d{{1,3}}(?=[.,:;)]?(?:\s|\Z)){_NOT_COUNTED}",
        rf"\b(?!(?:{_NAMED}|{_MONTHS})\b)(?-i:[A-Z][A-Za-z+]{{1,20}})[ /-]v?\d{{1,4}}(?!\w|\.\d)",
        rf"\bversions? (?:{_SPELLED}|(?-i:[IVX]{{1,4}}|[A-D]))\b",
        r"\b(?:any|all|no|latest|newest|oldest|same|first|second|third|fourth|fifth|recent|current|previous|next|last|"
        r"stable|beta) (?:\w{1,20} )?versions?\b",
    )
)
_PORT = (
    rf"(?<![\w.,#])\d{{2,5}}(?![\w%]|[.,]\d){_NOT_COUNTED}|"
    rf"(?:(?<=[\w.*\]]:)|(?<=port )|(?<=ports ))(?:0x[\da-f]{{1,4}}|\d{{1,5}})(?!\w)|\bports? (?:{_SPELLED})\b|"
    r"\b(?:any|all|no|same|random|ephemeral|arbitrary|free|unused|standard|dynamic|well-known|usual|privileged|"
    r"available|https?|ssh|smtp|imap|dns) (?:\w{1,20} )?ports?\b|\bunix (?:domain )?socket|\.sock\b|"
    r"ports?\W{1,3}(?:https?|ssh|smtp|imap|dns|[a-z/]{1,12}\d[\w/]{0,9}|(?<=port )[$<{])"
)
_PERSON = r"(?-i:[A-Z][\w.'’-]{0,30})"
_NAME = "|".join(
    (
        r"<[\w.+-]{1,64}(?:@|\(at\)| at )[\w.-]{1,64}>|(?:module|section)author",
        rf"\b(?:{_MADE}|{_MAKER}|thanks|credits?|©|copyright|by)\b[^.]{{0,40}}?(?<![.!?] )(?<!\w){_PERSON}",
        rf"{_PERSON}(?: {_PERSON}){{1,3}}[^.\n]{{0,30}}\b(?:{_MADE}|{_MAKER})\b",
    )
)
_VARIABLE = r"(?-i:(?<![\w-])[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){0,6}(?![\w-]))|\$\{?[a-z_]\w{0,40}"
_QUOTED = r"`[^`\n]{1,80}`|['\"][\w.-]{1,40}['\"]|\*\w{1,40}\*"
_IDENTIFIER = r"\b\w{1,30}_\w{1,40}|(?-i:\b[a-z]{1,20}[A-Z]\w{0,40})|\b\w{1,40} ?="
_FLAG = rf"(?<![\w-])--?[a-z][\w-]{{0,40}}|{_QUOTED}|{_IDENTIFIER}|\b[\w-]{{2,40}} (?:flag|option|switch)\b"
_PATH = rf"[~$\w.{{}}*/-]{{0,60}}/[\w.~*{{}}$-]{{0,60}}[\w*}}]|\b[\w-]{{1,60}}\.[a-z]\w{{0,7}}(?!\w)|{_QUOTED}"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_VALUES: Mapping[ValueKind, re.Pattern[str]] = MappingProxyType(
    {
        "date": _compile(_DATE),
        "version": _compile(_VERSION),
        "port": _compile(_PORT),
        "name": _compile(_NAME),
        "variable": _compile(_VARIABLE),
        "flag": _compile(_FLAG),
        "path": _compile(_PATH),
    }
)
_COMPILED_NUMBERS = tuple(map(_compile, _NUMBERS))
_WORDS = {unit: _compile(rf"\b(?:{words})\b") for unit, (_, words) in _ANSWERING.items()}
# What names a number that counts nothing, unless a unit follows; a year; and the mark of a list's item.
_NAMES_A_NUMBER = _compile(rf"\b(?:{_NAMED}|{_PRODUCTS}|versions?|release|http|tls|ipv|posix)s?[ -]?$")
_BEFORE_A_YEAR = _compile(rf"(?:\b(?:in|since|by|until|from|of|©|copyright|{_MONTHS}),? |\()$")
_BEFORE_A_MARK = re.compile(r"(?:\A|\n\s{0,20}\n|[.:;!?|]\s{0,20}\n)[ \t>*-]{0,20}$")
_ABOUT_PORTS = _compile(
    r"(?<!sup)(?<!re)(?<!im)(?<!ex)ports?\b|listen|expose|bind|\b(?:tcp|udp)\b|://|"
    r"[\w\]]:\d|socket|firewall|(?<![\w-])-p\b|[\"'], ?\d{2,5}\)"
)
_BEFORE_CHARS = 40
_TOKEN = re.compile(r"[\w.]{1,40}")


def find_asked_value(question: str) -> AskedValue | None:
    """The value that a question asks for; None in any doubt.

    >>> find_asked_value("How many retries are there?"), find_asked_value("Why are there ports?")
    (AskedValue(kind='number', unit='count'), None)
    """
    text = " ".join(question[:_READ_CHARS].split()).casefold().replace("’", "'").strip("\"'“”«» ")
    return next((AskedValue(kind, unit) for kind, unit, pattern in _COMPILED_ASKING if pattern.search(text)), None)


def names_value(word: str, kind: ValueKind) -> bool:
    """Whether a word of a question names what is asked for ("port", "seconds", "wrote"), and no subject."""
    nouns = _KIND_NOUN, _NOUNS_OF_KINDS.get(kind)
    return any(noun is not None and noun.fullmatch(word) for noun in nouns)


def find_values(text: str, asked: AskedValue, question: str = "", above: str = "") -> Iterator[tuple[int, int]]:
    """The places of the values of a kind in a text, without those that the question has itself.

    ``above``: the headings over the text, which may say that its numbers are ports.

    >>> text = "Version 3 waits 30 seconds."
    >>> [text[start:end] for start, end in find_values(text, AskedValue("number"))]
    ['30 seconds']
    """
    if asked.kind == "port" and not (_ABOUT_PORTS.search(text) or _ABOUT_PORTS.search(above)):
        return
    known = {token.strip(".") for token in _TOKEN.findall(question.casefold())}
    for match in _find_numbers(text, asked.unit) if asked.kind == "number" else _VALUES[asked.kind].finditer(text):
        if match[0].casefold() not in known:
            yield match.span()


def _find_numbers(text: str, unit: Unit) -> Iterator[re.Match[str]]:
    """Numbers of a fitting unit or none, and words that stand for one."""
    yield from _WORDS[unit].finditer(text)
    fitting, _ = _ANSWERING[unit]
    for pattern in _COMPILED_NUMBERS:
        for match in pattern.finditer(text):
            found = {name for name in ("time", "size", "share") if match[name]}
            if found <= fitting and (found or _is_number(text, match)):
                yield match


def _is_number(text: str, match: re.Match[str]) -> bool:
    """Whether a number without a unit counts something: it is no name, no year, no mark of a list."""
    digits, before = match.groupdict().get("digits"), text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    if digits is None:
        return match[0].casefold() not in ("a", "an")
    is_mark = text[match.end() : match.end() + 2] in (". ", ") ", ".\n", ")\n") and _BEFORE_A_MARK.search(before)
    is_year = re.fullmatch(_YEAR, digits) and _BEFORE_A_YEAR.search(before)
    return not (is_mark or is_year or _NAMES_A_NUMBER.search(before))
