"""Quotes: the choice of spans, and the text that a quote shows of its passage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.text.limits import MAX_QUOTE_CHARS
from winnow.server.text.quotes.scoring import SIMILAR_SPANS, Quote, quotes
from winnow.server.text.words.spans import matches, scored_spans, terms
from winnow.server.text.words.tokens import count_tokens

PIECES = (
    *(
        "```\n",
        "~~~",
        "- ",
        "1. ",
        "| a | b |",
        "# ",
        "\n",
        "\n\n",
        "  ",
        "\t",
        ". ",
        "...",
        "?! ",
        "。",
        "؟",
        '"',
    ),
    *("backup ", "backups", "Restore ", "ninety days", "数据库", "नमस्ते", "😀", "\x00", "\ud800", "\ud83d\ude00"),
    *("word " * 60, "x" * 700, "漢字" * 200, ".", "-" * 90, " " * 40),
)
TEXTS = st.one_of(
    st.text(st.characters(), max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
)
PASSAGES = st.lists(TEXTS, max_size=5)
QUESTIONS = st.one_of(st.just("How long is a backup kept: ninety days? 数据库 xxx"), st.text(max_size=60), TEXTS)
MANUAL = (
    "# Backups\n\nBackups are encrypted before they leave the machine. They are kept for ninety days. "
    "Restores take an hour.\n\n```sh\nbackup --keep 90\n```\n\n- Ask the owner first.\n- Then restore the backup."
)
NOTES = "Backups are encrypted before they leave the machine.\n\nNobody restores a backup without the owner."


def quote_from(question: str, *passages: str, limit: int = 6, max_tokens: int = 80, context: int = 0) -> list[str]:
    found = quotes(question, passages, limit=limit, max_tokens=max_tokens, context_tokens=context)
    return [quote.text for quote in found]


def without_marks(text: str) -> str:
    return text.removeprefix("…").removesuffix("…")


def test_the_spans_of_all_passages_are_ranked_together() -> None:
    """By the share of the question's terms, then by length, shortest first, then by position."""
    passages = [
        "Restores take an hour.",
        "Backups are encrypted.",
        "Nobody restores a backup.",
        "A backup exists.",
    ]
    assert quote_from("Who restores an encrypted backup?", *passages, "It restores it.", "It deletes.") == [
        "Backups are encrypted.",
        "Nobody restores a backup.",
        "It restores it.",
        "A backup exists.",
        "Restores take an hour.",
    ]


def test_neighbours_that_say_something_of_the_question_are_one_quote() -> None:
    """As far as the limit allows; without context a quote is one span."""
    text = "Nothing. Backups are encrypted. Backups are kept. Nothing. Backups are deleted."
    assert quote_from("encrypted backups kept", text, context=1) == [
        "…Backups are encrypted. Backups are kept. Nothing.…",
        "Backups are deleted.",
    ]
    assert quote_from("encrypted backups kept", text, context=1, max_tokens=6) == [
        "Backups are kept.",
        "Backups are encrypted.",
        "Backups are deleted.",
    ]
    assert quote_from("encrypted backups kept", text, limit=1) == ["Backups are kept."]


@pytest.mark.parametrize("max_tokens", [12, 30, 80])
def test_what_a_quote_shows_no_other_quote_of_the_passage_shows_again(max_tokens: int) -> None:
    sentences = [f"Backup number {number} is kept." for number in range(100, 140)]
    found = quote_from("backup number kept", " ".join(sentences), limit=100, max_tokens=max_tokens, context=20)
    assert [sum(sentence in quote for quote in found) for sentence in sentences] == [1] * len(sentences)


def test_confidence_is_the_share_of_the_questions_terms_that_the_quote_says() -> None:
    (best,) = quotes("kept ninety years", [MANUAL], limit=1, max_tokens=80, context_tokens=20)
    assert (best.passage, MANUAL[best.start : best.end], best.confidence, best.likeness) == (
        0,
        "They are kept for ninety days.",
        pytest.approx(2 / 3),
        None,
    )


