"""The audit file: the record of each script, and reading it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from typer.testing import CliRunner

from tests.plain_store import copy_store
from tests.serving import serve
from winnow.server.commands.audit import _format_table, _parse_since, app
from winnow.server.commands.entry.app import open_application
from winnow.server.commands.health import primary_data
from winnow.server.errors import WinnowError
from winnow.server.runtime.audit import AuditLog, fingerprint, read_records, since_of
from winnow.server.runtime.reports.audit_sums import split_gaps, sum_calls, sum_executions
from winnow.server.runtime.reports.openmetrics import format_open_metrics
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_file import add_key, new_key, remove_key, revoke_key
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.facade.service import FacadeService
from winnow.server.transports.protocol import build_server
from winnow.server.transports.wire import call_tool

DAY = 86_400


def run(settings: Settings, *scripts: str) -> dict[str, Any]:
    """Run the scripts and return the metrics of the process."""

    async def all_of_them() -> dict[str, Any]:
        async with open_application(settings, wait_for_model=True) as application:
            await application.ready()
            for code in scripts:
                await application.scripts.run(code, client="somebody")
            return await application.health()

    return asyncio.run(all_of_them())


@pytest.mark.walls
def test_a_script_of_many_calls_leaves_a_short_line(store: Path) -> None:
    settings = load_settings(store=store, project="handbook")
    code = "for _ in range(120): semantic_search('backups', top_k=1)\nfetch(semantic_search('backups', top_k=1))"
    run(settings, code)
    line = (settings.audit_folder / "executions.jsonl").read_text("utf-8").splitlines()[-1]
    record = json.loads(line)
    assert (record["sdk_calls"], len(record["calls"])) == (122, 100)
    assert record["further_calls"] == {"semantic_search": 21, "fetch": 1}
    assert record["text_bytes"] > 0
    assert len(line) < 32 * 1024


@pytest.mark.walls
def test_the_line_of_a_script_joins_its_call_and_names_its_end(store: Path) -> None:
    settings = load_settings(store=store, project="handbook")

    async def call_twice() -> None:
        async with open_application(settings, wait_for_model=True) as application:
            await application.ready()
            dispatcher = Dispatcher(application.context, settings)
            tool = dispatcher.find("execute_code")
            assert tool is not None
            for code in ("exit(3)", "x = (1).__globals__", "return 1"):
                await call_tool(dispatcher, tool, {"code": code}, "somebody", silent)

    asyncio.run(call_twice())
    calls = [record["trace_id"] for record in read_records(settings.audit_folder, kind="calls")][-3:]
    lines = list(read_records(settings.audit_folder))[-3:]
    assert [line["trace_id"] for line in lines] == calls
    assert [line["exit_code"] for line in lines] == [3, 1, 0]
    assert [line.get("refused") for line in lines] == [None, "the attribute ... is not available", None]


@pytest.mark.walls
def test_each_script_leaves_one_line_without_its_words(store: Path, tmp_path: Path) -> None:
    settings = load_settings(store=store, project="handbook")
    code = "rows = semantic_search('SECRETWORD', top_k=3)\nfetch(rows, level='preview')\nreturn rows.ids"
    health = run(settings, code, "kb.search('x')", "return 'y' * 40_000", "import os")
    path = settings.audit_folder / "executions.jsonl"
    first, failed, large, rejected = [json.loads(line) for line in path.read_text("utf-8").splitlines()][-4:]

    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert "SECRETWORD" not in path.read_text("utf-8")
    assert (first["source_sha256"], first["source_bytes"]) == (sha256(code.encode()).hexdigest(), len(code))
    assert [(call["call"], call["rows"]) for call in first["calls"]] == [("semantic_search", 3), ("fetch", 3)]
    assert len({call["arguments"] for call in first["calls"]}) == 2
    assert (first["verdict"], first["sdk_calls"], first["rows"], first["tokens_kept_out"] > 0) == (
        "ok",
        2,
        6,
        True,
    )
    assert first["tokens_returned"] > 0
    assert "seccomp" in first["walls"]["stood"]
    assert (failed["verdict"], failed["error"], failed["calls"][0]["error"]) == (
        "error", "SDKError", "INVALID_REQUEST")  # fmt: skip
    assert (large["verdict"], large["error"], large["calls"]) == ("limit", "ResultTooLarge", [])
    assert rejected["verdict"] == "rejected"
    assert len({line["execution_id"] for line in (first, failed, large, rejected)}) == 4
    assert first["client"] == failed["client"]
    endings = {"ok": 1, "error": 1, "limit": 1, "rejected": 1}
    assert health["scripts"] == {
        "executions": 4, "sdk_calls": 3, "rows": 6, "tokens_kept_out": health["scripts"]["tokens_kept_out"],
        "endings": endings, "durations": health["scripts"]["durations"]}  # fmt: skip

    records = list(read_records(settings.audit_folder))[-4:]
    assert records == [first, failed, large, rejected]
    assert sum_executions(records)["verdicts"] == endings
    assert "limit ResultTooLarge" in "\n".join(_format_table(records))
    kept = load_settings(store=tmp_path / "other", project="handbook", log_queries=True)
    assert kept.audit_folder == tmp_path / "other" / "audit"


@pytest.mark.walls
@pytest.mark.parametrize("log_queries", [False, True])
def test_what_a_script_is_for_is_in_its_line_in_words_where_queries_are_logged(
    store: Path, log_queries: bool
) -> None:
    settings = load_settings(store=store, project="handbook", log_queries=log_queries)

    async def execute() -> None:
        async with open_application(settings, wait_for_model=False) as application:
            await application.ready()
            dispatcher = Dispatcher(application.context, settings)
            tool = dispatcher.find("execute_code")
            assert tool is not None
            asked = {"code": "return 1", "description": "count SECRETWORD"}
            await call_tool(dispatcher, tool, asked, "somebody", silent)

    asyncio.run(execute())
    line = list(read_records(settings.audit_folder))[-1]
    assert line["description"] == ("count SECRETWORD" if log_queries else line["description"])
    assert ("SECRETWORD" in json.dumps(line)) is log_queries


async def silent(seconds: float, message: str) -> None:
    """A progress callback that does nothing."""


def test_a_file_is_put_aside_at_its_bound_and_removed_after_its_time(tmp_path: Path) -> None:
    now = [1_000_000_000.0]
    log = AuditLog(tmp_path / "audit", max_bytes=200, days=2, now=lambda: now[0])
    for number in range(9):
        log.write({"number": number, "text": "x" * 60})
        now[0] += 1
    files = sorted((tmp_path / "audit").iterdir())
    assert [record["number"] for record in read_records(tmp_path / "audit")] == list(range(9))
    assert (len(files) > 3, all(file.stat().st_size <= 200 for file in files)) == (True, True)
    for file in files:
        os.utime(file, (now[0], now[0]))
    now[0] += 3 * DAY
    for number in range(9, 13):
        log.write({"number": number, "text": "x" * 60})
    assert next(record["number"] for record in read_records(tmp_path / "audit")) >= 7


def test_lines_are_read_from_a_moment_on_and_broken_ones_left_out(tmp_path: Path) -> None:
    now = [1_000_000_000.0]
    log = AuditLog(tmp_path, 10_000, 2, now=lambda: now[0])
    log.write({"number": 1})
    now[0] += DAY
    log.write({"number": 2})
    with (tmp_path / "executions.jsonl").open("a") as file:
        file.write('{"number": 3, "ti\n[]\n')
    since = datetime.fromtimestamp(now[0] - 10, UTC)
    assert [record["number"] for record in read_records(tmp_path, since)] == [2]
    assert list(read_records(tmp_path / "nowhere")) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
AUDITED = (
    *("time", "execution_id", "verdict", "error", "tool", "source_sha256", "wall_ms", "ms", "sdk_calls", "rows"),
    *("tokens", "tokens_kept_out", "tokens_returned", "walls", "not_audited"),
)


@given(st.lists(st.dictionaries(st.sampled_from(AUDITED), JSON, max_size=6), max_size=4), st.integers(0, 9_999))
def test_lines_that_no_log_writes_fail_no_report(lines: list[dict[str, Any]], depth: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        AuditLog(Path(folder), 10_000, 2).write({"rows": 3, "walls": {"stood": ["seccomp"], "missing": []}})
        with (Path(folder) / "executions.jsonl").open("a") as file:
            made = [json.dumps({"time": "2026-01-31T", **line}) for line in lines]
            file.write("\n".join([*made, "[" * depth, f'{{"time": "2026", "rows": {"9" * depth}}}', ""]))
        gaps, records = split_gaps([*read_records(Path(folder))], "executions")
    summary = sum_executions(records)
    assert (summary["executions"], summary["rows"] >= 3) == (len(records), True)
    assert len(gaps) + len(records) <= len(lines) + 2
    sum_calls(records)
    _format_table(records)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "99999d", "soon"])
def test_a_time_that_is_none_of_utc_is_no_time_to_report_from(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        since_of(text, datetime.now(UTC))


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31T23:59:59.999999", "2001-09-09T03:46:40+02:00"])
def test_lines_are_read_from_the_first_and_the_last_time_there_is(tmp_path: Path, text: str) -> None:
    log = AuditLog(tmp_path, 10_000, 2, now=lambda: 1_000_000_000.0)
    log.write({"number": 1})
    assert len([*read_records(tmp_path, since_of(text, datetime.now(UTC)))]) == (0 if text.startswith("9") else 1)


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("in the way")
    AuditLog(tmp_path / "audit", 1_000, 1).write({"number": 1})
    assert (tmp_path / "audit").read_text() == "in the way"


def test_lost_lines_are_counted_logged_and_named_by_the_first_line_after_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A program and a person who read the audit see the gap, and from when to when it was."""
    caplog.set_level(logging.INFO, "winnow")
    settings = load_settings(store=tmp_path)
    folder, now, lost = settings.audit_folder, [1_000_000_000.0], list[str]()
    calls = AuditLog(folder, 10_000, 9, "calls", now=lambda: now[0], on_lost=lambda: lost.append("calls"))
    assert [each for each in primary_data.CHECKS if list(each(settings))] == []
    folder.write_text("in the way")
    (finding,) = [finding for each in primary_data.CHECKS for finding in each(settings)]
    assert (finding.check, finding.ok, finding.essential) == ("audit", False, True)
    for number in range(3):
        calls.write({"tool": "help", "verdict": "ok", "number": number})
        now[0] += 60
    folder.unlink()
    for number in range(3, 5):
        calls.write({"tool": "help", "verdict": "ok", "number": number})
    gap, *others = read_records(folder, kind="calls")
    missing = {"count": 3, "from": "2001-09-09T01:46:40.000000Z", "to": "2001-09-09T01:48:40.000000Z"}
    assert (gap["not_audited"], [line["number"] for line in others], lost) == (missing, [3, 4], ["calls"] * 3)
    assert [record.getMessage() for record in caplog.records] == [
        "calls are not audited",
        "calls are audited again",
    ]
    for flags in ((), ("--tool", "help")):
        shown = CliRunner().invoke(app, ["--store", str(tmp_path), *flags])
        assert "3 calls, 2001-09-09T01:46:40" in shown.stdout
        shown = CliRunner().invoke(app, ["--store", str(tmp_path), "--json", *flags])
        assert json.loads(shown.stdout)["gaps"] == [{"kind": "calls", **missing}]
        assert json.loads(shown.stdout)["summary"]["calls"]["count"] == 2


