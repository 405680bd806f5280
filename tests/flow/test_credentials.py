"""A password in the address of a server reaches no model, no terminal and no log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import write_corpus
from winnow.server.commands.entry.cli import COMMANDS

CANARY = "pA55-canary"
WINNOW = Path(sys.executable).parent / "winnow"
# Nothing listens on these ports.
ADDRESSES = {
    "WINNOW_QDRANT_URL": f"http://me:{CANARY}@127.0.0.1:9/?api_key={CANARY}",
    "WINNOW_NEO4J_URL": f"bolt://me:{CANARY}@127.0.0.1:9",
    "WINNOW_EMBEDDER": f"openai:http://me:{CANARY}@127.0.0.1:9/v1?api_key={CANARY}#model",
}
# Every command with arguments that make it contact the servers, except those that measure the machine.
ARGUMENTS = {
    "demo": None,
    "bench": None,
    "ingest": ["{notes}"],
    "zotero": ["ingest", "--data-folder", "{notes}", "--no-api"],
    "watch": ["{notes}", "--once"],
    "sources": ["list"],
    "project": ["list"],
    "claims": ["list"],
    "job": ["list"],
    "prompt": ["list"],
    "pack": ["list"],
    "reindex": [],
    "search": ["backup"],
    "why": ["backup"],
    "scan": ["backup"],
    "documents": [],
    "read": ["backups.md"],
    "quote": ["how are backups encrypted"],
    "open": ["backups.md"],
    "cite": ["how are backups encrypted"],
    "exec": ["{script}"],
    "serve": [],
    "console": None,
    "key": ["list"],
    "engine": ["status"],
    "stats": [],
    "backup": ["{notes}/winnow.backup"],
    "restore": None,
    "cache": ["clear"],
    "migrate": ["--to", f"http://me:{CANARY}@127.0.0.1:9/?api_key={CANARY}"],
    "setup": ["cursor"],
    "doctor": [],
    "model": ["show"],
    "graph": ["stats"],
    "audit": [],
    "eval": ["{notes}"],
    "config": [],
    "completion": ["bash"],
    "man": [],
}


def test_every_command_is_tried() -> None:
    assert sorted(ARGUMENTS) == sorted(COMMANDS)


# All addresses at once for each command, and one by one for commands that contact every backend.
CASES = [
    *((name, tuple(ADDRESSES)) for name, arguments in ARGUMENTS.items() if arguments is not None),
    *((name, (variable,)) for name in ("search", "doctor") for variable in ADDRESSES),
]


@pytest.mark.parametrize(("command", "variables"), CASES)
def test_no_command_shows_the_password_of_an_address(
    tmp_path: Path, indexed: Path, command: str, variables: tuple[str, ...]
) -> None:
    script = tmp_path / "script.py"
    script.write_text("return semantic_search('backup')")
    places = {"notes": str(indexed / "notes"), "script": str(script)}
    arguments = [each.format(**places) for each in ARGUMENTS[command] or []]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "WINNOW_MODELS": os.environ["WINNOW_MODELS"],  # or each command would convert the model
        "WINNOW_STORE": str(indexed / "store"),
        "WINNOW_DAEMON": "off",
        **{variable: ADDRESSES[variable] for variable in variables},
    }
    request = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        '"clientInfo":{"name":"t","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"semantic_search","arguments":'
        '{"query":"backup"}}}\n'
    )
    ran = subprocess.run(
        [WINNOW, command, *arguments],
        input=request if command == "serve" else "",
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert CANARY not in ran.stdout + ran.stderr
    logs = [path for path in (indexed / "store").rglob("*.log*") if path.is_file()]
    assert [path for path in logs if CANARY in path.read_text("utf-8", "replace")] == []


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes and a store of them, made without any server."""
    folder = tmp_path_factory.mktemp("indexed")
    write_corpus(folder / "notes")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "WINNOW_STORE": str(folder / "store"),
        "WINNOW_DAEMON": "off",
        "WINNOW_EMBEDDING": "off",
    }
    subprocess.run([WINNOW, "ingest", folder / "notes"], env=environment, check=True, capture_output=True)
    return folder
