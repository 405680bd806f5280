"""What leaves: nothing that moves a cursor, rings a bell or breaks an encoder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.printable import caret, printable, printable_data


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
    ],
)
def test_escapes_and_controls_go_and_the_words_stay(text: str, expected: str) -> None:
    assert printable(text) == expected


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=200))
def test_nothing_unprintable_is_left_and_once_is_enough(text: str) -> None:
    clean = printable(text)
    clean.encode("utf-8")
    assert [character for character in clean if ord(character) < 32 and character not in "\t\n"] == []
    assert printable(clean) == clean


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