_CUT = """
import resource, sys
from pathlib import Path
from winnow.server.runtime.audit import AuditLog

folder, most = Path(sys.argv[1]), resource.getrlimit(resource.RLIMIT_FSIZE)
calls = AuditLog(folder, 10_000, 9, "calls", on_lost=lambda: print("lost"))
calls.write({"number": 0})
room = len('{"time":"2001-09-09T01:46:40.000000Z","number":1,"client":"') + 1
resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "calls.jsonl").stat().st_size + room, most[1]))
for number in (1, 2):
    calls.write({"number": number, "client": "é" * 9})
resource.setrlimit(resource.RLIMIT_FSIZE, most)
for number in (3, 4):
    calls.write({"number": number})
"""


def test_a_line_that_was_cut_is_lost_and_takes_none_of_those_after_it_along(tmp_path: Path) -> None:
    """A full disk takes a part of a line, within a letter here, and then nothing."""
    done = subprocess.run([sys.executable, "-c", _CUT, tmp_path], capture_output=True, text=True, check=True)
    first, gap, *others = read_records(tmp_path, kind="calls")
    assert done.stdout.splitlines() == ["lost", "lost"]
    assert (first["number"], gap["not_audited"]["count"]) == (0, 2)
    assert [line["number"] for line in others] == [3, 4]


