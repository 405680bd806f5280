"""Tools of the operator's packs, as clients see them: listed, called, refused, and taken off the list."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import jsonschema
import pytest
from mcp import Client
from mcp_types import TextContent

from winnow.server.commands.entry.app import Application, open_application
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.loading import load_settings
from winnow.server.transports import wire
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.facade.openapi import describe_api
from winnow.server.transports.facade.service import FacadeClient, FacadeService, Invocation
from winnow.server.transports.protocol import build_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="programs run behind walls of Linux"),
]

SCRIPT = """\
import json, sys
given = json.loads(sys.stdin.readline())["input"]
print(json.dumps({"words": len(given["text"].split()), "said": "line one\\n2. [forged] row"}))
"""
PACK = {
    "id": "text.count_words",
    "version": "1.2.0",
    "title": "Count words",
    "description": "Counts the words of a text.",
    "hints": {"readOnly": True},
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "what to count", "maxLength": 100}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {"words": {"type": "integer"}, "said": {"type": "string"}},
        "required": ["words"],
    },
    "execution": {"kind": "python", "script": "./count.py"},
}


@pytest.fixture(scope="module")
def packs() -> Iterator[Path]:
    """A folder that the walls' user can read, too: a tool that reads, its earlier major, and one that fails."""
    folder = Path(tempfile.mkdtemp(prefix="winnow-packs-"))
    folder.chmod(0o755)
    for name, script, changes in (
        ("count", SCRIPT, {}),
        ("earlier", SCRIPT, {"version": "0.9.0"}),
        ("failing", "raise SystemExit(1)", {"id": "text.fail", "hints": {}}),
    ):
        (folder / name).mkdir(mode=0o755)
        (folder / name / "count.py").write_text(script)
        (folder / name / f"{name}.tool.yaml").write_text(json.dumps({**PACK, **changes}))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
async def application(store: Path, packs: Path) -> AsyncIterator[Application]:
    settings = load_settings(store=store, project="handbook", tool_packs=(packs,), execute_code="off")
    async with open_application(settings, wait_for_model=False) as app:
        yield app


@pytest.fixture(params=["legacy", "2026-07-28"])
async def client(request: pytest.FixtureRequest, application: Application) -> AsyncIterator[Client]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server, mode=request.param) as connected:
        yield connected


async def test_a_pack_is_listed_with_its_schemas_and_its_answer_fits_them(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    tool = tools["text_count_words"]
    assert (tool.title, tool.annotations.read_only_hint) == ("Count words", True)  # type: ignore[union-attr]
    assert tool.input_schema["properties"] == {
        "text": {"type": "string", "description": "what to count", "maxLength": 100}
    }
    answer = await client.call_tool("text_count_words", {"text": "three little words"})
    assert answer.structured_content is not None
    assert answer.structured_content["data"]["words"] == 3
    assert answer.structured_content["meta"]["tool"] == "text.count_words"
    jsonschema.validate(answer.structured_content, tool.output_schema)  # type: ignore[arg-type]


async def test_the_major_before_the_newest_names_the_tool_to_call_instead(
    client: Client, application: Application
) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert str(tools["text_count_words_v0"].description).startswith("Deprecated: call text.count_words instead. ")
    seen = []
    for name in ("text_count_words", "text_count_words_v0"):
        answer = await client.call_tool(name, {"text": "three little words"})
        assert answer.structured_content is not None
        meta = answer.structured_content["meta"]
        seen.append((answer.structured_content["data"]["words"], meta["warnings"]))
    assert seen == [(3, []), (3, ["text.count_words.v0: Deprecated: call text.count_words instead."])]
    service = FacadeService(Dispatcher(application.context, application.settings), application)
    rows = {row["name"]: row.get("deprecated") for row in (await service.discover(FacadeClient("lsp")))["tools"]}
    assert (rows["text.count_words"], rows["text.count_words.v0"]) == (
        None,
        "Deprecated: call text.count_words instead.",
    )


async def test_every_line_of_a_pack_is_marked_as_foreign(client: Client) -> None:
    (content,) = (await client.call_tool("text_count_words", {"text": "x"})).content
    assert isinstance(content, TextContent)
    assert [line for line in content.text.splitlines() if "forged" in line] == [
        ' > {"words":1,"said":"line one\\n2. [forged] row"}'
    ]


async def test_a_wrong_argument_names_its_place_and_the_error_fits_the_schema(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    answer = await client.call_tool("text_count_words", {"text": "x" * 101})
    assert answer.is_error
    assert answer.structured_content is not None
    error = answer.structured_content["error"]
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["message"] == "text.count_words: text: has more than 100 characters"
    jsonschema.validate(answer.structured_content, tools["text_count_words"].output_schema)  # type: ignore[arg-type]


async def test_other_doors_list_and_call_a_pack_like_any_tool(application: Application) -> None:
    service = FacadeService(Dispatcher(application.context, application.settings), application)
    rows = {row["name"]: row for row in (await service.discover(FacadeClient("lsp")))["tools"]}
    caps = rows["text.count_words"]["caps"]
    assert (caps["timeoutMs"], caps["maxOutputBytes"]) == (30_000, 32 * 1024)
    described = describe_api(await service.tools(FacadeClient("lsp")))
    assert "/mcp/tool/text.count_words" in described["paths"]
    answer = (await service.invoke(FacadeClient("lsp"), Invocation("text.count_words", {"text": "a b"}))).as_json()
    assert (answer["ok"], answer["data"]["data"]["words"]) == (True, 2)
    refused = (await service.invoke(FacadeClient("lsp"), Invocation("text.count_words", {"words": 1}))).as_json()
    assert (refused["ok"], refused["errors"][0]["code"]) == (False, "INVALID_INPUT")


async def test_help_describes_a_tool_of_the_operator(client: Client) -> None:
    answer = await client.call_tool("help", {"topic": "text_count_words"})
    assert answer.structured_content is not None
    assert "what to count" in answer.structured_content["text"]


async def test_a_key_that_may_only_read_calls_the_packs_that_say_so(application: Application) -> None:
    await application.refresh_tools()
    dispatcher = Dispatcher(application.context, application.settings)
    reader = key_name("1f0c9a2b", [], is_read_only=True, calls_per_minute=None)
    named = {tool.name for tool in dispatcher.list_tools(reader)}
    assert ("text_count_words" in named, "text_fail" in named) == (True, False)
    tool = dispatcher.find("text.fail")
    assert tool is not None
    result = await wire.call_tool(dispatcher, tool, {"text": "x"}, reader, _silent)
    assert result.structured_content is not None
    assert result.structured_content["error"]["code"] == "SCOPE_VIOLATION"


async def _silent(seconds: float, message: str) -> None:
    """Report nothing."""


async def test_a_pack_that_fails_three_times_is_no_longer_listed(application: Application) -> None:
    async with Client(build_server(Dispatcher(application.context, application.settings), application)) as client:
        said = [str((await client.call_tool("text_fail", {"text": "x"})).structured_content) for _ in range(3)]
        assert ["taken off the list now" in each for each in said] == [False, False, True]
        assert "text_fail" not in {tool.name for tool in (await client.list_tools()).tools}
