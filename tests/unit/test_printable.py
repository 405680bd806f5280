"""Printable text: no control characters, and nothing that breaks an encoder."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.text.printable import (
    beginning,
    caret,
    ending,
    one_line,
    printable,
    printable_data,
    printable_text,
    visible_json,
)

# Everything Unicode calls default-ignorable; and the format characters that are drawn.
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
WITH_A_SHAPE = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=200)
# Characters that the rules about neighbours depend on: joining letters, pictures, digits, invisible characters.
NEIGHBOURS = st.text(
    alphabet="a1# \n\t\r\x00\x1b\x07\x9b\x9c\x9d[]\\m\u0643\u061c\u0915\u094d\u1820\u180b\u200b\u200c\u200d\u202e"
    "\u2028\u20e3\u2764\u6f22\u2229\ufe00\ufe0e\ufe0f\ufeff\ud800\U00013000\U00013430\U0001f468\U0001f3fb\U000e0041"
    "\U000e0100",
    max_size=40,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("a\x00b\x07c\x7fd\x85e", "abcde"),
        ("one\r\ntwo", "one\ntwo"),
        ("lone \ud800 half", "lone \ufffd half"),
        ("<b>&amp;</b> ü 漢字 🙂", "<b>&amp;</b> ü 漢字 🙂"),
        ("\x1b", ""),
        ("\x1b]never closed, so nothing of it goes", "never closed, so nothing of it goes"),
        ("\x9d0;a title\x9cafter", "after"),
        ("\x9d not \x9d0;a title\x07after", " not after"),
        ("a title\x9dover\ntwo lines\x07", "a titleover\ntwo lines"),
        ("one\u2028two\u2029three", "one\ntwo\nthree"),
        ("user\u202egnp.exe\u2066x\u2069 \u200eand\u200f\u061c", "usergnp.exex and"),
        ("seen\U000e0001\U000e0068\U000e0069\U000e007f", "seen"),
        ("zero\u200bwidth\u2060\ufeff so\u00adft \u3164\uffa0.", "zerowidth soft ."),
        ("\U0001f600\ufe0f\U000e0141\U000e0142\ufe01", "\U0001f600\ufe0f"),
        ("a\ufe0fb\U000e0100c\ufe00", "abc"),
    ],
)
def test_escapes_and_controls_go_and_the_words_stay(text: str, expected: str) -> None:
    assert printable(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian: I want
        "\u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937",  # Hindi: a half letter, and an explicit virama
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",  # Sinhala: Sri
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f469\U0001f3fd\u200d\U0001f52c",  # a family, a scientist
        "\u2764\ufe0f\u200d\U0001f525 \u263a\ufe0f \u2665\ufe0e 1\ufe0f\u20e3",  # hearts, a smile, a key
        "\u908a\U000e0100 \u2229\ufe00",  # a form of an ideograph, a sign with serifs
        "\u182d\u180b \u0600\u0661",  # a form of a Mongolian letter, an Arabic number sign
        "\U00013000\U00013430\U00013001",  # one hieroglyph over the other
    ],
)
def test_what_a_script_needs_stays(text: str) -> None:
    assert printable(text) == text
    assert one_line(text) == text


def test_every_character_without_a_shape_goes() -> None:
    ignorable = {code for first, last in IGNORABLE for code in range(first, last + 1)}
    formats = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"} - WITH_A_SHAPE
    assert [hex(code) for code in sorted(ignorable | formats) if printable(f"a{chr(code)}b") != "ab"] == []


@given(ANY_TEXT | NEIGHBOURS)
def test_nothing_unprintable_is_left_and_once_is_enough(text: str) -> None:
    clean = printable(text)
    clean.encode("utf-8")
    assert [character for character in clean if ord(character) < 32 and character not in "\t\n"] == []
    assert [character for character in clean if "\x7f" <= character <= "\x9f"] == []
    assert [character for character in clean if character in "\u202e\u2028\u200b\ufeff\U000e0041"] == []
    assert printable(clean) == clean


@given(ANY_TEXT | NEIGHBOURS, st.integers(1, 50))
def test_one_line_is_one_line_of_bounded_length(text: str, most: int) -> None:
    line = one_line(text, most)
    assert line.splitlines() in ([], [line])
    assert "\t" not in line
    assert len(line) <= most
    assert one_line(line, most) == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a name\r\n2. [forged] 1.000", "a name 2. [forged] 1.000"),
        ("a\x1b[2Kb\x9b1Ac\x9d0;title\x07d", "abcd"),
        ("a   ok      3\tb\u3000c\u2028d\n\n\ne", "a ok 3 b c d e"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("\u200b\u2060", "\ufffd"),
        ("not UTF-8: \udcff", "not UTF-8: \ufffd"),
        ("  ", ""),
        ("", ""),
        ("a" * 41, "a" * 39 + "…"),
        ("a" * 40, "a" * 40),
        ("\x1b[31m" * 100 + "a", "…"),
    ],
)
def test_a_line_of_foreign_text_is_plain_to_see(text: str, expected: str) -> None:
    assert one_line(text, 40) == expected


@given(ANY_TEXT | NEIGHBOURS, st.integers(1, 300), st.integers(0, 3_000))
def test_the_beginning_and_the_end_of_a_long_text_read_as_in_the_whole(text: str, times: int, most: int) -> None:
    whole = printable(text * times)
    assert beginning(text * times, most) == whole[:most]
    assert ending(text * times, most) == whole[len(whole) - len(ending(text * times, most)) :]


def test_no_more_of_a_long_text_is_cleaned_than_is_shown() -> None:
    """Cleaning all of it would take about a hundred times as long."""
    hostile = "\x9d\u202e word " * 2_000_000
    assert _seconds(lambda text: beginning(text, 1_000), hostile) < 0.5 * _seconds(printable, hostile[:1_000_000])
    assert _seconds(lambda text: ending(text, 1_000), hostile) < 0.5 * _seconds(printable, hostile[:1_000_000])


@given(ANY_TEXT | NEIGHBOURS)
def test_json_that_is_shown_loses_nothing_and_hides_nothing(text: str) -> None:
    shown = visible_json(json.dumps({text: text}, ensure_ascii=False))
    assert json.loads(shown) == {text: text}
    assert [shown] == shown.splitlines()
    assert printable(shown) == shown


@pytest.mark.parametrize(
    "hostile",
    [
        "\x9d",
        "\x1b]",
        "\x9b0",
        "\x90\x98",
        "\x9d" + "a" * 499,
        "\x1b[" + "0" * 499,
        "\U000e0041",
        "\u200d",
        "\u0915\u200d",
        "\U0001f600\ufe0f\ufe0f",
    ],
)
@pytest.mark.parametrize("clean", [printable, one_line], ids=["body", "line"])
def test_hostile_text_takes_about_as_long_as_plain_controls(hostile: str, clean: Callable[[str], str]) -> None:
    """A separate scan for each introducer would take about a hundred times as long."""
    length = 400_000
    assert _seconds(clean, (hostile * (length // len(hostile) + 1))[:length]) < 40 * _seconds(
        clean, "\x07" * length
    )


def _seconds(clean: Callable[[str], str], text: str) -> float:
    """CPU time of the fastest of a few runs."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        clean(text)
        taken.append(time.process_time() - began)
    return max(min(taken), 1e-3)


