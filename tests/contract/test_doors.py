"""Every door gives the same answers: MCP on a pipe and over HTTP in two revisions, the façade, and LSP frames."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from server.app import Application, open_application
from server.errors import REASONS
from server.settings import Settings, load_settings
from server.tools import TOOLS
from server.transports.facade.discovery import REPEATABLE, data_schema
from server.transports.facade.problems import PROBLEMS
from tests.doors import DOORS, Door, Seen, open_door

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

QUESTION = "how are backups encrypted"
LISTED = [tool for tool in TOOLS if tool.listed and tool.pack in ("", "research")]
# Differ between two calls of the same door: ids of sessions and what is in them, and measured times.
OWN = frozenset(
    {
        *("session_id", "passage_id", "scratch_uri", "next_cursor", "job_id", "execution_id", "result_uri"),
        *(
            "wall_ms",
            "cpu_ms",
            "memory_peak_bytes",
            "created_at",
            "started_at",
            "finished_at",
            "updated_at",
            "ids",
        ),
    }
)


@pytest.fixture(scope="module")
def settings(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return load_settings(
        store=store,
        project="handbook",
        legacy_tools=True,
        tools=("all", "research"),
        enable_writes=True,
        ingest_roots=(tmp_path_factory.mktemp("allowed"),),
        calls_per_minute=1_000,
        reads_per_minute=1_000,
        scripts_per_minute=1_000,
    )


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    async with open_application(settings, wait_for_model=True, starts_engine=True) as app:
        await app.ready()
        yield app


@pytest.fixture(scope="module")
async def doors(application: Application) -> AsyncIterator[Mapping[str, Any]]:
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(open_door(application, name)) for name in DOORS}


async def _calls(door: Door) -> Mapping[str, dict[str, Any]]:
    """A call of every tool; ids of passages are those of the door's own session."""
    found = (await door.call("kb.search", {"query": QUESTION})).data
    assert found is not None
    passages = [row["passage_id"] for row in found["results"]]
    sections = [row["section_id"] for row in found["results"]]
    job = (await door.call("ingest_from_source", {"project": "handbook", "source": "."})).data
    assert job is not None
    large = await door.call("execute_code", {"code": "return ['row %d' % n for n in range(6_000)]"})
    assert large.details is not None
    return {
        "kb.retrieve_evidence": {"question": QUESTION},
        "kb.search": {"query": QUESTION, "top_k": 2},
        "kb.scan": {"pattern": r"rule (\d+)"},
        "kb.extract_evidence": {"question": QUESTION, "passage_ids": passages},
        "kb.read_excerpt": {"passage_id": passages[0]},
        "kb.expand_excerpt": {"passage_id": passages[0]},
        "kb.documents": {},
        "kb.read": {"document": "guide/backups.md"},
        "semantic_search": {"query": QUESTION, "response_mode": "full"},
        "graph.describe": {},
        "graph.expand": {"ids": sections[:1]},
        "graph.paths": {"from_ids": sections[:1], "to_ids": sections[1:2]},
        "graph.entities_for_sections": {"section_ids": sections},
        "graph.sections_for_entities": {"entity_ids": ["acme"]},
        "find_vendor_info": {"vendor_name": "acme"},
        "search_sections": {"query": QUESTION},
        "get_section_text": {"section_ids": sections},
        "execute_code": {"code": "print('seen')\nreturn [1, None, 'é']"},
        "read_result": {"execution_id": large.details["execution_id"]},
        "help": {"topic": "kb.search"},
        "list_projects": {},
        "query": {"project": "handbook", "text": QUESTION},
        "query_hybrid": {"project": "handbook", "text": QUESTION},
        "inspect_collection": {"project": "handbook"},
        "ingest_from_source": {"project": "handbook", "source": "."},
        "job_status": {"job_id": job["job_id"]},
        "job_cancel": {"job_id": job["job_id"]},
    }


def shared(value: Any) -> Any:
    """What two doors must have in common of an answer."""
    if isinstance(value, dict):
        return {name: shared(part) for name, part in value.items() if name not in OWN}
    if isinstance(value, str) and value.startswith("winnow://scratch/"):
        return "winnow://scratch/"
    return [shared(item) for item in value] if isinstance(value, list) else value


STATE_OF_JOBS = frozenset({"ingest_from_source", "job_status", "job_cancel"})


