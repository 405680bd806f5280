"""No log holds what a document, a query or a script says: each is searched for words that stand in all three."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tests.flow.test_stdio import MODERN, Pipe, serving
from winnow import SEARCH_PATH
from winnow.server.commands.entry.app import open_application
from winnow.server.contracts import SearchAnswer
from winnow.server.engine import endpoint
from winnow.server.runtime.logs import log, set_up_logs
from winnow.server.settings.loading import load_settings
from winnow.server.tools.base import Context, ToolResult
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.wire import call_tool

pytestmark = pytest.mark.as_root

WINNOW = Path(sys.executable).with_name("winnow")
CANARY = "canary" + "71a55e"
SCRIPTS = (
    f"raise ValueError('{CANARY}')",
    f"print('{CANARY}')\nreturn kb.search('{CANARY}')",
    f"kb.search('{CANARY}', scope={{'project_id': '{CANARY}'}})",
    f"class {CANARY}(Exception): pass\nprogress('{CANARY}')\nundefined_{CANARY}",
    f"import {CANARY}",
    f"'{CANARY}' +",
    f"return ['{CANARY}'] * 20000",
)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What this process logs meanwhile, at the level of a server."""
    stream, root = io.StringIO(), logging.getLogger()
    before = root.handlers[:], root.level, logging.getLogger("winnow").level
    set_up_logs(handler=logging.StreamHandler(stream))
    yield stream
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    logging.getLogger("winnow").setLevel(before[2])


@pytest.fixture
def corpus_of_canaries(tmp_path: Path) -> Path:
    folder = tmp_path / f"{CANARY}-documents"
    folder.mkdir()
    front = f"---\ntitle: {CANARY}\ntags: [{CANARY}]\ndate: {CANARY}\nvendor: {CANARY}\n---\n"
    (folder / "a.md").write_text(f"{front}# {CANARY}\n\nA needle with {CANARY} in it.\n", encoding="utf-8")
    (folder / "broken.md").write_text(f"---\ntitle: [{CANARY}\n---\n{CANARY}", encoding="utf-8")
    return folder


def ingest(folder: Path, store: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [WINNOW, "ingest", folder, "--store", store, "--project", "kept"], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.walls
@pytest.mark.parametrize("daemon", ["off", "on"])
def test_a_server_on_a_pipe_logs_none_of_it(corpus_of_canaries: Path, tmp_path: Path, daemon: str) -> None:
    if daemon == "on" and not endpoint.is_supported():
        pytest.skip("engines are shared on Linux only")
    store = tmp_path / "store"
    environment = {**os.environ, "WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": daemon}
    ingest(corpus_of_canaries, store, environment)
    with (tmp_path / "stderr").open("wb") as stderr:
        try:
            with serving(store, project="kept", stderr=stderr, **environment) as pipe:
                said = _converse(pipe)
        finally:
            if daemon == "on":
                subprocess.run([WINNOW, "engine", "stop", "--store", store], env=environment, capture_output=True)
    assert CANARY in said
    logs = [tmp_path / "stderr", *store.glob("*.log*"), *(store / "audit").iterdir()]
    assert {"stderr", "calls.jsonl", "executions.jsonl"} <= {path.name for path in logs}
    assert (store / "engine.log" in logs) is (daemon == "on")
    assert [path.name for path in logs if CANARY in path.read_text("utf-8", "replace")] == []
    assert "semantic_search" in (tmp_path / "stderr").read_text()


def _converse(pipe: Pipe) -> str:
    """Ask in every way that may fail with words of the question; all that was answered."""
    pipe.shake_hands()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("semantic_search", {"query": CANARY, "response_mode": "full"}),
        ("kb_retrieve_evidence", {"question": f"needle {CANARY}"}),
        ("kb_search", {"query": CANARY, "cursor": CANARY}),
        ("kb_read_excerpt", {"passage_id": CANARY}),
        ("kb_search", {"query": [CANARY], CANARY: CANARY}),
        ("semantic_search", {"query": CANARY, "scope": {"project_id": CANARY}}),
        ("graph_expand", {"ids": [CANARY]}),
        ("help", {"topic": CANARY}),
        *(("execute_code", {"code": code, "description": CANARY}) for code in SCRIPTS),
    ]
    answers = []
    for number, (tool, arguments) in enumerate(calls, start=10):
        pipe.send(id=number, method="tools/call", params={"name": tool, "arguments": arguments})
        answers.append(pipe.answer(number))
    for number, (method, params) in enumerate(
        (
            ("tools/call", {"name": CANARY, "arguments": {}}),
            ("tools/call", {"name": "kb_search", "arguments": CANARY}),
            ("prompts/get", {"name": CANARY}),
            ("resources/read", {"uri": f"winnow://{CANARY}"}),
            (CANARY, {"x": CANARY}),
            ("server/discover", {**MODERN, CANARY: CANARY}),
        ),
        start=50,
    ):
        pipe.send(id=number, method=method, params=params)
        answers.append(pipe.answer(number))
    for line in (CANARY, f'{{"jsonrpc": "2.0", "id": 90, "method": ["{CANARY}"]}}', f'["{CANARY}"]'):
        pipe.send_line(line)
    pipe.call(99, "help")
    pipe.close()
    return json.dumps(answers)


