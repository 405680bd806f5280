r"""Patterns of ``kb.scan``: regular expressions that run in linear time, with Python's meaning of their classes.

The engine is RE2, which has neither look-around nor backreferences: a pattern cannot take exponential time. It
works on UTF-8 bytes. ``\d``, ``\w`` and ``\s`` are rewritten to the classes of Python's ``re`` for text (RE2's own
are ASCII). ``\b`` stays RE2's, to which only ASCII letters, digits and "_" are parts of words: in text of other
letters the option ``word`` is exact.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import re2  # type: ignore[import-untyped]

from winnow.server.errors import WinnowError
from winnow.server.models import NeededTexts
from winnow.server.operations.corpus.needed_texts import needed_of_pattern, needed_of_phrase, needed_of_text
from winnow.server.text.forms.ideographs import IDEOGRAPHIC
from winnow.server.text.forms.splicing import compose
from winnow.server.text.printable import one_line

# Compiled, a pattern may take so much memory, the states of its automaton included.
_MEMORY = 16 * 1024 * 1024
# A search within one text cannot be stopped. It is linear, but a pattern whose states exceed the memory costs as
# many steps for each byte as it is large: 38 s for "(?:\w+ ){0,600}zz" in 330 KB. So a large pattern is tried on
# the beginning of a long text first, and refused if all of it would take longer than a few seconds.
_LARGE_PROGRAM, _LONG_BYTES, _TRIED_BYTES, _MOST_SECONDS = 1_500, 64 * 1024, 16 * 1024, 5.0
MAX_GROUPS = 20
_ERROR_CHARS = 200

_SPACE = r"\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_NOT_SPACE = (
    r"\x00-\x08\x0e-\x1b\x21-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}"
    r"\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}"
)
_WORD = r"\pL\pN_"
# Python's classes in RE2's syntax, outside and inside of brackets.
_OUTSIDE = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "w": f"[{_WORD}]",
    "W": f"[^{_WORD}]",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "Z": r"\z",
}
_INSIDE = {"d": r"\p{Nd}", "D": r"\P{Nd}", "w": _WORD, "s": _SPACE, "S": _NOT_SPACE, "b": r"\x08"}
_LINEAR = "patterns run in linear time, so there is no"
_LOOK_AROUND = (
    f"{_LINEAR} look-around; match the text around too and put what you want into a group, as in 'port: (\\d+)', "
    "or give word=true for whole words"
)
_BACKREFERENCE = f"{_LINEAR} backreference; match both parts as groups and compare them in a script"
_SETS = (
    "RE2 has no operators of classes, so there is no {sign} within brackets; write the characters out, or match "
    "both as groups and compare them in a script"
)
_OUTSIDE_BRACKETS = "{name} is a class within brackets: write [{name}]"
_EMPTY = (
    "pattern: it matches the empty string, which is found between all characters; let it match at least one "
    "character, with + instead of *, say, or (?m)^.+ for lines"
)
# Patterns that ask for marks, ligatures or soft hyphens of their own.
_OWN_FORM = re.compile(r"[\ufb00-\ufb06\u00ad]|\\p\{?\^?M|\\[xu]\{?0*(?:3[0-6]|fb0|ad)", re.IGNORECASE)
_SLOW = (
    "it would take about {seconds:.0f} s for a text of {kilobytes:,} KB; scan for its parts one after the other, "
    "repeat less (.{{0,50}} for .{{0,900}}), narrow path, or take it as plain text with literal=true"
)
# A phrase in Chinese or Japanese, which a text may have with a blank at each end of a line.
_UNSPACED_PHRASE = re.compile(f"[{IDEOGRAPHIC}]{{12}}")
_PHRASE_WORD = re.compile(r"(?<!\S)[^\w\s]*[^\W\d_]{2,}")
_TOKEN = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)                  # characters that stand for themselves
    |\\(?P<code>u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[1-7][0-7]{1,2}|.)  # an escape
    |(?P<posix>\[:\^?[a-z]+:\])                       # a class of POSIX, within brackets
    |(?P<sets>(?:&&|--|~~|\|\|)(?=\[)|&&)             # operators of classes in other languages
    |(?P<around>\(\?<?[=!])                            # look-ahead and look-behind
    |(?P<back>\(\?P=)
    |(?P<least>\{,(?=[0-9]+\}))                        # {,3} is {0,3}
    |(?P<open>\[\^?\]?)                                # a bracket that follows directly is a literal one
    |(?P<close>\])
    |(?P<anchor>[$^])
    |.""",
    re.VERBOSE | re.DOTALL,
)


