"""Near-misses: pairs that are made, answers that are taken out, the fit, and the program over five pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.bench import near_misses
from tests.bench.near_miss_pairs import Pair, make_pairs, read_pairs_by_hand, remove_answers
from tests.bench.near_misses import MOVED_TO_HALF, Row, fit
from winnow.server.operations.verdicts import Judgement
from winnow.server.retrieval.verdict import COEFFICIENTS, Signals
from winnow.server.text.answers.kinds import find_asked

PAGE = """\
# Gateway

The gateway waits 30 seconds for an answer of the backend before it closes the connection.

The gateway listens on port 8443 for requests that come from the outer network alone.

Its log is written by the collector, which waits 30 seconds as well.
"""
WAIT = Pair("wait", "made", "hand", "How many seconds does the gateway wait?", ("30",), frozenset(["gateway.md"]))


def test_the_pairs_by_hand_ask_for_what_their_answers_are() -> None:
    pairs = read_pairs_by_hand()
    assert len(pairs) >= 90
    assert len({pair.question for pair in pairs}) == len(pairs)
    assert all(pair.answers[0] not in pair.question for pair in pairs if len(pair.answers[0]) > 2)


def test_a_made_question_has_not_its_answer_and_asks_for_its_kind() -> None:
    pairs = make_pairs("made", {"gateway.md": PAGE})
    assert pairs == make_pairs("made", {"gateway.md": PAGE})
    assert pairs
    for pair in pairs:
        assert pair.answers[0] in PAGE
        assert pair.answers[0] not in pair.question
        assert find_asked(pair.question).kind in {"number", "port"}


def test_answers_near_the_subject_are_taken_out_of_all_documents() -> None:
    other = "# Timeouts\n\nThe gateway waits 30 seconds. A printer waits 30 minutes.\n"
    left = remove_answers({"gateway.md": PAGE, "other.md": other}, [WAIT])
    assert "waits 30 seconds for an answer" not in left["gateway.md"]
    assert "port 8443" in left["gateway.md"]
    assert left["other.md"] == "# Timeouts\n\n A printer waits 30 minutes.\n"


def row(kind: str, stated: float, collection: str = "made") -> Row:
    signals = Signals(0.5 + stated / 4, 0.1, 5.0, None, stated)
    return Row(
        collection, f"{kind}{stated}", "hand", kind, Judgement("which port is open", signals, (), True, "port")
    )


def test_a_fit_finds_that_what_is_stated_speaks_for_an_answer() -> None:
    rows = [row("answerable", 0.5 + number / 20) for number in range(10)]
    rows += [row("removed", number / 20) for number in range(12)]
    fitted = fit(rows, "words and value")
    assert fitted.keys() == COEFFICIENTS["words and value"].keys()
    assert fitted["stated"] > 0


def test_every_method_with_a_value_is_fitted_and_its_offset_is_moved() -> None:
    assert set(near_misses.METHODS.values()) == MOVED_TO_HALF.keys()
    assert set(near_misses.METHODS) | MOVED_TO_HALF.keys() == COEFFICIENTS.keys()


def test_nothing_is_fitted_to_the_held_out_collection_or_to_documents_left_out() -> None:
    rows = [row(kind, number / 50, name) for kind in ("answerable", "removed") for number in range(50) for name in
            ("made", near_misses.HELD_OUT)]  # fmt: skip
    fitted_to = [each for each in rows if each.is_fitted_to]
    assert {each.collection for each in fitted_to} == {"made"}
    assert 25 <= len(fitted_to) <= 75
    assert not row("left out", 0.5).is_fitted_to


def test_the_program_measures_a_small_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data" / "made" / "md"
    folder.mkdir(parents=True)
    for name, seconds in (("gateway", 30), ("printer", 45), ("router", 60), ("mirror", 75), ("beacon", 90)):
        (folder / f"{name}.md").write_text(PAGE.replace("ateway", name[1:]).replace("30", str(seconds)), "utf-8")
    monkeypatch.setattr(near_misses, "METHODS", {"words": "words and value"})
    monkeypatch.setattr(near_misses, "_read_golden_corpora", lambda: iter(()))
    arguments = [str(tmp_path / "data"), "--store", str(tmp_path / "store"), "--json"]
    first, again = (CliRunner().invoke(near_misses.app, arguments) for _ in range(2))
    assert (first.exit_code, first.stdout) == (0, again.stdout), first.output
    figures = json.loads(first.stdout)["words and value"]
    assert figures["fitted"].keys() == COEFFICIENTS["words and value"].keys()
    assert figures["by document, all"].keys() >= {"questions", "answered", "removed", "left out"}
