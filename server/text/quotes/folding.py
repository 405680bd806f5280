"""Folds a text to the form in which quotes are compared, with a way back to its characters.

Two texts are equal after folding if they differ only in what copying, typesetting and page breaks change:

    of the text                                        folded
    white space of any kind and length                 one blank; none before the punctuation of a sentence or ")",
                                                       none between letters of Chinese and Japanese
    a hyphen within a word, also at the end of a line  nothing
    other hyphens, dashes and minus signs              "-", without white space around it; not before options
    "+", "=" and other signs of two sides              without white space around them, but for ++
    quotation marks and apostrophes, single or double  "'", as a quote within a quote changes its marks; double
                                                       ones after a digit "″", as those may be units: 6' is not 6";
                                                       double primes of a formula, too: f' is not f''
    superscript digits                                 "^" and the digits
    ellipses                                           "..."
    blanks of no width and marks of direction          nothing
    ligatures, full widths, accents of several signs   the usual letters (NFC; NFKC where only shapes differ)

Case, digits and other punctuation stay: they can change what a sentence says. Takes time in
proportion to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from winnow.server.text.forms.ideographs import IDEOGRAPHIC
from winnow.server.text.forms.normal_forms import normalize
from winnow.server.text.forms.splicing import MARKS, SplicedText, splice
from winnow.server.text.markup.possessive import compile_possessive

# Programs copy dashes and quotation marks of TeX's bitmap fonts, which name no letters, as their codes in T1.
_T1_DASHES, _T1_MARKS = r"\x15\x16", r"\x10\x11"
_DASHES = rf"\-{_T1_DASHES}\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d"
# Signs of arithmetic and comparison; the blanks beside them are a matter of typesetting.
_OPERATORS = r"+=\u00d7\u00f7\u2217\u2264\u2265"
# Options of commands keep their hyphens: -f is not --f, nor part of the word before it.
_OPTION = r"(?<=\s)--?[^\W\d_]"
_HYPHENS = r"\-\u2010\u2011"
# Characters that are not drawn; a copy may lack them.
_UNSEEN = r"\u200b\u200e\u200f\u2060\ufeff"
# Characters that differ from others in shape only: ligatures, Arabic letters by their position, full widths.
_SHAPES = (
    r"\u0132\u0133\u01c4-\u01cc\u01f1-\u01f3\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufdff\ufe70-\ufefc\uff01-\uff5e"
)
# Signs that Unicode has twice: micro, ohm, kelvin, angstrom.
_TWICE = r"\u00b5\u2126\u212a\u212b"
# Characters in words that stand for other letters, or for none.
SHAPED = re.compile(rf"[\u00ad{_UNSEEN}{_SHAPES}]")
# One alternative for each row of the table. Characters that match no alternative are copied. The look-ahead
# excludes most of these by a single class of characters, which makes folding three times as fast.
_CHANGING = compile_possessive(
    rf"(?=[^A-Za-z0-9 ,;:()]| [\s,;:.!?)\]{_DASHES}{_OPERATORS}{IDEOGRAPHIC}]|[^\W_][{MARKS}])(?:"
    rf"(?P<joint>(?:\u00ad|(?:(?<=[^\W\d_])|(?<=[{MARKS}]))[{_HYPHENS}])(?:[^\S\n]*+\n\s*+)?+(?=[^\W\d_]))"
    rf"|(?P<dash>\s*+(?!{_OPTION})(?:[{_DASHES}]\s*+)++)"
    rf"|(?P<operator>\s*+(?<!\+)[{_OPERATORS}](?!\+)\s*+)"
    r"|(?P<blank>\s++(?=[,;:!?.](?:[\s(]|\Z)(?!\s?\.)|[)\]]))"
    rf"|(?P<inner>(?<=[{IDEOGRAPHIC}])\s++(?=[{IDEOGRAPHIC}]))"
    r"|(?P<space>[^\S ]\s*+| \s++)"
    r"|(?P<double>(?<=\d)(?:``|''|[\"\u201c-\u201f\u2033\u301d-\u301f\uff02])"
    r"|(?<=[^\W\d_])(?:''|\u2033)(?=\s?[(=+*/^<>\u2212]))"
    r"|(?P<raised>[\u2070\u00b9\u00b2\u00b3\u2074-\u207b]++)"
    rf"|(?P<mark>``|''|[{_T1_MARKS}\"`\u00ab\u00b4\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u301d-\u301f\uff02\uff07])"
    r"|(?P<dots>\u2026|\.(?:[^\S\n]\.){2})"
    rf"|(?P<unseen>[{_UNSEEN}]++)"
    rf"|(?P<shape>[{_SHAPES}{_TWICE}])"
    rf"|(?P<accent>[^\W_][{MARKS}]++|[\u1100-\u11ff]++))"
)


def _as(text: str) -> Callable[[str], str]:
    return lambda _: text


_LOWERED = str.maketrans(dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True)))
_FOLDED: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "joint": _as(""),
        "dash": _as("-"),
        "operator": str.strip,
        "blank": _as(""),
        "inner": _as(""),
        "space": _as(" "),
        "double": _as("\u2033"),
        "raised": lambda text: "^" + text.translate(_LOWERED),
        "mark": _as("'"),
        "dots": _as("..."),
        "unseen": _as(""),
        "shape": lambda text: normalize("NFKC", text),
        "accent": lambda text: normalize("NFC", text),
    }
)


def fold(text: str) -> SplicedText:
    r"""The folded form of a text.

    >>> fold("The “ﬁrst” infor-\nmation").text
    "The 'first' information"
    """
    found = _CHANGING.finditer(text)
    return splice(text, ((*each.span(), _FOLDED[each.lastgroup or ""](each.group())) for each in found))
