"""Token counts, and cuts by tokens from either end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext.openai_public import o200k_base

from winnow.server.text.words import tokens
from winnow.server.text.words.tokens import FALLBACK, count_tokens, encoding_name, first_tokens, last_tokens

SCRIPTS = (
    "Backups are kept for ninety days, and don't leave the machine. " * 4,
    "備份會保留九十天。最初の文です！" * 8,
    "👩‍👩‍👧‍👦🏳️‍🌈👍🏽" * 12,
    "résumé naïve cafe\u0301 " * 9,
    " " * 300 + "\n" * 70 + "\t" * 40,
    "-" * 250,
    "1234567890" * 20,
    "لا يزال النسخ الاحتياطي مشفرا؟ " * 6,
    "\ud83d\ude00" * 20 + "\ud800" * 9,
    "\x00" * 30,
)
# A mixture of texts: cuts fall within runs, between scripts and inside characters.
TEXTS = st.one_of(
    st.text(st.characters(), max_size=300),
    st.lists(st.one_of(st.sampled_from(SCRIPTS), st.text(st.characters(), max_size=20)), max_size=6).map("".join),
)
SIZES = st.integers(min_value=-2, max_value=120)
MEGABYTES = {
    "words": "word " * 200_000,
    "one word": "a" * 1_000_000,
    "spaces": " " * 1_000_000,
    "lines": "\n" * 1_000_000,
    "ideographs": "漢" * 350_000,
    "emoji": "😀" * 250_000,
}


@pytest.fixture(params=["o200k_base", FALLBACK])
def encoding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to count; the second is the fallback of a broken installation."""
    if request.param == FALLBACK:
        monkeypatch.setattr(tokens, "_encoding", lambda: None)
    assert encoding_name() == request.param
    return str(request.param)


def test_the_encoding_is_that_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokens._VOCABULARY.parent))
    assert tokens.define_encoding() == o200k_base()


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_bytes(b"IQ== 0\n"), Path.touch])
def test_a_vocabulary_that_is_missing_or_another_one_is_not_used(
    change: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "vocabulary"
    path.touch()
    change(path)
    monkeypatch.setattr(tokens, "_VOCABULARY", path)
    assert tokens._encoding.__wrapped__() is None


def holds_for(text: str, n: int) -> None:
    first, last = first_tokens(text, n), last_tokens(text, n)
    assert text.startswith(first)
    assert text.endswith(last)
    assert max(count_tokens(first), count_tokens(last)) <= max(n, 0)
    if count_tokens(text) <= n:
        assert (first, last) == (text, text)


@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.usefixtures("encoding")
def test_a_cut_is_a_part_of_the_text_that_counts_no_more_than_it_may(text: str) -> None:
    for n in (-1, 0, 1, 2, 3, 5, 8, 13, 40, 10_000):
        holds_for(text, n)


@given(TEXTS, SIZES)
def test_a_cut_of_any_text_counts_no_more_than_it_may(text: str, n: int) -> None:
    holds_for(text, n)


@given(TEXTS, SIZES)
def test_a_cut_of_any_text_counts_no_more_than_it_may_by_bytes(text: str, n: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_encoding", lambda: None)
        holds_for(text, n)


@given(TEXTS, st.integers(min_value=4, max_value=120))
def test_four_tokens_or_more_always_hold_a_character(text: str, n: int) -> None:
    """Reading on from the end of each cut reaches the end of the text."""
    assert bool(first_tokens(text, n)) == bool(last_tokens(text, n)) == bool(text)


@pytest.mark.parametrize(
    ("text", "n", "first", "last"),
    [
        ("Backups are kept for 30 days.", 4, "Backups are kept", " 30 days."),
        ("Backups are kept for 30 days.", 100, *["Backups are kept for 30 days."] * 2),
        ("one two three four", 2, "one two", " three four"),
        ("漢字漢字", 2, "漢字", "漢字"),
        ("", 5, "", ""),
        ("word", 0, "", ""),
    ],
)
def test_a_cut_takes_whole_tokens_from_its_end(text: str, n: int, first: str, last: str) -> None:
    assert (first_tokens(text, n), last_tokens(text, n)) == (first, last)


@given(st.text(st.characters(min_codepoint=0x10000, max_codepoint=0x1FFFF), max_size=40), SIZES)
def test_two_surrogates_that_are_one_character_stay_together(text: str, n: int) -> None:
    points = [ord(char) - 0x10000 for char in text]
    halves = "".join(f"{chr(0xD800 + (point >> 10))}{chr(0xDC00 + (point & 0x3FF))}" for point in points)
    assert len(first_tokens(halves, n)) % 2 == len(last_tokens(halves, n)) % 2 == 0


@pytest.mark.parametrize("text", MEGABYTES.values(), ids=MEGABYTES.keys())
@pytest.mark.usefixtures("encoding")
def test_a_megabyte_of_anything_is_counted_and_cut(text: str) -> None:
    assert 0 < count_tokens(text) <= len(text)
    holds_for(text, 20)


@pytest.mark.parametrize("text", MEGABYTES.values(), ids=MEGABYTES.keys())
def test_a_cut_of_a_megabyte_encodes_a_small_part_of_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = []
    real = tokens._encode
    monkeypatch.setattr(tokens, "_encode", lambda by, piece: encoded.append(len(piece)) or real(by, piece))
    first_tokens(text, 20)
    last_tokens(text, 20)
    assert sum(encoded) < 50_000
