"""The demonstration with the whole corpus, the real model, a real server and a real client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WINNOW = Path(sys.executable).with_name("winnow")

pytestmark = [pytest.mark.slow, pytest.mark.walls, pytest.mark.timeout(600)]


def _demo(store: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [WINNOW, "demo", "--store", store, *options]
    return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def store(demonstrated: tuple[Path, dict[str, Any]]) -> Path:
    return demonstrated[0]


@pytest.fixture(scope="module")
def first(demonstrated: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return demonstrated[1]


def test_both_ways_give_the_answer_that_the_docstrings_give(first: dict[str, Any]) -> None:
    """The demonstration compares two right answers, not a good one with a bad one."""
    answers = [first["arms"]["direct"]["answer"], first["arms"]["scripted"]["answer"]]
    assert answers == [first["answer"]] * 2
    assert len(first["answer"]) >= 8


def test_the_script_takes_at_most_a_tenth_of_the_context(first: dict[str, Any]) -> None:
    """In either channel."""
    arms = first["arms"]
    for count in ("tokens", "tokens_structured"):
        assert arms["scripted"][count] * 10 <= arms["direct"][count]


def test_every_wall_stood_around_the_script(first: dict[str, Any]) -> None:
    """Without the sandbox the demonstration would prove nothing."""
    walls = first["arms"]["scripted"]["details"]["walls"]
    assert (first["why_no_script"], walls) == ("", {"missing": []})


def test_a_second_run_indexes_nothing_and_explains_itself(first: dict[str, Any], store: Path) -> None:
    """The output has the question, both answers, the figures, the walls, and the next steps."""
    done = _demo(store)
    assert done.returncode == 0, done.stderr
    expected = ["Nothing changed", first["question"][:40], "Queue.get", "right", "Every wall", "winnow ingest"]
    assert [text for text in expected if text not in done.stdout] == []


def test_without_a_sandbox_the_direct_way_is_shown_and_that_is_no_failure(
    first: dict[str, Any], store: Path
) -> None:
    """The demonstration said at its start why, and that it shows one way only."""
    done = _demo(store, "--json", WINNOW_EXECUTE_CODE="off")
    found = json.loads(done.stdout)
    assert (done.returncode, found["arms"]["scripted"], found["arms"]["direct"]["right"]) == (0, None, True)
    assert found["why_no_script"].startswith("execute_code is switched off")
