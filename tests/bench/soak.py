"""An hour of mixed work on one store, to find leaks and unexpected errors. See ``make soak``.

    python -m tests.bench.soak --seconds 3600 --json soak.json

Three clients start a ``winnow serve`` each over one store. They search, quote and run scripts: some succeed, some
fail, some are cancelled. Every 30 seconds files change and ``winnow ingest`` runs. The report has for each process
memory, descriptors and threads after a quarter of the time, when all are warm, and at the end; how often an error
came; and p50, p95 and p99 of each kind of call. Exit code 1: something grew, stayed behind, or failed against
expectation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.conftest import TOPICS, write_corpus
from winnow.server.retrieval.evaluation import percentile
from winnow.server.storage.files.lock import ENGINE, find_holder

ROOT = Path(__file__).parents[2]
WINNOW = [sys.executable, "-c", "import winnow.server.commands.entry.cli; winnow.server.commands.entry.cli.main()"]
PROJECT = "soak"
CLIENTS = 3
PACE_SECONDS = 0.8  # 75 calls a minute; a client may make 100 and run 30 scripts
CHANGES_EVERY = 30.0
PAGES = 60
SAMPLE_EVERY = 60.0
# Caches fill for a quarter of an hour; the start is taken after that.
WARM_SECONDS, WARM_SHARE = 900.0, 0.25
REST_SECONDS = 5.0
PATIENCE_SECONDS = 120.0  # for what answers within one on a machine with nothing else to do
GROWTH, GROWTH_BYTES = 0.10, 16 << 20
# Threads of a pool start one by one, each with connections of its own.
MORE = {"descriptors": 16, "threads": 4, "processes": 0}

# Each script, with the status it must end in.
SCRIPTS: Sequence[tuple[str, str]] = (
    ("return [row.title for row in semantic_search('retention of backups', top_k=10)]", "ok"),
    ("pages = search_many(['backups', 'gateway', 'invoices'])\nreturn [len(page) for page in pages]", "ok"),
    ("rows = semantic_search('mentor', top_k=20)\nreturn [r.content[:80] for r in fetch(rows[:5])]", "ok"),
    ("return kb.retrieve_evidence('how long are backups kept')", "ok"),
    ("print('x' * 4000)\nreturn list(range(500))", "ok"),
    ("raise ValueError('a mistake of the script')", "error"),
    ("return undefined_name", "rejected"),
    ("import os", "rejected"),
    ("while True:\n    pass", "timeout"),
    ("rows = ['x' * 1_000_000 for _ in range(4_000)]\nreturn len(rows)", "memory"),
)
# A script that is cancelled while it runs.
ENDLESS = "total = 0\nfor number in range(10**12):\n    total += len(semantic_search(f'rule {number}', top_k=5))"


@dataclass(frozen=True, slots=True)
class Held:
    """Resources of a process; several processes of one role are added up."""

    resident_bytes: int = 0
    anonymous_bytes: int = 0  # without pages of files, which the system takes back when it needs them
    descriptors: int = 0
    threads: int = 0
    processes: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(*(one + two for one, two in zip(asdict(self).values(), asdict(other).values(), strict=True)))


@dataclass(slots=True)
class Tally:
    """Times and errors of all calls."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    cancelled: int = 0
    ingests: int = 0

    def percentiles(self) -> dict[str, dict[str, float]]:
        """In milliseconds, by kind of call."""
        shares = {"p50_ms": 0.50, "p95_ms": 0.95, "p99_ms": 0.99}
        return {
            kind: {"calls": len(taken)}
            | {name: round(percentile(taken, share) * 1000, 1) for name, share in shares.items()}
            | {"most_ms": round(max(taken) * 1000, 1)}
            for kind, taken in sorted(self.seconds.items())
        }


