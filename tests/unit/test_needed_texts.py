"""What a pattern needs: every text with a match has it, so that an index may rule out all others."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from winnow.server.errors import WinnowError
from winnow.server.models import NeededTexts
from winnow.server.operations.corpus.patterns import compile_pattern

# Both cases of letters, the two characters beyond ASCII that are cases of ASCII letters, and syntax.
LITERALS = st.text(st.sampled_from("abkKsS\u212a\u017fßéÉ中😀 _-.[](){}*+?|^$\\0129\n"), min_size=1, max_size=5)
Pair = tuple[str, str]  # a pattern, and a text that it matches


def _fold(text: str) -> str:
    return text.translate({**{at: at + 32 for at in range(65, 91)}, 0x212A: "k", 0x17F: "s"})


def _holds(needed: NeededTexts, text: str) -> bool:
    folded = _fold(text)
    return all(any(_fold(each) in folded for each in clause) for clause in needed)


def _swap_cases(text: str) -> str:
    """Other cases of the same letters, one that RE2 knows for each."""
    others = {"k": "\u212a", "s": "\u017f", "\u212a": "K", "\u017f": "S", "ß": "ẞ"}
    return "".join(others.get(character, character.swapcase()[:1]) for character in text)


def _join(pairs: Sequence[Pair]) -> Pair:
    return "".join(pattern for pattern, _ in pairs), "".join(text for _, text in pairs)


def _choose(pairs: Sequence[Pair]) -> Pair:
    return f"(?:{'|'.join(pattern for pattern, _ in pairs)})", pairs[0][1]


def _repeat(drawn: tuple[Pair, tuple[str, int]]) -> Pair:
    (pattern, text), (quantifier, times) = drawn
    return f"(?:{pattern}){quantifier}", text * times


ATOMS: st.SearchStrategy[Pair] = st.one_of(
    LITERALS.map(lambda text: (re.escape(text), text)),
    LITERALS.map(lambda text: (f"(?i:{re.escape(text)})", _swap_cases(text))),
    LITERALS.map(lambda text: (f"({re.escape(text)})?", "")),
    LITERALS.map(lambda text: (f"(?P<name{sum(map(ord, text))}>{re.escape(text)})", text)),
    st.sampled_from(
        [
            (".", "x"), (r"\w", "k"), (r"[^\W\d]", "é"), ("[]a]", "]"), ("[[:a]", ":"), (r"[\]a|(]", "|"),
            (r"\x61", "a"), (r"\x{1F600}", "😀"), (r"\u00e9", "é"), (r"\pL", "b"), (r"\p{Greek}", "α"),
            (r"\141", "a"), (r"\n", "\n"), ("(?i)", ""), ("(?s-i)", ""), (r"\b", ""), ("abc*", "ab"),
            ("abc+?", "abcc"), ("abc{0,2}", "ab"), ("abc{2}", "abcc"), ("abc{1,}x", "abccx"), ("abc{,2}", "ab"),
            ("a{b", "a{b"), ("a{1", "a{1"), ("b{01}", "b{01}"),
        ]
    ),
)  # fmt: skip
QUANTIFIERS = st.sampled_from([("*", 0), ("?", 0), ("{0,3}", 0), ("+", 2), ("{2}", 2), ("{1,}", 1), ("??", 0)])
PAIRS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(_join),
        st.lists(inner, min_size=1, max_size=3).map(_choose),
        st.tuples(inner, QUANTIFIERS).map(_repeat),
    ),
    max_leaves=10,
)


@settings(deadline=None)  # the first use of a class may build its table
@given(pair=PAIRS, before=LITERALS, after=LITERALS, case=st.booleans())
def test_a_text_with_a_match_has_what_the_pattern_needs(pair: Pair, before: str, after: str, case: bool) -> None:
    pattern, text = pair[0], f"{before}{pair[1]}{after}"
    try:
        compiled = compile_pattern(pattern, case=case)
        found = any(match is not None for match in compiled.find(text.encode()))
    except WinnowError:  # it matches the empty string
        assume(False)
    assume(found)
    assert _holds(compiled.needed, text)


@given(literal=LITERALS, before=LITERALS, swapped=st.booleans())
def test_a_text_that_holds_a_literal_has_what_the_literal_needs(literal: str, before: str, swapped: bool) -> None:
    compiled = compile_pattern(literal, literal=True, case=not swapped)
    text = before + (_swap_cases(literal) if swapped else literal)
    assume(any(compiled.find(text.encode())))
    assert _holds(compiled.needed, text)


def test_the_letters_beyond_ascii_that_ascii_letters_match_in_any_case_are_two() -> None:
    everything = "".join(chr(code) for code in range(128, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    compiled = compile_pattern("[a-z]", case=False)
    data = everything.encode()
    matches = [match.span() for match in compiled.find(data) if match is not None]
    assert [data[start:end].decode() for start, end in matches] == ["\u017f", "\u212a"]


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("kubectl (get|apply)", [("kubectl ",), ("apply", "get")]),
        ("(?i)defaults? to", [("default",), (" to",)]),
        (r"--dry-run\b", [("--dry-run",)]),
        (r"v1\.\d+", [("v1.",)]),
        ("(?i:Größe)x", []),
        ("abc|de", []),
        ("(abc)?(def){2,3}", [("def",)]),
        (r"\Qabc\E", [("abc",)]),
        (r"\Q[a.c\E", [("[a.c",)]),
        ("[[:alpha:]]abc", [("abc",)]),
        ("[^[:^alpha:]x]abc[]a]", [("abc",)]),
        ("ab", []),
        ("abc|" * 40 + "abd", [("abc", "abd")]),
        ("|".join(f"{number}abc" for number in range(40)), []),
    ],
)
def test_a_pattern_needs_its_literal_parts(pattern: str, needed: list[tuple[str, ...]]) -> None:
    assert list(compile_pattern(pattern).needed) == needed
