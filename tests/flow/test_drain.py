"""SIGTERM loses no answer: what has begun is answered, what comes is refused, and the process exits with 0."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.flow.test_stdio import MODERN, WINNOW, serving
from tests.patience import LIMIT, start_process, until
from winnow.server.runtime.audit import read_records

# Long enough to send a signal and look around: a second on a fast machine.
SCRIPT = "total = 0\nfor number in range(8_000_000):\n    total = total + number\nreturn total"
RESULT = sum(range(8_000_000))
CALL = {"name": "execute_code", "arguments": {"code": SCRIPT, "timeout": 60}}
ENDLESS_CALL = {"name": "execute_code", "arguments": {"code": "while True: pass", "timeout": 60}}
# Alone, so that the store is free for the next test; patient, because the machine may be busy.
ALONE = {"WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off", "WINNOW_DRAIN_SECONDS": "120"}


def scripts_of(store: Path) -> list[str]:
    """The verdicts of the scripts in the audit log."""
    return [record["verdict"] for record in read_records(store / "audit")]


@pytest.mark.walls
def test_a_pipe_answers_the_script_that_runs_and_refuses_what_comes(store: Path, tmp_path: Path) -> None:
    before, log_file = scripts_of(store), tmp_path / "winnow.log"
    with serving(store, **ALONE, WINNOW_LOG_FILE=str(log_file)) as pipe:
        pipe.shake_hands()
        pipe.call(2, "execute_code", code="return 1")
        pipe.send(id=3, method="tools/call", params=CALL)
        pipe.send(id=4, method="ping")  # answered once the line before it has been read
        pipe.answer(4)
        pipe.process.send_signal(signal.SIGTERM)
        refusals = iter(range(100, 10_000))

        def is_refused() -> bool:
            pipe.send(id=(number := next(refusals)), method="ping")
            answer = pipe.answer(number)
            return "error" in answer and answer["error"]["data"]["details"]["reason"] == "SHUTTING_DOWN"

        until(is_refused)
        assert pipe.answer(3)["result"]["structuredContent"]["result"] == RESULT
        assert pipe.process.wait(LIMIT) == 0
    assert scripts_of(store) == [*before, "ok", "ok"]
    logged = [json.loads(line) for line in log_file.read_text().splitlines()]
    [in_progress] = [line["in_progress"] for line in logged if line["message"] == "the server ends"]
    assert in_progress in {1, 2}  # the script, and the first ping until its answer is known to be written
    assert stat.S_IMODE(log_file.stat().st_mode) == 0o600


@pytest.mark.walls
def test_a_pipe_gives_a_script_up_that_takes_too_long(store: Path) -> None:
    before = scripts_of(store)
    with serving(store, **{**ALONE, "WINNOW_DRAIN_SECONDS": "0.2"}) as pipe:
        pipe.shake_hands()
        pipe.call(2, "execute_code", code="return 1")
        pipe.send(id=3, method="tools/call", params=ENDLESS_CALL)
        pipe.send(id=4, method="ping")
        pipe.answer(4)
        assert pipe.stop(signal.SIGTERM) == 0
    *others, last = scripts_of(store)
    assert (others, last in ("cancelled", "unavailable")) == ([*before, "ok"], True)


@contextmanager
def served(store: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[Any], str]]:
    """A server over HTTP, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [WINNOW, "serve", "--store", store, "--project", "handbook", "--http", address]
    with start_process(command, env={**os.environ, **ALONE, **environment}, stderr=subprocess.DEVNULL) as process:
        until(lambda: get(address, "/health/ready")[0] == 200)
        yield process, address


