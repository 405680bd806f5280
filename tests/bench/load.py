"""Clients over HTTP against one server: do its metrics equal what they counted, and does SIGTERM lose an answer?

    python -m tests.bench.load --clients 8 --seconds 60

The server has a store of its own. Each client calls without a pause: searches, searches with much text, passages
that do not exist, and short scripts. Then the clients' own counts are compared with the difference of two readings
of /metrics. Then they call again, and the server gets SIGTERM in the middle: the audit log says which calls have
begun, and each of them must have been answered. Exit code 1: something differs, or was lost.

The clients are connections without a library, because they share the machine with the server. What a call takes of
the processor is reported for each process: on a machine with other work it says more than calls a second.
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

from tests.conftest import write_corpus
from winnow.server.retrieval.evaluation import percentile
from winnow.server.runtime.audit import read_records
from winnow.server.settings.settings import MIB

WINNOW = [sys.executable, "-c", "import winnow.server.commands.entry.cli; winnow.server.commands.entry.cli.main()"]
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
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
}
HEADERS = (
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
    f"mcp-protocol-version: {MODERN}\r\nmcp-method: tools/call\r\n"
)

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


class Connection:
    """A connection that stays open and returns the cookie of its session. Raises ``OSError`` or ``EOFError``."""

    def __init__(self, address: str) -> None:
        self._host, _, self._port = address.rpartition(":")
        self._cookie = ""
        self._reader: asyncio.StreamReader | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[int, str]:
        """Send one call of the protocol of 2026; status and body of the response."""
        if self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, int(self._port), limit=MIB)
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n{HEADERS}mcp-name: {tool}\r\n"
            f"{self._cookie}content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        status, headers = await self._read_head(self._reader)
        if cookie := headers.get("set-cookie"):
            self._cookie = f"cookie: {cookie.partition(';')[0]}\r\n"
        return status, (await self._read_body(self._reader, headers)).decode()

    def close(self) -> None:
        """Close the connection."""
        if self._reader is not None:
            self._writer.close()

    async def _read_head(self, reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        fields = (line.partition(":") for line in lines if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in fields}

    async def _read_body(self, reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await reader.readexactly(int(headers.get("content-length", "0")))
        parts = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readexactly(2)
        return b"".join(parts)


def read_answer(body: str) -> dict[str, Any]:
    """The structured answer of a tool, alone or as the event of a stream."""
    if not body.startswith("{"):
        body = next(line for line in body.splitlines() if '"result"' in line).partition("data: ")[2]
    return dict(json.loads(body)["result"]["structuredContent"])


async def run_client(address: str, number: int, until: float, seen: Seen) -> None:
    """Call until this time, or until the server refuses because it ends."""
    connection = Connection(address)
    try:
        for tool, arguments in itertools.islice(itertools.cycle(CALLS), number, None):
            if time.monotonic() >= until:
                return
            began = time.perf_counter()
            async with asyncio.timeout(PATIENCE_SECONDS):
                status, body = await connection.call(tool, arguments)
            if status == 503:
                seen.refused += 1
                return
            seen.add(read_answer(body), (time.perf_counter() - began) * 1000)
    except (OSError, EOFError):  # a connection that the server has closed; the audit tells whether the call began
        seen.broken += 1
    finally:
        connection.close()


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


async def run_clients(address: str, clients: int, seconds: float) -> Seen:
    """Have so many clients call for so long."""
    seen, until = Seen(), time.monotonic() + seconds
    await asyncio.gather(*(run_client(address, number, until, seen) for number in range(clients)))
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
        await run_clients(address, clients, min(5.0, seconds))  # warm
        before, memory = await read_metrics(url), psutil.Process(process.pid).memory_info().rss
        engine = engine_pid(store)
        earlier = processor_seconds(process.pid, engine)
        seen = await run_clients(address, clients, seconds)
        taken = {name: seconds - earlier[name] for name, seconds in processor_seconds(process.pid, engine).items()}
        grown = psutil.Process(process.pid).memory_info().rss - memory
        differences = compare(seen, before, await read_metrics(url))

        audited = count_audited(store)
        draining = asyncio.create_task(run_clients(address, clients, PATIENCE_SECONDS))
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
        "processor_ms_per_call": {
            name: round(part * 1000 / seen.calls.total(), 2) for name, part in taken.items()
        },
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


def engine_pid(store: Path) -> int:
    """The process that has the store open for the server."""
    status = subprocess.run(
        [*WINNOW, "engine", "status", "--store", str(store), "--json"], check=True, capture_output=True
    )
    return int(json.loads(status.stdout)["pid"])


def processor_seconds(server: int, engine: int) -> dict[str, float]:
    """The processor time of the server with its open sandboxes, of its engine, and of the clients."""
    process = psutil.Process(server)
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    of_engine = psutil.Process(engine).cpu_times()
    return {
        "server": sum(one.user + one.system for one in times),
        "engine": of_engine.user + of_engine.system,
        "clients": time.process_time(),
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
