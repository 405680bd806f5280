"""Every answer of every tool, errors of all six codes included, fits its schema and has the same text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts import answer_schema
from winnow.server.errors import REASONS, ErrorCode
from winnow.server.operations.claims.rendering import render_share
from winnow.server.operations.knowledge import KnowledgeBase, Store
from winnow.server.settings.loading import load_settings
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

QUESTION = "how are backups encrypted"
CALLS_PER_MINUTE = 400  # one client tries every tool
NAMES = [tool.name.replace(".", "_") for tool in TOOLS if tool.listed]
# What leads on to another call, and what a result is chosen by: never in one channel alone.
IDS = frozenset(
    {
        *("id", "passage_id", "section_id", "session_id", "next_cursor", "next_start_char", "topic", "entry_id"),
        *("from_id", "vendor_id", "source_id", "target_id", "entity_id"),
    }
)
LISTS_OF_IDS = frozenset({"ids", "missing_ids", "next_section_ids", "next_tools", "section_ids", "entity_ids"})
SCORES = frozenset({"score", "confidence", "likeness"})
FIGURES = frozenset({"fused_score", "lexical_vec_score", "dense", "lexical", "fused"})


@pytest.fixture(scope="module")
async def application(store: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Application]:
    """One winnow with every tool; each client has a session of its own."""
    writes: dict[str, Any] = {
        "enable_writes": True,
        "ingest_roots": (tmp_path_factory.mktemp("allowed"),),
        "calls_per_minute": CALLS_PER_MINUTE,
    }
    tools = "research,core,claims,pages"
    settings = load_settings(store=store, project="handbook", legacy_tools=True, tools=tools, **writes)
    async with open_application(settings, wait_for_model=True, starts_engine=True) as app:
        yield app


@pytest.fixture(params=["legacy", "2026-07-28"])
def era(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
async def client(application: Application, era: Any) -> AsyncIterator[Client]:
    async with Client(_server(application), mode=era) as connected:
        yield connected


def _server(application: Application) -> Any:
    return build_server(Dispatcher(application.context, application.settings), application)


async def call_checked(client: Client, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """The answer of a call, validated against the schema that the server lists, and against the whole one."""
    result = await client.call_tool(tool, dict(arguments))
    schemas = {listed.name: listed.output_schema for listed in (await client.list_tools()).tools}
    for schema in (schemas[tool] or {}, WHOLE[tool]):
        validator = jsonschema.Draft202012Validator(schema)
        assert [error.message for error in validator.iter_errors(result.structured_content)] == []
    return result


def text_of(result: CallToolResult) -> str:
    """The one text block of an answer."""
    (first,) = result.content
    assert isinstance(first, TextContent)
    return first.text


def required_values(value: Any) -> Iterator[str]:
    """The values of a payload that its text must contain."""
    if isinstance(value, list):
        for part in value:
            yield from required_values(part)
    if not isinstance(value, dict):
        return
    for name, part in value.items():
        if name in LISTS_OF_IDS:
            yield from part
        elif name == "confidence" and "n" in value:  # of a claim, which is said in few signs
            yield f" ({render_share(part)}"
        elif name in SCORES:
            # Fused scores of ranks differ from the fourth digit on.
            yield f"{part:.6f}" if "render_text" in value else f"{part:.3f}"
        elif (name in IDS or name in FIGURES) and part is not None:
            yield str(part)
        elif name != "meta":
            yield from required_values(part)


@pytest.fixture
async def good(client: Client) -> Mapping[str, list[dict[str, Any]]]:
    """Valid calls of every tool: with defaults, and with arguments that change the shape of the answer."""
    found = await call_checked(client, "kb_search", {"query": QUESTION})
    passages = [row["passage_id"] for row in found.structured_content["results"]]
    sections = [row["section_id"] for row in found.structured_content["results"]]
    evidence = {"question": QUESTION, "max_quotes": 1}
    quoted = await call_checked(client, "kb_retrieve_evidence", evidence)
    asked = await call_checked(client, "ingest_from_source", {"project": "handbook", "source": "."})
    job = asked.structured_content
    unknown = "0" * 12
    debug = {"include_scores": True, "include_debug": True, "max_per_doc": 3, "mode": "hybrid_local"}
    modes = ("ids", "metadata", "preview", "full")
    claim = {"text": "Pages are old.", "evidence": [{"section_id": sections[0], "quote": "a quote"}]}
    written = await call_checked(client, "wild_write", {"topic": "memory/pages", "claims": [claim]})
    entry = written.structured_content["entry_id"]
    return {
        "kb_retrieve_evidence": [
            {"question": QUESTION},
            {"question": "zyxwvut nowhere at all"},
            {**evidence, "cursor": quoted.structured_content["next_cursor"]},
        ],
        "kb_search": [
            {"query": QUESTION, "options": debug},
            {"query": QUESTION, "cursor": found.structured_content["next_cursor"]},
            {"query": QUESTION, "filters": {"tags": ["no such tag"]}},
        ],
        "kb_extract_evidence": [{"question": QUESTION, "passage_ids": [*passages, unknown]}],
        "kb_read_excerpt": [
            {"passage_id": passages[0]},
            {
                "passage_id": sections[1],
                "max_tokens": 8,
                "options": {"format": "bullets", "include_citation": False},
            },
        ],
        "kb_scan": [{"pattern": r"rule (\d+)"}, {"pattern": "(?i)rule", "group_by": "document", "limit": 2}],
        "kb_documents": [{}, {"group_by": "tags", "limit": 2}, {"path": "guide/*", "sort": "-tokens", "limit": 1}],
        "kb_read": [
            {"document": "guide/backups.md"},
            {"document": "Backups handbook", "start": 50, "max_tokens": 8},
        ],
        "kb_show": [
            {"passage_id": passages[0]},
            {"document": "guide/backups.md", "quote": "Backups are encrypted"},
        ],
        "kb_expand_excerpt": [{"passage_id": passages[0]}, {"passage_id": sections[0], "before_tokens": 0}],
        "semantic_search": [
            *({"query": QUESTION, "response_mode": mode} for mode in modes),
            {"filter_ids": [*sections, unknown], "response_mode": "full", "include_relationships": True},
            {"query": QUESTION, "top_k": 100, "response_mode": "full"},
        ],
        "graph_describe": [{}, {"ids": [*passages, unknown], "include_snippet": True}],
        "graph_expand": [{"ids": passages[:1]}, {"ids": [*passages, "acme"], "hops": 3, "page_size": 7}],
        "graph_paths": [{"from_ids": passages[:1], "to_ids": passages[1:], "max_hops": 6}],
        "graph_entities_for_sections": [{"section_ids": passages}],
        "graph_sections_for_entities": [{"entity_ids": ["acme", "handbook"]}],
        "find_vendor_info": [{"vendor_name": "acme"}, {"vendor_name": "acme", "include_content": True}],
        "search_sections": [
            {"query": QUESTION},
            {"query": QUESTION, "page_size": 100, "session_id": "x", "filters": {"colour": "red"}},
            {"query": QUESTION, "include_debug": False},
        ],
        "get_section_text": [
            {"section_ids": [*sections, unknown]},
            {"section_ids": sections, "max_bytes_per": 16},
        ],
        "execute_code": [{"code": "print('seen')\nreturn {'answer': [1, 2.5, None, 'é']}"}, {"code": "x = 1"}],
        "help": [{}, {"topic": "sdk"}, {"topic": "kb.search"}],
        "wild_search": [{"query": "old pages"}, {"query": "nowhere else", "mode": "lexical"}],
        "wild_related": [{"entry_id": entry}],
        "wild_claims": [{"entry_ids": [entry, unknown]}],
        "wild_read": [{"entry_id": entry}],
        "wild_topics": [{}, {"prefix": "none of ours"}],
        "wild_friction": [{"min_friction": 0.0}],
        "wild_recent": [{"limit": 3}],
        "wild_status": [{}],
        "wild_write": [{"topic": "memory", "claims": [claim]}, {"topic": "memory", "content": "Pages are old."}],
        "wild_revise": [{"entry_id": entry, "title": "Pages"}],
        "list_projects": [{}, {"prefix": "none of ours"}],
        "ingest_from_source": [{"project": "handbook", "source": "."}],
        "job_status": [{"job_id": job["job_id"]}],
        "job_cancel": [{"job_id": job["job_id"]}],
        "query": [
            {"project": "handbook", "text": QUESTION},
            {
                "project": "handbook",
                "text": QUESTION,
                "top_k": 100,
                "full_text": True,
                "filters": {"project": "x"},
            },
        ],
        "query_hybrid": [{"project": "handbook", "text": QUESTION, "filters": {"section_prefix": "no such"}}],
        "inspect_collection": [{"project": "handbook"}, {"project": "handbook", "sample": 5}],
        "vector_query_search": [{"query": QUESTION, "top_k": 2}, {"query": "zyxwvut nowhere"}],
        "planner_multi_perspective": [{"question": QUESTION}, {"question": "zyxwvut nowhere at all"}],
        "research_execute": [
            {"question": QUESTION, "max_tokens": 1000},
            {"question": "zyxwvut nowhere at all", "perspectives": [{"name": "one", "query": QUESTION}]},
        ],
        "docs_load_fetch": [{"uri": "guide/backups.md", "max_chunks": 1}, {"uri": "guide/backups.md"}],
        "citations_audit_check": [
            {"text": 'It says "backups are sent on the first day of every month" [@nobody99, p. 3]. [@]'},
            {"quotes": [{"quote": "Backups are encrypted with AES-256", "source": sections[0]}]},
        ],
        "exports_render_markdown": [
            {
                "title": "Backups",
                "sections": [{"heading": "One", "quotes": [{"quote": "Backups are encrypted", "source": "x"}]}],
            }
        ],
    }


async def test_every_tool_answers_as_its_schema_says_with_the_same_ids_scores_and_cursors_as_text(
    client: Client, good: Mapping[str, list[dict[str, Any]]]
) -> None:
    assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
    assert set(good) == set(NAMES)
    for tool, calls in good.items():
        for arguments in calls:
            result = await call_checked(client, tool, arguments)
            text, answer = text_of(result), result.structured_content
            assert not result.is_error, (tool, arguments, text)
            missing = [part for part in required_values(answer) if part not in text]
            assert (tool, arguments, missing) == (tool, arguments, [])
            assert [warning for warning in answer["meta"]["warnings"] if warning not in text] == []


# Where several packs are on, the listed schemas leave out the fields of objects, then all fields.
WHOLE = {tool.name.replace(".", "_"): answer_schema(tool.answer) for tool in TOOLS}
SCOPED = {tool.name.replace(".", "_"): tool.arguments.model_fields for tool in TOOLS}


async def test_what_is_always_in_an_answer_is_required_but_words_from_a_table(
    client: Client, good: Mapping[str, list[dict[str, Any]]]
) -> None:
    others: dict[str, set[str]] = {}
    for tool, calls in good.items():
        answers = [(await client.call_tool(tool, arguments)).structured_content for arguments in calls]
        always = set.intersection(*(set(answer) for answer in answers))
        required, properties = set(WHOLE[tool]["required"]), WHOLE[tool]["properties"]
        assert required <= always
        words = {name for name in always - required if "enum" in str(properties[name])}
        others |= {tool: always - required - words} if always - required - words else {}
    assert others == NO_EMPTY_FORM


RESULT_OF_A_JOB = frozenset(
    {
        *("chunks_written", "documents_processed", "documents_deleted", "dense_model", "sparse_model"),
        *("duration_seconds", "warnings"),
    }
)
# What is there for other reasons in every good call above, or has at least one character.
NO_EMPTY_FORM: Mapping[str, frozenset[str]] = {
    "kb_extract_evidence": frozenset({"missing_ids"}),
    "kb_read_excerpt": frozenset({"passage_id"}),
    "kb_expand_excerpt": frozenset({"passage_id", "citation"}),
    "find_vendor_info": frozenset({"vendor_id"}),
    "docs_load_fetch": frozenset({"document_id"}),
    "execute_code": frozenset({"result", "stdout"}),
    "help": frozenset({"topic"}),
    "kb_show": frozenset({"marked", "first_line", "url"}),
    **dict.fromkeys(("ingest_from_source", "job_status", "job_cancel"), RESULT_OF_A_JOB),
    # Another server that keeps the notebook may not say it.
    "wild_status": frozenset({"contradictions"}),
}


async def test_a_tool_ignores_what_it_does_not_have_and_says_so(client: Client) -> None:
    result = await call_checked(client, "kb_search", {"query": QUESTION, "random_string": "x", "options": ""})
    assert not result.is_error
    (warning,) = result.structured_content["meta"]["warnings"]
    assert warning.startswith("no such argument, ignored: random_string; known: query, top_k, ")
    assert f"warning: {warning}" in text_of(result)


async def bad_calls(client: Client) -> AsyncIterator[tuple[str, dict[str, Any], str]]:
    """Calls that every tool must refuse, from the arguments that it lists, and the error code."""
    required = {"query": QUESTION, "question": QUESTION, "code": "return 1", "passage_id": "0" * 12}
    lists = ("passage_ids", "section_ids", "ids", "from_ids", "to_ids", "entity_ids")
    required |= {"vendor_name": "acme", "pattern": "rule", "document": "guide/backups.md"}
    required |= {"project": "handbook", "text": QUESTION, "source": ".", "job_id": "job_of_nobody"}
    required |= {"topic": "memory", "entry_id": "0" * 12, "entry_ids": ["0" * 12]}  # type: ignore[dict-item]
    required |= {"uri": "guide/backups.md", "title": "T", "sections": [{"heading": "H"}]}  # type: ignore[dict-item]
    required |= {key: ["0" * 12] for key in lists}  # type: ignore[dict-item]
    for tool in (await client.list_tools()).tools:
        known = tool.input_schema["properties"]
        fine = {name: required[name] for name in tool.input_schema.get("required", ())}
        if tool.name == "semantic_search":
            fine = {"query": QUESTION}
        if tool.name == "kb_show":
            fine = {"passage_id": "0" * 12}
        yield tool.name, {**fine, f"{next(iter(known))}x": 1}, "INVALID_ARGUMENT"
        for name in fine:
            yield tool.name, {**fine, name: {"not": "this"}}, "INVALID_ARGUMENT"
            yield tool.name, {**fine, name: None}, "INVALID_ARGUMENT"
        if "cursor" in known:
            yield tool.name, {**fine, "cursor": "none of ours"}, "INVALID_ARGUMENT"
        if "scope" in SCOPED[tool.name]:
            yield tool.name, {**fine, "scope": {"project_id": "other"}}, "SCOPE_VIOLATION"
        if "project" in known:
            yield tool.name, {**fine, "project": "other"}, "SCOPE_VIOLATION"
        if "passage_id" in known or "passage_ids" in known:
            yield tool.name, fine, "INVALID_ARGUMENT"  # an id that leads nowhere


async def test_every_tool_refuses_as_its_schema_says_and_in_the_same_words_as_text(client: Client) -> None:
    refused: dict[str, set[str]] = {name: set() for name in NAMES}
    async for tool, arguments, code in bad_calls(client):
        result = await call_checked(client, tool, arguments)
        assert (tool, arguments, error_code(result)) == (tool, arguments, code)
        refused[tool].add(code)
    unscoped = {"execute_code", "help", "search_sections", "get_section_text", "list_projects"}
    unscoped |= {"job_status", "job_cancel"}
    assert {name for name, codes in refused.items() if "SCOPE_VIOLATION" in codes} == set(NAMES) - unscoped
    assert all("INVALID_ARGUMENT" in codes for codes in refused.values())


def error_code(result: CallToolResult) -> str:
    """The code of an error result, checked to be the same in both channels."""
    error, meta, text = (*map(result.structured_content.get, ("error", "meta")), text_of(result))
    assert result.is_error
    assert f"{error['details']['reason']}: " in text
    assert REASONS[error["details"]["reason"]] == error["code"]
    assert error["message"] in text
    assert meta["trace_id"] in text
    return str(error["code"])


SCRIPTS = {
    "while True: pass": "TIMEOUT",
    "return 'word ' * 20_000": "BUDGET_EXCEEDED",
    "while True: print('x' * 1000)": "BUDGET_EXCEEDED",
    "'a' * 10**10": "BUDGET_EXCEEDED",
    "for _ in range(1_001): semantic_search('port', top_k=1)": "BUDGET_EXCEEDED",
    "import os": "INVALID_ARGUMENT",
    "return 1 / 0": "INVALID_ARGUMENT",
    "raise ValueError('x' * 10_000)": "INVALID_ARGUMENT",
}


async def test_every_end_of_a_script_is_an_answer_as_the_schema_says(client: Client) -> None:
    for code, expected in SCRIPTS.items():
        limit = {"timeout": 1} if expected == "TIMEOUT" else {}
        result = await call_checked(client, "execute_code", {"code": code, **limit})
        assert (code, error_code(result)) == (code, expected)


async def test_too_many_calls_are_refused_as_the_schema_says(client: Client) -> None:
    for _ in range(CALLS_PER_MINUTE):
        await client.call_tool("help", {})
    result = await call_checked(client, "help", {})
    assert error_code(result) == "BACKEND_UNAVAILABLE"
    assert result.structured_content["error"]["details"]["retry_after_s"] > 0


@pytest.fixture
async def broken(request: pytest.FixtureRequest, store: Path, tmp_path: Path) -> AsyncIterator[Application]:
    """A winnow over a broken store, or with a bug of ours on the way to it."""
    (tmp_path / "catalogue.sqlite3").write_bytes(b"no database " * 400)
    settings = load_settings(
        store=tmp_path, project="handbook", legacy_tools=True, tools="research,core", embedding="off"
    )
    async with AsyncExitStack() as stack:
        if request.param == "store":
            yield await stack.enter_async_context(open_application(settings, wait_for_model=False))
        else:
            application = Application(settings, KnowledgeBase(_faulty, settings))
            stack.push_async_callback(application.close)
            yield application


def _faulty() -> Store:
    raise RuntimeError("secret detail of the inside")


@pytest.mark.parametrize(
    ("broken", "code"),
    [("store", ErrorCode.BACKEND_UNAVAILABLE), ("fault", ErrorCode.INTERNAL_ERROR)],
    indirect=["broken"],
)
async def test_what_is_broken_behind_the_tools_is_an_answer_as_the_schema_says(
    broken: Application, era: Any, code: ErrorCode
) -> None:
    asked = {"query": QUESTION, "question": QUESTION, "passage_id": "a" * 12, "vendor_name": "acme"}
    asked |= {"pattern": "rule", "document": "guide/backups.md", "project": "handbook", "text": QUESTION}
    asked |= {"job_id": "job_of_nobody", "uri": "guide/backups.md", "title": "T", "sections": [{"heading": "H"}]}
    async with Client(_server(broken), mode=era) as client:
        for tool in (await client.list_tools()).tools:
            if tool.name in ("help", "execute_code", "list_projects"):
                continue
            usual = ["query"] if "query" in tool.input_schema["properties"] else []
            fine = {name: asked.get(name, ["a" * 12]) for name in tool.input_schema.get("required", usual)}
            result = await call_checked(client, tool.name, fine)
            assert (tool.name, error_code(result)) == (tool.name, code)
            assert "secret" not in text_of(result) + str(result.structured_content)
