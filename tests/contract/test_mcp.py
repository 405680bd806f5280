"""The MCP interface: names, schemas, answers, errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent

from winnow.server.commands.entry.app import Application
from winnow.server.settings.settings import Settings
from winnow.server.text.words.tokens import count_tokens
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

DESCRIBED = [
    "kb_retrieve_evidence",
    "kb_search",
    "kb_scan",
    "kb_extract_evidence",
    "kb_read_excerpt",
    "kb_expand_excerpt",
    "kb_documents",
    "kb_read",
    "semantic_search",
    "graph_describe",
    "graph_expand",
    "graph_paths",
    "graph_entities_for_sections",
    "graph_sections_for_entities",
    "find_vendor_info",
    "execute_code",
    "help",
]


@pytest.fixture(params=["legacy", "2026-07-28"])
async def client(request: pytest.FixtureRequest, application: Application) -> AsyncIterator[Client]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server, mode=request.param) as connected:
        yield connected


def text_of(result: CallToolResult) -> str:
    assert [type(block) for block in result.content] == [TextContent]
    return str(result.content[0].text)  # type: ignore[union-attr]


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, check its answer against its schema, and return the structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    listed = {listed.name: listed for listed in (await client.list_tools()).tools}
    jsonschema.validate(result.structured_content, listed[tool.replace(".", "_")].output_schema or {})
    return dict(result.structured_content)


async def test_tools_are_listed_in_fixed_order_with_titles_and_hints(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == DESCRIBED
    for tool in tools:
        assert tool.title
        assert tool.annotations is not None
        assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)
        assert len(tool.description or "") <= 1000
        assert tool.input_schema["type"] == "object"
        assert (tool.output_schema or {})["type"] == "object"


@pytest.mark.parametrize("mode", ["ids_only", "ids", "metadata", "preview", "full"])
async def test_every_tier_answers_in_its_own_shape_and_counts_its_tokens(client: Client, mode: str) -> None:
    asked = {"query": "how are backups encrypted", "top_k": 10, "response_mode": mode}
    answer = await call(client, "semantic_search", **asked)
    assert answer["mode"] == ("ids_only" if mode == "ids" else mode)
    assert answer["count"] == 10
    shown = answer["ids"] if "ids" in answer else answer["results"]
    assert len(shown) == 10
    result = await client.call_tool("semantic_search", asked)
    sent = {"content": [{"type": "text", "text": text_of(result)}], "structuredContent": result.structured_content}
    counted = count_tokens(json.dumps(sent, ensure_ascii=False, separators=(",", ":")))
    assert abs(answer["estimated_tokens"] - counted) <= 0.1 * counted
    keys = {
        "metadata": {"id", "title", "score", "section", "type", "vendor", "file", "created"},
        "preview": {"id", "title", "score", "metadata", "preview", "preview_tokens", "has_more"},
        "full": {"id", "title", "score", "metadata", "content", "tokens"},
    }
    if mode in keys:
        assert set(shown[0]) == keys[mode]


async def test_metadata_is_the_default_tier(client: Client) -> None:
    assert (await call(client, "semantic_search", query="incident commander"))["mode"] == "metadata"


async def test_the_right_passage_is_first_and_the_preview_shows_the_answer(client: Client) -> None:
    answer = await call(
        client, "semantic_search", query="how long are encrypted backups kept", top_k=1, response_mode="preview"
    )
    (row,) = answer["results"]
    assert row["metadata"]["file"].endswith("backups.md")
    assert "ninety days" in row["preview"]


async def test_an_id_of_one_tier_fetches_the_next_in_the_order_given(client: Client) -> None:
    ids = (await call(client, "semantic_search", query="late payment invoices", response_mode="ids"))["ids"]
    wanted = [ids[3], ids[0], "000000000000", ids[1]]
    answer = await call(client, "semantic_search", filter_ids=wanted, response_mode="full")
    assert [row["id"] for row in answer["results"]] == [ids[3], ids[0], ids[1]]
    assert answer["missing_ids"] == ["000000000000"]


async def test_pages_follow_one_another_without_a_gap_or_a_repetition(client: Client) -> None:
    asked = {"query": "who reads this page first", "top_k": 100, "response_mode": "full"}
    pages, cursor = [], None
    while True:
        page = await call(client, "semantic_search", **asked, **({"cursor": cursor} if cursor else {}))
        pages.append(page)
        cursor = page.get("next_cursor")
        if cursor is None:
            break
        assert (page["partial"], page["limit_reason"]) == (True, "token_cap")
    rows = [row["id"] for page in pages for row in page["results"]]
    whole = await call(client, "semantic_search", query=asked["query"], top_k=100, response_mode="ids")
    assert len(pages) > 1
    assert rows == whole["ids"]


async def test_a_cursor_of_another_question_is_refused(client: Client) -> None:
    asked = {"query": "who reads this page first", "top_k": 100, "response_mode": "full"}
    cursor = (await call(client, "semantic_search", **asked))["next_cursor"]
    for wrong in (cursor[:-2], "x" * 20, "!!"):
        result = await client.call_tool("semantic_search", {**asked, "cursor": wrong})
        assert error_of(result)["details"]["reason"] == "INVALID_CURSOR"
    result = await client.call_tool("semantic_search", {**asked, "query": "something else", "cursor": cursor})
    assert error_of(result)["details"]["reason"] == "INVALID_CURSOR"


def error_of(result: CallToolResult) -> dict[str, Any]:
    assert result.is_error
    error: dict[str, Any] = result.structured_content["error"]
    assert error["message"] in text_of(result)
    assert result.structured_content["meta"]["trace_id"] in text_of(result)
    return error


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ({"query": "x"}, "INVALID_ARGUMENT", "INVALID_REQUEST"),
        ({"query": "fine", "tok_k": 3}, "INVALID_ARGUMENT", "INVALID_REQUEST"),
        ({"query": "fine", "scope": {"project_id": "secret"}}, "SCOPE_VIOLATION", "SCOPE_VIOLATION"),
    ],
)
async def test_an_error_is_marked_and_says_code_reason_and_trace_in_both_channels(
    client: Client, arguments: dict[str, Any], code: str, reason: str
) -> None:
    error = error_of(await client.call_tool("semantic_search", arguments))
    assert (error["code"], error["details"]["reason"]) == (code, reason)


async def test_filters_are_applied_inside_the_index(client: Client) -> None:
    asked = {"query": "who reads this page first", "top_k": 50}
    tagged = await call(client, "semantic_search", **asked, filters={"tags": ["handbook", "billing"]})
    assert {row["file"].rsplit("/")[-1] for row in tagged["results"]} == {"billing.md"}
    assert tagged["count"] >= 10
    nowhere = await call(client, "semantic_search", **asked, filters={"path_prefix": "guide/bill"})
    assert nowhere["count"] == 0
    vendor = await call(client, "semantic_search", **asked, vendor_filter="nobody")
    assert vendor["count"] == 0


async def test_both_channels_carry_the_same_ids_scores_and_cursor(client: Client) -> None:
    result = await client.call_tool(
        "semantic_search", {"query": "who reads this page first", "top_k": 100, "response_mode": "full"}
    )
    text, payload = text_of(result), result.structured_content
    assert payload["next_cursor"] in text
    for row in payload["results"]:
        assert f"[{row['id']}] {row['score']:.3f}" in text
        assert row["content"] in text


async def test_the_second_same_question_comes_from_the_cache(client: Client) -> None:
    first = await call(client, "semantic_search", query="laptop on day one")
    second = await call(client, "semantic_search", query="laptop on day one")
    assert (first["meta"]["cache_hit"], second["meta"]["cache_hit"]) == (False, True)
    assert first["results"] == second["results"]


async def test_a_dotted_spelling_calls_the_same_tool_and_an_unknown_one_is_a_protocol_error(
    client: Client,
) -> None:
    assert (await client.call_tool("semantic.search", {"query": "backups"})).is_error is False
    with pytest.raises(MCPError) as caught:
        await client.call_tool("no_such_tool", {})
    assert caught.value.code == INVALID_PARAMS
    assert "semantic_search" in caught.value.message


@pytest.mark.parametrize(
    ("name", "function"), [("repeats", "repeats"), ("kb_save", "save"), ("kb.hybrid_search", "hybrid_search")]
)
async def test_a_function_of_scripts_that_is_called_as_a_tool_is_named_as_one(
    client: Client, name: str, function: str
) -> None:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(name, {})
    assert f"{function} is a function of scripts: write it in the code of execute_code" in caught.value.message


async def test_a_script_searches_and_only_its_result_comes_back(client: Client) -> None:
    code = """
