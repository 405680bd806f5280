"""Every door gives the same answers: MCP on a pipe and over HTTP in two revisions, the façade, and LSP frames."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from tests.door_calls import ERRORS, QUESTION, STATE_OF_JOBS, calls_of, entries_of, shared, write_claim
from tests.doors import DOORS, HTTP_DOORS, Seen, open_door
from tests.ingesting import ingest_paths
from tests.operator_packs import FAILURES, TEXT, operator_packs
from tests.two_projects import make_client
from winnow.server.backends.opening import open_backends
from winnow.server.claims.projects import move_notebooks
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.errors import REASONS
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.settings.value_types import ToolPack
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.tools.operator_packs.contract_violations import ContractViolations
from winnow.server.tools.table import TOOLS, Tool
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.facade.discovery import SHORT_ROUTES, data_schema
from winnow.server.transports.facade.lsp_frames import encode_frame
from winnow.server.transports.facade.problems import PROBLEMS

pytestmark = [pytest.mark.anyio, pytest.mark.walls]


@pytest.fixture(scope="module")
def packs() -> Iterator[Path]:
    with operator_packs() as folder:
        yield folder


@pytest.fixture(scope="module")
def settings(store: Path, packs: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return load_settings(
        store=store,
        project="handbook",
        legacy_tools=True,
        tools=("all", *get_args(ToolPack)),
        tool_packs=(packs,),
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


def tools_of(application: Application) -> Sequence[Tool]:
    """Every tool of the product, listed or not, and those of its operator."""
    return [*TOOLS, *application.context("", _silent).operator_tools]


async def _silent(seconds: float, message: str) -> None:
    """No progress."""


async def test_every_tool_gives_the_same_data_at_every_door(
    doors: Mapping[str, Any], application: Application
) -> None:
    answers: dict[str, dict[str, Any]] = {}
    for name, door in doors.items():
        move_notebooks(application.settings.store, "handbook", "")  # claims are written at each door anew
        calls = await calls_of(door)
        expected = {tool.name for tool in tools_of(application)} - set(FAILURES)
        assert set(calls) == expected, "calls_of in tests/door_calls.py has a call of each tool"
        seen = {tool: await door.call(tool, arguments) for tool, arguments in calls.items()}
        assert {tool: answer.message for tool, answer in seen.items() if answer.reason} == {}
        entries = [*entries_of(calls), seen["wild_write"].data["entry_id"]]
        answers[name] = {
            tool: {"warnings": answer.warnings, **shared(answer.data, entries)} for tool, answer in seen.items()
        }
    assert answers["stdio"]["wild_friction"]["count"] == 1
    for name, of_tools in answers.items():
        for tool, data in of_tools.items():
            if tool in STATE_OF_JOBS:
                assert (name, tool, set(data)) == (name, tool, set(answers["stdio"][tool]))
            else:
                assert (name, tool, data) == (name, tool, answers["stdio"][tool])


async def test_every_error_is_the_same_at_every_door(doors: Mapping[str, Any]) -> None:
    for tool, arguments, reason in ERRORS:
        seen = {name: await door.call(tool, arguments) for name, door in doors.items()}
        # A script that is killed says where it was only if it still gets to it.
        assert_same_error(seen, reason, has_same_details=reason != "TIMEOUT")
        if reason == "OUTPUT_BYTES":
            sizes = [each.details for each in seen.values() if each.details]
            assert [each["size"] > each["max"] for each in sizes] == [True] * len(seen)
        if tool == "execute_code":  # what a failed script printed and used is an answer, too
            assert len({json.dumps(shared(answer.data)) for answer in seen.values()}) == 1


async def test_a_claim_shows_at_every_door_on_rows_that_were_asked_for_before_it_was_written(
    doors: Mapping[str, Any], application: Application
) -> None:
    asked = {"query": "Backups are encrypted with AES-256", "top_k": 4}
    for name, door in doors.items():
        move_notebooks(application.settings.store, "handbook", "")
        before = (await door.call("kb.search", asked)).data["results"]
        entry = await write_claim(door, "backups", "Backups are encrypted.", before[0]["section_id"])
        after = (await door.call("kb.search", asked)).data["results"]
        assert (name, [row for row in before if "claims" in row]) == (name, [])
        assert (name, [row["claims"][0]["claim"] for row in after if "claims" in row]) == (name, [f"{entry}.1"])


async def test_an_argument_of_a_wrong_type_is_the_same_error_at_every_door_for_every_tool(
    doors: Mapping[str, Any], application: Application
) -> None:
    for tool in tools_of(application):
        for argument in list(tool.arguments.model_json_schema()["properties"])[:1]:
            wrong = {argument: {"of": "no tool"}}
            assert_same_error(
                {name: await door.call(tool.name, wrong) for name, door in doors.items()}, "INVALID_REQUEST"
            )


def assert_same_error(seen: Mapping[str, Seen], reason: str, *, has_same_details: bool = True) -> None:
    """The same reason, message and details at each of these doors."""
    assert {name: answer.reason for name, answer in seen.items()} == dict.fromkeys(seen, reason), seen
    assert len({answer.message for answer in seen.values()}) == 1, seen
    details = [answer.details or {} for answer in seen.values()] if has_same_details else []
    own_ids = [[each["execution_id"]] if "execution_id" in each else [] for each in details]
    assert len({json.dumps(shared(*both)) for both in zip(details, own_ids, strict=True)}) <= 1, seen


async def test_a_pack_that_fails_is_the_same_error_at_every_door(
    doors: Mapping[str, Any], settings: Settings
) -> None:
    for pack, reason in FAILURES.items():
        seen = {}
        for name, door in doors.items():
            ContractViolations(settings.store).clear(pack)
            seen[name] = await door.call(pack, TEXT)
        assert_same_error(seen, reason)


async def test_a_pack_that_broke_its_contract_three_times_is_unknown_at_every_door(
    doors: Mapping[str, Any], settings: Settings
) -> None:
    seen: dict[str, list[Seen]] = {}
    for name, door in doors.items():
        ContractViolations(settings.store).clear("site.lie")
        seen[name] = [await door.call("site.lie", TEXT) for _ in range(4)]
    ContractViolations(settings.store).clear("site.lie")
    for number, reason in enumerate(("SOURCE_UNAVAILABLE",) * 3 + ("NOT_FOUND",)):
        assert_same_error({name: answers[number] for name, answers in seen.items()}, reason)


async def test_a_key_that_may_only_read_is_refused_the_same_writes_at_every_door(
    application: Application, tmp_path: Path
) -> None:
    client = make_client(tmp_path, "reader", "handbook", read_only=True)
    access = HttpAccess(KeyRing(tmp_path), ("handbook",))
    writing = [tool.name for tool in tools_of(application) if not tool.read_only]
    assert {"wild_write", "wild_revise", "ingest_from_source"} <= set(writing)
    async with AsyncExitStack() as stack:
        doors = {
            name: await stack.enter_async_context(open_door(application, name, access, client.headers))
            for name in HTTP_DOORS
        }
        for tool in writing:
            assert_same_error({name: await door.call(tool, {}) for name, door in doors.items()}, "SCOPE_VIOLATION")
        for tool, arguments in (("wild_topics", {}), ("site.ask", TEXT)):
            seen = [await door.call(tool, arguments) for door in doors.values()]
            assert [answer.data for answer in seen] == [seen[0].data] * len(doors)
            assert {answer.reason for answer in seen} == {""}


async def test_the_data_of_the_facade_fits_the_schema_that_it_states(
    doors: Mapping[str, Any], application: Application
) -> None:
    facade = doors["facade"]
    discovered = (await facade.http.get("/mcp/discover")).json()
    listed = {row["name"]: row for row in discovered["tools"]}
    for tool, arguments in (await calls_of(facade)).items():
        (known,) = [each for each in tools_of(application) if each.name == tool]
        answer = await facade.call(tool, arguments)
        schema = dict(data_schema(known.answer))
        if tool in listed:
            assert (await facade.http.get(listed[tool]["outputSchemaRef"])).json() == schema
            inputs = (await facade.http.get(listed[tool]["inputSchemaRef"])).json()
            jsonschema.Draft202012Validator.check_schema(inputs)
            jsonschema.validate(arguments, inputs)
            assert listed[tool]["deterministic"] is (known.is_repeatable or tool == "text.upper")
            caps = listed[tool]["caps"]
            assert (caps["maxInputBytes"], caps["maxOutputBytes"] <= 256 * 1024) == (64 * 1024, True)
        jsonschema.validate(answer.data, schema, jsonschema.Draft202012Validator)


def test_repeatable_tools_only_read_and_follow_the_index() -> None:
    others = {"execute_code", "read_result", "ingest_from_source", "job_status", "job_cancel"}
    others |= {"kb.show"}  # a file may change before the index does
    notebook = {tool.name for tool in TOOLS if tool.pack == "claims"}
    assert {tool.name for tool in TOOLS if not tool.is_repeatable} == others | notebook
    assert [tool.name for tool in TOOLS if tool.is_repeatable and not (tool.read_only and tool.idempotent)] == []


async def test_a_server_with_a_low_limit_and_without_writes_says_so_at_every_door(settings: Settings) -> None:
    changed = {"calls_per_minute": 1, "enable_writes": False, "execute_code": "off", "daemon": "off"}
    few = settings.model_copy(update=changed)
    without, beyond = {}, {}
    async with open_application(few, wait_for_model=False, starts_engine=True) as app:
        for name in DOORS:
            async with open_door(app, name) as door:
                without[name] = await door.call("wild_write", {"topic": "a", "content": "A text."})
                assert (await door.call("list_projects", {})).reason == ""
                beyond[name] = await door.call("list_projects", {})
                if name == "stdio":
                    asked = {"name": "list_projects", "arguments": {}}
                    text = (await door.ask("tools/call", asked))["result"]["content"][0]["text"]
    assert_same_error(without, "NOT_FOUND")
    assert {name: seen.reason for name, seen in beyond.items()} == dict.fromkeys(DOORS, "RATE_LIMIT")
    for seen in beyond.values():
        wait = (seen.details or {})["retry_after_s"]
        assert 0 < wait <= 60
        assert seen.message == f"the limit of calls is reached, 1 a minute; try again in {wait:g} s"
    assert re.match(r"RATE_LIMIT: the limit of calls is reached, 1 a minute; try again in [\d.]+ s\ntrace: ", text)


async def test_a_harvest_is_an_alert_and_then_a_limit_at_every_door_over_http(application: Application) -> None:
    greedy = application.settings.model_copy(update={"harvest_passages": 1})
    calls: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("vector.query.search", {"query": QUESTION, "top_k": 10}, ""),
        ("vector.query.search", {"query": QUESTION, "top_k": 10}, "RATE_LIMIT"),
        ("kb.documents", {}, "RATE_LIMIT"),
        ("docs.load.fetch", {"uri": "guide/backups.md"}, ""),
        ("kb.retrieve_evidence", {"question": QUESTION}, ""),
    )
    for name in HTTP_DOORS:
        before = _harvest_alerts(application)
        async with open_door(application, name, settings=greedy) as door:
            seen = [await door.call(tool, arguments) for tool, arguments, _ in calls]
        assert (name, [each.reason for each in seen]) == (name, [reason for *_, reason in calls])
        assert "read what you need of them" in seen[1].message
        assert _harvest_alerts(application) == before + 1


async def test_a_harvest_through_short_routes_is_the_same(application: Application) -> None:
    greedy = application.settings.model_copy(update={"harvest_passages": 1})
    async with open_door(application, "facade", settings=greedy) as door:
        answers = [await door.http.post("/v1/search", json=asked) for asked in (SEARCH, {"query": "gateway"})]
        read = await door.http.post("/v1/research", json={"question": QUESTION})
    assert [answer.status_code for answer in (*answers, read)] == [200, 429, 200]
    assert int(answers[1].headers["retry-after"]) > 3_000
    assert answers[1].json()["errors"][0]["code"] == "RATE_LIMIT"


def _harvest_alerts(application: Application) -> int:
    return int(application.kb.metrics.snapshot()["harvest_alerts"])


def test_every_reason_has_a_code_and_a_status() -> None:
    assert set(REASONS) <= set(PROBLEMS)


# --- the façade over HTTP ----------------------------------------------------------------------------------------

SEARCH = {"query": QUESTION}
TYPE = {"content-type": "application/json"}
LATIN = {"content-type": "application/json; charset=latin-1"}
# A request that reaches no tool: method, path, body, headers; status and code of the answer.
REFUSED: tuple[tuple[str, str, bytes, dict[str, str], int, str], ...] = (
    ("POST", "/mcp/tool/kb.search", b"{}", {}, 415, "UNSUPPORTED"),
    ("POST", "/mcp/tool/kb.search", b"query=x", {"content-type": "text/plain"}, 415, "UNSUPPORTED"),
    (
        "POST",
        "/mcp/tool/kb.search",
        b"{}",
        {"content-type": "application/json; charset=latin-1"},
        415,
        "UNSUPPORTED",
    ),
    ("POST", "/mcp/tool/kb.search", b"{", TYPE, 400, "INVALID_INPUT"),
    ("POST", "/mcp/tool/kb.search", b"\xff", TYPE, 400, "INVALID_INPUT"),
    ("POST", "/mcp/tool/kb.search", b"[" * 60_000, TYPE, 400, "INVALID_INPUT"),
    ("POST", "/mcp/tool/kb.search", b'{"query": NaN}', TYPE, 400, "INVALID_INPUT"),
    ("POST", "/mcp/tool/kb.search", b"[]", TYPE, 400, "INVALID_INPUT"),
    ("POST", "/mcp/tool/kb.search", b'{"query": "' + b"x" * 65_536 + b'"}', TYPE, 413, "INVALID_INPUT"),
    ("POST", "/mcp/tool/kb.search", b"{}", {**TYPE, "idempotency-key": "x" * 256}, 400, "INVALID_INPUT"),
    ("POST", "/mcp/tool/no.such.tool", b"{}", TYPE, 404, "NOT_FOUND"),
    ("GET", "/mcp/tool/kb.search", b"", {}, 405, "UNSUPPORTED"),
    ("POST", "/mcp/discover", b"", {}, 405, "UNSUPPORTED"),
    ("GET", "/mcp/prompt/winnow/answer_question/99", b"", {}, 404, "NOT_FOUND"),
    ("GET", "/mcp/prompt/winnow/answer_question/one", b"", {}, 404, "NOT_FOUND"),
    ("GET", "/mcp/schema/kb.search/9.9.9/input.json", b"", {}, 404, "NOT_FOUND"),
    ("GET", "/v1/nowhere", b"", {}, 404, "NOT_FOUND"),
    ("GET", "/nowhere", b"", {}, 404, "NOT_FOUND"),
)


async def test_a_request_that_reaches_no_tool_is_answered_in_the_envelope(doors: Mapping[str, Any]) -> None:
    http = doors["facade"].http
    for method, path, body, headers, status, code in REFUSED:
        answer = await http.request(method, path, content=body, headers=headers)
        envelope = answer.json()
        seen = answer.status_code, [error["code"] for error in envelope["errors"]], envelope["data"]
        assert (method, path, body[:20], seen) == (method, path, body[:20], (status, [code], None))
        assert set(envelope["meta"]) == {"tool", "version", "durationMs", "traceId", "warnings"}


async def test_the_same_input_has_the_same_data_unless_a_new_answer_is_asked_for(doors: Mapping[str, Any]) -> None:
    http = doors["facade"].http
    first, second = [(await http.post("/mcp/tool/kb.search", json=SEARCH)).json() for _ in range(2)]
    assert (first["ok"], first["data"]) == (second["ok"], second["data"])
    assert second["meta"]["cacheHit"] is True
    assert first["meta"]["traceId"] != second["meta"]["traceId"]
    fresh = (await http.post("/mcp/tool/kb.search", json=SEARCH, headers={"cache-control": "no-cache"})).json()
    assert fresh["data"]["session_id"] != first["data"]["session_id"]
    assert fresh["meta"]["cacheHit"] is False


async def test_a_script_is_run_again_unless_its_request_has_a_key(doors: Mapping[str, Any]) -> None:
    http = doors["facade"].http
    code = {"code": "import random\nreturn random.random()"}

    async def run(**headers: str) -> Any:
        return (await http.post("/mcp/tool/execute_code", json=code, headers=headers)).json()["data"]["result"]

    assert await run() != await run()
    key = {"idempotency-key": "one run"}
    assert await run(**key) == await run(**key)
    reused = await http.post("/mcp/tool/execute_code", json={"code": "return 2"}, headers=key)
    assert (reused.status_code, reused.json()["errors"][0]["details"]["reason"]) == (422, "KEY_REUSED")


async def test_an_error_is_replayed_for_its_key_like_an_answer(doors: Mapping[str, Any]) -> None:
    http = doors["facade"].http
    for tool, arguments, reason in ERRORS[:4]:
        asked = {"headers": {"idempotency-key": f"{tool} {arguments}"}, "json": arguments}
        first, second = [(await http.post(f"/mcp/tool/{tool}", **asked)) for _ in range(2)]
        assert (first.status_code, first.json()["errors"]) == (second.status_code, second.json()["errors"])
        assert first.json()["errors"][0]["details"]["reason"] == reason


async def test_the_openapi_document_has_valid_schemas_and_references_that_lead_somewhere(
    doors: Mapping[str, Any], application: Application
) -> None:
    document = (await doors["facade"].http.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    listed = {tool.name for tool in tools_of(application) if tool.listed}
    assert {path.removeprefix("/mcp/tool/") for path in document["paths"]} >= listed
    assert {f"/v1/{name}" for name in SHORT_ROUTES} <= set(document["paths"])
    parts = list(_walk(document))
    for reference in {part["$ref"] for part in parts if isinstance(part.get("$ref"), str)}:
        found: Any = document
        for name in reference.removeprefix("#/").split("/"):
            found = found[name]
        assert found
    schemas = [part["schema"] for part in parts if isinstance(part.get("schema"), dict)]
    for schema in [*schemas, *document["components"]["schemas"].values()]:
        jsonschema.Draft202012Validator.check_schema(schema)


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _walk(part)


async def test_short_routes_answer_with_tools_that_this_server_does_not_list(tmp_path: Path, corpus: Path) -> None:
    settings = load_settings(store=tmp_path, project="handbook", embedding="off")
    with closing(open_backends(settings, wait_for_model=False)) as backends:
        ingest_paths(target_of(settings, backends, None), [corpus / "guide" / "backups.md"])
    async with open_application(settings, wait_for_model=False) as application:
        await application.ready()
        async with open_door(application, "facade") as door:
            for name, tool in SHORT_ROUTES.items():
                asked = SEARCH if name == "search" else {"question": QUESTION}
                envelope = (await door.http.post(f"/v1/{name}", json=asked)).json()
                assert (envelope["ok"], envelope["meta"]["tool"]) == (True, tool), envelope["errors"]
                assert (await door.http.post(f"/mcp/tool/{tool}", json=asked)).status_code == 404


# --- LSP frames --------------------------------------------------------------------------------------------------


async def test_prompts_and_discovery_are_the_same_over_http_and_in_frames(doors: Mapping[str, Any]) -> None:
    http, lsp = doors["facade"].http, doors["lsp"]
    discovered = (await http.get("/mcp/discover")).json()
    framed = (await lsp.ask("mcp.discover", {}))["result"]
    assert {**framed, "health": ""} == {**discovered, "health": ""}
    for prompt in discovered["prompts"]:
        domain, _, name = prompt["id"].partition("/")
        for version in prompt["versions"]:
            over_http = (await http.get(version["specRef"])).json()
            params = {"domain": domain, "name": name, "major": version["major"]}
            assert over_http == (await lsp.ask("mcp.prompt.get", params))["result"]
            assert set(over_http) == {"body", "spec"}
    unknown = await lsp.ask("mcp.prompt.get", {"domain": "winnow", "name": "none", "major": 1})
    assert unknown["error"]["data"]["code"] == "NOT_FOUND"


async def test_a_slow_call_holds_up_no_other_and_can_be_cancelled(doors: Mapping[str, Any]) -> None:
    lsp = doors["lsp"]
    slow = {"tool": "execute_code", "input": {"code": "while True: pass", "timeout": 60}}
    lsp.wire.write(encode_frame({"jsonrpc": "2.0", "id": "slow", "method": "mcp.tool.invoke", "params": slow}))
    assert (await lsp.call("list_projects", {})).reason == ""
    lsp.wire.write(encode_frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "slow"}}))
    answer = await lsp.wire.read()
    assert (answer["id"], answer["error"]["code"]) == ("slow", -32800)


async def test_an_id_is_free_again_as_soon_as_its_answer_can_be_read(doors: Mapping[str, Any]) -> None:
    lsp = doors["lsp"]
    frame = encode_frame({"jsonrpc": "2.0", "id": "again", "method": "mcp.prompt.get", "params": {}})
    codes = []
    for _ in range(300):
        lsp.wire.write(frame)
        codes.append((await lsp.wire.read())["error"]["code"])
    assert codes == [-32602] * 300


async def test_a_request_that_is_cancelled_before_it_begins_is_answered_and_its_id_free(
    doors: Mapping[str, Any],
) -> None:
    lsp = doors["lsp"]
    request = encode_frame({"jsonrpc": "2.0", "id": "early", "method": "mcp.discover", "params": {}})
    cancel = encode_frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "early"}})
    for _ in range(3):
        lsp.wire.write(request + cancel)
        answer = await lsp.wire.read()
        assert (answer["id"], answer["error"]["code"]) == ("early", -32800)


async def test_what_is_not_a_request_is_answered_and_the_stream_goes_on(doors: Mapping[str, Any]) -> None:
    lsp = doors["lsp"]
    lsp.wire.write(b"Content-Length: 1\r\n\r\n{")
    assert (await lsp.wire.read())["error"]["code"] == -32700
    assert (await lsp.ask("no.such.method", {}))["error"]["code"] == -32601
    assert (await lsp.ask("mcp.tool.invoke", {"tool": 1}))["error"]["code"] == -32602
    assert (await lsp.call("list_projects", {})).reason == ""


async def test_a_broken_header_ends_the_stream_with_a_message(application: Application) -> None:
    async with open_door(application, "lsp") as lsp:
        lsp.wire.write(b"Content-Length: 999999999999\r\n\r\n")
        answer = await lsp.wire.read()
        assert answer["id"] is None
        assert "the stream is read no further" in answer["error"]["message"]


async def test_at_the_end_of_the_input_answers_that_are_being_made_are_written(application: Application) -> None:
    async with open_door(application, "lsp") as lsp:
        params = {"tool": "list_projects", "input": {}}
        lsp.wire.write(encode_frame({"jsonrpc": "2.0", "id": 1, "method": "mcp.tool.invoke", "params": params}))
        lsp.wire.close()
        assert (await lsp.wire.read())["result"]["ok"] is True