def main() -> int:
    """Run the soak, print the report and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--json", type=Path, default=Path("soak.json"))
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="winnow-soak-"))
    try:
        report = asyncio.run(_soak(folder, options.seconds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    options.json.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    print(json.dumps(report, indent=2))
    return 0 if report["ok"] else 1


async def _soak(folder: Path, seconds: float) -> dict[str, Any]:
    store, corpus = folder / "store", write_corpus(folder / "corpus")
    for number in range(PAGES):
        _write_page(corpus, number, 0)
    tally = Tally()
    await _ingest(store, corpus, tally)
    samples: list[dict[str, Any]] = []
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(_parameters(store))) for _ in range(CLIENTS)]
        sampling, began = asyncio.create_task(_sample(store, samples)), time.monotonic()
        await _run_calls_and_ingests(clients, store, corpus, tally, min(WARM_SECONDS, seconds * WARM_SHARE))
        before = await _measure_at_rest(store)
        await _run_calls_and_ingests(clients, store, corpus, tally, seconds - (time.monotonic() - began))
        taken = time.monotonic() - began
        sampling.cancel()
        after = await _measure_at_rest(store)
        everyone = [process for processes in _by_role(store).values() for process in processes]
    await asyncio.to_thread(
        subprocess.run, [*WINNOW, "engine", "stop", "--store", str(store)], cwd=ROOT, capture_output=True
    )
    _, alive = await asyncio.to_thread(psutil.wait_procs, everyone, timeout=PATIENCE_SECONDS)
    grown = list(_find_growth(before, after))
    return {
        "ok": not (grown or alive or tally.unexpected),
        "seconds": round(taken, 1),
        "host": {"cores": os.cpu_count(), "load": os.getloadavg(), "python": platform.python_version()},
        "clients": CLIENTS,
        "ingests": tally.ingests,
        "cancelled_scripts": tally.cancelled,
        "calls": tally.percentiles(),
        "errors": dict(sorted(tally.errors.items())),
        "unexpected": tally.unexpected[:50],
        "grown": grown,
        "left_behind": [process.pid for process in alive],
        "before": {role: asdict(held) for role, held in before.items()},
        "after": {role: asdict(held) for role, held in after.items()},
        "samples": samples,
    }


def _parameters(store: Path) -> StdioServerParameters:
    arguments = ["serve", "--store", str(store), "--project", PROJECT]
    return StdioServerParameters(command=WINNOW[0], args=[*WINNOW[1:], *arguments], env=_environment(), cwd=ROOT)


def _environment() -> dict[str, str]:
    return {**os.environ, "WINNOW_DAEMON": "on", "PYTHONPATH": str(ROOT)}


# --- calls


async def _run_calls_and_ingests(
    clients: Sequence[Client], store: Path, corpus: Path, tally: Tally, seconds: float
) -> None:
    until = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        group.create_task(_run_ingests(store, corpus, tally, until))
        for number, client in enumerate(clients):
            group.create_task(_run_calls(client, random.Random(number), tally, until))


async def _run_calls(client: Client, chance: random.Random, tally: Tally, until: float) -> None:
    for kind, tool, arguments, status in _work(chance):
        if time.monotonic() > until:
            return
        began = time.monotonic()
        try:
            if kind == "script, cancelled":
                await _cancel(client, arguments, chance)
                tally.cancelled += 1
            else:
                await _call(client, kind, tool, arguments, status, tally)
        except (TimeoutError, MCPError) as error:
            tally.unexpected.append(f"{kind}: {type(error).__name__}: {error}")
        else:
            tally.seconds[kind].append(time.monotonic() - began)
        await asyncio.sleep(max(PACE_SECONDS - (time.monotonic() - began), 0.0))


def _work(chance: random.Random) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Kind, tool, arguments and the status that a script must end in, again and again."""
    topics = list(TOPICS)
    while True:
        topic, number = chance.choice(topics), chance.randrange(10_000)
        question = f"who handles {topic} in case {number}"
        source, status = chance.choice(SCRIPTS)
        script = {"code": f"# {number}\n{source}", "timeout": 2 if status == "timeout" else 20}
        yield "search", "kb_search", {"query": question}, ""
        yield "evidence", "kb_retrieve_evidence", {"question": question}, ""
        yield f"script, {status}", "execute_code", script, status
        yield "semantic search", "semantic_search", {"query": topic, "response_mode": "preview", "top_k": 20}, ""
        yield "search, refused", "kb_search", {"query": topic, "scope": {"project_id": "another"}}, ""
        yield "search, repeated", "kb_search", {"query": topic}, ""
        if chance.random() < 0.5:
            yield "script, cancelled", "execute_code", {"code": ENDLESS, "timeout": 30}, ""


async def _call(
    client: Client, kind: str, tool: str, arguments: dict[str, Any], status: str, tally: Tally
) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        result = await client.call_tool(tool, arguments)
    answer: Mapping[str, Any] = result.structured_content or {}
    error = answer.get("error") or {}
    code = str(error.get("details", {}).get("reason") or error.get("code") or "")
    if code:
        tally.errors[f"{kind}: {code}"] += 1
    is_refused = kind == "search, refused"
    if is_refused != bool(result.is_error) and not status:
        tally.unexpected.append(f"{kind}: {error or 'answered'}")
    if status and answer.get("status") != status:
        tally.unexpected.append(f"{kind}: ended as {answer.get('status')}: {error}")