@pytest.mark.own_store
def test_a_server_counts_the_calls_and_the_scripts_that_are_not_audited(store: Path, tmp_path: Path) -> None:
    copy_store(store, tmp_path / "store")
    settings = load_settings(store=tmp_path / "store", project="handbook", execute_code="off", embedding="off")
    shutil.rmtree(settings.audit_folder, ignore_errors=True)
    settings.audit_folder.write_text("in the way")

    async def call_twice() -> dict[str, Any]:
        async with open_application(settings, wait_for_model=False) as application:
            await application.ready()
            dispatcher = Dispatcher(application.context, settings)
            tool = dispatcher.find("help")
            assert tool is not None
            for _ in range(2):
                await call_tool(dispatcher, tool, {}, "somebody", silent)
            return await application.health()

    health = asyncio.run(call_twice())
    assert health["unaudited"] == {"executions": 0, "calls": 2}
    assert 'winnow_unaudited_total{kind="calls"} 2' in format_open_metrics(health)


def test_a_moment_is_a_span_or_a_date() -> None:
    now = datetime(2026, 3, 4, tzinfo=UTC)
    assert since_of("7d", now) == datetime(2026, 2, 25, tzinfo=UTC)
    assert since_of("12h", now) == datetime(2026, 3, 3, 12, tzinfo=UTC)
    assert since_of("2026-03-01T10:00:00+02:00", now) == datetime(2026, 3, 1, 8, tzinfo=UTC)
    with pytest.raises(WinnowError, match="7d, 12h"):
        _parse_since("yesterday")


