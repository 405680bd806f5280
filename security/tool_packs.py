"""Tool packs made by hand, and calls of them, for the attacks of the family ``tool_packs``."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from winnow.server.errors import WinnowError
from winnow.server.tools.operator_packs.contract_violations import ContractViolations
from winnow.server.tools.operator_packs.offering import ToolRegistry
from winnow.server.tools.operator_packs.running import PackRunner

FOLDER = Path("packs")
_HEAD = 'import json, os, sys\ngiven = json.loads(sys.stdin.readline())["input"]["q"]\n'
_PACK = {
    "id": "attacked.tool",
    "version": "1.0.0",
    "description": "An attack tries this tool.",
    "timeoutMs": 20_000,
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
    "outputSchema": {},
    "execution": {"kind": "python", "script": "./tool.py"},
}


def write_pack(script: str = "", **changes: Any) -> Path:
    """Write a pack below the working folder; returns its folder. ``script`` finds the input as ``given``."""
    os.chmod(".", 0o755)  # a program of root's server is another user
    FOLDER.mkdir(mode=0o755, exist_ok=True)
    (FOLDER / "tool.py").write_text(_HEAD + script, "utf-8")
    (FOLDER / "attacked.tool.yaml").write_text(json.dumps({**_PACK, **changes}), "utf-8")
    return FOLDER


def read_packs() -> tuple[int, str]:
    """The number of packs of the folder that are offered, and the reasons why the others are not."""
    registry = _open_registry()
    return len(registry.packs), "; ".join(each.why for each in registry.left_out)


def call_pack(given: str = "") -> tuple[Any, str]:
    """The answer of the pack to this input, and the message of its error; one of them is empty.

    Raises ``RuntimeError`` where it is not offered: then the attack tried nothing.
    """
    registry = _open_registry()
    if not registry.packs:
        raise RuntimeError(str(registry.left_out))
    try:
        answer = asyncio.run(
            PackRunner(ContractViolations(Path.cwd())).call(registry.packs[0], {"q": given}, "attacker")
        )
    except WinnowError as error:
        return None, f"{error.reason}: {error.message}"
    return answer.data, ""


def _open_registry() -> ToolRegistry:
    registry = ToolRegistry([FOLDER.absolute()], (), ContractViolations(Path.cwd()))
    registry.refresh()
    return registry


@contextmanager
def serve(answer: Mapping[str, Any], *, redirects_to: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server on loopback; yields its origin, and the requests that it got, with their headers."""
    got: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append(f"{self.path}\n{self.headers}")
            body = json.dumps(answer).encode()
            self.send_response(302 if redirects_to else 200)
            if redirects_to:
                self.send_header("location", redirects_to)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", got
        finally:
            server.shutdown()