@pytest.mark.anyio
async def test_a_fault_of_ours_is_logged_with_its_place_and_none_of_its_words(
    store: Path, logged: io.StringIO
) -> None:
    """A handler that raises, and one whose answer has another shape than it promises, each with foreign words."""
    settings = load_settings(store=store, project="handbook", execute_code="off", embedding="off")

    async def raises(context: Context, arguments: dict[str, Any]) -> ToolResult:
        raise KeyError(f"no {arguments['query']}") from ValueError(CANARY)

    async def answers(context: Context, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult({"results": CANARY, "count": CANARY, "mode": CANARY}, CANARY, CANARY)

    known = next(tool for tool in TOOLS if tool.name == "semantic_search")
    async with open_application(settings, wait_for_model=False) as application:
        dispatcher = Dispatcher(application.context, settings)
        for handler in (raises, answers):
            result = await call_tool(dispatcher, replace(known, handler=handler), {"query": CANARY}, "me", _silent)
            assert result.is_error
            assert CANARY not in result.model_dump_json()
    faults = [json.loads(line) for line in logged.getvalue().splitlines() if "tool failed" in line]
    assert [fault["trace_id"] != "" for fault in faults] == [True, True]
    assert "in raises" in faults[0]["exception"]
    assert "builtins.KeyError (" in faults[0]["exception"]
    assert "ValidationError (" in faults[1]["exception"]
    assert CANARY not in logged.getvalue()


async def _silent(seconds: float, message: str) -> None:
    """Progress is not looked at here."""


def test_what_a_library_or_an_exception_says_is_withheld_and_where_is_not(logged: io.StringIO) -> None:
    logging.getLogger("another.package").warning("validation failed: input_value=%s", CANARY)
    with pytest.raises(ValidationError) as caught:
        SearchAnswer.model_validate({"count": CANARY})
    assert CANARY not in str(caught.value)
    try:
        raise caught.value
    except ValidationError:
        log("failed", exc_info=True)
    try:
        Path(f"/nowhere/{CANARY[:6]}").read_text()
    except OSError:
        log("not read", exc_info=True)
    library, failed, not_read = map(json.loads, logged.getvalue().splitlines())
    assert (library["logger"], "characters withheld" in library["message"]) == ("another.package", True)
    assert library["message"].startswith("test_log_hygiene.")
    assert "ValidationError (" in failed["exception"]
    assert "No such file or directory" in not_read["exception"]
    assert CANARY not in logged.getvalue()


def test_no_model_of_ours_quotes_its_input_in_an_error() -> None:
    for path in sorted(Path(SEARCH_PATH, "winnow", "server").rglob("*.py")):
        module = ".".join(path.relative_to(SEARCH_PATH).with_suffix("").parts)
        if "BaseModel" in path.read_text(encoding="utf-8") or "contracts" in module:
            __import__(module.removesuffix(".__init__"))
    found, models = [], [BaseModel]
    while models:
        model = models.pop()
        models += model.__subclasses__()
        if model.__module__.startswith("winnow.server.") and not model.model_config.get("hide_input_in_errors"):
            found.append(f"{model.__module__}.{model.__name__}")
    assert found == []
