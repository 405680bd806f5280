"""Wait times are counted, and a clock runs during writes."""

from __future__ import annotations

import pytest

from winnow.server.runtime.waits import WaitCounter, WaitSummary, WriterClock

pytestmark = pytest.mark.as_root


def test_waits_are_told_in_milliseconds() -> None:
    waits = WaitCounter()
    assert waits.summary == WaitSummary(0, 0.0, 0.0, 0.0)
    for milliseconds in range(101):
        waits.note(milliseconds / 1000)
    assert waits.summary == WaitSummary(101, 50.0, 95.0, 100.0)


def test_only_the_latest_waits_are_judged_and_all_are_counted() -> None:
    waits = WaitCounter()
    waits.note(9.0)
    for _ in range(10_000):
        waits.note(0.0)
    assert waits.summary == WaitSummary(10_001, 0.0, 0.0, 0.0)


def test_the_clock_runs_while_at_least_one_writes_also_where_the_write_fails() -> None:
    clock = WriterClock()
    assert clock.seconds == 0.0
    with clock.running():
        first = clock.seconds
        with clock.running():
            second = clock.seconds
        third = clock.seconds
        assert first < second < third
    stopped = clock.seconds
    assert third < stopped == clock.seconds
    with pytest.raises(ValueError, match="full"), clock.running():
        raise ValueError("full")
    assert stopped < clock.seconds == clock.seconds