def test_the_same_arguments_have_the_same_fingerprint_in_any_order() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1}) != fingerprint({"a": 1, "b": 3})


def test_lines_are_kept_for_days_however_few_there_are(tmp_path: Path) -> None:
    now = [1_000_000_000.0]
    folder = tmp_path / "audit"

    def write(number: int) -> None:
        log.write({"number": number})
        path = folder / "executions.jsonl"
        os.utime(path, (now[0], now[0]))

    log = AuditLog(folder, max_bytes=1_000_000, days=3, now=lambda: now[0])
    for number in range(8):
        write(number)
        now[0] += DAY
    kept = [record["number"] for record in read_records(folder)]
    assert kept == [4, 5, 6, 7]
    now[0] += 3 * DAY
    AuditLog(folder, max_bytes=1_000_000, days=3, now=lambda: now[0]).prune()
    assert list(read_records(folder)) == []


def test_a_flood_of_full_files_is_bounded(tmp_path: Path) -> None:
    now = [1_000_000_000.0]
    log = AuditLog(tmp_path, max_bytes=100, days=5, kind="calls", now=lambda: now[0])
    for _ in range(60):
        log.write({"text": "x" * 60})
        now[0] += 1
    log.prune()
    assert len(list(tmp_path.glob("calls-*.jsonl"))) == 15
    assert list(tmp_path.glob("executions*")) == []