@pytest.mark.parametrize("similarity", [None, lambda texts: [0.3] * len(texts)], ids=["words", "dense"])
def test_confidence_counts_what_the_quote_shows_around_its_sentence(
    similarity: Callable[[Sequence[str]], Sequence[float]] | None,
) -> None:
    """Seven of eight words are in the two sentences shown, however the span was found."""
    text = "The port of a gateway is open by default. Firewall rules are set for backups. Nothing else is said."
    question = "port gateway open default firewall rules set volcano"
    (first, *_) = quotes(
        question, [text], limit=1, max_tokens=80, context_tokens=20, priors=[1.0], similarity=similarity
    )
    assert "Firewall rules are set" in first.text
    assert first.confidence == 7 / 8
    assert first.likeness == (None if similarity is None else 0.3)


def test_two_quotes_of_every_ranked_passage_come_before_a_third_of_one() -> None:
    passages = ["Backup one. Backup two. Backup three.", "A backup is kept. No backup is lost.", "Backup again."]
    found = quotes("backup", passages, limit=9, max_tokens=80, context_tokens=0, priors=[1.0, 0.5, 0.1])
    assert [quote.passage for quote in found] == [0, 0, 1, 1, 2, 0]
    few = quotes("backup", passages, limit=9, max_tokens=80, context_tokens=0, priors=[1.0, 0.5, 0.1], from_most=2)
    assert [quote.passage for quote in few] == [0, 0, 1, 1, 0]


@pytest.mark.parametrize("question", ["", "of it", "an unheard question about volcanoes", "?!"])
def test_nothing_is_quoted_that_says_nothing_of_the_question(question: str) -> None:
    assert quote_from(question, MANUAL, NOTES, "", "  \n") == []


def test_what_several_passages_say_is_quoted_once() -> None:
    """Case and white space are ignored; text that a quote shows as context counts."""
    repeated = "backups ARE encrypted\nbefore they leave the machine."
    assert quote_from("encrypted machine", MANUAL, NOTES, repeated) == [
        "Backups are encrypted before they leave the machine."
    ]
    assert quote_from("kept ninety days encrypted", MANUAL, NOTES, context=20)[1:] == []


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (0, "They are kept for ninety days."),
        (
            3,
            "…Backups are encrypted before they leave the machine. They are kept for ninety days. "
            "Restores take an hour.…",
        ),
        (60, MANUAL),
    ],
)
def test_a_quote_shows_its_span_whole_and_some_context(context: int, expected: str) -> None:
    """Context is rounded up to whole spans where there is room."""
    assert quote_from("kept ninety", MANUAL, limit=1, context=context) == [expected]


def test_the_span_of_a_better_passage_is_quoted_first() -> None:
    passages = ["A backup is kept.", "Each backup is kept for days.", "About volcanoes. And more."]
    found = quotes("backup kept", passages, limit=9, max_tokens=80, context_tokens=0, priors=[0.1, 0.9, 0.8])
    assert [(quote.passage, quote.text) for quote in found] == [
        (1, "Each backup is kept for days."),
        (0, "A backup is kept."),
        (2, "About volcanoes."),
    ]


def test_a_passage_that_was_found_by_its_title_is_quoted_with_its_first_span() -> None:
    (found,) = quotes("backup", ["About volcanoes. More."], limit=9, max_tokens=80, context_tokens=0, priors=[1.0])
    assert (found.text, found.confidence) == ("About volcanoes.", 0.0)


def test_context_never_pushes_the_span_out() -> None:
    """The rest of the limit is shared by the text before and after the span."""
    long = "alpha " * 90 + "omega. The needle is here, whole. " + "beta " * 90
    (quote,) = quote_from("needle", long, max_tokens=20, context=40)
    assert "The needle is here, whole." in quote
    assert quote.startswith("…alpha")
    assert quote.endswith("beta…")
    assert quote_from("needle", long, max_tokens=7, context=40) == ["The needle is here, whole."]


def test_a_span_that_is_too_long_is_cut_around_most_of_its_terms() -> None:
    long = "backup " + "alpha " * 300 + "an encrypted backup is kept ninety days " + "beta " * 300 + "kept"
    (quote,) = quote_from("How long is an encrypted backup kept?", long, context=20)
    assert "an encrypted backup is kept ninety days" in quote
    assert (quote[0], quote[-1]) == ("…", "…")


def test_a_long_code_block_is_quoted_around_its_match() -> None:
    code = "```py\n" + "value = 1\n" * 200 + "needle = open()\n" + "value = 2\n" * 200 + "```"
    (quote,) = quote_from("needle", code)
    assert "needle = open()" in quote
    assert code.count("\n") > quote.count("\n") > 3


