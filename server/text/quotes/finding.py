"""Finds a quote in a text, word for word; otherwise finds the part of the text that is closest to it.

Word for word means: equal after folding (``folding``) to the text or to the text that a reader of its Markdown
sees (``sources``), and not a part of a word or of a number such as 1.5. A number before the first word may be the
mark of a footnote. A quote may leave out text and mark the omission with "…" or "[...]". Its parts must then stand
in the text in this order, and the match has the number of characters left out. Marks of omission, quotation marks,
and a full stop or comma around a quote are ignored.

If a phrase, or a quote without omissions, is not found in this way, a second search tolerates three differences. A
dash between letters may be a hyphen in the text, or the reverse. A slash between letters may end a line. A blank
next to a bracket or after a comma may be missing or added. The reason is that readers of PDF write a hyphen for a
dash and a blank for the end of a line, and do not see narrow blanks.

The closest part is found by words, without regard to case: first the window of the text with the most words of the
quote, then the words in common within that window. It is evidence for a person or a model, never a verdict that
the quote is right.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import islice, pairwise

from winnow.server.text.quotes.dividing import find_all
from winnow.server.text.quotes.folding import fold
from winnow.server.text.quotes.sources import (
    UNSPACED,
    FoldedPart,
    SourceText,
    Word,
    best_window,
    fold_marked,
    hidden_words,
    lower,
    split_words,
)

# The largest distance between two parts of a quote that leaves out text.
MOST_OMITTED_CHARS = 2_000
# The closest text is an altered form of the quote if at least this share of the words of both is the same.
LEAST_LIKENESS = 0.6
# Words of a quote that are compared with a text; a longer quote is compared by its beginning.
_MOST_WORDS = 300
_MOST_DIFFERENCES = 5
_LONG_WORD = 4
# A quote that has more parts, or whose first part stands in more places, is not searched further.
_MOST_PARTS, _MOST_STARTS = 20, 2_000
# Places of a phrase in one part of a text.
MOST_PLACES = 100_000
# The largest number of digits of a footnote mark.
_NOTE_DIGITS = 3
# The closest text is looked for in a window that is so much longer than the quote, on each side.
_MARGIN, _LEAST_MARGIN = 4, 2

_OMISSION = re.compile(r"\s*(?:\[\s*\.{3,}\s*\]|\(\s*\.{3,}\s*\)|\.{3,})\s*")
# Joints of a folded quote: a dash or a slash between letters, or a possible blank next to a bracket or after a
# comma. Signs other than the dash belong to the text before or after the joint.
_JOINT = re.compile(
    r"(?<=[^\W\d_])-(?=[^\W\d_])|(?<=[^\W_]/) ?(?=[^\W\d_])|(?<=[,;)\]]) ?(?=[^\W\d_])|(?<=[^\s\d(]) ?(?=\()"
)
_PAIRED = re.compile(r"[*_`~]")
# The end of a phrase that was cut within ". . .".
_CUT_ELLIPSIS = re.compile(r"\s+\.\s*\Z")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011]\s*(?=[^\W\d_])")
_DASH = "\u2014"
# Signs that are removed before and after a quote, but not the point of .5, which belongs to the number.
_BEFORE, _AFTER = re.compile(r"(?:[ \"',;:]|\.(?!\d))+"), " \"'.,;:"
# Signs of Markdown that may divide a word in the text as it is.
_SIGNS = "*_`~"
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>=]{0,400}=[^<>]{0,400}+)?/?>")
_SIGNS_AFTER = re.compile(rf"(?:[{_SIGNS}]|{_TAG.pattern})+")
_LONGEST_SIGNS, _MOST_SIGNS = 500, 32
# Signs directly before or after digits that belong to the number, because they change its value.
_DIVIDERS = ".,':/^\u2019\u00b7\u2219\u22c5\u066b\u066c\u2044\u2215\uff0c\uff0e"
_MINUS = r"\-\u2010-\u2013\u207b\u2212\u2796\ufe63\uff0d"
_COMPARISON = "<>~\u223c\u2241-\u2249\u2260-\u228b\u22d6-\u22e9\u2a7d-\u2aa0"
_BLANK = r"[ \u00a0\u2004-\u200a\u202f\u205f\u3000]"
_NUMBER_BEFORE = re.compile(
    rf"\d[{_DIVIDERS}]\Z|[{_MINUS}+/\u2044\u2215^]\Z|\d{_BLANK}[{_MINUS}]{_BLANK}\Z|[\u00b1\u2213\u221a-\u221c]\s?\Z"
    r"|\d\{,\}\Z"  # TeX
    rf"|(?<!~)[{_COMPARISON}]\s?\Z"
)
_NUMBER_AFTER = re.compile(
    rf"[{_DIVIDERS}]\d|[{_MINUS}](?:\n\s?)?\d|[\^\u2070\u00b9\u00b2\u00b3\u2074-\u207b]|\{{,\}}\d"
    r"|\s?(?:\\?%|[\u066a\u2030\u2031\u00b0\u2103\u2109\ufe6a\uff05])|\s?(?:\u00b1|\\(?:pm|times|cdot)\b)\s?\d"
    rf"|{_BLANK}[{_MINUS}]{_BLANK}\d|\s?[\u00d7\u00b7\u22c5*x]\s?10(?:\^|\*\*|[\u2070\u00b9\u00b2\u00b3\u2074-\u207b])"
    rf"|{_BLANK}(?:[\u00bc-\u00be\u2150-\u215e]|\d{{1,2}}[/\u2044\u2215]\d)"
)
# A number whose digits are in groups of three: what stands before a group, and a group that follows.
_GROUPS_BEFORE = re.compile(rf"(?<![\w.,])\d{{1,3}}(?:{_BLANK}\d{{3}})*{_BLANK}\Z")
_GROUP, _GROUP_AFTER = re.compile(r"\d{3}(?!\d)"), re.compile(rf"{_BLANK}\d{{3}}(?!\d)")
_FIRST_GROUP = re.compile(rf"(?<![\w.,])\d{{1,3}}(?:{_BLANK}\d{{3}})*\Z")
# A fraction, and the whole number of which it is the rest, as in 1 1/2.
_FRACTION = re.compile(r"[\u00bc-\u00be\u2150-\u215e]|\d{1,2}[/\u2044\u2215]\d")
_WHOLE_BEFORE = re.compile(rf"(?<![\w.,])\d{{1,3}}{_BLANK}\Z")
_NUMBER_CHARS = 40
# The largest number of marks and invisible characters between two letters of a word.
_MOST_MARKS = 16
_COMMENT = "<!--"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class QuoteMatch:
    """The place of a quote: characters ``start`` to ``end`` of a text, ``omitted`` of them between its parts."""

    start: int
    end: int
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Words of a quote, and those of the text in their place; "" for none."""

    quoted: str
    source: str


