"""Clients over HTTP against one server: do its metrics equal what they counted, and does SIGTERM lose an answer?

    python -m tests.bench.load --clients 8 --seconds 60

The server has a store of its own. Each client calls without a pause: searches, searches with much text, passages
that do not exist, and short scripts. Then the clients' own counts are compared with the difference of two readings
of /metrics. Then they call again, and the server gets SIGTERM in the middle: the audit log says which calls have
begun, and each of them must have been answered. Exit code 1: something differs, or was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil

from server.retrieval.evaluation import percentile
from server.runtime.audit import read_records
from tests.conftest import write_corpus

WINNOW = [sys.executable, "-c", "import server.cli; server.cli.main()"]
PROJECT, MODERN = "load", "2026-07-28"
MANY = "100000"
ENVIRONMENT = {
    "WINNOW_EMBEDDING": "off",
    "WINNOW_CALLS_PER_MINUTE": MANY,
    "WINNOW_SCRIPTS_PER_MINUTE": MANY,
    "WINNOW_DRAIN_SECONDS": "60",
}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("kb_search", {"query": "how are backups encrypted"}),
    ("semantic_search", {"query": "late payment of invoices", "response_mode": "full", "top_k": 20}),
    ("kb_search", {"query": "incident commander"}),
    ("kb_read_excerpt", {"passage_id": "unknown"}),
    ("execute_code", {"code": "return [row.title for row in semantic_search('gateway', top_k=10)]"}),
)
PATIENCE_SECONDS = 120.0

Counts = Counter[tuple[str, str]]  # of a metric, and of a tool with a verdict


@dataclass(slots=True)
class Seen:
    """What the clients counted: calls by tool and verdict, tokens and bytes by tool, and milliseconds of each."""

    calls: Counts = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)
    refused: int = 0
    broken: int = 0

    def add(self, answer: Mapping[str, Any], milliseconds: float) -> None:
        """Count one answer of a tool."""
        meta, error = answer["meta"], answer.get("error")
        verdict = error["details"]["reason"] if error and "status" not in answer else answer.get("status", "ok")
        self.calls[meta["tool"], verdict] += 1
        self.tokens[meta["tool"]] += meta["usage"]["tokens"]
        self.bytes[meta["tool"]] += meta["usage"]["bytes"]
        self.milliseconds.append(milliseconds)


async def call(http: httpx2.AsyncClient, tool: str, arguments: Mapping[str, Any]) -> httpx2.Response:
    """Send one call of the protocol of 2026."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await http.post("/mcp", json=body, headers=headers)


def read_answer(response: httpx2.Response) -> dict[str, Any]:
    """The structured answer of a tool."""
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = next(line for line in text.splitlines() if '"result"' in line).partition("data: ")[2]
    return dict(json.loads(text)["result"]["structuredContent"])


async def run_client(url: str, number: int, until: float, seen: Seen) -> None:
    """Call until this time, or until the server refuses because it ends."""
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS) as http:
        for tool, arguments in itertools.islice(itertools.cycle(CALLS), number, None):
            if time.monotonic() >= until:
                return
            began = time.perf_counter()
            try:
                response = await call(http, tool, arguments)
            except httpx2.HTTPError:  # a connection that the server has closed; the audit tells whether it began
                seen.broken += 1
                return
            if response.status_code == 503:
                seen.refused += 1
                return
            seen.add(read_answer(response), (time.perf_counter() - began) * 1000)


async def read_metrics(url: str) -> Counter[tuple[str, ...]]:
    """The metrics about calls: (name, tool) or (name, tool, verdict) -> value."""
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS) as http:
        text = (await http.get("/metrics")).text
    # Untyped, and installed for development alone.
    parser = importlib.import_module("prometheus_client.openmetrics.parser")
    found: Counter[tuple[str, ...]] = Counter()
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            labels = (sample.labels[name] for name in ("tool", "verdict") if name in sample.labels)
            found[(sample.name, *labels)] += int(sample.value)
    return found


