"""The figures of the verdict: area under the curve, the fit, calibration, and the counts of verdicts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.bench import verdict
from tests.bench.verdict import Judged, area_under_curve, calibration_table, fit, summarise
from winnow.server.retrieval.answer_verdict import COEFFICIENTS, Signals
from winnow.server.text.asked_values import find_asked_value

BY_HAND = Path(verdict.__file__).with_suffix(".jsonl")


def judged(kind: str, covered: float, queries: str = "own") -> Judged:
    signals = Signals(covered, 0.5 - covered / 2, 10 * covered)
    return Judged("made", queries, kind, "which port is open", signals, ())


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [([2, 3], [0, 1], 1.0), ([0, 1], [2, 3], 0.0), ([1, 1], [1], 0.5), ([1, 3], [2], 0.5)],
)
def test_the_area_under_the_curve_is_how_often_a_positive_is_above(
    positive: list[float], negative: list[float], expected: float
) -> None:
    assert area_under_curve(positive, negative) == expected


def test_a_fit_finds_that_covered_words_speak_for_an_answer() -> None:
    rows = [judged("answerable", 0.5 + number / 20) for number in range(10)]
    rows += [judged("foreign", number / 20) for number in range(12)]
    fitted = fit(rows)
    assert fitted.keys() == COEFFICIENTS["words"].keys()
    assert fitted["covered"] > 0


def test_a_calibration_table_has_the_weighted_share_of_each_interval() -> None:
    table = calibration_table([0.1, 0.15, 0.9, 0.95], [False, True, True, True], [3.0, 1.0, 2.0, 2.0])
    assert table == [
        {"from": 0.0, "weight": 0.5, "confidence": 0.1125, "share": 0.25},
        {"from": 0.8, "weight": 0.5, "confidence": 0.925, "share": 1.0},
    ]


def test_figures_leave_out_what_was_fitted_to() -> None:
    rows = [judged("answerable", 1.0), judged("removed", 0.4), judged("foreign", 0.0, "others")]
    figures = summarise([*rows, judged("foreign", 1.0, "stdlib")])
    assert figures["pooled"] == {"foreign": 1.0, "removed": 1.0}
    assert {pair["against"] for pair in figures["pairs"]} == {"others", "removed"}
    assert figures["verdicts"]["foreign"] == {"answered": 0.0, "partly": 0.0, "not_found": 1.0}


def test_answered_questions_are_counted_with_and_without_the_values_they_ask_for() -> None:
    lacking = replace(judged("near-miss", 1.0), signals=replace(judged("near-miss", 1.0).signals, unstated="port"))
    figures = summarise([judged("answerable", 1.0), judged("foreign", 0.0), judged("removed", 0.4), lacking])
    assert figures["answered"]["near-miss"] == {"all": 1, "answered": 0, "by words and meaning": 1}
    assert figures["answered"]["answerable"] == {"all": 1, "answered": 1, "by words and meaning": 1}
    assert "near-miss" not in figures["verdicts"]


def test_the_questions_by_hand_are_twelve_with_an_answer_and_near_misses_of_each_kind_of_value() -> None:
    (folder,) = {row["collection"] for row in map(json.loads, BY_HAND.read_text("utf-8").splitlines())}
    rows = verdict._read_by_hand(folder)
    asked = [find_asked_value(rows.questions[id]) for id in rows.questions if id not in rows.answers]
    assert len(rows.answers) == 12
    assert Counter(value.kind for value in asked if value) == {"number": 6, "date": 5, "version": 5, "port": 6}


def test_the_program_measures_small_collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = {"alpha": "anchors", "beta": "bridges", "gamma": "gardens"}
    for name in ("one", "scifact"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        records = [
            {
                "_id": f"{name}-{key}",
                "title": key,
                "text": f"The {name} {word} of {key} are kept by the {word} club.",
            }
            for key, word in topics.items()
        ]
        queries = [{"_id": key, "text": f"who keeps the {name} {word} of {key}"} for key, word in topics.items()]
        judgements = "query-id\tcorpus-id\tscore\n" + "".join(f"{key}\t{name}-{key}\t1\n" for key in topics)
        for suffix in ("", "_train"):
            (folder / f"queries{suffix}.jsonl").write_text("\n".join(map(json.dumps, queries)), "utf-8")
            (folder / f"qrels{suffix}.tsv").write_text(judgements, "utf-8")
        (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    monkeypatch.setattr(verdict, "METHODS", ("words",))
    monkeypatch.setattr(verdict, "read_golden", lambda _: [])
    monkeypatch.setattr(verdict, "FITTED_QUERIES", ("scifact train", "one train"))
    arguments = [str(tmp_path / "data"), "--store", str(tmp_path / "store"), "--json"]
    first, again = (CliRunner().invoke(verdict.app, arguments) for _ in range(2))
    assert (first.exit_code, first.stdout) == (0, again.stdout), first.output
    figures = json.loads(first.stdout)["words"]
    assert {(pair["collection"], pair["against"]) for pair in figures["pairs"]} == {
        ("one", "scifact"),
        ("one", "removed"),
        ("scifact", "one"),
        ("scifact", "removed"),
    }
    assert figures["fitted"].keys() == COEFFICIENTS["words"].keys()
