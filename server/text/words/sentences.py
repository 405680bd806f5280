"""Finds the ends of sentences in texts of unknown language.

``. ? ! …`` end a sentence before white space; the full stops of scripts without spaces need none. Closing
quotation marks, brackets, emphasis and footnotes after a mark belong to its sentence. A full stop is ambiguous:
the word before it decides, by the tables below. By default it ends a sentence whatever follows, because
documentation begins sentences with ``kubelet`` and ``x509``.

Each pattern examines each character a bounded number of times, so the time is linear for any input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from winnow.server.text.markup.possessive import compile_possessive

_CLOSING = r"""["'”’»›)\]}*_`~」』】》）〉］\u200e\u200f\u061c\u202c\u2069]|[ \u00a0\u202f]»|\[\d{1,3}\]"""
_BEFORE_SPACE = ".?!…‼‽⁇⁈⁉"
# Sentence_Terminal of Unicode where no white space has to follow: CJK, Arabic and Urdu, Indic, Armenian, Ethiopic,
# Burmese, Khmer, Tibetan, Syriac, N'Ko, Mongolian. The full-width dot is also a decimal point.
_ANYWHERE = (
    "。｡！？\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u1368\u104b\u17d4\u17d5\u0f0d\u0f0e\u0700-\u0702"
    "\u07f9\u1803\u1809"
)
_MARK = compile_possessive(
    rf"(?<![{_BEFORE_SPACE}])(?P<marks>[{_BEFORE_SPACE}]++)(?P<closed>(?:{_CLOSING})*+)(?=\s|\Z)"
    rf"|(?P<wide>[{_ANYWHERE}]++|．(?!\d))(?P<quoted>(?:{_CLOSING})*+)"
)
# The characters that are examined before and after a full stop: longer words are not abbreviations.
_REACH = 24
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“‘«„*_`—–/]++\Z")
# The next word; with its dot where it is an initial.
_NEXT = re.compile(r"\s*+[\"'“‘«„(\[{*_`¿¡]*+([^\W_]\.|[^\W_]*+)")
_LABEL = re.compile(r"(?:\A|\n)[ \t]*+\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5}|[IVX]{1,5})\Z")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_]){0,5}\Z")
_NUMBERED_WORD = compile_possessive(r"v\d+(?:\.\d+)*+\Z")
_HIRAGANA = re.compile(r"[\u3041-\u309f]")
_ELLIPSIS = re.compile(r"\.{2,}+\Z|…")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that never end a sentence: titles, and words that refer to the text that follows.
_BOUND = _words(
    "dr mr mrs ms mme mlle prof st ste mt sr sra srta dott sig dhr mevr e.g i.e cf vs viz ca approx resp incl "
    "excl esp aka a.k.a av avda c.f s.a z.b d.h u.a m.a.w d.w.z bzw vgl sog evtl ggf inkl zzgl bijv p.ej p.ex "
    "ej ex т.е напр ул им"
)
# Words that do not end a sentence if a number follows.
_NUMBERING = _words(
    "no nos nr num fig figs eq eqs sec sect ch chap vol p pp pg art para ver v rev ref op tab ed abb kap abs bd "
    "nº n° núm рис гл стр п ст"
)
# Words that end a sentence only if the next word is in ``_STARTERS`` and begins with a capital.
_OPEN = _words(
    "inc ltd co corp llc gmbh jr al a.m p.m ph.d b.sc m.sc rev gen sen rep gov capt col lt sgt hon hr fr dept "
    "est eds bros ave blvd rd ft jan feb mar apr jun jul aug sep sept oct nov dec min max avg std misc"
)
# Words that end a sentence unless the next word begins with a small letter.
_TRAILING = _words("etc usw ff etw ecc enz osv г гг пр др")
_STARTERS = _words(
    "a an the this that these those it its he his she her we our they their you your i there here what where "
    "when why how who which if in on at by for from to with as and but or so no not all some many most each "
    "every both after before since then thus however use see note do nobody nothing everything did does is are "
    "was were can could will would mr mrs dr ms der die das ein eine er sie es wir im am le la les un une il "
    "elle nous el los las una lo da в на он она это мы но и а"
)
# "3. Mai" is a date and "19. Jahrhundert" a century.
_AFTER_ORDINALS = _words(
    "januar jänner februar märz april mai juni juli august september oktober november dezember jahrhundert jh "
    "marts maj mars desember december"
)


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """The positions in ``text[start:end]`` behind each sentence end, closing marks included."""
    for match in _MARK.finditer(text, start, end):
        if _is_end(text, match, end):
            yield match.end()


def _is_end(text: str, match: re.Match[str], end: int) -> bool:
    if match["wide"]:  # after a closed quotation, a Japanese sentence may continue with a particle
        return not (match["quoted"] and _HIRAGANA.match(text, match.end(), end))
    next_match = _NEXT.match(text, match.end(), min(end, match.end() + _REACH))
    following = next_match[1] if next_match else ""
    if following[:1].islower() and (match["closed"] or _ELLIPSIS.match(match["marks"])):
        return False
    return match["marks"] != "." or _full_stop_ends(text, match.start(), following)


def _full_stop_ends(text: str, dot: int, following: str) -> bool:
    reach = max(0, dot - _REACH)
    before = _WORD_BEFORE.search(text, reach, dot)
    if before is None:  # leader dots before a page number, or a text with a blank before each full stop
        return not text[reach:dot][-1:].isspace() or _is_starter(following)
    if _LABEL.search(text, reach, dot):
        return False
    return next((ends(following) for applies, ends in _DOUBTS if applies(before.group())), True)


def _is_lower(following: str) -> bool:
    return following[:1].islower()


def _is_starter(following: str) -> bool:
    return following[:1].isupper() and following.casefold() in _STARTERS


def _is_listed(words: frozenset[str]) -> Callable[[str], bool]:
    return lambda before: before.casefold() in words


# A test of the word before a full stop -> whether the sentence ends, given the word after it. The first row that
# applies decides.
_DOUBTS: tuple[tuple[Callable[[str], bool], Callable[[str], bool]], ...] = (
    (_is_listed(_BOUND), lambda following: False),
    (lambda before: bool(_INITIALS.match(before)) and not before[-1].islower(), _is_starter),
    (_is_listed(_TRAILING), lambda following: not _is_lower(following)),
    (_is_listed(_NUMBERING), lambda following: not following[:1].isdigit()),
    (_is_listed(_OPEN), _is_starter),
    (lambda before: bool(_INITIALS.match(before)), _is_starter),
    (lambda before: bool(_NUMBERED_WORD.match(before)), lambda following: not following[:1].isdigit()),
    (
        lambda before: before.isdecimal() and len(before) <= 2,
        lambda following: not (_is_lower(following) or following.casefold() in _AFTER_ORDINALS),
    ),
)