async def test_every_tool_gives_the_same_data_at_every_door(doors: Mapping[str, Any]) -> None:
    answers: dict[str, dict[str, Any]] = {}
    for name, door in doors.items():
        calls = await _calls(door)
        assert set(calls) >= {tool.name for tool in LISTED}
        seen = {tool: await door.call(tool, arguments) for tool, arguments in calls.items()}
        assert {tool: answer.message for tool, answer in seen.items() if answer.reason} == {}
        answers[name] = {tool: answer.data for tool, answer in seen.items()}
    for name, of_tools in answers.items():
        for tool, data in of_tools.items():
            if tool in STATE_OF_JOBS:  # how far a job is differs from one moment to the next
                assert (name, tool, set(data)) == (name, tool, set(answers["stdio"][tool]))
            else:
                assert (name, tool, shared(data)) == (name, tool, shared(answers["stdio"][tool]))


# Every kind of error that a caller can cause: the tool, the arguments, the reason.
ERRORS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("kb.search", {"query": 1}, "INVALID_REQUEST"),
    ("kb.search", {}, "INVALID_REQUEST"),
    ("kb.search", {"query": QUESTION, "cursor": "none of ours"}, "INVALID_CURSOR"),
    ("kb.read_excerpt", {"passage_id": "p_0"}, "NOT_FOUND"),
    ("kb.search", {"query": QUESTION, "scope": {"project_id": "another"}}, "SCOPE_VIOLATION"),
    ("no.such.tool", {}, "NOT_FOUND"),
    ("execute_code", {"code": "import os"}, "CODE_REJECTED"),
    ("execute_code", {"code": "return 1 / 0"}, "USER_CODE_ERROR"),
    ("execute_code", {"code": "while True: pass", "timeout": 1}, "TIMEOUT"),
    ("execute_code", {"code": "return ['row %d' % n for n in range(6_000)]"}, "OUTPUT_BYTES"),
)


async def test_every_error_is_the_same_at_every_door(doors: Mapping[str, Any]) -> None:
    for tool, arguments, reason in ERRORS:
        seen = {name: await door.call(tool, arguments) for name, door in doors.items()}
        assert {name: answer.reason for name, answer in seen.items()} == dict.fromkeys(DOORS, reason), tool
        assert len({answer.message for answer in seen.values()}) == 1, seen
        if tool == "execute_code":  # what a failed script printed and used is an answer, too
            assert len({json.dumps(shared(answer.data)) for answer in seen.values()}) == 1


async def test_the_data_of_the_facade_fits_the_schema_that_it_states(
    doors: Mapping[str, Any], application: Application
) -> None:
    facade = doors["facade"]
    discovered = (await facade.http.get("/mcp/discover")).json()
    listed = {row["name"]: row for row in discovered["tools"]}
    for tool, arguments in (await _calls(facade)).items():
        (known,) = [each for each in TOOLS if each.name == tool]
        answer = await facade.call(tool, arguments)
        schema = dict(data_schema(known.answer))
        if tool in listed:
            assert (await facade.http.get(listed[tool]["outputSchemaRef"])).json() == schema
            inputs = (await facade.http.get(listed[tool]["inputSchemaRef"])).json()
            jsonschema.Draft202012Validator.check_schema(inputs)
            jsonschema.validate(arguments, inputs)
            caps = listed[tool]["caps"]
            assert (caps["maxInputBytes"], caps["maxOutputBytes"] <= 256 * 1024) == (64 * 1024, True)
        jsonschema.validate(answer.data, schema, jsonschema.Draft202012Validator)


def test_repeatable_tools_only_read_and_follow_the_index() -> None:
    tools = {tool.name: tool for tool in TOOLS}
    assert tools.keys() >= REPEATABLE
    for name in REPEATABLE:
        assert (name, tools[name].read_only, tools[name].idempotent) == (name, True, True)


async def test_over_the_limit_every_door_says_when_to_try_again(settings: Settings) -> None:
    few = settings.model_copy(update={"calls_per_minute": 1, "execute_code": "off", "daemon": "off"})
    async with open_application(few, wait_for_model=False, starts_engine=True) as app:
        for name in DOORS:
            async with open_door(app, name) as door:
                answers: list[Seen] = [await door.call("list_projects", {}) for _ in range(2)]
                assert [answer.reason for answer in answers] == ["", "RATE_LIMIT"], name
                assert answers[1].details is not None
                assert 0 < answers[1].details["retry_after_s"] <= 60


def test_every_reason_has_a_code_and_a_status() -> None:
    assert set(REASONS) <= set(PROBLEMS)