rows = semantic_search("who reads this page first", top_k=40)
best = fetch([row.id for row in rows][:10])
return sorted({row.metadata["file"].split("/")[-1] for row in best})
"""
    answer = await call(client, "execute_code", code=code, description="which pages")
    assert answer["status"] == "ok"
    assert answer["result"]
    assert all(name.endswith(".md") for name in answer["result"])
    assert answer["usage"]["sdk_calls"] == 2
    assert answer["usage"]["rows"] == 50
    assert answer["usage"]["tokens_kept_out"] > 10 * answer["usage"]["result_tokens"]
    assert answer["walls"] == {"missing": []}


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("rows = kb.search('backups')\nrows[0].titel", "rejected", "CODE_REJECTED"),  # certain: it does not run
        ("rows = kb.search('backups')\nrows[0][str('titel')]", "error", "USER_CODE_ERROR"),
    ],
)
async def test_a_script_that_fails_is_an_error_with_its_own_line(
    client: Client, code: str, status: str, reason: str
) -> None:
    result = await client.call_tool("execute_code", {"code": code})
    error = error_of_script(result)
    assert (result.structured_content["status"], error["line"]) == (status, 2)
    assert "title" in (error.get("hint") or error["message"])
    assert error["details"]["reason"] == reason


def error_of_script(result: CallToolResult) -> dict[str, Any]:
    assert result.is_error
    error: dict[str, Any] = result.structured_content["error"]
    assert error["message"] in text_of(result)
    return error


async def test_a_script_cannot_widen_its_scope(client: Client) -> None:
    code = "return kb.search('backups', scope={'project_id': 'secret'})"
    error = error_of_script(await client.call_tool("execute_code", {"code": code}))
    assert "SCOPE_VIOLATION" in error["type"] + error["message"]


async def test_a_script_makes_a_thousand_calls_and_no_more(client: Client) -> None:
    code = "for _ in range(1_001): semantic_search('backups', top_k=1, response_mode='ids')"
    error = error_of_script(await client.call_tool("execute_code", {"code": code}))
    assert (error["type"], error["details"]["reason"]) == ("CallLimit", "SDK_CALLS")
    assert "none are left" in error["message"]
    assert "top_k=100" in error["hint"]


async def test_meta_is_on_every_answer(client: Client) -> None:
    meta = (await call(client, "semantic_search", query="backups"))["meta"]
    assert set(meta) == {"tool", "version", "duration_ms", "trace_id", "cache_hit", "warnings", "usage"}
    assert meta["usage"]["tokenizer"] == "o200k_base"


async def test_a_switched_off_sandbox_is_not_listed(settings: Settings) -> None:
    from winnow.server.commands.entry.app import open_application

    off = settings.model_copy(update={"execute_code": "off"})
    async with open_application(off, wait_for_model=False) as app:
        server = build_server(Dispatcher(app.context, off), app)
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            assert "execute_code" not in [tool.name for tool in tools]
            assert [tool.name for tool in tools if "execute_code" in (tool.description or "")] == []


@pytest.mark.walls
async def test_what_a_script_says_of_its_progress_reaches_the_client(client: Client) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    code = "progress('half\\n way')\nreturn kb.search('backups').ids != []"
    result = await client.call_tool("execute_code", {"code": code}, progress_callback=hear)
    assert (result.structured_content or {})["result"] is True
    assert heard[:1] == ["half way"]


BUSY = """
from time import monotonic
end = monotonic() + 2.5
while monotonic() < end:
    pass
return "done"
"""


async def test_a_long_script_reports_its_progress(client: Client) -> None:
    heard: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    result = await client.call_tool("execute_code", {"code": BUSY}, progress_callback=hear)
    assert result.structured_content["result"] == "done"
    assert heard
    assert [seconds for seconds, _ in heard] == sorted(seconds for seconds, _ in heard)
    assert "SDK calls" in (heard[0][1] or "")


async def test_a_withdrawn_call_ends_its_script_and_the_next_one_is_answered(client: Client) -> None:
    with pytest.raises(MCPError):
        await client.call_tool("execute_code", {"code": "while True: pass"}, read_timeout_seconds=1)
    answer = await call(client, "execute_code", code="return 1 + 1")
    assert answer["result"] == 2


async def test_a_bug_of_ours_leaves_as_a_bare_internal_error(application: Application) -> None:
    def broken(progress: Any) -> Any:
        raise RuntimeError("secret detail of the inside")

    server = build_server(Dispatcher(broken, application.settings), application)
    for mode in ("legacy", "2026-07-28"):
        async with Client(server, mode=mode) as connected:
            with pytest.raises(MCPError) as caught:
                await connected.list_tools()
        assert "secret" not in str(caught.value)
