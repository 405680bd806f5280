"""No answer of any tool exceeds its maximum size, for any index and any arguments."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.jobs.target import target_of
from winnow.server.operations.answers.budget import measure
from winnow.server.settings.loading import load_settings
from winnow.server.text.limits import MAX_QUOTE_CHARS
from winnow.server.text.words.tokens import count_tokens
from winnow.server.tools.table import TOOLS, Context, ToolResult
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.wire import call_tool

pytestmark = pytest.mark.anyio

TEXTS: Mapping[str, str] = {
    "one-line.txt": "needle " + "word and " * 120_000,
    "no-space.txt": "needle " + "x" * 60_000,
    "wide.md": "# 備份\n\nneedle " + "備份在離開機器之前會加密。" * 400,
    "right-to-left.txt": "needle " + "هل يتم تشفير النسخ؟ نعم. " * 300,
    "emoji.txt": "needle " + "👩‍👩‍👧‍👦🏳️‍🌈" * 800,
    "control.txt": "needle \x1b[31mred\x1b[0m \x00\x07 \u202e\u2028 " * 200,
    "spaces.txt": "needle" + " " * 50_000 + "needle" + "\n" * 5_000 + "\t" * 5_000,
    "code.md": "# Code\n\n```python\n" + "needle = {'a': [1, 2, 3]}\n" * 600 + "\n```\n",
    "table.md": "| a | b |\n| --- | --- |\n" + "| needle | " + "y" * 3_000 + " |\n| x | needle |\n" * 50,
    "tags.md": "---\ntitle: "
    + "t" * 20_000
    + "\ntags: ["
    + ", ".join(f"標{n:03}" * 50 for n in range(300))
    + "]\nvendor: "
    + "v" * 5_000
    + "\ndoc_tag: "
    + "d" * 5_000
    + "\n---\n"
    + "# "
    + "needle " * 3_000
    + "\n\nneedle text\n",
    "empty.md": "",
    "blank.txt": " \n\t\n ",
}


@pytest.fixture(scope="module")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Application]:
    """A running winnow over pathological documents; lexical search only, which is quicker."""
    folder, store = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("store")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    chosen = load_settings(
        store=store,
        project="hostile",
        embedding="off",
        execute_code="off",
        legacy_tools=True,
        tools="research,core,claims,pages",
        enable_writes=True,
    )
    backends = open_backends(chosen, wait_for_model=False)
    try:
        report = ingest_paths(target_of(chosen, backends, None), [folder])
        assert report.documents >= len(TEXTS) - 2
    finally:
        backends.close()
    async with open_application(chosen, wait_for_model=False) as application:
        yield application


META_TOKENS, META_BYTES = 2_500, 8_000  # with warnings and links to passages at their longest
_clients = itertools.count()
_WORDS = [
    "needle",
    "word",
    "備份",
    "نعم",
    "x" * 900,
    "'; --",
    "\x1b[31m",
    "👩‍👩‍👧‍👦 needle",
    "needle = {'a'",
    "\u2028 needle",
    "| needle |",
]
_QUERIES = st.one_of(
    st.sampled_from([word for word in _WORDS if len(word) > 1]), st.text(min_size=2, max_size=200)
)
_SCOPES = st.one_of(
    st.none(),
    st.fixed_dictionaries({"doc_tags": st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=50)}),
    st.just({"doc_tags": ["t"] * 10_000}),
    st.just({"repositories": ["r" * 200] * 50, "environment": "prod"}),
    st.just({"project_id": "p" * 200}),
)


async def answer(application: Application, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a call, checked against the tool's maximum size; errors have their own."""
    dispatcher = Dispatcher(application.context, application.settings)
    found = dispatcher.find(tool)
    assert found is not None
    result = await call_tool(dispatcher, found, arguments, f"client {next(_clients)}", _silent)
    payload: dict[str, Any] = dict(result.structured_content)
    sent = without_meta(payload)
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    tokens, size = count_tokens(text), len(text.encode("utf-8", "replace"))
    most = (2_500, 10_000) if result.is_error else (found.max_size.tokens, found.max_size.bytes)
    assert tokens <= most[0], (tool, tokens)
    assert size <= most[1], (tool, size)
    usage = payload["meta"]["usage"]
    # Usage is of both channels, and the text says no more than the structure.
    assert tokens < usage["tokens"] <= 2 * tokens + META_TOKENS, (tool, tokens, usage)
    assert size < usage["bytes"] <= 2 * size + META_BYTES, (tool, size, usage)
    if not result.is_error:
        assert usage["tokens"] <= 2 * found.max_size.tokens + META_TOKENS
        assert usage["bytes"] <= 2 * found.max_size.bytes + 8 * 1024
    assert len(json.dumps(payload["meta"])) <= 4_000
    return payload