def holds_for(question: str, passages: list[str], limit: int, max_tokens: int, context: int) -> list[Quote]:
    found = quotes(question, passages, limit=limit, max_tokens=max_tokens, context_tokens=context)
    assert len(found) <= limit
    scores: list[float] = []
    for quote in found:
        passage = passages[quote.passage]
        assert count_tokens(quote.text) <= max_tokens
        assert 0 < len(quote.text) <= MAX_QUOTE_CHARS
        assert quote.text.strip("…") in passage
        said = {match.term for match in matches(quote.text, terms(question))}
        assert quote.confidence == len(said) / len(terms(question))
        scores.append(
            {(one.start, one.end): one.score for one in scored_spans(passage, terms(question))}[
                quote.start, quote.end
            ]
        )
        assert 0 < scores[-1] <= 1
        span = passage[quote.start : quote.end]
        assert (span in quote.text) or not (len(span) <= MAX_QUOTE_CHARS and count_tokens(span) <= max_tokens)
    assert scores == sorted(scores, reverse=True)
    return found


@given(QUESTIONS, PASSAGES, st.integers(0, 8), st.integers(1, 120), st.integers(0, 60))
def test_no_quote_of_any_text_exceeds_its_limits_or_loses_its_span(
    question: str, passages: list[str], limit: int, max_tokens: int, context: int
) -> None:
    found = holds_for(question, passages, limit, max_tokens, context)
    more = quotes(question, passages, limit=limit + 3, max_tokens=max_tokens, context_tokens=context)
    assert more[:limit] == found


@given(QUESTIONS, PASSAGES)
def test_every_passage_that_says_a_term_can_be_quoted(question: str, passages: list[str]) -> None:
    """Except passages whose text another quote already shows."""
    found = quotes(question, passages, limit=10_000, max_tokens=80, context_tokens=0)
    says = [bool(matches(passage, terms(question))) for passage in passages]
    assert bool(found) == any(says)
    assert all(says[quote.passage] for quote in found)


@pytest.mark.parametrize(
    "text",
    [
        "backup " * 150_000,
        "a" * 200_000 + " backup " + "b" * 200_000,
        "漢字" * 20_000 + "数据库。",
        " " * 200_000 + "backup" + " " * 200_000,
        "```\nbackup\n" + "~~~\n" * 50_000,
        "\ud83d\ude00" * 100_000 + "backup" + "\ud800" * 9,
        "backup. " * 5_000,
    ],
    ids=["words", "two words", "ideographs", "spaces", "fence", "surrogates", "sentences"],
)
def test_text_without_an_end_is_quoted_within_the_limits(text: str) -> None:
    (quote,) = holds_for("backup 数据库", [text], 1, 80, 20)
    assert matches(quote.text, terms("backup 数据库"))


def test_a_cut_never_halves_a_character() -> None:
    halves = "\ud83d\ude00" * 400
    for before, after in product(("", "z"), ("", "z")):
        for quote in quote_from("needle", f"{halves}{before} needle {after}{halves}", max_tokens=30, context=10):
            shown = without_marks(quote).replace("needle", "").replace("z", "").replace(" ", "")
            assert shown == "\ud83d\ude00" * (len(shown) // 2)


def test_a_similarity_is_asked_once_for_the_best_spans_and_reorders_them() -> None:
    asked: list[list[str]] = []

    def likeness(texts: Sequence[str]) -> list[float]:
        asked.append([*texts])
        return [float("hour" in text) for text in asked[-1]]

    passages = ["Nobody restores.", "It takes an hour."]
    found = quotes(
        "How long until a backup restores?",
        passages,
        limit=3,
        max_tokens=80,
        context_tokens=0,
        similarity=likeness,
    )
    assert [quote.text for quote in found] == passages[::-1]
    assert asked == [passages]


def test_a_similarity_is_asked_for_so_many_spans_and_the_others_follow() -> None:
    asked: list[int] = []

    def likeness(texts: Sequence[str]) -> list[float]:
        asked.append(len(texts))
        return [2.0, -1.0] * (len(texts) // 2)

    passages = [f"Backup number {number}." for number in range(100, 100 + 3 * SIMILAR_SPANS)]
    found = quotes("backup number", passages, limit=100, max_tokens=80, context_tokens=0, similarity=likeness)
    assert (asked, len(found)) == ([SIMILAR_SPANS], len(passages))
    assert all(0 <= quote.confidence <= 1 and 0 <= (quote.likeness or 0) <= 1 for quote in found)
    assert [quote.likeness is None for quote in found] == [
        number >= SIMILAR_SPANS for number in range(len(passages))
    ]


HEAPS = ("Equivalent to: sorted(iterable, reverse=True)[:n]", "Fast version of a heappush followed by a heappop.")
OF_HEAPS = ("heapq > heapq.nlargest(n, iterable)", "heapq > heapq.heappushpop(heap, item)")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("heapq.nlargest equivalent to", 0),  # each term is in the span or the headings above it
        ("Which single call is the same as a push and then a pop?", 1),  # no term is found
    ],
)
def test_a_question_that_is_found_word_for_word_ranks_by_words_and_any_other_by_similarity(
    question: str, first: int
) -> None:
    found = quotes(
        question,
        HEAPS,
        limit=2,
        max_tokens=80,
        context_tokens=0,
        priors=[1.0, 1.0],
        similarity=lambda texts: [0.9 if "heappush" in text else 0.3 for text in texts],
        headings=OF_HEAPS,
    )
    assert found[0].text == HEAPS[first]