async def _cancel(client: Client, arguments: dict[str, Any], chance: random.Random) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(chance.uniform(0.1, 2.0)):
            await client.call_tool("execute_code", arguments)


# --- ingests


async def _run_ingests(store: Path, corpus: Path, tally: Tally, until: float) -> None:
    chance, edition = random.Random(0), 0
    while time.monotonic() < until:
        edition += 1
        for number in chance.sample(range(PAGES), 5):
            _write_page(corpus, number, edition)
        (corpus / f"page{chance.randrange(PAGES):03}.md").unlink(missing_ok=True)
        began = time.monotonic()
        await _ingest(store, corpus, tally)
        await asyncio.sleep(max(min(CHANGES_EVERY - (time.monotonic() - began), until - time.monotonic()), 0.0))


async def _ingest(store: Path, corpus: Path, tally: Tally) -> None:
    command = [*WINNOW, "ingest", str(corpus), "--store", str(store), "--project", PROJECT, "--json"]
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command, env=_environment(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said, complained = await process.communicate()
    tally.seconds["ingest"].append(time.monotonic() - began)
    tally.ingests += 1
    if process.returncode != 0:
        tally.errors[f"ingest: exit code {process.returncode}"] += 1
        tally.unexpected.append(f"ingest: {said.decode()[-500:]} {complained.decode()[-500:]}")


def _write_page(corpus: Path, number: int, edition: int) -> None:
    sections = "\n\n".join(
        f"## Rule {rule}\n\n" + f"Rule {rule} of page {number}, edition {edition}, is about backups. " * 12
        for rule in range(4)
    )
    (corpus / f"page{number:03}.md").write_text(f"# Page {number}\n\n{sections}\n", "utf-8")


# --- resources


async def _measure_at_rest(store: Path) -> dict[str, Held]:
    await asyncio.sleep(REST_SECONDS)
    return await asyncio.to_thread(_measure, store)


async def _sample(store: Path, samples: list[dict[str, Any]]) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(SAMPLE_EVERY)
        held = await asyncio.to_thread(_measure, store)
        shown = {role: asdict(one) for role, one in held.items() if role in ("engine", "server 1")}
        samples.append({"seconds": round(time.monotonic() - began), "load": os.getloadavg()[0], **shown})
        print(json.dumps(samples[-1]), file=sys.stderr, flush=True)


def _measure(store: Path) -> dict[str, Held]:
    return {role: sum(map(_measure_process, processes), Held()) for role, processes in _by_role(store).items()}


def _by_role(store: Path) -> dict[str, list[psutil.Process]]:
    """The processes of the store: its servers, their sandboxes, the engine and its supervisor."""
    roles: dict[str, list[psutil.Process]] = {}
    servers = [
        process for process in psutil.Process().children() if {"serve", str(store)} <= {*_command_line(process)}
    ]
    for number, server in enumerate(sorted(servers, key=lambda one: one.create_time()), 1):
        roles[f"server {number}"] = [server]
        roles[f"sandbox {number}"] = server.children(recursive=True)
    if engine := find_holder(store, ENGINE):
        process = psutil.Process(engine.pid)
        roles["engine"], roles["keeper"] = [process], [parent for parent in [process.parent()] if parent]
    return roles


def _command_line(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def _measure_process(process: psutil.Process) -> Held:
    with suppress(psutil.Error), process.oneshot():
        resident = process.memory_info().rss
        return Held(
            resident, _anonymous_memory(process.pid, resident), process.num_fds(), process.num_threads(), 1
        )
    return Held()


def _anonymous_memory(pid: int, resident: int) -> int:
    """Anonymous memory, which only Linux reports."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
        return int(next(line for line in lines if line.startswith("RssAnon:")).split()[1]) * 1024
    return resident


def _find_growth(before: Mapping[str, Held], after: Mapping[str, Held]) -> Iterator[str]:
    """Resources that grew between start and end by more than caches and allocators explain."""
    for role in sorted(before.keys() | after.keys()):
        first, last = asdict(before.get(role, Held())), asdict(after.get(role, Held()))
        if last["anonymous_bytes"] > first["anonymous_bytes"] * (1 + GROWTH) + GROWTH_BYTES:
            yield f"{role}: anonymous_bytes {first['anonymous_bytes']:,} -> {last['anonymous_bytes']:,}"
        for name in ("descriptors", "threads", "processes"):
            if last[name] > first[name] + MORE[name]:
                yield f"{role}: {name} {first[name]} -> {last[name]}"


if __name__ == "__main__":
    sys.exit(main())
