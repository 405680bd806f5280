"""Spans: what a preview and a quote are cut from."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.spans import best_spans, preview, split_spans, terms


def spans_of(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Use v1.2 of conf.py, e.g. on Linux. Then stop.", ["Use v1.2 of conf.py, e.g. on Linux.", "Then stop."]),
        ("Dr. A. Smith agreed. Fine.", ["Dr. A. Smith agreed.", "Fine."]),
        ("Intro\n- one\n- two words", ["Intro", "- one", "- two words"]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("| a | b |\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("Before.\n\n```py\nx = 1. y\n\nz\n```\nAfter.", ["Before.", "```py\nx = 1. y\n\nz\n```", "After."]),
        ("最初の文です。次の文です！", ["最初の文です。", "次の文です！"]),
        ("para one\n\npara two", ["para one", "para two"]),
        ("   \n \t", []),
        ("", []),
    ],
)
def test_a_text_splits_into_sentences_items_rows_and_whole_code_blocks(text: str, expected: list[str]) -> None:
    assert spans_of(text) == expected


@given(st.text(max_size=400))
def test_spans_never_overlap_and_lose_nothing_but_white_space(text: str) -> None:
    spans = split_spans(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert "".join("".join(spans_of(text)).split()) == "".join(text.split())


def test_terms_are_lower_case_words_of_three_characters_or_more() -> None:
    assert terms("How do I open a FILE-handle, v2?") == {"how", "open", "file", "handle"}


def test_the_best_span_holds_most_terms_then_is_shorter_then_earlier() -> None:
    text = "Backups are kept. Backups are encrypted at rest, always. Encrypted backups. Encrypted backups."
    best = best_spans(text, terms("encrypted backups"), limit=3)
    assert [text[span.start : span.end] for span in best] == [
        "Encrypted backups.",
        "Encrypted backups.",
        "Backups are encrypted at rest, always.",
    ]
    assert best[0].start < best[1].start


def test_a_long_preview_is_cut_around_its_match() -> None:
    text = "filler " * 200 + "needle " + "tail " * 200
    cut = preview(text, terms("needle"), 80)
    assert "needle" in cut
    assert cut.startswith("…")
    assert cut.endswith("…")


@given(st.text(max_size=2000), st.text(max_size=60), st.integers(min_value=50, max_value=400))
def test_a_preview_never_exceeds_its_size(text: str, question: str, size: int) -> None:
    assert len(preview(text, terms(question), size)) <= size
