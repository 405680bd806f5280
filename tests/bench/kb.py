"""The kb tools over an existing index, step by step.

    python -m tests.bench.kb --project notes --json

Each question runs through all steps, so that every step is timed under the same load.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.table import Table

from tests.bench.command_line import command_line
from winnow.server.commands.bench.open_index import OpenIndex, Questions, measure_with_questions
from winnow.server.commands.benchmarks.figures import percentiles, time_ms
from winnow.server.commands.benchmarks.questions import WARMUP
from winnow.server.commands.terminal.output import Json, ProjectOption, StoreOption, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.operations.knowledge import Caller, KnowledgeBase
from winnow.server.settings.loading import load_settings

EXAMPLES = (
    "Examples: python -m tests.bench.kb --project notes | "
    "winnow ingest docs/ --store /tmp/b && python -m tests.bench.kb --store /tmp/b --json"
)


def run(
    questions: Questions = 200,
    project: ProjectOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """The kb tools over an existing index, step by step, with headings of the index as questions."""
    with report_errors(as_json=as_json):
        figures = asyncio.run(
            measure_with_questions(load_settings(store=store, project=project), questions, _measure)
        )
    if as_json:
        print_json(figures)
    else:
        show_figures(figures)


async def _measure(opened: OpenIndex) -> dict[str, Any]:
    figures = await measure(
        opened.base, opened.questions, lambda done: opened.progress("asking", done, len(opened.questions))
    )
    return {"chunks": opened.chunks, "model": opened.backends.embedder.state, **figures}


async def measure(
    kb: KnowledgeBase, questions: Sequence[str], progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Milliseconds of each operation, p50, p95 and p99.

    No search is answered from a cache, except "kb.search, known ranking". ``evidence_on_top`` is what quotes add
    to a search: ``kb.extract_evidence`` over the passages that the search of the same question found.
    """
    caller = kb.caller("bench")
    for question in questions[:WARMUP]:
        await _time_steps(kb, caller, question, {})
    times: dict[str, list[float]] = {}
    for number, question in enumerate(questions, start=1):
        await _time_steps(kb, caller, question, times)
        progress(number)
    return {"questions": len(questions), "ms": {name: percentiles(row) for name, row in times.items()}}


async def _time_steps(kb: KnowledgeBase, caller: Caller, question: str, times: dict[str, list[float]]) -> None:
    async def call(
        name: str, operation: str, arguments: dict[str, Any], *, may_be_cached: bool = False
    ) -> dict[str, Any]:
        payload: dict[str, Any] = {}
        called_by = caller if may_be_cached else replace(caller, run=secrets.token_hex(8))

        async def run_operation() -> None:
            payload.update((await kb.call(operation, arguments, called_by)).payload)

        times.setdefault(name, []).append(await time_ms(run_operation))
        return payload

    answer = await call("kb.search", "kb.search", {"query": question})
    ids = [row["passage_id"] for row in answer["results"]]
    await call("evidence_on_top", "kb.extract_evidence", {"question": question, "passage_ids": ids})
    await call("kb.retrieve_evidence", "kb.retrieve_evidence", {"question": question})
    await call("semantic_search", "semantic_search", {"query": question})
    await call("kb.read_excerpt", "kb.read_excerpt", {"passage_id": ids[0]})
    await call("kb.expand_excerpt", "kb.expand_excerpt", {"passage_id": ids[0]})
    await call("fill", "kb.search", {"query": question}, may_be_cached=True)
    times.pop("fill")
    await call("kb.search, known ranking", "kb.search", {"query": question}, may_be_cached=True)


def show_figures(figures: Mapping[str, Any]) -> None:
    """Print a table for people."""
    table = Table(
        "", "p50", "p95", "p99", title=f"{figures['questions']} questions over {figures['chunks']:,} chunks"
    )
    for name, row in figures["ms"].items():
        table.add_row(name, *(f"{row[key]:.2f} ms" for key in ("p50", "p95", "p99")))
    Screen(highlight=False).print(table)


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.kb")
