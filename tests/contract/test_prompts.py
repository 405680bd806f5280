"""Prompts and help: listing, filling in, bounds, and portions that join to the whole text."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PromptReference, TextContent

from winnow.server.commands.entry.app import Application, open_application
from winnow.server.operations.answers.budget import measure
from winnow.server.settings.loading import load_settings
from winnow.server.text.words.tokens import count_tokens
from winnow.server.tools.reference.guides import playbook
from winnow.server.tools.reference.sdk import SDK, sdk_reference
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

ASKED = {"answer_question": "question", "cited-answer": "question", "write_script": "task"}


@pytest.fixture(scope="module")
async def application(store: Path) -> AsyncIterator[Application]:
    """One winnow for all these tests: none of them changes it."""
    async with open_application(load_settings(store=store, project="handbook"), wait_for_model=True) as app:
        yield app


@pytest.fixture(params=["legacy", "2026-07-28"])
async def client(request: pytest.FixtureRequest, application: Application) -> AsyncIterator[Client]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server, mode=request.param) as connected:
        yield connected


async def test_prompts_are_listed_with_title_and_one_required_argument(client: Client) -> None:
    listed = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in listed] == list(ASKED)
    for prompt in listed:
        assert prompt.title
        assert prompt.description
        assert [(each.name, each.required) for each in prompt.arguments or ()] == [(ASKED[prompt.name], True)]


async def test_a_prompt_is_one_message_of_the_user_with_what_was_asked(client: Client) -> None:
    for name, argument in ASKED.items():
        result = await client.get_prompt(name, {argument: "  how long are backups\x1b[31m kept?\x07 "})
        (message,) = result.messages
        assert message.role == "user"
        assert isinstance(message.content, TextContent)
        assert ": how long are backups kept?\n" in message.content.text
        assert count_tokens(message.content.text) < 1000


async def test_what_a_prompt_does_not_take_is_refused_with_what_it_takes(client: Client) -> None:
    wrong: list[tuple[str, dict[str, str]]] = [
        ("answer_question", {}),
        ("answer_question", {"question": " \n"}),
        ("answer_question", {"question": "x" * 1001}),
        ("answer_question", {"question": "fine", "extra": "not"}),
        ("write_script", {"question": "fine"}),
        ("write_script", {"task": "x" * 4001}),
        ("no_such_prompt", {"question": "fine"}),
        ("x" * 10_000, {}),
        ("", {}),
    ]
    for name, arguments in wrong:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "INVALID_ARGUMENT")
        assert ASKED.get(name, "answer_question") in caught.value.message
        assert len(caught.value.message) < 300


async def test_a_server_without_scripts_offers_no_prompt_for_them(application: Application) -> None:
    off = application.settings.model_copy(update={"execute_code": "off"})
    async with (
        open_application(off, wait_for_model=False) as app,
        Client(build_server(Dispatcher(app.context, off), app)) as client,
    ):
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == [
            "answer_question",
            "cited-answer",
        ]
        cited = await client.get_prompt("cited-answer", {"question": "who is on call"})
        assert "[@citekey, p. 45]" in cited.messages[0].content.text  # type: ignore[union-attr]
        assert "cite(rows)" not in cited.messages[0].content.text  # type: ignore[union-attr]
        answer = await ask_help(client)
        assert not {"sdk", "execute_code", "search_many"} & set(answer["topics"])
        assert "execute_code" not in answer["text"]


async def test_prompts_of_a_folder_are_listed_completed_and_pinned_by_version(
    application: Application, tmp_path: Path
) -> None:
    own = tmp_path / "packs" / "team"
    own.mkdir(parents=True)
    registry = 'prompts: [{id: team/compare, versions: [1, 2], deprecated: {1: "use team.compare"}}]'
    (tmp_path / "REGISTRY.yaml").write_text(registry)
    (own / "compare.spec.yaml").write_text(
        "{title: Compare, description: Compares., input: {type: object, required: [first], properties: {"
        "first: {type: string, description: one thing}, "
        "as: {type: string, description: form, enum: [a table, a list]}}}}"
    )
    (own / "compare.v1.md").write_text("Compare {{ first }}.")
    (own / "compare.v2.md").write_text("Use kb_search to compare {{ first }}{% if as %} as {{ as }}{% endif %}.")
    settings = application.settings.model_copy(update={"prompt_packs": (tmp_path,)})
    async with (
        open_application(settings, wait_for_model=False) as app,
        Client(build_server(Dispatcher(app.context, settings), app)) as client,
    ):
        *own_prompts, newest, former = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in own_prompts] == list(ASKED)
        assert (newest.name, newest.title, newest.description) == ("team.compare", "Compare", "Compares.")
        assert [(each.name, each.required) for each in newest.arguments or ()] == [("first", True), ("as", False)]
        described = (former.name, former.title, former.description)
        assert described == ("team.compare@1", "Compare (1)", "Deprecated: use team.compare. Compares.")
        texts = [
            (await client.get_prompt(name, {"first": "tea", "as": "a list"})).messages[0].content.text  # type: ignore[union-attr]
            for name in ("team.compare", "mcp.prompt:team/compare@1")
        ]
        assert texts == ["Use kb_search to compare tea as a list.", "Compare tea."]
        offered = await client.complete(
            PromptReference(type="ref/prompt", name="team.compare"), {"name": "as", "value": "a t"}
        )
        assert offered.completion.values == ["a table"]


@pytest.mark.parametrize("changed", [{"tool_names": "dotted"}, {"kb_v2_enabled": False}])
async def test_a_server_speaks_of_the_kb_tools_as_it_lists_them_and_not_at_all_where_they_are_rolled_back(
    application: Application, changed: dict[str, Any]
) -> None:
    settings = application.settings.model_copy(update=changed)
    async with (
        open_application(settings, wait_for_model=False) as app,
        Client(build_server(Dispatcher(app.context, settings), app)) as client,
    ):
        told = [client.instructions or "", *(tool.description or "" for tool in (await client.list_tools()).tools)]
        for topic in ("playbook", "semantic_search"):
            told.append((await ask_help(client, topic=topic))["text"])
        told.append((await client.read_resource("winnow://help/playbook")).contents[0].text)  # type: ignore[union-attr]
        prompt = await client.get_prompt("answer_question", {"question": "who is on call"})
        told.append(prompt.messages[0].content.text)  # type: ignore[union-attr]
        assert [re.findall(r"\bkb_\w+", text) for text in told] == [[]] * len(told)


async def ask_help(client: Client, **arguments: Any) -> dict[str, Any]:
    """An answer of help, checked against its schema and its maximum size."""
    result = await client.call_tool("help", arguments)
    assert not result.is_error, result.content
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    jsonschema.validate(result.structured_content, listed["help"].output_schema or {})
    answer = dict(result.structured_content)
    assert measure({**answer, "meta": None}).tokens <= 2000
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert answer["text"] in block.text
    assert count_tokens(block.text) <= 2000
    return answer


async def whole(client: Client, topic: str) -> str:
    """A topic's text, all its portions joined."""
    text, start = "", 0
    while True:
        answer = await ask_help(client, topic=topic, start_char=start)
        text += answer["text"]
        assert answer["truncated"] == ("next_start_char" in answer)
        if not answer["truncated"]:
            return text
        assert answer["next_start_char"] > start
        start = answer["next_start_char"]