@dataclass(frozen=True, slots=True)
class ClosestText:
    """The part of a text that is closest to a quote: characters ``start`` to ``end``.

    ``likeness`` (0 to 1) is the share of the words of both that are the same and in the same order.
    ``differences`` are the first words that differ, also in case alone. ``has_long_word``: whether both have a
    word of four letters or more in common, because "in the ... of" is in any text.
    """

    start: int
    end: int
    likeness: float
    differences: tuple[Difference, ...]
    has_long_word: bool = True

    @property
    def is_altered_quote(self) -> bool:
        """Whether the quote is an altered form of this text, rather than a different text."""
        return self.likeness >= LEAST_LIKENESS and self.has_long_word


def has_words(quote: str) -> bool:
    """Whether a quote has anything to look for."""
    return bool(_parts(quote))


def find_quote(quote: str, source: SourceText, most: int = 20) -> list[QuoteMatch]:
    """The places where a quote stands in a text, in the order of the text, at most ``most``.

    >>> find_quote("kept … ninety days", SourceText("Backups are kept for ninety days."))
    [QuoteMatch(start=12, end=32, omitted=5)]
    """
    parts = _parts(quote)
    if not parts:
        return []
    spans = source.parts(quote, MOST_OMITTED_CHARS if len(parts) > 1 else 0)
    comments = () if _COMMENT in quote else source.comments
    as_is, as_seen = ([look(*span) for span in spans] for look in (source.as_is, source.as_seen))
    # The text may have the ellipsis itself, so the quote is first looked for as a whole.
    marked = _trim(fold_marked(quote))
    for asked in _distinct([_trim(fold(quote).text)], [marked], parts):
        looks = [_find_parts(asked, part, most, hidden=comments, numbers=True) for part in (*as_is, *as_seen)]
        found = _merge(_whole(looks, as_seen))
        if asked == [marked]:
            found = _with_hidden_words(found, quote, source.text)
        if found:
            return found[:most]
    joined = [list(islice(_find_joined(quote, part, hidden=comments), most)) for part in (*as_is, *as_seen)]
    if (found := _merge(_whole(joined, as_seen))) or not _PAIRED.search(quote):
        return found[:most]
    # Signs of the page itself may look like pairs of marks, next to real marks of the text.
    written, asked = [source.as_written(*span) for span in spans], _trim(fold_marked(quote, pairs=False))
    looks = [_find_parts([asked], part, most, hidden=comments, numbers=True) for part in written]
    return _with_hidden_words(_merge(_whole(looks, as_seen)), quote, source.text)[:most]


