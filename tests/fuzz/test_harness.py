"""The harness answers each request once, and says of each what it did."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from .harness import Harness


def _end_worker(harness: Harness, number: signal.Signals) -> None:
    first = harness.process_id
    (worker,) = map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())
    os.kill(worker, number)
    while Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "findings"),
    [(signal.SIGKILL, []), (signal.SIGSEGV, ["signal 11 ended the worker after an answer"])],
)
def test_the_answer_after_a_worker_that_ended_between_two_programs_is_of_the_second(
    harness: Harness, number: signal.Signals, findings: list[str]
) -> None:
    assert harness.judge("1") == {"ending": "ok", "findings": []}
    _end_worker(harness, number)
    assert harness.compile("import os")["findings"] == findings
    assert harness.compile("import os")["ending"] == "refused"


def test_a_program_that_does_not_end_is_ended_and_the_next_one_runs() -> None:
    harness = Harness()
    try:
        assert harness.judge("while True: pass") == {"ending": "signal", "findings": []}
        assert harness.judge("1") == {"ending": "ok", "findings": []}
    finally:
        harness.close()
