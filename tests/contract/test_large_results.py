"""Script results that are too large: the error names the stored result, which its session can read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from winnow.server.commands.entry.app import Application
from winnow.server.runtime.sessions.result_store import ResultStore
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

ROWS = "[{'id': f'row {n}', 'score': n / 100, 'content': 'said at length. ' * 20} for n in range(200)]"
FRUGAL = """
import json
rows = [{"id": n, "score": n / 2} for n in range(50)]
print(json.dumps(rows))
return rows
"""


@pytest.fixture
async def clients(application: Application) -> AsyncIterator[tuple[Client, Client]]:
    """Two sessions of one server."""
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(Client(server, mode="legacy")) for _ in range(2)]
        yield one, other


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert answer.structured_content is not None
    return {**answer.structured_content, "told": answer.content[0].text}  # type: ignore[union-attr]


async def test_what_is_too_large_is_named_kept_and_read_by_its_session_alone(
    clients: tuple[Client, Client],
) -> None:
    mine, theirs = clients
    refused = await call(mine, "execute_code", code=f"return {ROWS}")
    error, details = refused["error"], refused["error"]["details"]
    execution_id = details["execution_id"]
    assert (refused["status"], error["type"], refused["result"]) == ("limit", "ResultTooLarge", None)
    assert f"the result is {details['size']:,} bytes long; the limit is {details['max']:,}" in error["message"]
    assert "result[*]['content'] 64,400 bytes" in error["message"]
    assert "return [{name: row.get(name) for name in ['id', 'score']} for row in result]" in error["hint"]
    assert (execution_id in error["hint"], details["result_uri"]) == (True, f"winnow://result/{execution_id}")

    text, start = "", 0
    while True:
        portion = await call(mine, "read_result", execution_id=execution_id, start_char=start, max_tokens=8000)
        text += portion["text"]
        assert portion["text"] in portion["told"]
        if not portion["truncated"]:
            break
        start = portion["next_start_char"]
    rows = json.loads(text)
    assert (len(rows), rows[199]["id"], portion["total_chars"]) == (200, "row 199", len(text))
    contents = (await mine.read_resource(details["result_uri"])).contents[0]
    assert (contents.text, contents.mime_type) == (text, "application/json")  # type: ignore[union-attr]

    again = f"rows = await read_result('{execution_id}')\nreturn len(rows), rows[7].id, max(r.score for r in rows)"
    assert (await call(mine, "execute_code", code=again))["result"] == [200, "row 7", 1.99]

    unknown = f"try:\n    read_result('{execution_id}')\nexcept SDKError as error:\n    return error.type"
    assert (await call(theirs, "execute_code", code=unknown))["result"] == "NOT_FOUND"
    for name in (execution_id, "0" * 16):
        answer = await call(theirs, "read_result", execution_id=name)
        assert answer["error"]["details"]["reason"] == "NOT_FOUND"
        with pytest.raises(MCPError) as caught:
            await theirs.read_resource(f"winnow://result/{name}")
        assert caught.value.data["details"]["reason"] == "NOT_FOUND"
    beyond = await call(mine, "read_result", execution_id=execution_id, start_char=len(text))
    assert beyond["error"]["details"]["reason"] == "INVALID_REQUEST"


async def test_more_than_is_kept_says_so_and_is_not_there(clients: tuple[Client, Client]) -> None:
    refused = await call(clients[0], "execute_code", code="return ['said at length'] * 20_000")
    assert refused["error"]["type"] == "ResultTooLarge"
    details = refused["error"]["details"]
    assert ("result[:" in refused["error"]["hint"], "execution_id" in details) == (True, False)
    assert (details["size"], details["max"]) == (len('"said at length",') * 20_000 + 1, 32 * 1024)


async def test_a_script_that_prints_too_much_is_told_how_much_it_may(clients: tuple[Client, Client]) -> None:
    refused = await call(clients[0], "execute_code", code="while True: print('said at length' * 100)")
    assert (refused["error"]["type"], refused["error"]["details"]["max"]) == ("OutputLimit", 1024 * 1024)


async def test_records_are_told_as_columns_and_what_was_printed_is_not_told_again(
    clients: tuple[Client, Client],
) -> None:
    answer = await call(clients[0], "execute_code", code=FRUGAL)
    assert (answer["result"][1], answer["stdout"]) == ({"id": 1, "score": 0.5}, "")
    assert 'result: {"columns":["id","score"],"rows":[[0,0.0],[1,0.5],' in answer["told"]
    assert "stdout" not in answer["told"]


def test_the_least_used_leaves_first_and_everything_in_time() -> None:
    now = [0.0]
    kept = ResultStore(60.0, max_bytes=8_000, now=lambda: now[0])
    text = "x" * 2_000
    assert [kept.put("s", name, text) for name in "abc"] == [True] * 3
    assert kept.get("s", "a") == text
    assert kept.put("s", "d", text)
    assert [kept.get("s", name) for name in "abcd"] == [text, None, text, text]
    assert kept.get("t", "a") is None
    assert not kept.put("s", "e", "x" * 9_000)
    now[0] = 61.0
    assert [kept.get("s", name) for name in "acd"] == [None] * 3