def find_phrase(phrase: str, source: SourceText, *, case: bool = True) -> list[QuoteMatch]:
    r"""The places where a phrase of several words stands in a text, in order; ``case``: whether case matters.

    >>> find_phrase("is kept for", SourceText("It *is kept*\nfor ninety days."))
    [QuoteMatch(start=4, end=16, omitted=0)]
    """
    cut = _CUT_ELLIPSIS.sub(" ...", phrase)
    asked = list(_distinct([fold(phrase).text.strip()], [fold_marked(phrase).strip()], [fold(cut).text.strip()]))
    spans = source.parts(phrase, case=case)
    found: list[list[QuoteMatch]] = []
    for part in (look(*span) for span in spans for look in (source.as_is, source.as_seen)):
        found += (_find_parts(each, part, MOST_PLACES, case=case) for each in asked)
    if any(found):
        return _merge(found)
    parts = (look(*span) for span in spans for look in (source.as_is, source.as_seen))
    joined = _merge(list(islice(_find_joined(phrase, part, case=case), MOST_PLACES)) for part in parts)
    if joined or not _PAIRED.search(phrase):
        return joined
    written = [source.as_written(*span) for span in spans]
    as_written = [fold_marked(phrase, pairs=False).strip()]
    return _merge(_find_parts(as_written, part, MOST_PLACES, case=case) for part in written)