def test_every_call_of_a_tool_leaves_one_line_without_its_words(store: Path, tmp_path: Path) -> None:
    settings = load_settings(store=store, project="handbook", execute_code="off", embedding="off")
    before = len(list(read_records(settings.audit_folder, kind="calls")))
    asked = {
        "kb_search": {"query": "SECRETWORD backups", "scope": {"project_id": "handbook"}},
        "semantic_search": {"query": "SECRETWORD backups", "top_k": 3},
        "kb_read_excerpt": {"passage_id": "SECRETWORD"},
        "kb_retrieve_evidence": {"question": "SECRETWORD", "scope": {"project_id": "SECRETWORD"}},
        "help": {"topic": "SECRETWORD"},
    }
    traces = []

    async def call_all() -> None:
        async with open_application(settings, wait_for_model=False) as application:
            await application.ready()
            dispatcher = Dispatcher(application.context, settings)
            for name, arguments in asked.items():
                tool = dispatcher.find(name)
                assert tool is not None
                result = await call_tool(dispatcher, tool, arguments, "somebody", silent)
                traces.append(result.structured_content["meta"]["trace_id"])

    asyncio.run(call_all())
    lines = list(read_records(settings.audit_folder, kind="calls"))[before:]
    assert [line["trace_id"] for line in lines] == traces
    assert [line["tool"].replace(".", "_") for line in lines] == list(asked)
    assert [line["verdict"] for line in lines] == ["ok", "ok", "NOT_FOUND", "SCOPE_VIOLATION", "NOT_FOUND"]
    assert [line["rows"] for line in lines[:3]] == [5, 3, 0]
    assert all(
        line["client"] == fingerprint("somebody") and line["ms"] > 0 and line["tokens"] > 0 for line in lines
    )
    assert lines[0]["asked"]["query"].endswith("(18 characters)")
    assert (lines[0]["scope"], "scope" in lines[1]) == (fingerprint({"project_id": "handbook"}), False)
    assert "SECRETWORD" not in json.dumps(lines)
    assert stat.S_IMODE((settings.audit_folder / "calls.jsonl").stat().st_mode) == 0o600


def test_the_audit_s_command_reads_both_and_filters_by_tool(store: Path, tmp_path: Path) -> None:
    folder = load_settings(store=tmp_path).audit_folder
    AuditLog(folder, 10_000, 9).write({"verdict": "ok", "source_sha256": "a" * 64})
    calls = AuditLog(folder, 10_000, 9, "calls")
    for tool, verdict in (("kb.search", "ok"), ("kb.search", "TIMEOUT"), ("help", "ok"), ("execute_code", "ok")):
        calls.write({"tool": tool, "verdict": verdict, "rows": 2, "tokens": 10})

    def run_audit(*flags: str) -> Any:
        result = CliRunner().invoke(app, ["--store", str(tmp_path), *flags])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in flags else result.stdout

    whole = run_audit("--json")
    assert (len(whole["executions"]), len(whole["calls"])) == (1, 4)
    assert whole["summary"]["calls"]["tools"] == {"execute_code": 1, "help": 1, "kb.search": 2}
    searches = run_audit("--json", "--tool", "kb_search")
    assert (searches["executions"], [line["verdict"] for line in searches["calls"]]) == ([], ["ok", "TIMEOUT"])
    assert len(run_audit("--json", "--tool", "execute_code")["executions"]) == 1
    assert "2 calls (1 TIMEOUT, 1 ok); 4 rows, 20 tokens" in run_audit("--tool", "kb.search")
    assert run_audit("--json", "--since", "2200-01-01")["summary"]["calls"]["count"] == 0


def test_the_audit_s_command_says_what_it_leaves_out_and_gives_a_program_all_of_a_time(tmp_path: Path) -> None:
    folder = load_settings(store=tmp_path).audit_folder
    calls = AuditLog(folder, 10_000_000, 9, "calls")
    for number in range(193):
        calls.write({"tool": "help", "verdict": "ok", "rows": number, "tokens": 1})

    def run_audit(*flags: str) -> Any:
        result = CliRunner().invoke(app, ["--store", str(tmp_path), *flags])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in flags else result.stdout

    def numbers(*flags: str) -> tuple[int, int]:
        answer = run_audit("--json", *flags)
        return len(answer["calls"]), answer["left_out"]["calls"]

    assert numbers("--since", "7d") == (193, 0)
    assert numbers("--since", "7d", "--last", "10") == (10, 183)
    assert numbers() == (50, 143)
    assert numbers("--last", "500") == (193, 0)
    assert numbers("--since", "2200-01-01") == (0, 0)
    assert "the last 50 of 193 calls; --last N shows more" in run_audit("--since", "7d")
    assert "of 193 calls" not in run_audit("--last", "193")


