"""Servers on loopback for the attacks on transports: the product's own, and unprotected ones.

Attacks send what a client can send: bytes over a socket, or lines over a pipe. The system chooses the ports.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from winnow import SEARCH_PATH
from winnow.security.surface import ALONE, winnow

ROUTES = ("/mcp", "/health", "/nowhere")
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MODERN = REVISIONS[-1]
COOKIE = "winnow-session"
_WINNOW = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from winnow.server.commands.entry.cli import main; main()"
)
_SECONDS = 50.0
_LOCAL = "host: localhost"
_STORE = ("--store", "store", "--project", "p")


def _environment() -> dict[str, str]:
    here = os.getcwd()
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), here)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, **homes, **ALONE, "WINNOW_EXECUTE_CODE": "off"}


def make_store(project: str = "p", text: str = "The canary sings at dawn.") -> None:
    """Make a store with one document, which mentions a canary, or add a project with one document."""
    Path(f"documents-{project}").mkdir()
    Path(f"documents-{project}/one.md").write_text(f"# Birds\n\n{text}\n", "utf-8")
    done = winnow("ingest", f"documents-{project}", "--store", "store", "--project", project)
    assert done.returncode == 0, done.stderr


def add_key(name: str, *options: str) -> str:
    """Add a key to the store, which then serves only clients with one; returns the key."""
    Path("store").mkdir(exist_ok=True)
    done = winnow("key", "add", name, "--store", "store", "--json", *options)
    assert done.returncode == 0, done.stdout
    return str(json.loads(done.stdout)["key"])


def bearer(key: str) -> str:
    """The header line that sends this key."""
    return f"authorization: Bearer {key}"


@contextmanager
def serve_product(host: str = "127.0.0.1", *options: str) -> Iterator[int]:
    """Run ``winnow serve --http`` on ``host``, with further options; yields its port."""
    with socket.socket() as free:
        free.bind((host, 0))
        port = int(free.getsockname()[1])
    Path("store").mkdir(exist_ok=True)
    served = ["serve", *_STORE, "--http", f"{host}:{port}", *options]
    command = [sys.executable, "-I", "-B", "-c", _WINNOW, SEARCH_PATH, *served]
    with subprocess.Popen(command, env=_environment(), stderr=subprocess.DEVNULL) as process:
        try:
            _wait(process, host, port)
            yield port
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], host: str, port: int) -> None:
    until = time.monotonic() + _SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection((host, port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"the server does not listen: {process.returncode}")


class _UnprotectedHandler(BaseHTTPRequestHandler):
    """Answers every request, whatever its headers are."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self.rfile.read(length)
        body = b'{"status":"ok"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


@contextmanager
def serve_unprotected() -> Iterator[int]:
    """Run a server that checks nothing and has no timeouts; yields its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _UnprotectedHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()


def breaches_unprotected(breached: Callable[[int], bool]) -> bool:
    """The result of ``breached(port)`` for a server that checks nothing."""
    with serve_unprotected() as port:
        return breached(port)


def breaches_product(breached: Callable[[int], bool]) -> bool:
    """The result of ``breached(port)`` for ``winnow serve --http``."""
    with serve_product() as port:
        return breached(port)


def request_head(path: str, *lines: str, method: str = "GET", version: str = "1.1") -> bytes:
    """The head of a request with exactly these header lines; the connection ends with the answer."""
    return "\r\n".join((f"{method} {path} HTTP/{version}", *lines, "connection: close", "", "")).encode("latin-1")


def send_raw(port: int, sent: bytes, host: str = "127.0.0.1") -> tuple[int, bytes]:
    """Send raw bytes; returns the status and the body of the answer, with status 0 for no answer."""
    with socket.create_connection((host, port), _SECONDS) as client:
        client.sendall(sent)
        received = b""
        while chunk := client.recv(65_536):
            received += chunk
    status = re.match(rb"HTTP/1\.[01] (\d+)", received)
    return int(status[1]) if status else 0, received.partition(b"\r\n\r\n")[2]


REFUSED = (400, 403, 421)


def is_served(port: int, *lines: str, host: str = "127.0.0.1", version: str = "1.1") -> bool:
    """Whether a request with these header lines is served on any route."""
    statuses = [send_raw(port, request_head(path, *lines, version=version), host)[0] for path in ROUTES]
    return any(status not in REFUSED for status in statuses)


def call_method(
    port: int,
    method: str,
    params: Mapping[str, Any],
    *lines: str,
    revision: str = MODERN,
    extensions: Sequence[str] = (),
) -> tuple[dict[str, Any], str]:
    """Send one request of the 2026 protocol; returns the answer and its cookie."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {name: {} for name in extensions}},
        "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "1"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}).encode()
    named = [f"mcp-name: {params[name]}" for name in ("name", "uri", "taskId") if name in params]
    sent = request_head(
        "/mcp",
        _LOCAL,
        "accept: application/json, text/event-stream",
        "content-type: application/json",
        f"mcp-protocol-version: {revision}",
        f"mcp-method: {method}",
        f"content-length: {len(body)}",
        *named,
        *lines,
        method="POST",
    )
    with socket.create_connection(("127.0.0.1", port), _SECONDS) as client:
        client.sendall(sent + body)
        received = b""
        while chunk := client.recv(65_536):
            received += chunk
    top, _, text = received.partition(b"\r\n\r\n")
    cookie = re.search(rb"set-cookie: ([^;\r]+)", top, re.IGNORECASE)
    body_match = re.search(rb"\{.*\}", text, re.DOTALL)
    return (json.loads(body_match[0]) if body_match else {}), (cookie[1].decode() if cookie else "")


def search_canary(port: int, *lines: str) -> tuple[dict[str, Any], str]:
    """Search for the canary; returns the answer and its cookie."""
    params = {"name": "kb_search", "arguments": {"query": "canary sings"}}
    response, cookie = call_method(port, "tools/call", params, *lines)
    return dict(response["result"]["structuredContent"]), cookie


def exchange_lines(sent: Sequence[bytes], *, program: str = "", seconds: float = _SECONDS) -> list[dict[str, Any]]:
    """Send lines to a server on a pipe, and return its answers. The server: ``winnow serve``, or a ``program``."""
    with serve_on_pipe(program) as process:
        output, _ = process.communicate(b"".join(line + b"\n" for line in sent), seconds)
    return [json.loads(line) for line in output.splitlines()]


@contextmanager
def serve_on_pipe(program: str = "", *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server on a pipe: ``winnow serve``, or a ``program`` without protection, with further ``options``."""
    Path("store").mkdir(exist_ok=True)
    command = [sys.executable, "-I", "-B", "-c", program or _WINNOW, SEARCH_PATH, "serve", *_STORE, *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=_environment(), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()
