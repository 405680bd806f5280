"""The demonstration's corpus and question: identical in every run and faithful to the docstrings."""

from __future__ import annotations

import queue
import re
import subprocess
import sys

import pytest

from winnow.server.commands.demo import NOT_STARTED, Demonstration
from winnow.server.commands.demonstration.client import Arm
from winnow.server.commands.demonstration.stdlib import ModuleDocs, read_corpus
from winnow.server.commands.demonstration.task import QUESTION, SCRIPT, SEARCHES, expected_answer, extract_answer
from winnow.server.ingest.report import IngestReport


@pytest.fixture(scope="module")
def documentation() -> list[ModuleDocs]:
    """The running Python's documentation."""
    return list(read_corpus())


@pytest.fixture(scope="module")
def texts(documentation: list[ModuleDocs]) -> dict[str, str]:
    """The text of every entry, by name."""
    return {entry.name: entry.doc for module in documentation for entry in module.entries}


def test_the_corpus_is_large_and_has_no_name_twice(documentation: list[ModuleDocs]) -> None:
    """A demonstration on a small corpus would prove nothing."""
    names = [module.name for module in documentation]
    assert len(names) == len(set(names)) > 200
    assert sum(len(module.entries) for module in documentation) > 3_000


def test_docstrings_are_taken_as_they_are(texts: dict[str, str]) -> None:
    """The corpus holds a method's own docstring."""
    assert texts["queue.Queue.put"].split() == (queue.Queue.put.__doc__ or "").split()


def test_names_from_private_modules_stand_where_users_find_them(texts: dict[str, str]) -> None:
    """``Future`` is written in ``concurrent.futures._base``; users do not import it from there."""
    assert "concurrent.futures.Future.result" in texts
    assert [name for name in texts if any(part.startswith("_") for part in name.split("."))] == []


def test_nothing_is_run_to_be_read() -> None:
    """Reading does not open a web page, print a poem (``this``) or draw a window."""
    code = "import sys; from winnow.server.commands.demonstration.stdlib import read_corpus; "
    code += "n = len(list(read_corpus())); "
    code += "print(sorted({'antigravity', 'this', 'turtle', 'tkinter', 'idlelib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_every_heading_is_one_of_ours(documentation: list[ModuleDocs]) -> None:
    """Headings, underlines and fences inside a docstring are not headings or fences of the document."""
    for module in documentation:
        text = module.markdown()
        assert len(re.findall(r"^ {0,3}#", text, re.MULTILINE)) == 1 + len(module.entries)
        assert re.findall(r"^ {0,3}(?:`{3}|~{3}|[=-]+\s*$)", text, re.MULTILINE) == []


def test_the_truth_knows_the_trap(documentation: list[ModuleDocs]) -> None:
    """``asyncio.wait`` names TimeoutError only to say that it does not raise it."""
    answer = expected_answer(documentation)
    assert "TimeoutError" in next(
        e.doc for m in documentation for e in m.entries if e.name == "asyncio.tasks.wait"
    )
    assert "asyncio.tasks.wait" not in answer
    expected = {
        "asyncio.tasks.wait_for": ["TimeoutError"],
        "concurrent.futures.Future.result": ["TimeoutError"],
        "queue.Queue.get": ["Empty"],
        "queue.Queue.put": ["Full"],
        "subprocess.run": ["TimeoutExpired"],
    }
    assert {name: answer.get(name) for name in expected} == expected


def test_reading_everything_gives_the_truth(documentation: list[ModuleDocs]) -> None:
    """An arm that gets every entry in full answers correctly: its only task is to find the entries."""
    rows = [
        {"metadata": {"section": f"{module.name} > {entry.heading}"}, "content": entry.doc}
        for module in documentation
        for entry in module.entries
    ]
    assert extract_answer(rows) == expected_answer(documentation)


def test_the_script_asks_what_the_direct_way_asks() -> None:
    """Both arms send the same searches, and a person would ask this question."""
    assert [query for query in SEARCHES if query not in SCRIPT] == []
    assert QUESTION.endswith("?")


@pytest.mark.parametrize(
    ("why_not", "code"),
    [("walls are missing: landlock", 0), ("execute_code is switched off", 0), (NOT_STARTED, 4)],
)
def test_a_demonstration_without_a_script_fails_only_where_scripts_looked_possible(
    why_not: str, code: int
) -> None:
    right, wrong = Arm(answer={"f": ["E"]}), Arm(answer={"f": ["X"]})
    assert Demonstration(IngestReport("stdlib"), {"f": ["E"]}, right, None, why_not).exit_code == code
    assert Demonstration(IngestReport("stdlib"), {"f": ["E"]}, wrong, None, why_not).exit_code == 1
