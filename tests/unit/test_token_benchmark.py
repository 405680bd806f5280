"""The token benchmark: shipped tasks, the check of an answer, its cost, statistics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.types import CallToolResult, TextContent

from winnow.sandbox.child.diagnosis import precheck
from winnow.sandbox.child.language import compiler
from winnow.server.commands.token_benchmark import chart, report
from winnow.server.commands.token_benchmark.collection import COLLECTIONS, find_collections
from winnow.server.commands.token_benchmark.counting import CLIENTS, Cost, compact, cost_of, envelope
from winnow.server.commands.token_benchmark.gold import (
    Expected,
    contains_name,
    find_leaks,
    find_missing,
    find_missing_in_result,
    names_of,
    split_text,
)
from winnow.server.commands.token_benchmark.measuring import figures
from winnow.server.commands.token_benchmark.statistics import (
    MEASURED,
    MeasuredTask,
    TaskRun,
    bootstrap,
    compare_arms,
    losses,
    overall,
    reduction,
)
from winnow.server.commands.token_benchmark.task import ARMS, CLASSES, BenchmarkTask, Oracle, load
from winnow.server.errors import WinnowError
from winnow.server.text.words.tokens import count_tokens

TASKS = load()
FINE = """
[[task]]
id = "one"
class = "needle"
collection = "stdlib"
question = "How many?"
gold = { strings = ["three"] }
full = [{ query = "how many" }]
metadata_full = [{ query = "how many", read = 2, keep = { word = "(x)(y)" } }]
evidence = [{ question = "how many" }]
code = "return 1"
"""


def _load(tmp_path: Path, text: str) -> tuple[BenchmarkTask, ...]:
    (tmp_path / "tasks.toml").write_text(text, encoding="utf-8")
    return load(tmp_path)


# --- the tasks that are shipped -------------------------------------------------------------------------------


def test_there_are_sixty_tasks_and_more_and_every_class_has_its_own() -> None:
    counts = {kind: sum(task.kind == kind for task in TASKS) for kind in CLASSES}
    assert len(TASKS) >= 60
    assert [kind for kind, count in counts.items() if count < 15] == []


def test_every_task_names_a_collection_that_is_known_and_one_class_is_asked_everywhere() -> None:
    assert {task.collection for task in TASKS} == set(COLLECTIONS)
    assert {task.kind for task in TASKS if task.collection == "stdlib"} == set(CLASSES)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_every_script_passes_the_policy_and_nothing_in_it_is_certain_to_fail(task: BenchmarkTask) -> None:
    (step,) = task.steps["code"]
    script = step.arguments["code"].replace("{question}", json.dumps(task.question or "in their own words"))
    assert compiler.compile_script(script, precheck.check).code is not None


@pytest.mark.parametrize("task", [task for task in TASKS if task.gold.strings], ids=lambda task: task.id)
def test_no_transcript_and_no_script_says_of_the_gold_what_the_question_does_not(task: BenchmarkTask) -> None:
    assert find_leaks(task, task.question, Expected(task.gold.strings)) == []


# --- reading tasks ----------------------------------------------------------------------------------------------


def test_a_task_is_read_with_what_its_arms_leave_unsaid(tmp_path: Path) -> None:
    (task,) = _load(tmp_path, FINE)
    (full,), (listing,) = task.steps["full"], task.steps["metadata_full"]
    assert (full.tool, full.arguments) == (
        "semantic_search",
        {"query": "how many", "top_k": 10, "response_mode": "full"},
    )
    assert (listing.read and listing.read.first, dict(listing.keep)) == (2, {"word": "(x)(y)"})
    assert task.steps["code"][0].arguments == {"code": "return 1"}


def test_searches_asked_in_turn_and_a_templates_words_make_the_arms(tmp_path: Path) -> None:
    text = """
    [template.ask]
    code = 'return [kb.search(a, top_k={depth}) for a in {asks}]'
    [[task]]
    id = "one"
    class = "multi_hop"
    collection = "stdlib"
    question = "What?"
    gold = { strings = ["three"] }
    asks = ["ä", "b"]
    template = "ask"
    words = { depth = "3" }
    """
    (task,) = _load(tmp_path, text)
    assert [step.arguments["query"] for step in task.steps["full"]] == ["ä", "b"]
    assert [step.arguments for step in task.steps["evidence"]] == [
        {"question": "ä", "max_quotes": 1},
        {"question": "b", "max_quotes": 1},
    ]
    assert task.steps["code"][0].arguments["code"] == 'return [kb.search(a, top_k=3) for a in ["ä", "b"]]'


@pytest.mark.parametrize(
    ("was", "is_now", "told"),
    [
        ('class = "needle"', 'class = "thread"', "class 'thread' is none of: needle"),
        ('code = "return 1"', "", "lacks 'code'"),
        ('code = "return 1"', 'code = ""', "code is a script"),
        ('question = "How many?"', "", "either a question or the id of a query"),
        ('gold = { strings = ["three"] }', "gold = {}", "gold needs strings, documents or an oracle"),
        ('strings = ["three"]', 'strings = "three"', "gold.strings is a list of texts"),
        ('strings = ["three"]', 'oracle = { files = "*", take = "x" }', "needs a group"),
        ('strings = ["three"]', 'oracle = { files = "*", take = "(x" }', "missing \\), unterminated"),
        ('"(x)(y)"', '"x"', "needs a group"),
        ("read = 2", "read = 0", "read is a number above 0"),
        ('question = "how many" }', 'question = "how many", pages = 0 }', "pages is 1 to"),
        ("[[task]]", 'template = "t"\n[[task]]', "templates are tables"),
        ("[[task]]", "other = 1\n[[task]]", "no table 'other' is known"),
        ('id = "one"', 'id = "one"\nclas = "x"', "task has no 'clas'"),
        ('id = "one"', 'id = "one"\ntemplate = "x"', "no template 'x'; there are: none"),
        ("[[task]]", "[[task", "tasks.toml"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_where_and_why(
    tmp_path: Path, was: str, is_now: str, told: str
) -> None:
    with pytest.raises(WinnowError, match=told) as refused:
        _load(tmp_path, FINE.replace(was, is_now))
    assert "tasks.toml" in refused.value.message


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WinnowError, match="'one': another task has this id"):
        _load(tmp_path, FINE + FINE)


def test_a_collection_is_found_below_the_folder_or_as_the_folder_and_the_generated_one_always(
    tmp_path: Path,
) -> None:
    (tmp_path / "k8s_docs").mkdir()
    assert [*find_collections(None)] == ["stdlib"]
    assert {*find_collections(tmp_path)} == {*find_collections(tmp_path / "k8s_docs")} == {"stdlib", "k8s_docs"}


# --- what counts as an answer -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("It is 30\n  Seconds long", "30 seconds", True),
        ("it takes 300 seconds", "30", False),
        ("see [queue.Queue.get]", "queue.Queue", True),
        ("queue.Queues", "queue.Queue", False),
        ("`memory.available<100Mi` (Linux)", "memory.available<100Mi", True),
        ("", "x", False),
    ],
)
def test_a_name_stands_in_a_text_as_words_of_its_own_whatever_case_and_white_space(
    text: str, name: str, expected: bool
) -> None:
    assert contains_name(text, name) is expected


@given(
    st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1), st.text(" \n\t", min_size=1)
)
def test_whatever_is_said_with_other_white_space_is_found(words: list[str], space: str) -> None:
    assert find_missing(Expected((" ".join(words),)), f"before {space.join(words)} after") == []


def test_a_script_counts_where_a_reader_of_texts_would_and_names_no_others_where_that_is_asked() -> None:
    counted = Expected(("a", "b", "c"), count=True)
    assert (find_missing_in_result(counted, {"n": 3}), find_missing_in_result(counted, 33)) == ([], ["3"])
    exact = Expected(("a.b", "c"), exact=True)
    assert find_missing_in_result(exact, ["A.b", "c"]) == []
    assert find_missing_in_result(exact, "a.b, c") == []
    assert find_missing_in_result(exact, ["a.b", "d"]) == ["c", "not d"]


def test_an_oracle_finds_names_in_files_sections_and_lines() -> None:
    sources = {
        "guide_a.md": "title: A\n# One\nstage: alpha\n```\n# no heading\n```\n## Two\nstage: beta\n",
        "guide_b.md": "title: B\nstage: beta, not alpha\n",
        "other.md": "title: C\nstage: alpha\n",
    }
    whole = Oracle("guide_*.md", r"^title: (\w+)", having=("stage: alpha",))
    assert names_of(whole, sources) == ["A"]
    assert names_of(Oracle("*.md", "file", having=("stage: .*alpha",), lacking=("^# ",)), sources) == [
        "guide_b",
        "other",
    ]
    assert names_of(Oracle("*.md", r"^#+ (\w+)", "section", having=("beta",)), sources) == ["Two"]
    assert names_of(Oracle("*.md", r"^stage: (\w+)", "line"), sources) == ["alpha", "beta"]
    assert len(split_text(sources["guide_a.md"], "section")) == 3


# --- what a call costs --------------------------------------------------------------------------------------


def test_a_call_costs_what_is_written_and_read_and_an_envelope_for_either_client() -> None:
    arguments = {"code": 'return "ä"\nreturn 2'}
    structured = {"status": "ok", "result": "ä"}
    reply = CallToolResult(content=[TextContent(text="ok: ä")], structured_content=structured)
    cost = cost_of("execute_code", arguments, reply)
    written = count_tokens('{"name":"execute_code","arguments":{"code":"return \\"ä\\"\\nreturn 2"}}')
    assert cost == Cost(1, written, count_tokens("ok: ä"), count_tokens('{"status":"ok","result":"ä"}'))
    assert cost.of("text") == envelope() + written + count_tokens("ok: ä")
    assert (cost + cost).of("structured") == 2 * cost.of("structured")


def test_an_error_without_structure_costs_both_clients_its_text() -> None:
    cost = cost_of("t", {}, CallToolResult(content=[TextContent(text="no such tool")], is_error=True))
    assert cost.text == cost.structured == count_tokens("no such tool")
    assert compact({"a": ["ä", 1]}) == '{"a":["ä",1]}'


# --- statistics over tasks ---------------------------------------------------------------------------------


def _measured_task(id: str, **tokens: int | None) -> MeasuredTask:
    """A task with the tokens that each arm read; None: the arm did not answer."""
    costs = {arm: tokens.get(arm) for arm in MEASURED}
    runs = {arm: TaskRun(Cost(0, 0, read or 0, 2 * (read or 0)), read is not None) for arm, read in costs.items()}
    return MeasuredTask(id, "needle", "stdlib", runs)


def test_reductions_are_over_the_tasks_that_both_answer() -> None:
    """By hand: 10 + 30 of 100 + 100; of the cheapest tools 10 + 30 of 40 + 20; a, at 10 of 40, is no loss."""
    tasks = [
        _measured_task("a", full=100, evidence=40, code=10),
        _measured_task("b", full=100, metadata_full=20, code=30),
        _measured_task("c", full=100, evidence=5),
        _measured_task("d", code=7),
    ]
    against = compare_arms(tasks, "code", "full", "text")
    assert (against["tasks"], against["reduction"], against["median_reduction"]) == (2, 0.8, 0.8)
    assert compare_arms(tasks, "code", "best_direct", "text")["reduction"] == pytest.approx(1 - 40 / 60, abs=1e-4)
    assert losses(tasks, "text") == [
        {"id": "b", "class": "needle", "code": 30, "best_direct": 20, "arm": "metadata_full"}
    ]
    said = overall(tasks, "structured")
    assert (said["answer_rate_code"], said["answer_rate_full"], said["reduction_vs_full"]) == (0.75, 0.75, 0.8)


def test_where_nothing_can_be_compared_there_is_no_figure() -> None:
    assert compare_arms([_measured_task("a", full=1)], "code", "full", "text")["reduction"] is None
    assert compare_arms([], "code", "full", "text")["tasks"] == 0


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1, max_size=40))
def test_the_interval_lies_within_the_single_tasks_and_a_reduction_of_all_tasks_alike_is_certain(
    pairs: list[tuple[int, int]],
) -> None:
    rows = np.array(pairs, dtype=float)
    low, high = bootstrap(rows)
    single = 1 - rows[:, 0] / rows[:, 1]
    assert single.min() - 1e-9 <= low <= high <= single.max() + 1e-9
    alike = np.repeat(rows[:1], 5, axis=0)
    assert bootstrap(alike) == pytest.approx((reduction(alike),) * 2)


def test_the_interval_holds_the_estimate_and_is_the_same_in_every_run() -> None:
    rows = np.array([[10 + n, 100 + 7 * n] for n in range(60)], dtype=float)
    low, high = bootstrap(rows)
    assert low < reduction(rows) < high
    assert bootstrap(rows) == (low, high)


# --- what is shown ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    tasks = [_measured_task("cheap", full=900, documents=9000, metadata_full=400, evidence=100, code=50)]
    tasks += [
        _measured_task("dear", full=900, documents=9000, evidence=100, code=150),
        _measured_task("open", full=1),
    ]
    definitions = {"semantic_search": 10, "kb_retrieve_evidence": 20, "execute_code": 30, "other": 5}
    return figures(tasks, definitions)


def test_the_figures_have_the_fields_that_programs_read(result: dict[str, Any]) -> None:
    assert {
        "summary",
        "overall",
        "losses",
        "unsolved",
        "by_client",
        "by_collection",
        "definitions",
        "tasks",
    } <= result.keys()
    assert result["summary"]["needle"]["code"] == {
        "tasks": 3,
        "answered": 2,
        "tokens_median": 100.0,
        "tokens_mean": 100.0,
        "tokens_p95": 145.0,
    }
    assert {*result["by_client"]} == {*CLIENTS}
    assert result["definitions"]["all"] == 65
    assert result["definitions"]["by_arm"] == {"full": 10, "documents": 10, "metadata_full": 10} | {
        "evidence": 20,
        "code": 30,
    }
    # with definitions: (50 + 30 + 150 + 30) of (900 + 10) * 2
    assert result["definitions"]["overall_with_them"]["reduction_vs_full"] == round(1 - 260 / 1820, 4)
    assert json.loads(json.dumps(result)) == result


def test_losses_come_first_and_page_and_picture_say_the_same(result: dict[str, Any]) -> None:
    shown, page, picture = report.text(result, CLIENTS), report.markdown(result), chart.svg(result)
    assert shown.index("dear: 150 tokens, kb_retrieve_evidence 100") < shown.index("median")
    assert page.index("## Where a script loses") < page.index("## Tokens by class")
    assert all(name in page for name in ("| cheap | stdlib | 900 |", "(0)", "11.1%"))
    assert picture.count("<rect") == 1 + 2 * len(MEASURED)
    assert ">100<" in picture


def test_the_arms_of_a_transcript_and_those_that_are_measured_are_the_same_but_for_whole_documents() -> None:
    assert {*MEASURED} - {*ARMS} == {"documents"}
