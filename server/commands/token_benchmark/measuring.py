"""Runs the token benchmark: a server for each collection, every task in every arm, and the figures."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp import Client

from winnow import __version__
from winnow.server.commands.demonstration.client import connect_server, offers_scripts, wait_for_model
from winnow.server.commands.token_benchmark import statistics
from winnow.server.commands.token_benchmark.arms import PlayedTranscript, play
from winnow.server.commands.token_benchmark.collection import TaskCollection
from winnow.server.commands.token_benchmark.counting import CLIENTS, Cost, definition_tokens
from winnow.server.commands.token_benchmark.counting import Client as ClientKind
from winnow.server.commands.token_benchmark.gold import (
    Expected,
    find_expected,
    find_leaks,
    find_missing,
    find_missing_in_result,
    iter_texts,
)
from winnow.server.commands.token_benchmark.statistics import MEASURED, MeasuredTask, TaskRun
from winnow.server.commands.token_benchmark.task import ARMS, BenchmarkTask
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings
from winnow.server.text.words.tokens import count_tokens, encoding_name
from winnow.server.transports.rate_limits import calls_per_minute

# Leaves enough calls of a minute for one more transcript, including the wait for the model.
_CALLS_PER_MINUTE = calls_per_minute(Settings())
_MAX_CALLS = _CALLS_PER_MINUTE["direct"] // 3
_MAX_SCRIPTS = _CALLS_PER_MINUTE["script"] - 2
OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """A measured task, with the answers that each arm got."""

    measured: MeasuredTask
    texts: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class ResolvedTask:
    """A task with its question and gold looked up in its collection."""

    task: BenchmarkTask
    question: str
    expected: Expected


def resolve_task(task: BenchmarkTask, collection: TaskCollection) -> ResolvedTask:
    """Look up question and gold.

    Raises ``WinnowError("INVALID_REQUEST")`` if a transcript contains gold that the question does not: its
    author knew the answer.
    """
    question = task.question or collection.question(task.query)
    gold = find_expected(task, collection)
    if leaks := find_leaks(task, question, gold):
        raise WinnowError("INVALID_REQUEST", f"task {task.id!r}: a transcript already says {', '.join(leaks)}")
    return ResolvedTask(task, question, gold)


async def measure(
    collection: TaskCollection,
    store: Path,
    tasks: Sequence[BenchmarkTask],
    progress: OnStep,
    *,
    by_model: bool,
) -> tuple[list[Trial], dict[str, int]]:
    """Run every task of a collection on the index in ``store``; also returns tokens of each tool's definition."""
    questions = [resolve_task(task, collection) for task in tasks]
    trials = []
    async with AsyncExitStack() as opened:
        servers = _Servers(store, collection.project, by_model, opened)
        tools = (await (await servers.client()).list_tools()).tools
        for number, question in enumerate(questions, start=1):
            trials.append(await _measure_task(servers, question, collection))
            progress(collection.name, number, len(questions))
    return trials, {tool.name: definition_tokens(tool) for tool in tools}


@dataclass(slots=True)
class _Servers:
    """One server after the other, each replaced before it reaches its rate limit."""

    store: Path
    project: str
    by_model: bool
    opened: AsyncExitStack
    calls: int = 0
    scripts: int = 0
    _client: Client | None = None

    async def client(self) -> Client:
        """A server with calls left for one more transcript."""
        if self._client is None or self.calls > _MAX_CALLS or self.scripts > _MAX_SCRIPTS:
            await self.opened.aclose()
            log = self.store / "serve.log"
            self._client = await self.opened.enter_async_context(connect_server(self.store, self.project, log))
            if not await offers_scripts(self._client):
                raise WinnowError("SANDBOX_UNAVAILABLE", "scripts cannot run here; run `winnow doctor`")
            if self.by_model:
                await wait_for_model(self._client)
            self.calls = self.scripts = 0
        return self._client

    async def play(self, question: ResolvedTask, arm: str) -> PlayedTranscript:
        """Play one transcript."""
        played = await play(await self.client(), question.task.steps[arm], question.question)
        self.calls += played.cost.calls
        self.scripts += arm == "code"
        return played