def get(address: str, path: str) -> tuple[int, dict[str, Any]]:
    """The status and the body of a page; status 0 while nothing listens."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=LIMIT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)
    except OSError:
        return 0, {}


def call(address: str, params: dict[str, Any]) -> tuple[int, dict[str, str], str]:
    """Call a tool; the status, the headers and the body of the answer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, **MODERN}}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": params["name"],
    }
    request = urllib.request.Request(f"http://{address}/mcp", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status, dict(answer.headers), answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, dict(refused.headers), refused.read().decode()


@pytest.mark.walls
def test_an_http_server_answers_the_script_that_runs_refuses_what_comes_and_is_not_ready(store: Path) -> None:
    before = scripts_of(store)
    with served(store) as (process, address), ThreadPoolExecutor(1) as threads:
        running = threads.submit(call, address, CALL)
        until(lambda: get(address, "/health")[1]["queue"]["running"] == 1)
        process.send_signal(signal.SIGTERM)
        until(lambda: get(address, "/health/ready")[0] == 503)
        assert get(address, "/health/ready")[1] == {"status": "not ready", "reasons": ["the server ends"]}
        assert get(address, "/health/live")[0] == 200
        status, headers, body = call(address, CALL)
        refused = json.loads(body)["error"]
        assert (status, headers["retry-after"]) == (503, "5")
        assert (refused["code"], refused["details"]["reason"]) == ("BACKEND_UNAVAILABLE", "SHUTTING_DOWN")
        status, _, body = running.result()
        assert (status, str(RESULT) in body) == (200, True)
        assert process.wait(LIMIT) == 0
    assert scripts_of(store) == [*before, "ok"]


@pytest.mark.walls
@pytest.mark.parametrize("door", ["facade", "mcp"])
def test_a_call_over_http_that_the_end_gives_up_is_told_so_and_has_its_line(
    store: Path, tmp_path: Path, door: str
) -> None:
    """The log has no error: a restart with a call in progress is none."""
    before = scripts_of(store)

    def post(address: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        if door == "mcp":
            status, headers, body = call(address, ENDLESS_CALL)
            return status, headers, json.loads(body)["error"]
        request = urllib.request.Request(
            f"http://{address}/mcp/tool/execute_code",
            json.dumps(ENDLESS_CALL["arguments"]).encode(),
            {"content-type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=LIMIT)
        return refused.value.code, dict(refused.value.headers), json.load(refused.value)["errors"][0]

    log_file = tmp_path / "winnow.log"
    options = {"WINNOW_DRAIN_SECONDS": "0.2", "WINNOW_LOG_FILE": str(log_file)}
    with served(store, **options) as (process, address), ThreadPoolExecutor(1) as threads:
        running = threads.submit(post, address)
        until(lambda: get(address, "/health")[1]["queue"]["running"] == 1)
        process.send_signal(signal.SIGTERM)
        status, headers, error = running.result()
        assert (status, headers["retry-after"], error["details"]["reason"]) == (503, "5", "SHUTTING_DOWN")
        assert error["details"]["retryable"] is True
        assert process.wait(LIMIT) == 0
    logged = [json.loads(line) for line in log_file.read_text().splitlines()]
    assert [line for line in logged if line["level"] == "error"] == []
    assert scripts_of(store) == [*before, "cancelled"]


def test_the_end_closes_event_streams_without_an_error_in_the_log(store: Path, tmp_path: Path) -> None:
    log_file = tmp_path / "winnow.log"
    opening = {"name": "initialize", "protocolVersion": "2025-06-18", "capabilities": {}}
    params = {**opening, "clientInfo": {"name": "x", "version": "1"}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    with served(store, WINNOW_LOG_FILE=str(log_file)) as (process, address):
        with httpx2.Client(base_url=f"http://{address}", headers=headers, timeout=LIMIT) as client:
            begun = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
            session = {"mcp-session-id": begun.headers["mcp-session-id"]}
            with client.stream("GET", "/mcp", headers=session) as events:
                assert events.status_code == 200
                process.send_signal(signal.SIGTERM)
                assert [line for line in events.iter_lines() if line.startswith("data")] == []
        assert process.wait(LIMIT) == 0
    logged = [json.loads(line) for line in log_file.read_text().splitlines()]
    assert [line for line in logged if line["level"] in ("error", "critical")] == []


def frame(**message: Any) -> bytes:
    """A message in the frame of LSP."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"content-length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.walls
def test_a_server_with_lsp_framing_answers_the_script_that_runs_and_refuses_what_comes(store: Path) -> None:
    command = [WINNOW, "serve", "--store", store, "--project", "handbook", "--lsp"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with start_process(command, env={**os.environ, **ALONE}, **pipes) as process:

        def send(id: int, code: str) -> None:
            tool = {"tool": "execute_code", "input": {"code": code, "timeout": 60}}
            process.stdin.write(frame(id=id, method="mcp.tool.invoke", params=tool))
            process.stdin.flush()

        def receive() -> dict[str, Any]:
            length = int(process.stdout.readline().partition(b":")[2])
            while process.stdout.readline().strip():
                pass
            return dict(json.loads(process.stdout.read(length)))

        send(1, "return 1")
        assert receive()["id"] == 1
        send(2, SCRIPT)
        send(3, "return 3")  # on the second worker: the line before it has been read
        assert receive()["id"] == 3
        process.send_signal(signal.SIGTERM)
        answers = []
        while not any("error" in answer for answer in answers):
            send(len(answers) + 10, "return 1")
            answers.append(receive())
        assert "SHUTTING_DOWN" in json.dumps(next(answer for answer in answers if "error" in answer))
        while 2 not in [answer["id"] for answer in answers]:
            answers.append(receive())
        assert str(RESULT) in json.dumps(next(answer for answer in answers if answer["id"] == 2))
        assert process.wait(LIMIT) == 0