def compare(seen: Seen, before: Counter[tuple[str, ...]], after: Counter[tuple[str, ...]]) -> list[str]:
    """What differs between the clients' counts and the metrics, in sentences."""
    counted: Counter[tuple[str, ...]] = Counter()
    for (tool, verdict), count in seen.calls.items():
        counted["winnow_calls_total", tool, verdict] += count
        counted["winnow_call_seconds_count", tool] += count
    for tool in seen.tokens:
        counted["winnow_answer_tokens_total", tool] = seen.tokens[tool]
        counted["winnow_answer_bytes_total", tool] = seen.bytes[tool]
    names = {name for name, *_ in counted}
    measured = Counter({key: after[key] - before[key] for key in after if key[0] in names})
    return [
        f"{' '.join(key)}: clients {counted[key]:,}, metrics {measured[key]:,}"
        for key in sorted(counted.keys() | measured.keys())
        if counted[key] != measured[key]
    ]


async def run_clients(url: str, clients: int, seconds: float) -> Seen:
    """Have so many clients call for so long."""
    seen, until = Seen(), time.monotonic() + seconds
    await asyncio.gather(*(run_client(url, number, until, seen) for number in range(clients)))
    return seen


async def wait_until_ready(url: str) -> None:
    """Wait until the server answers calls."""
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS) as http:
        for _ in range(int(PATIENCE_SECONDS * 10)):
            try:
                if (await http.get("/health/ready")).status_code == 200:
                    await http.get("/health")  # knows by then whether scripts run
                    return
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(0.1)
    raise TimeoutError("the server does not get ready")


async def measure(store: Path, clients: int, seconds: float) -> dict[str, Any]:
    """Both parts; the report as JSON data."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    url = f"http://{address}"
    command = [*WINNOW, "serve", "--store", str(store), "--project", PROJECT, "--http", address]
    process = subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, stderr=subprocess.DEVNULL)
    try:
        await wait_until_ready(url)
        await run_clients(url, clients, min(5.0, seconds))  # warm
        before, memory = await read_metrics(url), psutil.Process(process.pid).memory_info().rss
        seen = await run_clients(url, clients, seconds)
        grown = psutil.Process(process.pid).memory_info().rss - memory
        differences = compare(seen, before, await read_metrics(url))

        audited = count_audited(store)
        draining = asyncio.create_task(run_clients(url, clients, PATIENCE_SECONDS))
        await asyncio.sleep(min(3.0, seconds))
        process.send_signal(signal.SIGTERM)
        at_end = await draining
        code = await asyncio.to_thread(process.wait, PATIENCE_SECONDS)
    finally:
        process.kill()
    begun, answered = count_audited(store) - audited, at_end.calls.total()
    spent = sorted(seen.milliseconds)
    return {
        "clients": clients,
        "seconds": seconds,
        "calls": seen.calls.total(),
        "per_second": round(seen.calls.total() / seconds, 1),
        "milliseconds": {f"p{part}": round(percentile(spent, part / 100), 1) for part in (50, 95, 99)},
        "by_verdict": {" ".join(key): count for key, count in sorted(seen.calls.items())},
        "tokens": seen.tokens.total(),
        "differences": differences,
        "memory_grown_bytes": grown,
        "drain": {
            "begun": begun,
            "answered": answered,
            "lost": begun - answered,
            "refused": at_end.refused,
            "closed": at_end.broken,
            "exit_code": code,
        },
    }


def count_audited(store: Path) -> int:
    """The calls of tools that have ended in the server."""
    return sum(1 for _ in read_records(store / "audit", kind="calls"))


def main() -> int:
    """Run it and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="winnow-load-") as folder:
        store = Path(folder) / "store"
        write_corpus(Path(folder) / "documents")
        ingest = [*WINNOW, "ingest", f"{folder}/documents", "--store", str(store), "--project", PROJECT]
        subprocess.run(ingest, env={**os.environ, **ENVIRONMENT}, check=True, stdout=subprocess.DEVNULL)
        report = asyncio.run(measure(store, chosen.clients, chosen.seconds))
        subprocess.run([*WINNOW, "engine", "stop", "--store", str(store)], check=False, stdout=subprocess.DEVNULL)
    print(json.dumps(report, indent=2))
    drain = report["drain"]
    return int(bool(report["differences"] or drain["lost"] or drain["exit_code"]))


if __name__ == "__main__":
    raise SystemExit(main())
