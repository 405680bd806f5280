"""Other MCP clients on stdio and HTTP: SDKs in Python and TypeScript, and the Inspector.

The Python SDK's 1.x line, the TypeScript SDK and the Inspector come from package registries. Where one cannot be
reached those tests are skipped, and say so.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.patience import LIMIT

WINNOW = Path(sys.executable).with_name("winnow")
PROJECT = "handbook"
QUERY = "how are backups encrypted"
SCRIPT = f"return [row.title for row in semantic_search({QUERY!r}, top_k=1)]"
TITLE = "Backups handbook"

OLD_SDK = "mcp==1.30.0"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
TYPESCRIPT_SDK = "@modelcontextprotocol/sdk@1.32.2"
NODE = "node@22"  # the Inspector needs 22.19; this package carries the program itself

pytestmark = [pytest.mark.slow, pytest.mark.walls, pytest.mark.timeout(300)]


def _arguments(store: Path) -> list[str]:
    return ["serve", "--store", str(store), "--project", PROJECT]


def _environment() -> dict[str, str]:
    """The variables that a host must pass on: it starts servers with an almost empty environment."""
    return {name: value for name, value in os.environ.items() if name.startswith("WINNOW_")}


@pytest.fixture
def stdio(store: Path) -> StdioServerParameters:
    """How a client starts the server."""
    return StdioServerParameters(command=str(WINNOW), args=_arguments(store), env=_environment())


@pytest.fixture
def url(store: Path) -> Iterator[str]:
    """The address of a server on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [WINNOW, *_arguments(store), "--http", address]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_until_healthy(f"http://{address}/health", process)
            yield f"http://{address}/mcp"
        finally:
            process.terminate()


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=LIMIT) as response:
                assert json.load(response)["status"] == "ok"
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the server ended with {process.returncode}")


async def _list_and_call(client: Client) -> tuple[list[str], str, list[str]]:
    tools = [tool.name for tool in (await client.list_tools()).tools]
    found = await client.call_tool("semantic_search", {"query": QUERY, "top_k": 1})
    ran = await client.call_tool("execute_code", {"code": SCRIPT})
    assert found.structured_content is not None
    assert ran.structured_content is not None
    return tools, found.structured_content["results"][0]["title"], ran.structured_content["result"]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdk_s_client_lists_and_calls_over_stdio(
    stdio: StdioServerParameters, mode: Any, listed: list[str]
) -> None:
    """Both eras of the protocol."""
    async with Client(stdio, mode=mode) as client:
        assert await _list_and_call(client) == (listed, TITLE, [TITLE])


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdk_s_client_lists_and_calls_over_http(url: str, mode: Any, listed: list[str]) -> None:
    """Both eras of the protocol."""
    async with Client(url, mode=mode) as client:
        assert await _list_and_call(client) == (listed, TITLE, [TITLE])


# A program on the SDK's 1.x line; it prints its results.
OLD_CLIENT = """
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

async def main(target, query, script):
    if isinstance(target, str):
        transport = streamablehttp_client(target)
    else:
        transport = stdio_client(StdioServerParameters(**target))
    async with transport as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool("semantic_search", {"query": query, "top_k": 1})
        ran = await session.call_tool("execute_code", {"code": script})
        title = found.structuredContent["results"][0]["title"]
        print(json.dumps([tools, title, ran.structuredContent["result"], found.isError or ran.isError]))

asyncio.run(main(*json.loads(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def old_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the SDK's 1.x line, in an environment of its own."""
    folder = tmp_path_factory.mktemp("old-sdk")
    python = folder / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "--disable-pip-version-check",
        "--quiet",
        "--retries",
        "1",
    ]
    installed = subprocess.run([*pip, "install", OLD_SDK], capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"{OLD_SDK} cannot be installed here: {installed.stderr.strip().splitlines()[-1]}")
    return python