def test_the_audit_names_keys_also_those_that_were_removed_and_filters_by_them(tmp_path: Path) -> None:
    """By name or id; what is neither a key nor a tool is said to be none."""
    keys = [new_key(name, 1_000)[0] for name in ("laptop", "ci")]
    for one in keys:
        add_key(tmp_path, one, 1_000)
    laptop, ci = (one.id for one in keys)
    revoke_key(tmp_path, "ci", 1_001)
    remove_key(tmp_path, "ci", 1_002)
    calls = AuditLog(load_settings(store=tmp_path).audit_folder, 100_000, 9, "calls")
    for key in (laptop, ci, "oidc-0123"):
        calls.write({"tool": "help", "verdict": "ok", "key": key})

    def run_audit(*flags: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["--store", str(tmp_path), *flags])
        return result.exit_code, result.output

    _, table = run_audit()
    assert [f"{name} ({id})" in table for name, id in (("laptop", laptop), ("ci", ci))] == [True, True]
    for said, expected in (("ci", [ci]), (laptop, [laptop]), ("oidc-0123", ["oidc-0123"])):
        shown = json.loads(run_audit("--json", "--key", said)[1])["calls"]
        assert [line["key"] for line in shown] == expected
    assert [line.get("key_name") for line in json.loads(run_audit("--json")[1])["calls"]] == ["laptop", "ci", None]
    code, told = run_audit("--key", "nobody")
    assert (code, "there is no key 'nobody'; the keys are: ci, laptop" in told) == (2, True)
    code, told = run_audit("--tool", "kb.serch")
    assert (code, "there is no tool 'kb.serch'; did you mean kb.search?" in told) == (2, True)
    code, told = run_audit("--tool", "nonsense")
    assert (code, "there is no tool 'nonsense'; the tools are: " in told) == (2, True)
    calls.write({"tool": "own.tool", "verdict": "ok"})
    assert run_audit("--tool", "own.tool")[0] == 0
    calls.write({"tool": "help", "verdict": "ok", "key": ["altered"]})
    assert (run_audit()[0], run_audit("--key", "ci")[0], run_audit("--key", "")[0]) == (0, 0, 2)


async def _until_audited(settings: Settings, before: tuple[int, int]) -> list[dict[str, Any]]:
    """The new line of calls and the new line of executions."""
    async with asyncio.timeout(30):
        while True:
            lines = [
                list(read_records(settings.audit_folder, kind=kind))[seen:]
                for kind, seen in zip(("calls", "executions"), before, strict=True)
            ]
            if all(lines):
                return [line for (line,) in lines]
            await asyncio.sleep(0.05)


@pytest.mark.walls
@pytest.mark.parametrize("door", ["facade", "mcp"])
def test_a_script_whose_client_leaves_has_its_lines(store: Path, door: str) -> None:
    settings = load_settings(store=store, project="handbook", embedding="off")
    script = {"code": "kb.search('backups')\nwhile True: pass", "timeout": 50}

    async def send_and_leave(http: httpx2.AsyncClient, server: Any) -> None:
        if door == "facade":
            await http.post("/mcp/tool/execute_code", json=script)
        else:
            async with Client(server, mode="legacy") as client:
                await client.call_tool("execute_code", script)

    async def leave() -> tuple[list[dict[str, Any]], dict[str, Any]]:
        async with open_application(settings, wait_for_model=False) as application:
            await application.ready()
            dispatcher = Dispatcher(application.context, settings)
            server, facade = build_server(dispatcher, application), FacadeService(dispatcher, application)
            before = tuple(
                len(list(read_records(settings.audit_folder, kind=kind))) for kind in ("calls", "executions")
            )
            async with (
                serve(server, facade=facade) as (host, port),
                httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=60) as http,
            ):
                sending = asyncio.create_task(send_and_leave(http, server))
                while not application.scripts.queue["running"]:
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.5)
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
                return await _until_audited(settings, before), application.kb.metrics.snapshot()

    (call, execution), metrics = asyncio.run(leave())
    assert (call["tool"], call["verdict"], call["ms"] > 0) == ("execute_code", "cancelled", True)
    assert (execution["verdict"], execution["trace_id"]) == ("cancelled", call["trace_id"])
    assert (execution["sdk_calls"], execution["source_bytes"]) == (1, len(script["code"]))
    assert execution["walls"]["stood"]
    assert metrics["calls"]["execute_code"]["verdicts"] == {"cancelled": 1}
    assert metrics["scripts"]["endings"] == {"cancelled": 1}
