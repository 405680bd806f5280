"""Tool packs of an operator for tests of servers: one of each kind, and one for each way to fail."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HAS_WALLS = sys.platform.startswith("linux")  # other systems run no programs of packs, and offer kind http alone
_READ = "import json, sys, time\ngiven = json.loads(sys.stdin.readline())['input']\n"
_NODE = """\
const given = JSON.parse(require('fs').readFileSync(0)).input;
console.log(JSON.stringify({ok: true, data: {answer: given.text.length}}));
"""
_ANSWER = {"type": "object", "properties": {"answer": {}}, "required": ["answer"]}


def _program(id: str, script: str, **changes: Any) -> dict[str, Any]:
    return {"id": id, "execution": {"kind": "python", "script": f"./{id}.py"}, "script": _READ + script, **changes}


_PROGRAMS: tuple[dict[str, Any], ...] = (
    {"id": "text.echo", "execution": {"kind": "cli", "cmd": ["echo", '{"answer": {{ input.text | tojson }}}']}},
    _program(
        "text.upper",
        "print(json.dumps({'answer': given['text'].upper()}))",
        hints={"readOnly": False},
        deterministic=True,
    ),
    _program("text.crash", "sys.exit(3)"),
    _program("text.late", "time.sleep(60)", timeoutMs=300),
    _program("text.sorry", "print(json.dumps({'ok': False, 'errors': [{'message': 'no such word'}]}))"),
)
_NODE_PROGRAM = {"id": "text.length", "execution": {"kind": "node", "node": "./text.length.js"}, "script": _NODE}

TEXT: Mapping[str, Any] = {"text": "héllo $(id)"}
# A call of each pack that answers.
CALLS: Mapping[str, Mapping[str, Any]] = {
    "site.ask": TEXT,
    **({"text.echo": TEXT, "text.upper": TEXT} if HAS_WALLS else {}),
    **({"text.length": TEXT} if HAS_WALLS and shutil.which("node") else {}),
}
# Pack -> the reason of its failure.
FAILURES: Mapping[str, str] = {
    "site.away": "SOURCE_UNAVAILABLE",
    "site.lie": "SOURCE_UNAVAILABLE",
    "site.flood": "OUTPUT_BYTES",
    **({"text.crash": "SOURCE_UNAVAILABLE", "text.sorry": "SOURCE_UNAVAILABLE"} if HAS_WALLS else {}),
    **({"text.late": "TIMEOUT"} if HAS_WALLS else {}),
}


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"answer": self.path}).encode()
        self.send_response(503 if self.path == "/away" else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


@contextmanager
def operator_packs() -> Iterator[Path]:
    """A folder with the packs, which the user of the walls can read, and the address that two of them ask."""
    folder = Path(tempfile.mkdtemp(prefix="winnow-packs-"))
    folder.chmod(0o755)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as site:
        threading.Thread(target=site.serve_forever, args=(0.05,), daemon=True).start()
        try:
            for pack in _packs(f"http://127.0.0.1:{site.server_address[1]}"):
                _write(folder, pack)
            yield folder
        finally:
            site.shutdown()
            shutil.rmtree(folder)


def _packs(site: str) -> Iterator[dict[str, Any]]:
    for id, path, stated in (
        ("site.ask", "/?q={{ input.text }}", {}),
        ("site.away", "/away", {}),
        ("site.lie", "/", {"outputSchema": {"type": "array"}}),
        ("site.flood", "/", {"limits": {"maxOutputBytes": 5}}),
    ):
        execution = {"kind": "http", "method": "GET", "url": site + path}
        yield {"id": id, "execution": execution, "caps": {"network": ["any"]}, **stated}
    yield from _PROGRAMS if HAS_WALLS else ()
    if "text.length" in CALLS:
        yield _NODE_PROGRAM


def _write(folder: Path, pack: dict[str, Any]) -> None:
    id, script = pack["id"], pack.get("script")
    stated = {name: value for name, value in pack.items() if name != "script"}
    if script is not None:
        program = folder / f"{id}.{'js' if pack['execution']['kind'] == 'node' else 'py'}"
        program.write_text(script)
        program.chmod(0o644)
    usual = {
        "version": "1.0.0",
        "description": "For a test.",
        "hints": {"readOnly": True},
        "timeoutMs": 60_000,
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": 100}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "outputSchema": _ANSWER,
    }
    file = folder / f"{id}.tool.yaml"
    file.write_text(json.dumps(usual | stated))
    file.chmod(0o644)