class Match(Protocol):
    """A match of RE2."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """The place of the match or of a group, in bytes; (-1, -1) for a group without part in the match."""


class TextMatch(NamedTuple):
    """A match of plain text, which has no groups: its place in bytes."""

    start: int
    end: int

    def span(self, group: int = 0) -> tuple[int, int]:
        """The place of the match."""
        return (self.start, self.end) if group == 0 else (-1, -1)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern. ``groups`` is the number of its groups, ``names`` the numbers of those with a name.

    ``find`` iterates over the matches in a text, none of them empty; None is a pause for a look at the time.
    ``has_anchors``: whether it has "^" or "$" at ends of the text, not of lines. ``needed``: what a text must hold
    to have a match, as far as that is certain. ``is_composed``: whether texts are taken in one form of Unicode.
    ``phrase``: plain text of several words, which is also looked for as a reader of the text sees it, and
    ``is_cased`` whether case matters in it.
    """

    find: Callable[[bytes], Iterator[Match | None]]
    groups: int
    names: dict[str, int]
    has_anchors: bool
    needed: NeededTexts = ()
    is_composed: bool = True
    phrase: str = ""
    is_cased: bool = True


def compile_pattern(pattern: str, *, literal: bool = False, word: bool = False, case: bool = True) -> Pattern:
    """Compile a pattern.

    ``literal``: its characters stand for themselves. ``word``: a match that touches a letter, digit or "_" on
    either side does not count. ``case``: whether case matters.

    Raises:
        WinnowError: INVALID_REQUEST for a pattern that RE2 does not take, with an alternative.
    """
    is_composed = not _OWN_FORM.search(pattern)
    composed = compose(pattern).text if is_composed else pattern
    source, has_anchors = (re2.escape(composed), False) if literal else _translate(composed)
    compiled = _compile(source, case=case)
    if compiled.groups > MAX_GROUPS:
        raise _refusal(f"it has {compiled.groups} groups, at most {MAX_GROUPS} are possible; use (?:...)")
    if compiled.fullmatch(b""):
        raise WinnowError("INVALID_REQUEST", _EMPTY)
    names = {name.decode(): number for name, number in compiled.groupindex.items()}
    find: Callable[[bytes], Iterator[Match | None]] = partial(_find_words if word else _find, compiled)
    if literal and not word:
        find = partial(_find_literal, composed.encode(), case)
    if literal and (len(_PHRASE_WORD.findall(pattern)) > 1 or _UNSPACED_PHRASE.search(pattern)):
        return Pattern(find, 0, names, has_anchors, needed_of_phrase(pattern), is_composed, pattern, case)
    needed = needed_of_text(composed, case=case) if literal else needed_of_pattern(source, case=case)
    return Pattern(find, compiled.groups, names, has_anchors, needed, is_composed)


def _compile(source: str, *, case: bool) -> Any:
    options = re2.Options()
    options.max_mem, options.log_errors, options.case_sensitive = _MEMORY, False, case
    try:
        return re2.compile(source.encode(), options)
    except UnicodeEncodeError:
        raise _refusal("it has a half of a surrogate pair, which no text has") from None
    except re2.error as error:
        raise _refusal(_explain(error)) from None
    finally:
        re2.purge()  # the library keeps 128 patterns, each with its memory


def _explain(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    text = one_line(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason), _ERROR_CHARS)
    if "too large" in text:
        return f"{text}; split it, or scan for its parts one after the other"
    return f"{text}; RE2 syntax, as Python's without look-around and backreferences; literal=true takes it as text"


def _refusal(why: str) -> WinnowError:
    return WinnowError("INVALID_REQUEST", f"pattern: {why}")