def test_data_is_cleaned_in_every_string_keys_included() -> None:
    assert printable_data({"\x1b[1mk": ["\x07a", (1, None, 2.5, True)]}) == {"k": ["a", [1, None, 2.5, True]]}


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("x = nope", 5, "    ^"),
        ("nope", 1, "^"),
        ("\tx =\tnope", 6, "\t   \t^"),
        ("日本 = nope", 6, "       ^"),
        ("e\u0301 = nope", 6, "    ^"),
        ("x = (", 6, "     ^"),
        ("short", 7, None),
        ("short", 0, None),
    ],
)
def test_a_caret_stands_under_the_character_it_means(line: str, column: int, expected: str | None) -> None:
    assert caret(line, column) == expected


@given(NEIGHBOURS)
def test_each_character_of_a_printable_text_leads_back_to_its_own(text: str) -> None:
    found = printable_text(text)
    assert found.text == printable(text)
    offsets = [found.raw_offset(at) for at in range(len(found.text) + 2)]
    assert offsets == sorted(offsets)
    assert offsets[-2:] == [len(text), len(text)]
    assert all(
        text[raw] == seen or text[raw] in "\r\u2028\u2029\ud800"
        for raw, seen in zip(offsets, found.text, strict=False)
    )


def test_many_places_of_a_long_text_are_found_in_the_time_of_one() -> None:
    """A search for each place by its beginning takes seconds."""
    found = printable_text("\x07" + "Backups are kept. " * 30_000)
    began = time.process_time()
    assert [found.raw_offset(at) for at in range(0, 500_000, 500)] == list(range(1, 500_001, 500))
    assert time.process_time() - began < 1
