"""Traces reach a collector over OTLP, from the server and its engine, and hold no text of a query."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.doors import open_door
from tests.flow.test_stdio import MODERN, WINNOW, serving
from tests.patience import LIMIT
from winnow.server.commands.entry.app import open_application
from winnow.server.runtime.reports.traces import set_up_traces
from winnow.server.settings.loading import load_settings

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CANARY = "canary" + "5c2e11"


def test_without_a_collector_nothing_is_imported_and_spans_do_nothing() -> None:
    program = (
        "import sys\n"
        "from winnow.server.runtime.reports.traces import span, set_up_traces, trace_context\n"
        "from winnow.server.settings.settings import Settings\n"
        "set_up_traces(Settings(), 'x')\n"
        "with span('one', tool='x'):\n    assert trace_context() == {}\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A receiver of OTLP over HTTP: its address, and the bodies that it got."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, ThreadPoolExecutor(1) as threads:
        threads.submit(server.serve_forever, 0.05)
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", bodies
        finally:
            server.shutdown()


def spans_of(bodies: list[bytes]) -> list[tuple[str, Any]]:
    """The spans in these bodies, each with the name of its service."""
    messages = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    found = []
    for body in bodies:
        for part in messages.ExportTraceServiceRequest.FromString(body).resource_spans:
            (service,) = (
                each.value.string_value for each in part.resource.attributes if each.key == "service.name"
            )
            found += [(service, each) for scope in part.scope_spans for each in scope.spans]
    return found


def test_a_call_continues_the_trace_of_its_client_through_the_engine(store: Path) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otlp is not installed")
    meta = {**MODERN["_meta"], **context(TRACE)}
    environment = {"WINNOW_DAEMON": "on", "WINNOW_EMBEDDING": "off", "WINNOW_EXECUTE_CODE": "off"}
    with collector() as (address, bodies):
        with serving(store, WINNOW_OTLP_URL=address, **environment) as pipe:
            arguments = {"name": "kb_search", "arguments": {"query": f"backups {CANARY}"}}
            pipe.send(id=1, method="tools/call", params={**arguments, "_meta": meta})
            assert "result" in pipe.answer(1)
            failing = {"name": "kb_read_excerpt", "arguments": {"passage_id": CANARY}}
            pipe.send(id=2, method="tools/call", params={**failing, "_meta": MODERN["_meta"]})
            assert "result" in pipe.answer(2)
            assert pipe.stop(signal.SIGTERM) == 0
        # It waits for the end of the engine, which sends its spans before.
        subprocess.run([WINNOW, "engine", "stop", "--store", store], check=True, capture_output=True)
    spans = spans_of(bodies)
    ours = {each.name: (service, each) for service, each in spans if each.trace_id.hex() == TRACE}
    path = ["request", "call", "engine", "operation"]
    assert [ours[name][0] for name in path] == ["winnow"] * 3 + ["winnow-engine"]
    parents = [ours[name][1].parent_span_id.hex() for name in path]
    assert parents == [PARENT, *(ours[name][1].span_id.hex() for name in path[:-1])]
    assert {"sparse", "fuse"} <= ours.keys()
    assert CANARY.encode() not in b"".join(bodies)
    failed = [each for _, each in spans if each.name == "operation" and each.trace_id.hex() != TRACE]
    errors = [attribute.value.string_value for each in failed for attribute in each.attributes]
    assert "NOT_FOUND" in errors


@pytest.mark.anyio
async def test_requests_of_the_facade_continue_the_traces_of_their_clients(store: Path) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otlp is not installed")
    asked, framed = f"{TRACE[:-1]}1", f"{TRACE[:-1]}2"
    with collector() as (address, bodies):
        settings = load_settings(
            store=store, project="handbook", embedding="off", execute_code="off", otlp_url=address
        )
        set_up_traces(settings, "winnow")
        async with open_application(settings, wait_for_model=False) as application:
            async with open_door(application, "facade", headers=context(asked)) as door:
                assert (await door.call("kb.search", {"query": CANARY})).reason == ""
            async with open_door(application, "lsp") as door:
                called = {"tool": "kb.search", "input": {"query": CANARY}, "_meta": context(framed)}
                assert (await door.ask("mcp.tool.invoke", called))["result"]["ok"]
    for trace, name in ((asked, "POST /mcp/tool/{name}"), (framed, "mcp.tool.invoke")):
        spans = {each.name: each for _, each in spans_of(bodies) if each.trace_id.hex() == trace}
        assert spans["request"].parent_span_id.hex() == PARENT
        assert {each.value.string_value for each in spans["request"].attributes} == {name}
        assert spans["call"].parent_span_id == spans["request"].span_id
    assert CANARY.encode() not in b"".join(bodies)


def context(trace: str) -> dict[str, str]:
    """The context of a client's span in this trace."""
    return {"traceparent": f"00-{trace}-{PARENT}-01"}


def test_a_context_that_is_none_begins_a_trace_of_its_own_and_a_collector_that_is_away_harms_nothing() -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otlp is not installed")
    program = (
        "from winnow.server.runtime.reports.traces import continued, set_up_traces, shut_down_traces\n"
        "from winnow.server.runtime.reports.traces import span, trace_context\n"
        "from winnow.server.settings.settings import Settings\n"
        "set_up_traces(Settings(otlp_url='http://127.0.0.1:9'), 'x')\n"
        "odd_ones = None, 5, [], {'traceparent': 5}, {'traceparent': 'x' * 9999}, {'traceparent': '00-zz-1-01'}\n"
        "for odd in odd_ones:\n"
        "    with continued(odd), span('one'):\n"
        "        assert trace_context()['traceparent'].startswith('00-')\n"
        "shut_down_traces()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=LIMIT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
