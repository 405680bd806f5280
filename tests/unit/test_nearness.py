"""How near its subject a passage states a value: in a sentence, beside it, below a heading, in a long block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.retrieval.lexical import find_content_words
from winnow.server.retrieval.nearness import ReadPassage, SubjectWords, measure_nearness
from winnow.server.text.answers.kinds import find_asked


def near(question: str, text: str, headings: str = "") -> float:
    forms = find_content_words(question)
    words = SubjectWords(dict.fromkeys(forms, 1.0), forms, question)
    return measure_nearness([ReadPassage(headings, text)], words, find_asked(question), question)


PORT = "Which port does the gateway use?"


def test_a_value_in_the_sentence_of_the_subject_is_nearest() -> None:
    here = near(PORT, "The gateway uses port 8443.")
    beside = near(PORT, "The gateway has a use. Its port is 8443.")
    elsewhere = near(PORT, "The gateway has a use. It is open. It is fast. Its port is 8443.")
    assert here == pytest.approx(1.0)
    assert here > beside > elsewhere > 0


def test_a_subject_without_a_value_states_nothing() -> None:
    assert near(PORT, "The gateway uses a port of its own.") == 0.0
    assert near(PORT, "The gateway uses 8443 rows.") == 0.0


def test_a_value_without_the_subject_states_nothing() -> None:
    assert near("Which port does the gateway use?", "Retries: 8443/tcp for listeners.") == 0.0


def test_a_heading_counts_less_than_the_sentence() -> None:
    below = near(PORT, "It uses port 8443.", "Gateway")
    assert near(PORT, "It uses port 8443.") < below < near(PORT, "The gateway uses port 8443.")


def test_in_a_long_block_only_the_words_near_a_value_count() -> None:
    block = "```\ngateway = use\n{}port = 8443\n```"
    assert near(PORT, block.format("")) > near(PORT, block.format("x = y\n" * 100))


def test_at_most_is_a_word_that_texts_say_in_many_ways() -> None:
    question = "How many rows does an answer have at most?"
    limit, other = "An answer cannot exceed 50 rows.", "An answer of ours had 50 rows."
    assert near(question, limit) > near(question, other)


def test_stemmed_words_are_found_in_other_forms() -> None:
    assert near("How many policies are there?", "There are 7 policies of a policy.") == pytest.approx(1.0)


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=60))
def test_nearness_lies_between_0_and_1_for_any_text(question: str, text: str, headings: str) -> None:
    assert 0 <= near(question, text, headings) <= 1 + 1e-9


@given(
    st.lists(st.sampled_from(["The gateway uses port 8443.", "Rows are read.", "Port 22 is open."]), max_size=6)
)
def test_more_passages_never_state_less(sentences: list[str]) -> None:
    forms = find_content_words(PORT)
    words = SubjectWords(dict.fromkeys(forms, 1.0), forms, PORT)
    passages = [ReadPassage("", sentence) for sentence in sentences]
    measured = [
        measure_nearness(passages[:count], words, find_asked(PORT), PORT) for count in range(len(passages) + 1)
    ]
    assert measured == sorted(measured)
