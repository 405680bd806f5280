"""The verdict on an answer: signals from the scores of words, a confidence, and what is drawn from it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.backends.models.installed.table import DEFAULT, MODELS
from winnow.server.retrieval import answer_verdict
from winnow.server.retrieval.answer_verdict import (
    ANSWERED_FROM,
    COSINE_SCALES,
    NOT_FOUND_BELOW,
    CosineScale,
    Signals,
    WordScores,
    decide,
    estimate_confidence,
    is_name,
    is_rare,
    measure_signals,
    rescale_cosine,
)
from winnow.server.text.verdict_line import render_verdict
from winnow.server.text.words.tokens import FALLBACK

shares = st.floats(0, 1)
scores = st.floats(0, 30).map(lambda score: 0.0 if score < 0.01 else score)


@st.composite
def questions(draw: st.DrawFn) -> list[WordScores]:
    """Up to twelve words with their scores in the same number of passages."""
    passages = draw(st.integers(0, 5))
    words = []
    for _ in range(draw(st.integers(0, 12))):
        here = tuple(draw(st.lists(scores, min_size=passages, max_size=passages)))
        words.append(WordScores(here, max(here, default=0.0) or draw(scores)))
    return words


@given(questions(), st.none() | st.floats(-1, 1))
def test_shares_and_confidence_lie_between_0_and_1(words: list[WordScores], cosine: float | None) -> None:
    signals = measure_signals(words, cosine)
    assert 0 <= signals.covered <= 1 + 1e-9
    assert 0 <= signals.missing <= 1 + 1e-9
    assert signals.covered + signals.missing <= 1 + 1e-9
    assert 0 <= estimate_confidence(signals) <= 1


@given(shares, shares, shares, st.floats(0, 100), st.floats(-1, 1))
def test_more_words_in_the_best_passage_never_lower_the_confidence(
    one: float, other: float, missing: float, strength: float, cosine: float
) -> None:
    less, more = sorted((one, other))
    for meaning in (None, cosine):
        confidences = [
            estimate_confidence(Signals(covered, missing, strength, meaning)) for covered in (less, more)
        ]
        assert confidences == sorted(confidences)


@given(shares, shares, shares)
def test_words_that_no_document_has_lower_the_confidence_of_words_alone(
    covered: float, one: float, other: float
) -> None:
    less, more = sorted((one, other))
    assert estimate_confidence(Signals(covered, more, 5.0)) <= estimate_confidence(Signals(covered, less, 5.0))


@given(shares, st.floats(-1, 1), st.floats(-1, 1))
def test_a_nearer_passage_raises_the_confidence(covered: float, one: float, other: float) -> None:
    less, more = sorted((one, other))
    far, near = (estimate_confidence(Signals(covered, 0.0, 5.0, cosine)) for cosine in (less, more))
    assert far <= near


@given(shares, st.floats(0, 100), st.none() | st.floats(-1, 1))
def test_what_was_not_seen_makes_an_answer_partly_at_most_and_lowers_no_other_verdict(
    covered: float, strength: float, cosine: float | None
) -> None:
    whole = Signals(covered, 0.0, strength, cosine)
    lacking = replace(whole, unstated="port")
    verdicts = [decide(estimate_confidence(signals), "which port is it", ()) for signals in (whole, lacking)]
    assert verdicts[1] == ("partly" if verdicts[0] == "answered" else verdicts[0])


def test_a_rare_word_counts_more_than_a_common_one_and_a_missing_word_as_much_as_the_rarest() -> None:
    rare, common, missing = WordScores((6.0, 0.0), 6.0), WordScores((0.0, 2.0), 2.0), WordScores((0.0, 0.0), 0.0)
    elsewhere = WordScores((0.0, 0.0), 2.0)
    assert measure_signals([rare, common], None) == Signals(covered=0.75, missing=0.0, strength=6.0)
    assert measure_signals([rare, common, missing, elsewhere], 0.5) == Signals(6 / 16, 6 / 16, 6.0, 0.5)
    assert [word.is_missing for word in (rare, common, missing, elsewhere)] == [False, False, True, False]


@pytest.mark.parametrize("words", [[], [WordScores((), 0.0)], [WordScores((0.0,), 0.0)]])
def test_a_question_without_any_known_word_is_not_found(words: list[WordScores]) -> None:
    assert decide(estimate_confidence(measure_signals(words, None)), "a question", ()) == "not_found"
    assert decide(estimate_confidence(measure_signals(words, 0.1)), "a question", ()) == "not_found"


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        (Signals(1.0, 0.0, 20.0), "answered"),
        (Signals(1.0, 0.0, 20.0, 0.6), "answered"),
        (Signals(0.6, 0.1, 5.0), "partly"),
        (Signals(0.5, 0.1, 5.0, 0.45), "partly"),
        (Signals(0.2, 0.6, 3.0), "not_found"),
        (Signals(0.3, 0.4, 3.0, 0.2), "not_found"),
    ],
)
def test_the_verdict_follows_from_the_signals(signals: Signals, expected: str) -> None:
    assert decide(estimate_confidence(signals), "how long are backups kept", ()) == expected


@pytest.mark.parametrize(
    ("confidence", "missing", "expected"),
    [
        (ANSWERED_FROM, (), "answered"),
        (ANSWERED_FROM - 0.001, (), "partly"),
        (NOT_FOUND_BELOW, (), "partly"),
        (NOT_FOUND_BELOW - 0.001, (), "not_found"),
        (0.99, ("retention",), "answered"),
        (0.99, ("Kafka",), "partly"),
        (0.01, ("Kafka",), "not_found"),
    ],
)
def test_thresholds_divide_verdicts_and_a_missing_name_leaves_the_answer_in_part(
    confidence: float, missing: tuple[str, ...], expected: str
) -> None:
    assert decide(confidence, "What retention does Kafka have?", missing) == expected


@pytest.mark.parametrize(
    ("word", "question", "expected"),
    [
        ("Kafka", "How does Kafka work", True),
        ("How", "How does Kafka work", False),
        ("Retries", "It failed. Retries do not help", False),
        ("v2", "what is new in v2", True),
        ("max_size", "what is max_size", True),
        ("getName", "what is getName", True),
        ("iOS", "iOS or not", True),
        ("naïve", "what is naïve", False),
        ("kafka", "how does kafka work", False),
    ],
)
def test_names_have_capitals_digits_or_underscores(word: str, question: str, expected: bool) -> None:
    assert is_name(word, question) == expected


def test_every_model_of_the_table_has_a_scale_and_the_default_its_own_cosines() -> None:
    assert [(scale.background, scale.related) for scale in COSINE_SCALES] == [
        (record.background, record.related) for record in MODELS.values()
    ]
    assert rescale_cosine(0.432, DEFAULT.background, DEFAULT.related) == 0.432


@pytest.mark.parametrize("scale", COSINE_SCALES)
def test_a_model_is_known_by_its_measured_cosines_up_to_the_rounding_of_a_processor(scale: CosineScale) -> None:
    expected = scale.slope * 0.8 + scale.offset
    assert rescale_cosine(0.8, scale.background + 0.01, scale.related - 0.01) == expected
    assert rescale_cosine(0.8, scale.background + 0.05, scale.related) is None


def test_scales_are_far_enough_from_each_other_to_be_told_apart() -> None:
    for one, other in combinations(COSINE_SCALES, 2):
        assert max(abs(one.background - other.background), abs(one.related - other.related)) > 0.05


@pytest.mark.parametrize(
    ("verdict", "missing", "quotes", "expected"),
    [
        ("answered", [], [{}], "answered (confidence 0.900)"),
        ("answered", ["rid"], [{}], "answered (confidence 0.900): no document searched has 'rid'"),
        ("partly", ["Kafka", "X1"], [{}], "partly (confidence 0.900): no document searched has 'Kafka', 'X1'"),
        (
            "not_found",
            ["a"],
            [{}],
            "not found (confidence 0.900): no document searched has 'a'; nearest quotes follow",
        ),
        ("not_found", [], [], "not found (confidence 0.900)"),
        ("not_found", [], [{}], "not found (confidence 0.900): nearest quotes follow"),
    ],
)
def test_the_verdict_is_one_line(
    verdict: str, missing: list[str], quotes: list[dict[str, str]], expected: str
) -> None:
    payload = {"verdict": verdict, "confidence": 0.9, "missing_terms": missing, "quotes": quotes}
    assert render_verdict(payload) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [("pulumi", True), ("Argocd", True), ("minikube", True), ("leuekmogenesis", True), ("long", False),
     ("retention", False), ("Installed", False), ("verschlüsselt", False), ("v2", False), ("", False)],
)  # fmt: skip
def test_a_word_without_a_token_of_its_own_is_rare(word: str, expected: bool) -> None:
    assert is_rare(word) == expected


def test_a_rare_word_that_is_missing_leaves_an_english_answer_in_part() -> None:
    question = "does kafka work with pulumi"
    for is_english, expected in ((True, "partly"), (False, "answered")):
        assert decide(0.99, question, ("pulumi",), is_english=is_english) == expected
    assert decide(0.99, "how long are backups kept", ("long",), is_english=True) == "answered"


def test_no_word_is_rare_without_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_verdict, "encoding_name", lambda: FALLBACK)
    assert not is_rare("pulumi")