def _check_speed(compiled: Any, data: bytes) -> None:
    """Raise INVALID_REQUEST for a pattern that would take too long for this text."""
    if len(data) < _LONG_BYTES or compiled.programsize < _LARGE_PROGRAM:
        return
    started = time.thread_time()
    for _ in compiled.finditer(data[:_TRIED_BYTES]):
        pass
    seconds = (time.thread_time() - started) * len(data) / _TRIED_BYTES
    if seconds > _MOST_SECONDS:
        raise _refusal(_SLOW.format(seconds=seconds, kilobytes=len(data) // 1_000))


def _find(compiled: Any, data: bytes) -> Iterator[Match | None]:
    _check_speed(compiled, data)
    for match in compiled.finditer(data):
        start, end = match.span()
        if start == end:
            raise WinnowError("INVALID_REQUEST", _EMPTY)
        yield match


def _find_literal(literal: bytes, is_cased: bool, data: bytes) -> Iterator[Match | None]:
    """Matches of plain text: RE2 takes very long for a long text that repeats itself."""
    if not is_cased:
        if not (data.isascii() and literal.isascii()):
            yield from _find_in_any_case(literal.decode(), data.decode())
            return
        literal, data = literal.lower(), data.lower()
    at = data.find(literal)
    while at >= 0:
        yield TextMatch(at, at + len(literal))
        at = data.find(literal, at + len(literal))


class _Folds(dict[int, str]):
    """Each character in the one case that stands for all of its cases; always one character, as in RE2."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = (each for each in (character.casefold(), character.lower()) if len(each) == 1)
        return self.setdefault(code, next(folded, character))


_FOLDS = _Folds()


def _find_in_any_case(literal: str, text: str) -> Iterator[TextMatch]:
    """Matches of plain text in any case, by their bytes in UTF-8."""
    folded, wanted = text.translate(_FOLDS), literal.translate(_FOLDS)
    done = done_bytes = 0
    at = folded.find(wanted)
    while at >= 0:
        start = done_bytes + len(text[done:at].encode())
        done = at + len(wanted)
        done_bytes = start + len(text[at:done].encode())
        yield TextMatch(start, done_bytes)
        at = folded.find(wanted, done)


def _find_words(compiled: Any, data: bytes) -> Iterator[Match | None]:
    """Matches that are whole words. After one that is not, the search continues at the next character."""
    _check_speed(compiled, data)
    at = 0
    while (match := compiled.search(data, at)) is not None:
        start, end = match.span()
        if start == end:
            raise WinnowError("INVALID_REQUEST", _EMPTY)
        is_word = _is_word_at(data, start, end)
        yield match if is_word else None
        at = end if is_word else _next_character(data, start)


def _is_word_at(data: bytes, start: int, end: int) -> bool:
    before = data[max(0, start - 4) : start].decode("utf-8", "ignore")
    after = data[end : end + 4].decode("utf-8", "ignore")
    return not (before and _is_word(before[-1])) and not (after and _is_word(after[0]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _next_character(data: bytes, at: int) -> int:
    at += 1
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at


def _translate(pattern: str) -> tuple[str, bool]:
    """The pattern in RE2's syntax, and whether it has an anchor that is not at lines."""
    parts: list[str] = []
    is_inside = has_anchors = False
    for token in _TOKEN.finditer(pattern):
        if token["quoted"] is not None:
            # Within brackets RE2 has no such quoting, and says so.
            parts.append(token[0] if is_inside else re2.escape(token["quoted"]))
            continue
        if token["code"]:
            parts.append(_translate_escape(token["code"], is_inside=is_inside))
            continue
        if not is_inside and (token["around"] or token["back"]):
            raise _refusal(_LOOK_AROUND if token["around"] else _BACKREFERENCE)
        if token["sets"] and is_inside:
            raise _refusal(_SETS.format(sign=token["sets"]))
        if token["posix"]:
            if not is_inside:  # a class of its letters, for RE2
                raise _refusal(_OUTSIDE_BRACKETS.format(name=token[0]))
            parts.append(token[0])
            continue
        if token["open"] and is_inside:  # a bracket in brackets is a literal one
            parts.append(token[0].replace("[", r"\[", 1))
            is_inside = not token[0].endswith("]")
            continue
        is_inside = (is_inside or bool(token["open"])) and not token["close"]
        has_anchors = has_anchors or (not is_inside and bool(token["anchor"]))
        parts.append("{0," if token["least"] and not is_inside else token[0])
    source = "".join(parts)
    return source, has_anchors and not re.search(r"\(\?[a-zA-Z]*m", source)


def _translate_escape(code: str, *, is_inside: bool) -> str:
    if len(code) > 1:  # u or U and digits, or a number of base 8
        return f"\\{code}" if code.isdecimal() else f"\\x{{{code[1:]}}}"
    if code == "C":
        raise _refusal(r"\C would take a byte of a character; . takes a whole one")
    if not is_inside and code in "123456789":
        raise _refusal(_BACKREFERENCE)
    if is_inside and code == "W":
        return _not_word()
    return (_INSIDE if is_inside else _OUTSIDE).get(code, f"\\{code}")


@cache
def _not_word() -> str:
    r"""``\W`` within brackets, where RE2 has no name for what is neither letter, number nor "_"."""
    runs = re.finditer(r"\W+", "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000)))))
    return "".join(f"\\x{{{ord(run[0][0]):x}}}-\\x{{{ord(run[0][-1]):x}}}" for run in runs)