async def test_help_begins_with_the_playbook_and_lists_every_tool_and_sdk_function(client: Client) -> None:
    answer = await ask_help(client)
    assert (answer["topic"], answer["text"]) == ("playbook", playbook())
    tools = {tool.name for tool in (await client.list_tools()).tools} - {"help"}
    assert {"playbook", "sdk", *tools} <= set(answer["topics"])
    assert {name.replace(".", "_") for name in SDK} <= {name.replace(".", "_") for name in answer["topics"]}


async def test_only_the_playbook_and_the_topic_topics_list_all_topics(client: Client) -> None:
    topics = (await ask_help(client))["topics"]
    asked = await ask_help(client, topic="topics")
    assert (asked["topics"], asked["text"].split(", ")) == (topics, topics)
    for topic in ("sdk", "kb_search", "fetch"):
        answer = await client.call_tool("help", {"topic": topic})
        assert answer.structured_content is not None
        assert "topics" not in answer.structured_content
        assert "topics:" not in answer.content[0].text  # type: ignore[union-attr]


async def test_every_topic_is_read_to_its_end_in_bounded_portions(client: Client) -> None:
    texts = {topic: await whole(client, topic) for topic in (await ask_help(client))["topics"]}
    assert texts["reference"] == sdk_reference()
    assert all(texts.values())
    for tool in (await client.list_tools()).tools:
        if tool.name != "help":
            assert tool.description in texts[tool.name]
            assert all(f"`{name}`" in texts[tool.name] for name in tool.input_schema["properties"])
    assert "In a script" in texts["kb_search"]
    assert "In a script" in texts["semantic_search"]


async def test_a_topic_may_be_spelled_with_dots_or_underscores(client: Client) -> None:
    for spelling in ("kb_search", "kb.search", "KB.SEARCH"):
        assert (await ask_help(client, topic=spelling))["topic"] == "kb_search"


async def test_each_skill_is_a_topic(client: Client) -> None:
    for name in ("glossary", "Compare", "coverage"):
        answer = await ask_help(client, topic=name)
        assert answer["text"].startswith(f"## {name.lower()}\n\n`{name.lower()}(")
        assert f"from skills import {name.lower()}" in answer["text"]


async def test_help_on_nothing_says_what_there_is(client: Client) -> None:
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"topic": "serch_many"}, "NOT_FOUND", "did you mean 'search_many'?"),
        ({"topic": "zzz"}, "NOT_FOUND", "playbook, sdk"),
        ({"start_char": 999_999}, "INVALID_REQUEST", "ends at"),
        ({"topic": "x" * 65}, "INVALID_REQUEST", "topic"),
        ({"topics": "sdk"}, "INVALID_REQUEST", "did you mean 'topic'?"),
    ]
    for arguments, reason, said in wrong:
        result = await client.call_tool("help", arguments)
        error = result.structured_content["error"]
        assert (result.is_error, error["details"]["reason"]) == (True, reason)
        assert said in error["message"]
