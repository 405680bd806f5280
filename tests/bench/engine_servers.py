"""``winnow serve`` over its pipes, as a host runs it, and the memory of the processes that it starts."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from winnow import SEARCH_PATH, __version__
from winnow.server.engine.client import query_engine
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import MIB, Settings

ANSWER_SECONDS = 120.0
_PROGRAM = "import sys; sys.argv[0] = 'winnow'; from winnow.server.commands.entry.cli import main; main()"
_KEEPER = "winnow.server.engine.process"
_RUNTIME = "onnxruntime"
_LINE_BYTES = 16 * MIB
_SCRIPT = "return [row.id for row in kb.search({query!r})]"


@dataclass(slots=True, eq=False)
class Server:
    process: asyncio.subprocess.Process
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """One request and its answer; one at a time."""
        number = next(self.numbers)
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)})
        assert self.process.stdout is not None
        async with asyncio.timeout(ANSWER_SECONDS):
            while line := await self.process.stdout.readline():
                message = json.loads(line)
                if message.get("id") == number:
                    return dict(message.get("result") or {"isError": True, **message.get("error", {})})
        raise WinnowError("INTERNAL", "a server has ended")

    def say(self, message: Mapping[str, Any]) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def search(self, query: str) -> Mapping[str, Any]:
        """The result of a search; raises for an error."""
        return await self._tool("semantic_search", {"query": query, "response_mode": "metadata"})

    async def script(self, query: str) -> Mapping[str, Any]:
        """The result of a script that searches; without a sandbox it is an error result, not an exception."""
        return await self.ask(
            "tools/call", {"name": "execute_code", "arguments": {"code": _SCRIPT.format(query=query)}}
        )

    async def _tool(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = await self.ask("tools/call", {"name": name, "arguments": dict(arguments)})
        if answer.get("isError"):
            raise WinnowError("INTERNAL", json.dumps(answer)[:300])
        structured: Mapping[str, Any] = answer["structuredContent"]
        return structured


@asynccontextmanager
async def run_servers(settings: Settings, count: int) -> AsyncIterator[list[Server]]:
    arguments = ["serve", "--store", str(settings.store), "--project", settings.project, "--daemon"]
    async with AsyncExitStack() as stack:
        servers = []
        for _ in range(count):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _PROGRAM, *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=SEARCH_PATH,
                limit=_LINE_BYTES,
            )
            stack.push_async_callback(_end, process)
            servers.append(Server(process))
        for each in servers:
            await each.ask(
                "initialize",
                {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "winnow bench", "version": __version__},
                },
            )
            each.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield servers


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


async def measure_memory(settings: Settings, servers: Sequence[Server]) -> dict[str, Any]:
    """Proportional set size of each process, and how many processes have the model's runtime mapped."""
    engine = psutil.Process(await engine_pid(settings.store))
    parents = [one for one in engine.parents()[:1] if _KEEPER in one.cmdline()]
    ours = [psutil.Process(each.process.pid) for each in servers]
    sandboxes = [one for process in ours for one in process.children(recursive=True)]
    groups = {"servers": ours, "sandboxes": sandboxes, "engine": [engine], "keeper": parents}
    sizes = {name: [_pss_mb(one) for one in some] for name, some in groups.items()}
    with_model = [one.pid for some in groups.values() for one in some if _has_runtime(one.pid)]
    return {
        "pss_mb": {
            "each_server": sizes["servers"],
            "sandboxes": round(sum(sizes["sandboxes"]), 1),
            "engine": sizes["engine"][0],
            "keeper": round(sum(sizes["keeper"]), 1),
            "all": round(sum(sum(some) for some in sizes.values()), 1),
        },
        "processes_with_a_model": len(with_model),
        "only_the_engine_has_it": with_model in ([], [engine.pid]),
    }


# Spare children of a sandbox come and go: one that has ended counts as 0.


def _pss_mb(process: psutil.Process) -> float:
    try:
        return round(process.memory_full_info().pss / MIB, 1)
    except psutil.NoSuchProcess:
        return 0.0


def _has_runtime(pid: int) -> bool:
    try:
        return _RUNTIME in Path("/proc", str(pid), "maps").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def engine_pid(store: Path) -> int:
    status = await query_engine(store, "status")
    if status is None:
        raise WinnowError("INDEX_UNAVAILABLE", f"no engine runs for {store}; see {store / 'engine.log'}")
    return int(status["pid"])
