"""``winnow serve`` as a host starts it: a child process, JSON lines on a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WINNOW = Path(sys.executable).with_name("winnow")
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
}
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Pipe:
    """A raw client: one JSON object a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to request ``number``; notifications before it are skipped."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError("the server closed the pipe")

    def close(self) -> int:
        """End of input; the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(20)


@pytest.fixture
def pipe(store: Path) -> Iterator[Pipe]:
    process = subprocess.Popen(
        [WINNOW, "serve", "--store", store, "--project", "handbook"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ},
    )
    try:
        yield Pipe(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def test_a_client_shakes_hands_lists_and_calls(pipe: Pipe) -> None:
    pipe.send(id=1, method="initialize", params=HANDSHAKE)
    assert pipe.answer(1)["result"]["serverInfo"]["name"] == "winnow"
    pipe.send(method="notifications/initialized")
    pipe.send(id=2, method="tools/list")
    assert [tool["name"] for tool in pipe.answer(2)["result"]["tools"]] == ["semantic_search", "execute_code"]
    pipe.send(
        id=3,
        method="tools/call",
        params={"name": "semantic_search", "arguments": {"query": "incident commander", "top_k": 1}},
    )
    (row,) = pipe.answer(3)["result"]["structuredContent"]["results"]
    assert row["file"].endswith("incidents.md")
    assert pipe.close() == 0


def test_a_host_may_discover_first_and_shake_hands_after(pipe: Pipe) -> None:
    pipe.send(id=1, method="server/discover", params=MODERN)
    assert "2026-07-28" in json.dumps(pipe.answer(1)["result"])
    pipe.send(id=2, method="initialize", params=HANDSHAKE)
    assert pipe.answer(2)["result"]["protocolVersion"] == "2025-06-18"
    pipe.send(method="notifications/initialized")
    pipe.send(id=3, method="tools/list")
    assert len(pipe.answer(3)["result"]["tools"]) == 2


def test_garbage_on_the_pipe_does_not_end_the_server(pipe: Pipe) -> None:
    assert pipe._process.stdin is not None
    pipe._process.stdin.write('not json\n{"jsonrpc": "2.0"}\n[]\n\n')
    pipe.send(id=1, method="initialize", params=HANDSHAKE)
    assert "result" in pipe.answer(1)


def test_after_each_hostile_script_the_server_answers_the_next_call(pipe: Pipe) -> None:
    pipe.send(id=1, method="initialize", params=HANDSHAKE)
    pipe.answer(1)
    pipe.send(method="notifications/initialized")
    scripts = {
        "rejected": 'import os\nprint(os.listdir("/"))',
        "timeout": "while True: pass",
        "memory": "'a' * 10**10",
        "limit": "while True: print('x' * 1000)",
    }
    for number, (status, code) in enumerate(scripts.items(), start=10):
        params = {"name": "execute_code", "arguments": {"code": code, "timeout": 2}}
        pipe.send(id=number, method="tools/call", params=params)
        assert pipe.answer(number)["result"]["structuredContent"]["status"] == status
        pipe.send(id=number + 100, method="tools/call", params={**params, "arguments": {"code": "1 + 1"}})
        assert pipe.answer(number + 100)["result"]["structuredContent"]["result"] == 2
