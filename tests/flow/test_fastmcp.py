"""``fastmcp run`` serves winnow by the repository's fastmcp.json, with every tool."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

from tests.flow.test_stdio import WINNOW
from winnow.server.commands.fastmcp_server import WinnowServer, create_mcp_server
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "fastmcp.json"
PROGRAM = os.environ.get("WINNOW_TEST_FASTMCP") or shutil.which("fastmcp") or ""
needs_program = pytest.mark.skipif(
    not PROGRAM, reason="no program fastmcp (pip install fastmcp, or name it in WINNOW_TEST_FASTMCP)"
)


def environment(store: Path) -> dict[str, str]:
    """The variables of a server that finds winnow, also where the program has an environment of its own."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    paths = os.pathsep.join((str(ROOT), sysconfig.get_path("purelib")))
    models = {name: value for name, value in os.environ.items() if name.startswith(("WINNOW_", "XDG_"))}
    return {**kept, **models, "PYTHONPATH": paths, "WINNOW_STORE": str(store), "WINNOW_PROJECT": "handbook"}


def program(store: Path, *arguments: str) -> StdioServerParameters:
    return StdioServerParameters(command=PROGRAM, args=[*arguments], env=environment(store), cwd=str(ROOT))


async def names_of(server: StdioServerParameters) -> list[str]:
    async with Client(server) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


@needs_program
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_program_serves_all_tools_and_their_answers(store: Path, era: str) -> None:
    ours = StdioServerParameters(
        command=str(WINNOW), args=["serve", "--tools", "research"], env=environment(store), cwd=str(ROOT)
    )
    async with Client(program(store, "run", str(CONFIGURATION), "--no-banner"), mode=era) as client:  # type: ignore[arg-type]
        listed = [tool.name for tool in (await client.list_tools()).tools]
        projects = (await client.call_tool("list_projects", {})).structured_content
        quoted = await client.call_tool("kb_retrieve_evidence", {"question": "how are backups encrypted"})
        refused = await client.call_tool("query", {"project": "other", "text": "backups"})
    assert listed == await names_of(ours)
    assert [row["id"] for row in projects["projects"]] == ["handbook"]
    assert "AES-256" in json.dumps(quoted.structured_content)
    assert refused.structured_content["error"]["details"]["reason"] == "SCOPE_VIOLATION"


@needs_program
def test_the_program_refuses_the_older_form_of_its_configuration(tmp_path: Path) -> None:
    """The form without ``source``, which an earlier version of the program took."""
    older = {
        "dependencies": [],
        "transport": "stdio",
        "entrypoint": "docs.examples.winnow_server:create_mcp_server",
    }
    (tmp_path / "fastmcp.json").write_text(json.dumps(older))
    done = subprocess.run(
        [PROGRAM, "run", str(tmp_path / "fastmcp.json"), "--no-banner"],
        cwd=ROOT,
        env=environment(tmp_path / "store"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "source" in done.stdout + done.stderr


def test_the_configuration_names_a_file_and_a_factory_and_settings_that_there_are() -> None:
    configuration = json.loads(CONFIGURATION.read_text("utf-8"))
    assert configuration.keys() == {"$schema", "source", "deployment"}
    source, deployment = configuration["source"], configuration["deployment"]
    assert (source["type"], source["entrypoint"]) == ("filesystem", "create_mcp_server")
    assert (ROOT / source["path"]).is_file()
    assert deployment["transport"] == "stdio"
    names = {name.removeprefix("WINNOW_").lower(): value for name, value in deployment["env"].items()}
    assert load_settings(**names).tools == ("research",)


def test_the_factory_makes_an_object_that_such_programs_accept_from_the_settings_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_STORE", str(tmp_path))
    made = create_mcp_server()
    assert isinstance(made, MCPServer)
    assert (made.name, made.settings_in_force.store) == ("winnow", tmp_path)
    monkeypatch.setenv("WINNOW_TOOLS", "everything")
    with pytest.raises(WinnowError, match="tools: input should be"):
        create_mcp_server()


async def test_the_object_serves_on_stdio_as_the_command_does(store: Path) -> None:
    """Without the program: what it does with the object, in a process of its own."""
    code = (
        "import asyncio\nfrom docs.examples.winnow_server import create_mcp_server\n"
        "asyncio.run(create_mcp_server().run_stdio_async())"
    )
    server = StdioServerParameters(
        command=sys.executable, args=["-c", code], env=environment(store), cwd=str(ROOT)
    )
    async with Client(server) as client:
        answer = await client.call_tool("kb_retrieve_evidence", {"question": "how are backups encrypted"})
    assert "AES-256" in json.dumps(answer.structured_content)


async def test_the_object_serves_http_on_loopback_alone(tmp_path: Path) -> None:
    server = WinnowServer(load_settings(store=tmp_path, embedding="off", daemon="off"))
    with pytest.raises(WinnowError, match=r"0\.0\.0\.0"):
        await server.run_streamable_http_async(host="0.0.0.0", port=0)