def closest(quote: str, source: SourceText) -> ClosestText | None:
    """The part of a text that is closest to a quote; None if they have no word in common.

    >>> closest("kept for sixty days", SourceText("Backups are kept for ninety days.")).differences
    (Difference(quoted='sixty', source='ninety'),)
    """
    asked = split_words(" ".join(_parts(quote)))[:_MOST_WORDS]
    wanted = [word.folded for word in asked]
    part = source.closest_part(wanted, len(asked) // _MARGIN + _LEAST_MARGIN)
    if part is None or (first := best_window(wanted, part.words)) is None:
        return None
    margin = len(asked) // _MARGIN + _LEAST_MARGIN
    near = part.words[max(first - margin, 0) : first + len(asked) + margin]
    blocks = _common_blocks(wanted, [word.folded for word in near])
    # Words of the quote before the first and after the last common word have counterparts in the text, too.
    begin = max(blocks[0].b - blocks[0].a, 0)
    end = min(blocks[-1].b + len(asked) - blocks[-1].a, len(near))
    same = sum(block.size for block in blocks)
    start, stop = part.span(near[begin].start, near[end - 1].end)
    differences = tuple(_differences(asked, near[begin:end]))
    common = (word for block in blocks for word in wanted[block.a : block.a + block.size])
    has_long_word = any(len(word) >= _LONG_WORD or not word.isascii() or word.isdecimal() for word in common)
    return ClosestText(start, stop, 2 * same / (len(asked) + end - begin), differences, has_long_word)


def _distinct(*asked: Sequence[str]) -> Iterator[Sequence[str]]:
    return (each for number, each in enumerate(asked) if each not in asked[:number])


def _with_hidden_words(found: Sequence[QuoteMatch], quote: str, text: str) -> list[QuoteMatch]:
    """The places near which the text has the words that the marks of the quote itself hide, in the same marks."""
    hidden = hidden_words(quote)
    return [
        each
        for each in found
        if all(words in text[max(each.start - len(quote), 0) : each.end + len(quote)] for words in hidden)
    ]


def _is_hidden(part: FoldedPart, start: int, end: int, hidden: Sequence[tuple[int, int]]) -> bool:
    """Whether a place of a folded part begins or ends within what no reader sees: comments, in order."""
    if not hidden:
        return False
    first, last = part.span(start, end)
    before, at = bisect_right(hidden, (first,)) - 1, bisect_right(hidden, (last,)) - 1
    return (before >= 0 and first < hidden[before][1]) or (at >= 0 and last <= hidden[at][1])


def _whole(looks: Sequence[Sequence[QuoteMatch]], as_seen: Sequence[FoldedPart]) -> Iterator[Sequence[QuoteMatch]]:
    """The places found in the parts as written, then as displayed, without places that cut a word or a number.

    Only the displayed text shows that: as written, a mark may stand between the digits of a number (1**.5**,
    1&#46;5).
    """
    for number, found in enumerate(looks):
        if number < len(as_seen):
            yield [match for match in found if not _is_cut(match, as_seen[number])]
        else:
            yield found


def _is_cut(match: QuoteMatch, seen: FoldedPart) -> bool:
    """Whether a match begins or ends within a word or a number of the text as displayed."""
    text = seen.view.text
    start, end = seen.seen_at(match.start), seen.seen_at(match.end)
    if start is not None and (
        (_is_within_word(text, start) and not _follows_note(text, start))
        or _is_rest_of_number(text[start : start + _NUMBER_CHARS], text[max(start - _NUMBER_CHARS, 0) : start])
    ):
        return True
    return end is not None and (
        _is_within_word(text, end)
        or _is_cut_number(text[max(end - _NUMBER_CHARS, 0) : end], text[end : end + _NUMBER_CHARS])
    )


def _merge(found: Iterable[Sequence[QuoteMatch]]) -> list[QuoteMatch]:
    """The places of several searches in the order of the text, each once."""
    merged: list[QuoteMatch] = []
    for match in sorted((each for some in found for each in some), key=lambda each: (each.start, each.omitted)):
        if not merged or match.start >= merged[-1].end:
            merged.append(match)
    return merged


def _parts(quote: str) -> list[str]:
    """The parts of a quote between its marks of omission, folded; [] for a quote without words."""
    parts = (_trim(part) for part in _OMISSION.split(fold(quote).text))
    return [part for part in parts if _WORD.search(part)]


def _trim(text: str) -> str:
    """A folded quote without the signs around it."""
    first = _BEFORE.match(text)
    return text[first.end() if first else 0 :].rstrip(_AFTER)


def _find_parts(
    parts: Sequence[str],
    part: FoldedPart,
    most: int,
    *,
    case: bool = True,
    hidden: Sequence[tuple[int, int]] = (),
    numbers: bool = False,
) -> list[QuoteMatch]:
    """The places of these parts in sequence, none of them within ``hidden``.

    ``numbers``: leave out places that begin or end within a number.
    """
    found: list[QuoteMatch] = []
    if not parts or len(parts) > _MOST_PARTS or not _WORD.search(parts[0]):
        return found
    text = part.text if case else lower(part.text)
    parts = parts if case else [lower(each) for each in parts]
    for start in islice(_occurrences(parts[0], text, 0), _MOST_STARTS):
        match = _follow(parts, text, part, start, hidden=hidden, numbers=numbers)
        if match is not None:
            found.append(match)
        if len(found) == most:
            break
    return found


def _follow(
    parts: Sequence[str],
    text: str,
    part: FoldedPart,
    start: int,
    *,
    hidden: Sequence[tuple[int, int]],
    numbers: bool,
) -> QuoteMatch | None:
    """The match whose first part begins at ``start``, if the others follow."""
    end, omitted = start, 0
    for number, each in enumerate(parts):
        last = end + MOST_OMITTED_CHARS + len(each) if number else start + len(each)
        following = next(_occurrences(each, text, end, last), None)
        if following is None:
            return None
        omitted += following - end
        end = following + len(each)
        if _is_hidden(part, following, end, hidden):
            return None
        if numbers and (_begins_within_number(part, following) or _ends_within_number(part, end)):
            return None
    return QuoteMatch(*part.span(start, end), omitted)


def _find_joined(
    quote: str, part: FoldedPart, *, case: bool = True, hidden: Sequence[tuple[int, int]] = ()
) -> Iterator[QuoteMatch]:
    """The places of a quote, also where the text writes its joints (``_JOINT``) differently."""
    # Folding removes hyphens between letters, and keeps dashes.
    asked = _trim(fold(_HYPHEN.sub(_DASH, quote)).text)
    pieces = _JOINT.split(asked if case else lower(asked))
    if len(pieces) == 1 or not _WORD.search(pieces[0]):
        return
    text = part.text if case else lower(part.text)
    # The longest piece is probably in the fewest places.
    longest = max(range(len(pieces)), key=lambda number: len(pieces[number]))
    for at in islice(find_all(pieces[longest], text), _MOST_STARTS):
        start, end = _start_of_joined(pieces, longest, text, at), _end_of_joined(pieces, longest, text, at)
        if start is None or end is None or not _may_start(text, start) or _begins_within_number(part, start):
            continue
        if not (
            _is_within_word(text, end) or _ends_within_number(part, end) or _is_hidden(part, start, end, hidden)
        ):
            yield QuoteMatch(*part.span(start, end))


def _start_of_joined(pieces: Sequence[str], number: int, text: str, at: int) -> int | None:
    """The start of the first piece, if all pieces before piece ``number``, which is at ``at``, precede it."""
    for before, after in zip(reversed(pieces[:number]), reversed(pieces[1 : number + 1]), strict=True):
        at -= text.startswith(_joint(before, after), at - 1) if at else 0
        if not text.endswith(before, 0, at):
            return None
        at -= len(before)
    return at


def _end_of_joined(pieces: Sequence[str], number: int, text: str, at: int) -> int | None:
    """The end of the last piece, if all pieces after piece ``number``, which is at ``at``, follow it."""
    at += len(pieces[number])
    for before, after in pairwise(pieces[number:]):
        at += text.startswith(_joint(before, after), at)
        if not text.startswith(after, at):
            return None
        at += len(after)
    return at


def _joint(before: str, after: str) -> str:
    """The pattern of the characters that a text may have between two pieces of a quote."""
    return " " if before.endswith(("/", ",", ";", ")", "]")) or after.startswith("(") else "-"


def _occurrences(part: str, text: str, start: int, end: int | None = None) -> Iterator[int]:
    """The places of a part in a text, not within words."""
    return (at for at in _starts(part, text, start, end) if not _is_within_word(text, at + len(part)))


def _starts(part: str, text: str, start: int, end: int | None = None) -> Iterator[int]:
    """The beginnings of a part in a text, not within a word."""
    at = text.find(part, start, end)
    while at >= 0:
        if _may_start(text, at):
            yield at
        at = text.find(part, at + 1, end)


def _may_start(text: str, at: int) -> bool:
    return not _is_within_word(text, at) or _follows_note(text, at)


def _follows_note(text: str, at: int) -> bool:
    """Whether a number stands directly before a letter, as the mark of a footnote does."""
    if not text[at].isalpha():
        return False
    before = text[max(at - _NOTE_DIGITS - 1, 0) : at]
    return before[-1:].isdigit() and not before.rstrip("0123456789")[-1:].isalnum()


def _is_within_word(text: str, at: int) -> bool:
    """Whether the characters before and at ``at`` belong to one word, which signs of Markdown may divide."""
    if not 0 < at < len(text):
        return False
    if unicodedata.category(text[at]).startswith("M"):
        return True
    before, after = _letter_before(text, at), _letter_after(text, at)
    is_word = bool(_WORD.match(before) and _WORD.match(after))
    return is_word and not (UNSPACED.match(before) or UNSPACED.match(after))


def _letter_before(text: str, at: int) -> str:
    if text[at - 1] in f"{_SIGNS}>" and (start := _start_of_signs(text, at)) < at:
        return text[max(start - 1, 0) : start]
    first = max(at - _MOST_MARKS, 0)
    while at - 1 > first and _is_drawn_with_others(text[at - 1]):
        at -= 1
    return text[at - 1]


def _start_of_signs(text: str, at: int) -> int:
    """The start of the signs and tags that end at a place; read backwards, so that none is read twice."""
    first = max(at - _LONGEST_SIGNS, 0)
    near = text[first:at]
    for _ in range(_MOST_SIGNS):
        before = near.rstrip(_SIGNS)
        if before.endswith(">") and _TAG.fullmatch(before, start := max(before.rfind("<"), 0)):
            before = before[:start]
        if before == near:
            break
        near = before
    return first + len(near)


def _letter_after(text: str, at: int) -> str:
    if text[at] in f"{_SIGNS}<" and (signs := _SIGNS_AFTER.match(text, at, at + _LONGEST_SIGNS)):
        return text[signs.end() : signs.end() + 1]
    last = min(at + _MOST_MARKS, len(text) - 1)
    while at < last and _is_drawn_with_others(text[at]):
        at += 1
    return text[at]


def _is_drawn_with_others(sign: str) -> bool:
    """Whether a character is a mark of the letter before it, or is not seen."""
    return not sign.isascii() and unicodedata.category(sign) in ("Mn", "Mc", "Me", "Cf")


def _begins_within_number(part: FoldedPart, at: int) -> bool:
    return _is_rest_of_number(part.text[at : at + _NUMBER_CHARS], part.before(at, _NUMBER_CHARS))


def _ends_within_number(part: FoldedPart, at: int) -> bool:
    return _is_cut_number(part.text[max(at - _NUMBER_CHARS, 0) : at], part.after(at, _NUMBER_CHARS))


def _is_rest_of_number(text: str, before: str) -> bool:
    """Whether a text begins with the rest of a number: of 1.5, 2,400, 1 500, 1 1/2, -5, 3/4, 10^9 or <5."""
    if _FRACTION.match(text) and _WHOLE_BEFORE.search(before):
        return True
    if not text[:1].isdigit() and not (text[:1] == "." and text[1:2].isdigit()):
        return False
    if text[0] == "." and before[-1:].isdigit():
        return True
    in_groups = _GROUP.match(text) and _GROUPS_BEFORE.search(before)
    return bool(in_groups or _NUMBER_BEFORE.search(before))


def _is_cut_number(text: str, after: str) -> bool:
    """Whether a text ends with the beginning of a number, or a number without its percent sign."""
    if not text[-1:].isdigit():
        return False
    if after[:1] in tuple(f"{_SIGNS}<") and (signs := _SIGNS_AFTER.match(after)):
        after = after[signs.end() :]
    in_groups = _GROUP_AFTER.match(after) and _FIRST_GROUP.search(text)
    return bool(in_groups or _NUMBER_AFTER.match(after))


def _common_blocks(asked: Sequence[str], near: Sequence[str]) -> list[Match]:
    matcher = SequenceMatcher(None, asked, near, autojunk=False)
    return [block for block in matcher.get_matching_blocks() if block.size]


def _differences(asked: Sequence[Word], there: Sequence[Word]) -> Iterator[Difference]:
    matcher = SequenceMatcher(None, [word.text for word in asked], [word.text for word in there], autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    for _, first, last, begin, end in changed[:_MOST_DIFFERENCES]:
        yield Difference(_join(asked[first:last]), _join(there[begin:end]))


def _join(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)