def _old_client(python: Path, target: str | dict[str, Any]) -> list[Any]:
    command = [python, "-c", OLD_CLIENT, json.dumps([target, QUERY, SCRIPT])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    answer: list[Any] = json.loads(done.stdout)
    return answer


def test_the_sdk_s_old_line_lists_and_calls_over_stdio(
    old_python: Path, stdio: StdioServerParameters, listed: list[str]
) -> None:
    """Clients stay behind for years."""
    assert _old_client(old_python, _server_config(stdio)) == [listed, TITLE, [TITLE], False]


def test_the_sdk_s_old_line_lists_and_calls_over_http(old_python: Path, url: str, listed: list[str]) -> None:
    """Clients stay behind for years."""
    assert _old_client(old_python, url) == [listed, TITLE, [TITLE], False]


def _server_config(stdio: StdioServerParameters) -> dict[str, Any]:
    return {"command": stdio.command, "args": stdio.args, "env": stdio.env}


# What a program on the TypeScript SDK does. Its client holds every answer, errors included, against the schema of
# its tool, and throws where one does not fit.
TYPESCRIPT_CLIENT = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [target, question, script] = JSON.parse(process.argv[1]);
const client = new Client({ name: "test", version: "1" });
const [Transport, to] =
  typeof target === "string" ? [StreamableHTTPClientTransport, new URL(target)] : [StdioClientTransport, target];
await client.connect(new Transport(to));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const answers = {}, errors = {};
const call = async (name, args) => {
  answers[name] = await client.callTool({ name, arguments: args });
  return answers[name].structuredContent;
};
const { quotes } = await call("kb_retrieve_evidence", { question });
const { results } = await call("kb_search", { query: question });
await call("kb_extract_evidence", { question, passage_ids: results.map((row) => row.passage_id) });
await call("kb_read_excerpt", { passage_id: quotes[0].passage_id });
await call("kb_expand_excerpt", { passage_id: results[0].section_id });
await call("kb_scan", { pattern: "\\\\w+", group_by: "document" });
const documents = (await call("kb_documents", {})).results;
await call("kb_read", { document: documents[0].document_id });
await call("semantic_search", { query: question, response_mode: "full" });
const ids = [results[0].section_id], names = ["acme"];
await call("graph_describe", { ids });
await call("graph_expand", { ids });
await call("graph_paths", { from_ids: ids, to_ids: names });
await call("graph_entities_for_sections", { section_ids: ids });
await call("graph_sections_for_entities", { entity_ids: names });
await call("find_vendor_info", { vendor_name: names[0] });
await call("execute_code", { code: script });
await call("help", {});
const first = Object.fromEntries(
  (await client.listTools()).tools.map((tool) => [tool.name, Object.keys(tool.inputSchema.properties)[0]]));
const misspelt = (name) => ({ [`${first[name]}x`]: 1 });
for (const name of tools) errors[name] = await client.callTool({ name, arguments: misspelt(name) });
await client.close();
console.log(JSON.stringify([tools, answers, errors]));
"""


@pytest.fixture(scope="module")
def typescript() -> Path:
    """The folder in which npx keeps the TypeScript SDK."""
    if shutil.which("npx") is None or shutil.which("node") is None:
        pytest.skip("the TypeScript SDK needs node and npx, and they are not both here")
    fetch = ["npx", "-y", "-p", TYPESCRIPT_SDK, "-c", 'echo "$PATH"']
    fetched = subprocess.run(fetch, capture_output=True, text=True, timeout=LIMIT, check=False)
    if fetched.returncode:
        pytest.skip(f"{TYPESCRIPT_SDK} cannot be had here: {(fetched.stderr.strip().splitlines() or ['?'])[-1]}")
    programs = Path(fetched.stdout.strip().partition(os.pathsep)[0])  # .../node_modules/.bin
    return programs.parents[1]


def _typescript_client(folder: Path, target: str | dict[str, Any]) -> Any:
    told = json.dumps([target, QUERY, SCRIPT])
    command = ["node", "--input-type=module", "--eval", TYPESCRIPT_CLIENT, told]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("transport", ["stdio", "url"])
def test_the_typescript_sdk_calls_every_tool_and_gets_an_error_as_a_result(
    typescript: Path, listed: list[str], request: pytest.FixtureRequest, transport: str
) -> None:
    """A client that validates answers hides what does not fit the schema."""
    target = request.getfixturevalue(transport)
    tools, answers, errors = _typescript_client(
        typescript, target if transport == "url" else _server_config(target)
    )
    assert tools == sorted(answers, key=tools.index) == list(errors) == listed
    assert {name: answer.get("isError", False) for name, answer in answers.items()} == dict.fromkeys(tools, False)
    assert "AES-256" in answers["kb_retrieve_evidence"]["structuredContent"]["quotes"][0]["quote"]
    assert answers["execute_code"]["structuredContent"]["result"] == [TITLE]
    for name, answer in errors.items():
        assert (name, answer["isError"]) == (name, True)
        assert answer["structuredContent"]["error"]["code"] == "INVALID_ARGUMENT"
        assert "no such argument; did you mean" in answer["content"][0]["text"]


@dataclass(frozen=True)
class Inspector:
    """The Inspector's command line and the search path on which it finds the Node that it accepts."""

    path: str

    def run(self, *arguments: str) -> dict[str, Any]:
        """The output; an exit code other than 0 counts as a finding."""
        command = ["mcp-inspector", "--cli", *arguments, "--format", "json"]
        environment = {**os.environ, "PATH": self.path}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.fixture(scope="module")
def inspector() -> Inspector:
    """The Inspector, under a Node that it accepts; npx fetches both."""
    if shutil.which("npx") is None:
        pytest.skip("the Inspector needs npx, and there is none here")
    fetch = ["npx", "-y", "-p", NODE, "-p", INSPECTOR, "-c", 'mcp-inspector --cli --version >&2 && echo "$PATH"']
    fetched = subprocess.run(fetch, capture_output=True, text=True, timeout=LIMIT, check=False)
    if fetched.returncode:
        pytest.skip(f"{INSPECTOR} cannot be had here: {(fetched.stderr.strip().splitlines() or ['?'])[-1]}")
    return Inspector(fetched.stdout.strip())


INSPECTIONS = {
    "list": ["--method", "tools/list", "--strict"],
    "search": ["--method", "tools/call", "--tool-name", "semantic_search", "--tool-arg", f"query={QUERY}"],
    "script": ["--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", f"code={SCRIPT}"],
}


def _expect(inspection: str, answer: dict[str, Any], tools: list[str]) -> None:
    if inspection == "list":
        # Errors would end it, warnings would not; it reports what it found, and nothing where it found nothing.
        assert answer.get("schemaFindings", []) == []
        assert [tool["name"] for tool in answer["result"]["tools"]] == tools
    elif inspection == "search":
        assert answer["result"]["structuredContent"]["results"][0]["title"] == TITLE
    else:
        assert answer["result"]["structuredContent"]["result"] == [TITLE]


@pytest.mark.parametrize("inspection", INSPECTIONS)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_nothing_over_stdio(
    inspector: Inspector,
    stdio: StdioServerParameters,
    tmp_path: Path,
    inspection: str,
    era: str,
    listed: list[str],
) -> None:
    """The configuration is the one that the README gives for clients."""
    target = [*_config_arguments(stdio, tmp_path), "--protocol-era", era]
    _expect(inspection, inspector.run(*target, *INSPECTIONS[inspection]), listed)


def _config_arguments(stdio: StdioServerParameters, folder: Path) -> list[str]:
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"winnow": _server_config(stdio)}}), "utf-8")
    return ["--config", str(config), "--server", "winnow"]


def test_the_inspector_finds_nothing_in_the_earlier_tools(
    inspector: Inspector, stdio: StdioServerParameters, tmp_path: Path, listed: list[str]
) -> None:
    """They are listed on request."""
    asked = StdioServerParameters(command=stdio.command, args=[*stdio.args, "--legacy-tools"], env=stdio.env)
    answer = inspector.run(*_config_arguments(asked, tmp_path), *INSPECTIONS["list"])
    names = [tool["name"] for tool in answer["result"]["tools"]]
    assert answer.get("schemaFindings", []) == []
    assert [name for name in names if name not in listed] == ["search_sections", "get_section_text"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_nothing_over_http(
    inspector: Inspector, url: str, era: str, listed: list[str]
) -> None:
    """The same three, against one running server."""
    for inspection, arguments in INSPECTIONS.items():
        _expect(inspection, inspector.run(url, "--protocol-era", era, *arguments), listed)