def without_meta(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an answer that the maximum size applies to."""
    return {name: value for name, value in payload.items() if name != "meta"}


@pytest.mark.parametrize(
    ("shown", "is_sent"), [("x " * 2_000, True), ("a\n" * 20_000, False), ("\\" * 30_000, False)]
)
async def test_a_text_that_is_much_longer_than_its_structure_is_refused(
    hostile: Application, shown: str, *, is_sent: bool
) -> None:
    """Both channels together have at most twice the maximum size of the structure, for any text of a handler."""
    dispatcher = Dispatcher(hostile.context, hostile.settings)
    found = dispatcher.find("help")
    assert found is not None

    async def long(context: Context, arguments: dict[str, Any]) -> ToolResult:
        payload = {"topic": "playbook", "text": "short", "topics": ["playbook"], "truncated": False}
        return ToolResult(payload, shown, "short")

    result = await call_tool(dispatcher, replace(found, handler=long), {}, f"client {next(_clients)}", _silent)
    assert result.is_error is not is_sent
    usage = result.structured_content["meta"]["usage"]
    assert usage["tokens"] <= 2 * found.max_size.tokens + META_TOKENS
    if not is_sent:
        error = result.structured_content["error"]
        assert (error["code"], error["details"]["reason"]) == ("BUDGET_EXCEEDED", "OUTPUT_BYTES")
        details = error["details"]
        assert details["tokens"] > usage["tokens"]
        assert details["tokens"] > details["max_tokens"] or details["size"] > details["max"]
        assert f"{details['size']:,} bytes" in error["message"]


async def _silent(seconds: float, message: str) -> None:
    """A progress callback that does nothing."""


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    query=_QUERIES,
    top_k=st.integers(1, 100),
    mode=st.sampled_from(["ids", "metadata", "preview", "full"]),
    scope=_SCOPES,
)
async def test_a_search_of_any_tier_stays_within_its_budget(
    hostile: Application, query: str, top_k: int, mode: str, scope: Any
) -> None:
    arguments = {"query": query, "top_k": top_k, "response_mode": mode, "scope": scope}
    payload = await answer(hostile, "semantic_search", arguments)
    while "next_cursor" in payload:
        payload = await answer(hostile, "semantic_search", {**arguments, "cursor": payload["next_cursor"]})


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    query=_QUERIES,
    page_size=st.integers(1, 100),
    snippet=st.integers(20, 500),
    per_document=st.integers(1, 100),
    debug=st.booleans(),
    scope=_SCOPES,
)
async def test_candidates_stay_within_their_budget_and_previews_within_theirs(
    hostile: Application, query: str, page_size: int, snippet: int, per_document: int, debug: bool, scope: Any
) -> None:
    options = {"max_snippet_chars": snippet, "max_per_doc": per_document, "include_debug": debug}
    arguments = {"query": query, "top_k": 100, "page_size": page_size, "options": options, "scope": scope}
    payload = await answer(hostile, "kb.search", arguments)
    if "error" not in payload:
        assert all(len(row["preview"]) <= snippet for row in payload["results"])
        assert len(payload["results"]) <= page_size


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    question=_QUERIES,
    top_k=st.integers(1, 20),
    quotes=st.integers(1, 20),
    tokens=st.integers(8, 200),
    context=st.integers(0, 100),
    scope=_SCOPES,
)
async def test_quotes_stay_within_the_answer_s_budget_and_each_within_its_own(
    hostile: Application, question: str, top_k: int, quotes: int, tokens: int, context: int, scope: Any
) -> None:
    asked = {"max_quotes": quotes, "max_quote_tokens": tokens, "include_context_tokens": context, "scope": scope}
    payload = await answer(hostile, "kb.retrieve_evidence", {"question": question, "top_k": top_k, **asked})
    if "error" not in payload:
        assert len(payload["quotes"]) <= quotes
        assert all(count_tokens(row["quote"]) <= tokens for row in payload["quotes"])
        assert all(len(row["quote"]) <= MAX_QUOTE_CHARS for row in payload["quotes"])


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(question=_QUERIES, most=st.integers(1, 10), quotes=st.integers(1, 10), tokens=st.integers(1_000, 16_000))
async def test_plans_and_research_stay_within_the_length_that_was_asked_for(
    hostile: Application, question: str, most: int, quotes: int, tokens: int
) -> None:
    asked = {"question": question, "max_perspectives": most}
    plan = await answer(hostile, "planner.multi_perspective", asked)
    found = await answer(hostile, "research.execute", {**asked, "max_quotes": quotes, "max_tokens": tokens})
    await answer(hostile, "vector.query.search", {"query": question, "top_k": 10 * most})
    if "error" not in found:
        assert len(plan["perspectives"]) == len(found["perspectives"]) <= most
        # A single row is sent even where the perspectives alone are as long.
        assert measure(without_meta(found)).tokens <= tokens or len(found["results"]) <= 1


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    word=st.sampled_from([word for word in _WORDS if len(word) > 1]),
    number=st.integers(0, 9),
    tokens=st.integers(8, 800),
    start=st.integers(0, 400),
    bullets=st.booleans(),
    before=st.integers(0, 800),
    after=st.integers(0, 800),
)
async def test_an_excerpt_never_has_more_tokens_than_asked_for_nor_more_than_its_cap(
    hostile: Application,
    word: str,
    number: int,
    tokens: int,
    start: int,
    bullets: bool,
    before: int,
    after: int,
) -> None:
    found = await answer(hostile, "semantic_search", {"query": word, "response_mode": "ids"})
    if number >= len(found["ids"]):
        return
    passage = {"passage_id": found["ids"][number]}
    options = {"format": "bullets" if bullets else "text"}
    reading = {**passage, "max_tokens": tokens, "start_char": start, "options": options}
    read = await answer(hostile, "kb.read_excerpt", reading)
    if "error" not in read:
        assert count_tokens(read["excerpt"]) <= tokens
        assert read["next_start_char"] is None or read["next_start_char"] > start
    wide = await answer(hostile, "kb.expand_excerpt", {**passage, "before_tokens": before, "after_tokens": after})
    assert count_tokens(wide["excerpt"]) <= 800
    assert len(wide["excerpt"].encode()) <= 32 * 1024
    assert wide["start_char"] <= 0


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    word=st.sampled_from([word for word in _WORDS if len(word) > 1]),
    hops=st.integers(1, 5),
    size=st.integers(1, 200),
    snippet=st.booleans(),
)
async def test_a_walk_over_whatever_documents_say_takes_2000_tokens_unless_larger_pages_are_asked_for(
    hostile: Application, word: str, hops: int, size: int, snippet: bool
) -> None:
    found = await answer(hostile, "semantic_search", {"query": word, "response_mode": "ids"})
    paging = {"page_size": size, "include_snippet": snippet}
    calls = {
        "graph.describe": {"ids": found["ids"], **paging},
        "graph.expand": {"ids": found["ids"], "hops": hops, **paging},
        "graph.parents": {"ids": found["ids"], **paging},
        "graph.children": {"ids": found["ids"], "hops": hops, **paging},
        "graph.entities_for_sections": {"section_ids": found["ids"], "page_size": size},
        "graph.paths": {"from_ids": found["ids"][:1], "to_ids": found["ids"][1:], "max_hops": hops},
    }
    for tool, arguments in calls.items():
        if found["ids"][1:]:
            payload = await answer(hostile, tool, arguments)
            assert size > 25 or measure(without_meta(payload)).tokens <= 2_000, tool


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    tool=st.sampled_from([tool.name for tool in TOOLS if tool.name not in ("execute_code", "read_result")]),
    arguments=st.dictionaries(
        st.one_of(
            st.sampled_from(
                ["query", "question", "passage_id", "passage_ids", "cursor", "topic", "scope", "filters"]
            ),
            st.text(max_size=30),
        ),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(max_size=50)
            | st.just("x" * 100_000),
            lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
            max_leaves=10,
        ),
        max_size=6,
    ),
)
async def test_whatever_is_sent_the_refusal_is_short(
    hostile: Application, tool: str, arguments: dict[str, Any]
) -> None:
    await answer(hostile, tool, arguments)