async def _measure_task(servers: _Servers, question: ResolvedTask, collection: TaskCollection) -> Trial:
    task = question.task
    played = {arm: await servers.play(question, arm) for arm in ARMS}
    runs = {arm: _run_of(arm, transcript, question.expected) for arm, transcript in played.items()}
    runs["documents"] = _document_run(played["full"], question.expected, collection)
    measured = MeasuredTask(task.id, task.kind, task.collection, {arm: runs[arm] for arm in MEASURED})
    return Trial(measured, {arm: transcript.texts for arm, transcript in played.items()})


def _run_of(arm: str, played: PlayedTranscript, gold: Expected) -> TaskRun:
    if arm == "code":
        missing = find_missing_in_result(gold, played.result)
    else:
        missing = find_missing(
            gold, "\n".join(text for answer in played.structured for text in iter_texts(answer))
        )
    answered = not missing and not played.trouble
    return TaskRun(played.cost, answered, round(played.seconds, 3), tuple(missing), played.trouble)


def _document_run(full: PlayedTranscript, gold: Expected, collection: TaskCollection) -> TaskRun:
    """The calls of ``full``, as if answered with the whole document of each hit."""
    texts = [collection.sources[file] for files in full.files() for file in files]
    read = sum(map(count_tokens, texts))
    missing = find_missing(gold, "\n".join(texts))
    cost: Cost = replace(full.cost, text=read, structured=read)
    return TaskRun(cost, not missing and not full.trouble, 0.0, tuple(missing), full.trouble)


def figures(
    tasks: Sequence[MeasuredTask], definitions: Mapping[str, int], client: ClientKind = "text"
) -> dict[str, Any]:
    """All figures as plain data. Those at the top level are for one kind of client."""
    return {
        "summary": statistics.summary(tasks, client),
        "overall": statistics.overall(tasks, client),
        "losses": statistics.losses(tasks, client),
        "unsolved": statistics.unsolved(tasks),
        "comparisons": statistics.comparisons(tasks, client),
        "by_collection": statistics.by_collection(tasks, client),
        "by_client": {kind: _figures_by_client(tasks, kind) for kind in CLIENTS},
        "definitions": _definition_figures(tasks, definitions, client),
        "client": client,
        "version": __version__,
        "python": platform.python_version(),
        "tokenizer": encoding_name(),
        "tasks": [_row_of(task) for task in tasks],
    }


def _figures_by_client(tasks: Sequence[MeasuredTask], client: ClientKind) -> dict[str, Any]:
    return {
        "overall": statistics.overall(tasks, client),
        "summary": statistics.summary(tasks, client),
        "losses": len(statistics.losses(tasks, client)),
    }


def _definition_figures(
    tasks: Sequence[MeasuredTask], definitions: Mapping[str, int], client: ClientKind
) -> dict[str, Any]:
    """Tokens of the tools' definitions, and the reduction if every task paid for those that its arm uses."""
    by_arm = {arm: definitions.get(tool, 0) for arm, (tool, _) in ARMS.items()}
    by_arm["documents"] = by_arm["full"]
    paying = [
        replace(
            task,
            runs={
                arm: replace(run, cost=replace(run.cost, written=run.cost.written + by_arm[arm]))
                for arm, run in task.runs.items()
            },
        )
        for task in tasks
    ]
    return {
        "tools": dict(definitions),
        "all": sum(definitions.values()),
        "by_arm": by_arm,
        "overall_with_them": statistics.overall(paying, client),
    }


def _row_of(task: MeasuredTask) -> dict[str, Any]:
    arms = {
        arm: {
            "answered": run.answered,
            "tokens": {client: run.cost.of(client) for client in CLIENTS},
            "calls": run.cost.calls,
            "seconds": run.seconds,
            **({"missing": list(run.missing)} if run.missing else {}),
            **({"trouble": run.trouble} if run.trouble else {}),
        }
        for arm, run in task.runs.items()
    }
    return {"id": task.id, "class": task.kind, "collection": task.collection, "arms": arms}