@given(
    st.lists(st.tuples(st.sampled_from(("alpha", "beta", "alpha beta", "gamma")), st.floats(-1, 1)), min_size=1),
    st.sampled_from(("alpha beta gamma delta", "alpha beta", "gamma", "alpha omega sigma")),
)
def test_a_span_with_more_of_the_question_and_no_less_likeness_is_never_quoted_later(
    spans: list[tuple[str, float]], question: str
) -> None:
    """Whatever the weights: both scores count."""
    texts = [f"{words.capitalize()} {number:03}." for number, (words, _) in enumerate(spans)][:SIMILAR_SPANS]
    likeness = {text: value for text, (_, value) in zip(texts, spans, strict=False)}
    found = quotes(
        question,
        texts,
        limit=100,
        max_tokens=80,
        context_tokens=0,
        similarity=lambda asked: [likeness[text] for text in asked],
    )
    places = [(found_in.confidence, max(0.0, likeness[found_in.text])) for found_in in found]
    for place, (share, value) in enumerate(places):
        assert not any(share < later and value < similar for later, similar in places[place + 1 :]), (
            f"{found[place].text} is quoted before a better span"
        )


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("backup kept ninety days", "The backup is kept for ninety days."),
        ("How long is a backup safe?", "Copies live for three months."),
    ],
)
def test_passages_beyond_those_asked_for_are_read_only_where_words_do_not_find_the_answer(
    question: str, quoted: str
) -> None:
    passages = ["The backup is kept for ninety days.", "Copies live for three months."]
    found = quotes(
        question,
        passages,
        limit=6,
        max_tokens=80,
        context_tokens=0,
        similarity=lambda texts: [0.4 if "backup" in text else 0.9 for text in texts],
        from_most=1,
    )
    assert [quote.text for quote in found] == [quoted]


@pytest.mark.parametrize(("likeness", "expected"), [(0.5, ["Someone may be faster."]), (0.1, [])])
def test_a_span_without_a_term_is_quoted_only_where_it_is_like_the_question(
    likeness: float, expected: list[str]
) -> None:
    found = quotes(
        "Why is mktemp dangerous?",
        ["Someone may be faster."],
        limit=6,
        max_tokens=80,
        context_tokens=20,
        similarity=lambda texts: [likeness] * len(texts),
    )
    assert [quote.text for quote in found] == expected


def test_where_nothing_is_like_the_question_the_best_passage_is_quoted_as_by_words_alone() -> None:
    (quote,) = quotes(
        "retry policy",
        ["About volcanoes. More."],
        limit=6,
        max_tokens=80,
        context_tokens=0,
        priors=[1.0],
        similarity=lambda texts: [0.0] * len(texts),
    )
    assert (quote.text, quote.confidence, quote.likeness) == ("About volcanoes.", 0.0, None)


def test_no_similarity_is_asked_where_there_is_no_text() -> None:
    def never(texts: Sequence[str]) -> list[float]:
        raise AssertionError(texts)

    assert quotes("backup", ["", " "], limit=6, max_tokens=80, context_tokens=0, similarity=never) == []
