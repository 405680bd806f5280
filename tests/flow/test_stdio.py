"""``winnow serve`` as a host starts it: a child process, JSON lines on a pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from tests.patience import LIMIT, until
from winnow.server.backends.models.installed.weights import find_installed_carrier
from winnow.server.storage.files.lock import find_holder
from winnow.server.tools.table import TOOLS

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
        self.process = process

    def send(self, **message: Any) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}))

    def send_line(self, line: str) -> None:
        """Send a line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to request ``number``; notifications before it are skipped."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError("the server closed the pipe")

    def next(self) -> dict[str, Any]:
        """The next message, whatever it is."""
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def tools(self, number: int) -> list[str]:
        """The names of the tools that are listed now."""
        self.send(id=number, method="tools/list")
        return [tool["name"] for tool in self.answer(number)["result"]["tools"]]

    def shake_hands(self) -> None:
        """The handshake of the 2025 protocols."""
        self.send(id=1, method="initialize", params=HANDSHAKE)
        self.answer(1)
        self.send(method="notifications/initialized")

    def call(self, number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; the structured answer."""
        self.send(id=number, method="tools/call", params={"name": tool, "arguments": arguments})
        return dict(self.answer(number)["result"]["structuredContent"])

    def stop(self, number: signal.Signals) -> int:
        """Send a signal while stdin stays open; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(LIMIT)

    def close(self) -> int:
        """Close stdin; returns the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(LIMIT)


@contextmanager
def serving(
    store: Path, *, project: str = "handbook", stderr: IO[bytes] | int = subprocess.DEVNULL, **environment: str
) -> Iterator[Pipe]:
    """``winnow serve`` over the corpus."""
    process = subprocess.Popen(
        [WINNOW, "serve", "--store", store, "--project", project],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield Pipe(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


@pytest.fixture
def pipe(store: Path) -> Iterator[Pipe]:
    with serving(store) as opened:
        yield opened


def test_a_client_shakes_hands_lists_and_calls(pipe: Pipe, listed: list[str]) -> None:
    pipe.send(id=1, method="initialize", params=HANDSHAKE)
    assert pipe.answer(1)["result"]["serverInfo"]["name"] == "winnow"
    pipe.send(method="notifications/initialized")
    pipe.send(id=2, method="tools/list")
    listed = [tool["name"] for tool in pipe.answer(2)["result"]["tools"]]
    assert [listed[0], *listed[-3:]] == ["kb_retrieve_evidence", "find_vendor_info", "execute_code", "help"]
    pipe.send(
        id=3,
        method="tools/call",
        params={"name": "semantic_search", "arguments": {"query": "incident commander", "top_k": 1}},
    )
    (row,) = pipe.answer(3)["result"]["structuredContent"]["results"]
    assert row["file"].endswith("incidents.md")
    assert pipe.close() == 0


def test_a_host_may_discover_first_and_shake_hands_after(pipe: Pipe, listed: list[str]) -> None:
    pipe.send(id=1, method="server/discover", params=MODERN)
    assert "2026-07-28" in json.dumps(pipe.answer(1)["result"])
    pipe.send(id=2, method="initialize", params=HANDSHAKE)
    assert pipe.answer(2)["result"]["protocolVersion"] == "2025-06-18"
    pipe.send(method="notifications/initialized")
    pipe.send(id=3, method="tools/list")
    assert "execute_code" in [tool["name"] for tool in pipe.answer(3)["result"]["tools"]]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_switches_back_are_read_from_the_environment_that_such_servers_share(
    store: Path, mode: Any
) -> None:
    switches = {"MCP_KB_V2_ENABLED": "false", "MCP_STRUCTURED_OUTPUT_ENABLED": "false"}
    folders = {name: value for name, value in os.environ.items() if name.startswith("WINNOW_")}
    arguments = ["serve", "--store", str(store), "--project", "handbook"]
    server = StdioServerParameters(command=str(WINNOW), args=arguments, env={**folders, **switches})
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        usual = [tool.name for tool in TOOLS if tool.listed and not tool.pack]
        kept = [name for name in usual if not name.startswith(("kb.", "graph."))]
        assert [tool.name for tool in tools] == kept
        assert {tool.output_schema is None for tool in tools} == {True}
        found = await client.call_tool("search_sections", {"query": "incident commander"})
        refused = await client.call_tool("get_section_text", {"ids": []})
        with pytest.raises(MCPError, match="unknown tool 'kb_search'"):
            await client.call_tool("kb_search", {"query": "incident commander"})
    assert (found.structured_content, refused.structured_content) == (None, None)
    assert _payload(found.content)["results"][0]["title"].startswith("Incidents handbook")
    assert (refused.is_error, _payload(refused.content)["error"]["code"]) == (True, "INVALID_ARGUMENT")


def _payload(content: Any) -> dict[str, Any]:
    (block,) = content
    assert isinstance(block, TextContent)
    return dict(json.loads(block.text))


def test_garbage_on_the_pipe_does_not_end_the_server(pipe: Pipe) -> None:
    assert pipe.process.stdin is not None
    pipe.process.stdin.write('not json\n{"jsonrpc": "2.0"}\n[]\n\n')
    pipe.send(id=1, method="initialize", params=HANDSHAKE)
    assert "result" in pipe.answer(1)


def test_after_each_hostile_script_the_server_answers_the_next_call(pipe: Pipe) -> None:
    pipe.shake_hands()
    scripts = {
        "rejected": 'import os\nprint(os.listdir("/"))',
        "timeout": "while True: pass",
        "memory": "'a' * 10**10",
        "limit": "while True: print('x' * 1000)",
    }
    for number, (status, code) in enumerate(scripts.items(), start=10):
        assert pipe.call(number, "execute_code", code=code, timeout=2)["status"] == status
        assert pipe.call(number + 100, "execute_code", code="1 + 1")["result"] == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_while_a_script_runs_and_frees_the_store(
    store: Path, number: signal.Signals
) -> None:
    with serving(store, WINNOW_DRAIN_SECONDS="0.1") as pipe:
        pipe.shake_hands()
        assert pipe.call(2, "semantic_search", query="backups")["count"] == 10
        params = {"name": "execute_code", "arguments": {"code": "while True: pass"}}
        pipe.send(id=3, method="tools/call", params=params)
        assert pipe.stop(number) == {signal.SIGINT: 130, signal.SIGTERM: 0}[number]
        assert find_holder(store) is None


@pytest.mark.skipif(find_installed_carrier() is None, reason="the model's carrier is not installed")
def test_a_search_before_the_model_is_loaded_is_answered_by_words_and_says_so(store: Path, tmp_path: Path) -> None:
    with serving(store, WINNOW_MODELS=str(tmp_path / "models")) as pipe:  # converts the model first: seconds
        pipe.shake_hands()
        early = pipe.call(2, "semantic_search", query="incident commander")
        assert (early["search_mode"], early["results"][0]["file"]) == ("lexical-only", "guide/incidents.md")
        assert any("still loading" in warning for warning in early["meta"]["warnings"])
        until(lambda: pipe.call(3, "semantic_search", query="incident commander")["search_mode"] == "hybrid", 1.0)


def test_a_pipe_keeps_its_session_when_initialize_comes_again(pipe: Pipe) -> None:
    search = {"name": "kb_search", "arguments": {"query": "how are backups encrypted"}}
    pipe.send(id=1, method="tools/call", params={**search, **MODERN})
    first = pipe.answer(1)["result"]["structuredContent"]
    uri = first["results"][0]["scratch_uri"]
    pipe.send(id=2, method="resources/read", params={"uri": uri, **MODERN})
    read = pipe.answer(2)["result"]["contents"]
    assert "AES-256" in read[0]["text"]
    for number in (10, 20):
        pipe.send(id=number, method="initialize", params=HANDSHAKE)
        pipe.answer(number)
        pipe.send(method="notifications/initialized")
        pipe.send(id=number + 1, method="resources/read", params={"uri": uri})
        assert pipe.answer(number + 1)["result"]["contents"] == read
        pipe.send(id=number + 2, method="tools/call", params=search)
        assert pipe.answer(number + 2)["result"]["structuredContent"]["session_id"] == first["session_id"]


@pytest.mark.parametrize("envelope", [{}, MODERN], ids=["2025", "2026"])
def test_a_pipe_serves_help_pages_and_prompts(pipe: Pipe, envelope: dict[str, Any]) -> None:
    if not envelope:
        pipe.shake_hands()
    pipe.send(id=2, method="resources/read", params={"uri": "winnow://help/playbook", **envelope})
    assert pipe.answer(2)["result"]["contents"][0]["text"].startswith("# Playbook")
    asked = {"name": "answer_question", "arguments": {"question": "who is on call"}}
    pipe.send(id=3, method="prompts/get", params={**asked, **envelope})
    assert "who is on call" in pipe.answer(3)["result"]["messages"][0]["content"]["text"]
    pipe.send(
        id=4, method="resources/read", params={"uri": "winnow://scratch/0123456789ab/0123456789", **envelope}
    )
    error = pipe.answer(4)["error"]
    assert (error["code"], error["data"]["code"]) == (-32602, "SCOPE_VIOLATION")


def _nest(depth: int) -> str:
    return "[" * depth + "]" * depth


# Lines that a client may write by mistake, each with the id and the code of its answer.
UNREADABLE = {
    "half a surrogate pair": (
        r'{"method":"tools/call","params":{"name":"kb_search","arguments":{"query":"\ud83d"}},"jsonrpc":"2.0","id":7}',
        7,
        -32700,
    ),
    "params as an array": ('{"jsonrpc":"2.0","id":"a","method":"tools/list","params":[1]}', "a", -32600),
    "nested too deep for one parser": (
        f'{{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{{"x":{_nest(500)}}}}}',
        8,
        -32700,
    ),
    "nested too deep for any": (
        f'{{"method":"tools/list","params":{{"x":{_nest(100_000)}}},"jsonrpc":"2.0","id":9}}',
        9,
        -32700,
    ),
    "a line without end, id first": (
        f'{{"jsonrpc":"2.0","id":10,"method":"tools/list","params":{{"x":"{"a" * 6_000_000}"}}}}',
        10,
        -32600,
    ),
    "a line without end, id last": (
        f'{{"method":"tools/list","params":{{"x":"{"a" * 6_000_000}"}},"jsonrpc":"2.0","id":11}}',
        11,
        -32600,
    ),
    "a number without end": (
        f'{{"jsonrpc":"2.0","id":12,"method":"tools/list","params":{{"x":{"9" * 5_000}}}}}',
        12,
        -32700,
    ),
    "no version": ('{"id":13,"method":"tools/list"}', 13, -32600),
    "an id that is null": ('{"jsonrpc":"2.0","id":null,"method":"tools/list"}', None, -32600),
    "an id that is a fraction": ('{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', None, -32600),
    "an id that is a truth value": ('{"jsonrpc":"2.0","id":true,"method":"tools/list"}', None, -32600),
    "a broken answer": ('{"jsonrpc":"2.0","id":14,"result":"x"}', None, -32600),
    "a batch": ('[{"jsonrpc":"2.0","id":15,"method":"ping"}]', None, -32600),
    "no JSON": ("hello", None, -32700),
    "JSON cut off": ('{"jsonrpc":"2.0","id":16,"method":"tools/li', 16, -32700),
}


def test_every_line_that_cannot_be_read_is_answered_at_once_with_its_id_where_that_can_be_found(
    pipe: Pipe,
) -> None:
    pipe.shake_hands()
    assert pipe.process.stdin is not None
    answers = {}
    for name, (line, _, _) in UNREADABLE.items():
        pipe.process.stdin.write(line + "\n\n")
        pipe.process.stdin.flush()
        answer = pipe.next()
        answers[name] = (answer["id"], answer["error"]["code"])
    assert answers == {name: (number, code) for name, (_, number, code) in UNREADABLE.items()}
    pipe.send(id=99, method="ping")
    assert pipe.next() == {"jsonrpc": "2.0", "id": 99, "result": {}}


def test_nothing_is_written_after_the_client_has_closed_its_end(pipe: Pipe) -> None:
    """A running call is not answered any more: some clients treat such an answer as a fault."""
    pipe.shake_hands()
    assert pipe.call(2, "execute_code", code="return 1")["result"] == 1
    pipe.send(
        id=3, method="tools/call", params={"name": "execute_code", "arguments": {"code": "while True: pass"}}
    )
    pipe.send(id=4, method="ping")
    assert pipe.answer(4)["result"] == {}
    assert pipe.process.stdin is not None
    assert pipe.process.stdout is not None
    pipe.process.stdin.close()
    assert (pipe.process.stdout.read(), pipe.process.wait(60)) == ("", 0)


def test_a_client_that_shakes_hands_and_closes_its_end_at_once_gets_its_answer(store: Path) -> None:
    """Programs that check a server do this."""
    lines = [{"id": 1, "method": "initialize", "params": HANDSHAKE}, {"id": 2, "method": "ping"}]
    asked = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    command = [WINNOW, "serve", "--store", store, "--project", "handbook"]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120, check=True)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]


@pytest.mark.walls
def test_scripts_are_not_listed_with_an_opt_in_that_does_not_fit(store: Path) -> None:
    """All walls stand here, so an opt-in for a missing wall fails; the trial of the host shows that."""
    with serving(store, WINNOW_ALLOW_WEAKER_SANDBOX="landlock") as pipe:
        pipe.shake_hands()
        assert "execute_code" not in pipe.tools(2)
        assert pipe.call(3, "kb_search", query="incident commander")["results"]
        assert "execute_code" not in pipe.tools(4)


def test_scripts_that_cannot_run_are_never_listed_nor_called(store: Path) -> None:
    with serving(store, WINNOW_EXECUTE_CODE="off") as pipe:
        pipe.shake_hands()
        assert "execute_code" not in pipe.tools(2)
        call = {"name": "execute_code", "arguments": {"code": "return 1"}}
        pipe.send(id=3, method="tools/call", params=call)
        off = "execute_code is off on this server, and only its operator can change that: "
        assert pipe.answer(3)["error"]["message"].startswith(f"{off}execute_code is switched off (setting")


@pytest.mark.walls
def test_an_agent_learns_why_scripts_are_off_where_it_calls_them_or_asks_for_help(store: Path) -> None:
    why = (
        "is off on this server, and only its operator can change that: accepted is landlock; named without need: "
        "landlock; every wall stands, so accept nothing"
    )
    with serving(store, WINNOW_ALLOW_WEAKER_SANDBOX="landlock") as pipe:
        pipe.shake_hands()
        pipe.send(id=2, method="tools/call", params={"name": "execute_code", "arguments": {"code": "return 1"}})
        assert f"execute_code {why}" in pipe.answer(2)["error"]["message"]
        for number, topic in enumerate(("execute_code", "sdk", "read_result"), 3):
            assert f"topic: {topic} {why}" in pipe.call(number, "help", topic=topic)["error"]["message"]
