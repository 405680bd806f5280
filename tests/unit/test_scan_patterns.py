"""Patterns of kb.scan: they mean what Python's mean, in linear time, and what they cannot say is refused."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
import re2  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.server.errors import WinnowError
from winnow.server.models import ChunkSpan, DocumentText
from winnow.server.operations.corpus.matched_text import KEY_CHARS, ShownLength
from winnow.server.operations.corpus.patterns import compile_pattern
from winnow.server.operations.corpus.tallies import KeyedTallies, key_of
from winnow.server.operations.corpus.walking import PlacedMatch, ScannedDocument
from winnow.server.text.forms.splicing import compose, may_compose

# Letters, digits and blanks of several scripts, marks, and characters that stand for themselves or not.
ALPHABET = "aAbBkK \t\n\r\x0b\x1c\x85\xa0\u2028_-.[]{},1२³½éßſİ中ªⅧ\u0301😀"
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=60)
AS_IN_PYTHON = [
    r"\w+", r"\W+", r"\d+", r"\D", r"\s+", r"\S+", r"[\w-]+", r"[^\w]+", r"[\W_]+", r"[^\W\d_]+", r"[\s\d]+",
    r"[^\s]+", r"[\S]", r"[\D]+", r"a|A", r"(a)(b)?", r"(?P<one>\w)\s", r"[]a]+", r"[^]a]+", r"[x[a]+", r"a{,2}b",
    r"a{1,2}", r"\u00e9", r"[\u4e2d\U0001F600]", r"(?m)^\S+$", r"(?s)a.*?b", r"a.", r"(?i)éa", r"\.\[\]", r"\x0b",
    r"\Aa+", r"[-a]+", r"\\|b", r"(?:ab|a)-",
]  # fmt: skip

ALL_LETTERS = [chr(code) for code in range(0x80, 0x1_0000) if not 0xD800 <= code < 0xE000]


def test_the_bytes_of_a_text_tell_whether_its_form_may_change() -> None:
    assert [each for each in ALL_LETTERS if may_compose(f"é“{each}".encode())] == [
        each for each in ALL_LETTERS if len(compose(f"a{each}").starts) > 1
    ]


def _spans(pattern: str, text: str, **options: bool) -> list[list[tuple[int, int]]]:
    """The matches in characters, as the scan finds them in bytes."""
    data, compiled = text.encode(), compile_pattern(pattern, **options)
    matches = [match for match in compiled.find(data) if match is not None]
    spans = [[match.span(number) for number in range(compiled.groups + 1)] for match in matches]
    return [[(_characters(data, start), _characters(data, end)) for start, end in each] for each in spans]


def _characters(data: bytes, at: int) -> int:
    return at if at < 0 else len(data[:at].decode())


def _spans_of_python(pattern: str, text: str, flags: int = 0) -> list[list[tuple[int, int]]]:
    found = re.finditer(pattern, text, flags)
    return [[match.span(number) for number in range(len(match.groups()) + 1)] for match in found]


@pytest.mark.parametrize("pattern", AS_IN_PYTHON)
@settings(deadline=None)  # the first use of a class may build its table
@given(text=TEXTS)
def test_a_pattern_finds_what_it_finds_in_python(pattern: str, text: str) -> None:
    assert _spans(pattern, text) == _spans_of_python(pattern, text)


@given(text=st.text(st.sampled_from("ab_-1 é"), max_size=40), word=st.sampled_from(["a", "ab", "b b", "é", "-a-"]))
def test_whole_words_are_those_of_any_language(text: str, word: str) -> None:
    python = rf"(?<!\w){re.escape(word)}(?!\w)"
    assert _spans(word, text, literal=True, word=True) == _spans_of_python(python, text)


@given(text=st.text(st.sampled_from("ab_- 1"), max_size=40), pattern=st.sampled_from([r"\ba", r"\w+\b", r"a\Bb"]))
def test_word_boundaries_in_ascii_text_are_python_s(text: str, pattern: str) -> None:
    assert _spans(pattern, text) == _spans_of_python(pattern, text)


@given(text=TEXTS, literal=st.text(st.sampled_from(ALPHABET), min_size=1, max_size=3))
def test_a_literal_stands_for_its_own_characters(text: str, literal: str) -> None:
    assert _spans(literal, text, literal=True) == _spans_of_python(re.escape(literal), text)


@given(text=st.text(st.sampled_from("aAbB éÉ"), max_size=40))
def test_case_does_not_matter_where_it_is_said(text: str) -> None:
    assert _spans("aé|b", text, case=False) == _spans_of_python("aé|b", text, re.IGNORECASE)


@pytest.mark.parametrize(
    ("pattern", "advice"),
    [
        (r"a(?=b)", "look-around"),
        (r"(?<!a)b", "word=true"),
        (r"(a)\1", "backreference"),
        (r"(?P<x>a)(?P=x)", "backreference"),
        (r"a*", "at least one"),
        (r"(?m)^", "(?m)^.+"),
        (r"(a", "missing )"),
        (r"a++", "RE2 syntax"),
        (r"\C", "whole one"),
        (r"a{2000}", "repetition"),
        (r"(?:\w{1,30}){1,30}\w{400}\w{400}", "repetition|too large"),
        ("(a)" * 21, "at most 20"),
        ("\ud800", "surrogate"),
        ("(" * 5_000 + "a" + ")" * 5_000, "nest|groups|too large"),
    ],
)
def test_a_pattern_that_cannot_be_looked_for_is_refused_with_advice(pattern: str, advice: str) -> None:
    with pytest.raises(WinnowError, match=re.escape(advice) if "|" not in advice else advice) as refused:
        compile_pattern(pattern)
    assert refused.value.reason == "INVALID_REQUEST"
    assert len(refused.value.message) < 500


def test_a_pattern_that_matches_nothing_somewhere_is_refused_there() -> None:
    pattern = compile_pattern(r"\b")
    with pytest.raises(WinnowError, match="at least one character"):
        list(pattern.find(b"a word"))


def test_a_pattern_of_ten_thousand_alternatives_finds_each_of_them() -> None:
    words = [f"t{number}." for number in range(3_000)]
    pattern = compile_pattern("|".join(map(re.escape, words)))
    assert len(list(pattern.find(" ".join(words).encode()))) == len(words)


def test_anchors_of_the_whole_text_are_known_from_those_of_lines() -> None:
    assert compile_pattern("^a").has_anchors
    assert compile_pattern("a$").has_anchors
    assert not compile_pattern("(?m)^a$").has_anchors
    assert not compile_pattern(r"[$^]\$").has_anchors


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=8).map(
    lambda pairs: [(start, start + length) for start, length in sorted(pairs)]
)


@given(spans=SPANS, at=st.integers(0, 100))
def test_a_match_belongs_to_the_first_chunk_that_has_its_start_or_else_to_the_next(
    spans: list[tuple[int, int]], at: int
) -> None:
    spans = sorted(spans, key=lambda span: (span[1], span[0]))
    chunks = [ChunkSpan(str(number), start, end, ()) for number, (start, end) in enumerate(spans)]
    scanned = ScannedDocument(
        DocumentText(0, "d", "d.md", "", "D", b"", len(chunks)), lambda id: chunks, lambda id: (), lambda id: {}
    )
    after = [number for number, (_, end) in enumerate(spans) if end > at]
    assert scanned.chunk_at(at) == (after[0] if after else len(chunks) - 1 if chunks else None)


def test_keys_beyond_the_bound_are_refused() -> None:
    keyed = KeyedTallies()
    for number in range(100_000):
        keyed.of(str(number))
    with pytest.raises(WinnowError, match="group by something coarser"):
        keyed.of("one more")
    assert keyed.of("7") is keyed.tallies["7"]


def test_long_keys_that_differ_at_their_ends_stay_different() -> None:
    pattern = compile_pattern("a+[bc]")
    key = key_of("match", pattern, ShownLength(KEY_CHARS, KEY_CHARS))
    keys = []
    for end in "bc":
        scanned = ScannedDocument(
            DocumentText(0, "d", "d", "", "d", b"a" * 1_000 + end.encode(), 0),
            lambda id: [],
            lambda id: (),
            lambda id: {},
        )
        (match,) = pattern.find(scanned.document.data)
        assert match is not None
        keys.append(key(scanned, PlacedMatch(match, *match.span(), None)))
    assert keys[0] != keys[1]
    assert [len(each) < 500 for each in keys] == [True, True]


def test_plain_text_in_any_case_is_what_re2_finds_in_any_case() -> None:
    """Not by RE2 itself, which takes very long for a long text that repeats itself."""
    cased = [chr(code) for code in range(128, 0x1F000) if not 0xD800 <= code < 0xE000]
    letters = [each for each in cased if each.lower() != each.upper() and unicodedata.is_normalized("NFC", each)]
    text = "".join(f"{each}{each.lower()}{each.upper()}{each.title()} " for each in letters)
    options = re2.Options()
    options.case_sensitive = False
    for letter in [*letters[::7], *"kKsSßẞςµİıǅΩ\u017f"]:
        found = [
            match.span()
            for match in compile_pattern(letter, literal=True, case=False).find(text.encode())
            if match
        ]
        plain = re2.compile(re2.escape(letter).encode(), options)
        assert found == [match.span() for match in plain.finditer(text.encode())]


def test_a_long_text_that_repeats_itself_is_looked_for_in_any_case_in_less_than_seconds() -> None:
    pattern = compile_pattern("a" * 4_990 + "b", literal=True, case=False)
    began = time.process_time()
    assert [*pattern.find(("a" * 300_000 + "É").encode())] == []
    assert time.process_time() - began < 5  # RE2 takes 16 s


def test_a_pattern_that_would_take_long_for_a_long_text_is_refused_with_advice() -> None:
    text = "some words of it " * 20_000
    started = time.thread_time()
    for word in (False, True):
        with pytest.raises(WinnowError, match=r"would take about \d+ s for a text of 340 KB; scan for its parts"):
            list(compile_pattern(r"(?:\w+ ){0,600}zz", word=word, case=False).find(text.encode()))
    assert time.thread_time() - started < 5


@pytest.mark.parametrize("pattern", ["|".join(f"name{number}" for number in range(500)), r"\w+ \w+ zz", r"\w+zz"])
def test_a_large_pattern_that_is_fast_is_taken_for_a_long_text(pattern: str) -> None:
    assert list(compile_pattern(pattern, case=False).find(("some words of it " * 20_000).encode())) == []
