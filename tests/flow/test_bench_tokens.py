"""``winnow bench tokens``: transcripts against a real server, lexical search only, on few pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer

from winnow.server.commands.bench.tokens import index_collection, run
from winnow.server.commands.token_benchmark import report
from winnow.server.commands.token_benchmark.collection import TaskCollection
from winnow.server.commands.token_benchmark.measuring import Trial, figures, measure, resolve_task
from winnow.server.commands.token_benchmark.task import load
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.walls

PAGES = {
    "limits.md": "# Limits\n\nThe queue holds forty jobs. A job that waits is told so by the Marshal.\n",
    "marshal.md": "# Marshal\n\nThe Marshal writes to the harbour log once an hour.\n",
    **{
        f"gate_{name}.md": f"# Gate {name}\n\nThe gate {name} is closed at night.\n" for name in ("north", "south")
    },
    "gate_west.md": "# Gate west\n\nThe gate west stays open.\n",
}
TASKS = """
[[task]]
id = "needle"
class = "needle"
collection = "k8s_docs"
question = "How many jobs does the queue hold?"
gold = { strings = ["forty jobs"] }
asks = ["how many jobs does the queue hold"]
code = 'return kb.retrieve_evidence({question})[0].quote'

[[task]]
id = "hop"
class = "multi_hop"
collection = "k8s_docs"
question = "Who tells a job that it waits, and where does that one write to?"
gold = { strings = ["Marshal", "harbour log"] }
full = [
  { query = "job that waits is told", keep = { who = 'told so by the (\\w+)' } },
  { query = "{who} writes to" },
]
metadata_full = [{ query = "job that waits is told", read = 1 }, { query = "writes to", read = "Marshal" }]
evidence = [
  { question = "job that waits", keep = { who = 'told so by the (Stoker)' } },
  { question = "{who} writes to" },
]
code = '''
import re
who = re.search(r"told so by the (\\w+)", fetch(kb.search("job that waits"))[0].content)[1]
return [who, kb.retrieve_evidence(f"{who} writes to")[0].quote]
'''

[[task]]
id = "count"
class = "aggregate"
collection = "k8s_docs"
question = "How many gates are closed at night?"
full = [{ query = "gate closed at night", top_k = 1, pages = 3 }]
metadata_full = [{ query = "gate", read = { matching = "^Gate", first = 9 } }]
evidence = [{ question = "gate closed at night", max_quotes = 1, top_k = 5, pages = 5 }]
code = 'return sum("closed" in r.content for r in fetch(semantic_search("gate")))'
[task.gold]
count = true
oracle = { files = "gate_*.md", having = ["closed at night"], take = "gate (\\\\w+) is" }
"""


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Trial], dict[str, int]]]:
    folder = tmp_path_factory.mktemp("collections")
    (folder / "k8s_docs" / "md").mkdir(parents=True)
    for name, text in PAGES.items():
        (folder / "k8s_docs" / "md" / name).write_text(text, encoding="utf-8")
    (folder / "tasks.toml").write_text(TASKS, encoding="utf-8")
    collection = TaskCollection("k8s_docs", folder / "k8s_docs")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WINNOW_EMBEDDING", "off")
        settings = load_settings(store=folder / "store", project=collection.project)
        index_collection(collection, settings)

        async def run() -> Any:
            return await measure(collection, settings.store, load(folder), lambda *_: None, by_model=False)

        done, definitions = anyio.run(run)
        yield {trial.measured.id: trial for trial in done}, definitions


def test_every_arm_answers_what_its_transcript_leads_to(trials: tuple[dict[str, Trial], dict[str, int]]) -> None:
    runs = {id: trial.measured.runs for id, trial in trials[0].items()}
    unanswered = [(id, arm) for id, arms in runs.items() for arm, run in arms.items() if not run.answered]
    assert ("hop", "evidence") in unanswered
    assert [
        one for one in unanswered if one not in {("hop", "evidence"), ("count", "full"), ("count", "documents")}
    ] == []
    assert "(Stoker)" in runs["hop"]["evidence"].trouble


def test_a_later_search_has_the_words_that_an_earlier_answer_gave(
    trials: tuple[dict[str, Trial], dict[str, int]],
) -> None:
    told = trials[0]["hop"].texts["full"]
    assert len(told) == 2
    assert "The Marshal writes to the harbour log" in told[1].split("\n2. ")[0]


def test_pages_reads_and_scripts_are_calls_that_are_counted(
    trials: tuple[dict[str, Trial], dict[str, int]],
) -> None:
    runs = trials[0]["count"].measured.runs
    assert (runs["metadata_full"].cost.calls, runs["code"].cost.calls) == (2, 1)
    assert runs["evidence"].cost.calls > 1
    assert runs["code"].cost.of("text") < runs["metadata_full"].cost.of("text")
    assert runs["documents"].cost.written == runs["full"].cost.written


def test_the_figures_are_shown_with_what_each_arm_was_told(
    trials: tuple[dict[str, Trial], dict[str, int]],
) -> None:
    found, definitions = trials
    told = figures([trial.measured for trial in found.values()], definitions)
    assert told["overall"]["answer_rate_code"] == 1.0
    assert definitions["execute_code"] > 100
    assert "NOT answered" in report.describe_trial(found["hop"])
    assert json.dumps(told)


def test_a_transcript_that_knows_the_answer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(
        TASKS.replace("The queue", "x").replace("how many jobs does", "forty jobs")
    )
    tasks = {task.id: task for task in load(tmp_path)}
    with pytest.raises(WinnowError, match="'needle': a transcript already says forty jobs"):
        resolve_task(tasks["needle"], TaskCollection("k8s_docs", tmp_path))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"only": ["no-such-task"]}, "no task 'no-such-task'"),
        ({"only": ["needle-secret-size"]}, "the task needs the collection k8s_docs"),
        ({"folder": Path("/nowhere")}, "/nowhere is no folder"),
    ],
)
def test_what_cannot_be_asked_is_told(
    options: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        run(**{"folder": None, "only": None, **options}, as_json=True)
    assert told in capsys.readouterr().out
