"""Each command is started as users start it: a new interpreter, which imports what the command needs.

Other tests fork processes of winnow from one that has imported it (tests/starts).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.patience import LIMIT
from winnow.server.commands.entry.cli import COMMANDS

pytestmark = pytest.mark.real_starts
WINNOW = Path(sys.executable).with_name("winnow")
QUESTION = "what does a proxy forward"
# command -> arguments of a start that does its work, on a store with the handbook. A command that needs more than
# a store, or minutes, explains itself.
STARTS: dict[str, tuple[str, ...]] = {
    "audit": (),
    "backup": ("handbook.backup",),
    "cache": ("clear",),
    "cite": (QUESTION, "--project", "handbook"),
    "claims": ("list",),
    "completion": ("bash",),
    "config": (),
    "documents": ("--project", "handbook"),
    "doctor": (),
    "engine": ("status",),
    "exec": ("script.py", "--project", "handbook"),
    "graph": ("stats", "--project", "handbook"),
    "ingest": ("pages", "--project", "pages"),
    "job": ("list",),
    "key": ("list",),
    "man": (),
    "migrate": ("--to", "moved"),
    "model": ("show",),
    "open": ("guide/networking.md", "--quote", "A proxy forwards requests", "--project", "handbook"),
    "pack": ("list",),
    "project": ("list",),
    "prompt": ("list",),
    "quote": (QUESTION, "--project", "handbook"),
    "read": ("guide/networking.md", "--project", "handbook"),
    "reindex": ("--help",),
    "scan": ("proxy", "--project", "handbook"),
    "search": (QUESTION, "--project", "handbook"),
    "sources": ("list",),
    "stats": (),
    "why": (QUESTION, "--project", "handbook"),
    **dict.fromkeys(
        ("bench", "console", "demo", "eval", "restore", "serve", "setup", "watch", "zotero"), ("--help",)
    ),
}


def test_every_command_is_started() -> None:
    assert STARTS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", STARTS)
def test_a_command_starts(command: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_STORE", str(store))
    (tmp_path / "script.py").write_text("return 1 + 1\n", "utf-8")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "one.md").write_text("# Lanterns\n\nA lantern burns.\n", "utf-8")
    started = [WINNOW, command, *STARTS[command]]
    done = subprocess.run(started, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout


@pytest.mark.anyio
async def test_a_server_starts(store: Path) -> None:
    options = ["serve", "--store", str(store), "--project", "handbook"]
    server = StdioServerParameters(command=str(WINNOW), args=options, env=dict(os.environ))
    async with Client(server) as client:
        found = await client.call_tool("kb_search", {"query": QUESTION})
    assert "networking" in json.dumps(found.structured_content)
