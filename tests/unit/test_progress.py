"""Progress of an ingest: by passage, with the name of the file, and an estimate that does not jump."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from tests.patience import LIMIT
from winnow.server.commands.terminal import progress as terminal
from winnow.server.commands.terminal.progress import show_progress, show_trials
from winnow.server.ingest.read_ahead import read_ahead
from winnow.server.ingest.report import Progress, ProgressMeter

pytestmark = pytest.mark.both_users


def test_progress_within_a_large_document_is_reported_by_passage() -> None:
    """One document is one batch: its computed passages count before it is written."""
    seen: list[Progress] = []
    meter = ProgressMeter(seen.append, documents_total=1, bytes_total=1_000, current="large.md")
    meter.began -= 10
    meter.begin(100, 1_000)
    for _ in range(4):
        meter.advance(25)
        meter.report()
    shares = [(each.computed, each.fraction, each.documents, each.current) for each in seen[-1:]]
    assert shares == [(100, 1.0, 0, "large.md")]
    assert sorted({each.fraction or 0.0 for each in seen}) == [0.25, 0.5, 0.75, 1.0]
    meter.add((), 100, 1_000)
    assert (seen[-1].computed, seen[-1].chunks, seen[-1].fraction) == (0, 100, 1.0)


def _shown_estimates(fractions: Sequence[float], *, seconds: float) -> list[float | None]:
    """The estimates of a meter that is at these parts of 1,000 bytes, ``seconds`` after one another."""
    seen: list[Progress] = []
    now = 0.0
    meter = ProgressMeter(seen.append, documents_total=1, bytes_total=1_000, clock=lambda: now)
    meter.begin(1_000, 1_000)
    for before, fraction in pairwise((0.0, *fractions)):
        now += seconds
        meter.advance(round(1_000 * (fraction - before)))
        meter.report()
    return [each and round(each) for each in (progress.seconds_left for progress in seen[1::2])]


def test_there_is_no_estimate_until_a_part_is_done_that_tells_the_pace() -> None:
    """The first passages say nothing of the others, nor do the first seconds."""
    assert _shown_estimates([0.01, 0.02, 0.04], seconds=10.0) == [None, None, None]
    assert _shown_estimates([0.1, 0.2, 0.3], seconds=3.0) == [None, None, None]
    assert _shown_estimates([0.1, 0.2, 0.3, 0.4], seconds=3.0)[-1] == 18


def test_there_is_no_estimate_while_nothing_is_done() -> None:
    """Seven percent were small pages; the large file after them made two minutes into seven as it was read."""
    assert _shown_estimates([0.07] * 40, seconds=4.0) == [None] * 40
    assert _shown_estimates([0.07] * 40 + [0.08] * 12, seconds=4.0) == [None] * 52


def test_the_estimate_is_by_the_pace_of_late() -> None:
    """The file took two minutes to be read, and its passages one second for each percent."""
    fractions = [0.07] * 30 + [0.07 + 0.04 * step for step in range(1, 20)]
    shown = [left for left in _shown_estimates(fractions, seconds=4.0) if left is not None]
    assert (shown[0], shown[-1]) == (77, 17)


def test_the_estimate_moves_towards_the_pace_and_does_not_jump() -> None:
    """A file that takes ten times as long does not make ten times as much of what is left at once."""
    meter = ProgressMeter(None)
    first = meter._smooth(100.0)
    second = meter._smooth(1_000.0)
    assert (first, second < 400.0, meter._smooth(1_000.0) > second) == (100.0, True, True)


def test_the_loop_hears_that_it_waits_for_the_next_item() -> None:
    """So the name of a file that takes long to read is shown."""
    may_go_on = threading.Event()

    def items() -> Iterator[int]:
        may_go_on.wait(LIMIT)
        yield 1

    assert list(read_ahead(items(), 3, lambda item: item, may_go_on.set)) == [1]
    assert may_go_on.is_set()


def test_a_pipe_gets_lines_also_while_nothing_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last steps of an ingest report nothing; a person still sees that it works, and on which file."""
    monkeypatch.setattr(terminal, "_PLAIN_EVERY_SECONDS", 0.01)
    with show_progress() as on_progress:
        on_progress(Progress(1, 3, 10, 5.0, 4.0, 0.5, 10, 20, current="second.md", computed=2))
        said = ""
        while said.count("second.md") < 2:
            said += capsys.readouterr().err
    assert "indexing 50%: 1 document of 3 files, 12 chunks, 5 chunks/s, 4 s left; second.md" in said


def test_a_pipe_gets_lines_of_trials_that_take_minutes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_PLAIN_EVERY_SECONDS", 0.01)
    with show_trials("attacking", 1_500) as advance:
        said = ""
        for _ in range(3):
            advance()
        while "attacking: 3 of 1,500\n" not in said:
            said += capsys.readouterr().err
