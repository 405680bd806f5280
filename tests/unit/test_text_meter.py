"""The meter of passage text: each byte that a run takes in is charged once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from winnow.server.operations.answers import text_charges
from winnow.server.tools.scripts import text_meter
from winnow.server.tools.scripts.text_meter import TextMeter

TEXTS = {f"{number:012}": f"the text of passage {number}, ünïcode included " * number for number in range(1, 6)}
READS = st.lists(
    st.tuples(st.sampled_from([*TEXTS]), st.integers(0, 40), st.integers(0, 200), st.booleans()), max_size=30
)


def _charged_text_of(passage: str, start: int, length: int, is_whole: bool) -> text_charges.ChargedText:
    text = TEXTS[passage]
    return (
        text_charges.whole(passage, text)
        if is_whole
        else text_charges.piece(passage, text[start : start + length])
    )


@given(READS)
def test_a_run_pays_at_least_for_the_distinct_text_and_never_twice_for_the_same(
    reads: list[tuple[str, int, int, bool]],
) -> None:
    meter = TextMeter(10_000_000)
    covered: dict[str, set[int]] = {}
    for passage, start, length, is_whole in reads:
        taken = _charged_text_of(passage, start, length, is_whole)
        expected, before = meter.cost(taken), meter.left
        meter.take(taken)
        assert before - meter.left == expected >= 0
        assert meter.cost(taken) == 0
        characters = range(len(TEXTS[passage])) if is_whole else range(start, start + length)
        covered.setdefault(passage, set()).update(at for at in characters if at < len(TEXTS[passage]))
    distinct = sum(
        len("".join(TEXTS[passage][at] for at in places).encode()) for passage, places in covered.items()
    )
    assert meter.limit - meter.left >= distinct


def test_a_passage_that_was_read_whole_is_free_in_every_smaller_view() -> None:
    meter = TextMeter(100)
    meter.take(text_charges.whole("p", "0123456789"))
    assert (
        meter.cost(text_charges.total([text_charges.piece("p", "0123"), text_charges.whole("p", "0123456789")]))
        == 0
    )
    assert (meter.cost(text_charges.piece("q", "0123")), meter.left) == (4, 90)


def test_a_whole_passage_costs_what_its_pieces_have_not_paid() -> None:
    meter = TextMeter(100)
    meter.take(text_charges.total([text_charges.piece("p", "0123"), text_charges.piece("p", "89")]))
    assert meter.cost(text_charges.whole("p", "0123456789")) == 4
    meter.take(text_charges.whole("p", "0123456789"))
    assert meter.left == 90


def test_beyond_what_it_remembers_everything_is_charged_each_time() -> None:
    meter = TextMeter(10_000_000)
    for number in range(text_meter._MAX_REMEMBERED):
        meter.take({f"p{number}": 1})
    for _ in range(2):
        meter.take(text_charges.whole("late", "12345"))
    assert meter.limit - meter.left == text_meter._MAX_REMEMBERED + 10
