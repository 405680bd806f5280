"""Commands in messages are complete: they name the store and the project that the user named."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import start_process
from winnow.server.commands.terminal.advice import complete_commands

WINNOW = Path(sys.executable).with_name("winnow")
ALONE = {**os.environ, "WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off"}
GIVEN = {"--store": "/srv/my notes", "--project": "team"}
STORE = "--store '/srv/my notes'"


@pytest.mark.parametrize(
    ("message", "completed"),
    [
        ("add one: winnow key add NAME", f"add one: winnow key add {STORE} NAME"),
        ("keys (winnow key list): a", f"keys (winnow key list {STORE}): a"),
        ("index some: winnow ingest PATH", f"index some: winnow ingest {STORE} --project team PATH"),
        ("run: winnow ingest PATH --project x", f"run: winnow ingest {STORE} PATH --project x"),
        (
            "run winnow engine stop, then winnow reindex",
            f"run winnow engine stop {STORE}, then winnow reindex {STORE}",
        ),
        ("run: winnow restore FILE --store x", "run: winnow restore FILE --store x"),
        ("see: winnow doctor", f"see: winnow doctor {STORE}"),
        ("run: winnow model install", "run: winnow model install"),
        ("it is not what winnow graph export writes", "it is not what winnow graph export writes"),
        ("run: winnow nothing", "run: winnow nothing"),
        ("  → winnow ingest --explain a.pdf", f"  → winnow ingest {STORE} --project team --explain a.pdf"),
    ],
)
def test_a_command_in_a_message_gets_what_it_takes_and_lacks(message: str, completed: str) -> None:
    assert complete_commands(message, GIVEN) == completed


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        (("key", "revoke", "no"), "winnow key list --store {store}"),
        (("project", "create", "p"), "winnow project show --store {store} p"),
        (("sources", "remove", "no"), "winnow sources list --store {store}"),
    ],
)
def test_an_error_names_the_store_in_its_commands(command: tuple[str, ...], advice: str, tmp_path: Path) -> None:
    store = tmp_path / "a store"
    subprocess.run([WINNOW, "project", "create", "p", "--store", store], check=True, capture_output=True)
    done = subprocess.run([WINNOW, *command, "--store", store], capture_output=True, text=True, check=False)
    assert (done.returncode != 0, advice.format(store=f"'{store}'") in done.stderr) == (True, True), done.stderr


def run_here(*words: str | Path, fails: bool = False) -> str:
    """All that the command prints."""
    done = subprocess.run([WINNOW, *words], capture_output=True, text=True, check=False, env=ALONE)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr


def test_the_report_of_an_ingest_names_the_store_in_its_commands(tmp_path: Path) -> None:
    """Of an emptied folder, whose documents stay until a command says otherwise; for people and for programs."""
    store, folder = tmp_path / "a store", tmp_path / "notes"
    folder.mkdir()
    (folder / "note.md").write_text("# A note\n\nText.\n")
    run_here("ingest", folder, "--store", store)
    (folder / "note.md").unlink()
    advice = f"winnow ingest --store '{store}' {folder} --allow-deletions"
    for flags in ((), ("--json",)):
        assert advice in run_here("ingest", folder, "--store", store, *flags)


def test_the_doctor_names_the_store_in_its_commands(tmp_path: Path) -> None:
    """Also in the words of an error, and for programs."""
    store = tmp_path / "a store"
    run_here("project", "create", "p", "--store", store)
    (store / "keys.json").write_text("damaged")
    found = json.loads(run_here("doctor", "--json", "--store", store, fails=True))["checks"]
    (keys,) = [check for check in found if check["check"] == "keys"]
    assert f"winnow restore --store '{store}' FILE --replace" in keys["detail"] + keys["advice"]
    (projects,) = [check for check in found if check["check"] == "projects"]
    assert projects["advice"] == f"index a folder: winnow ingest --store '{store}' PATH"


def test_the_log_of_a_server_names_its_store_in_commands(tmp_path: Path) -> None:
    """Although the store is given by a variable, which those who read the log seldom have."""
    store = tmp_path / "a store"
    run_here("project", "create", "p", "--store", store)
    run_here("key", "add", "laptop", "--store", store)
    run_here("key", "revoke", "laptop", "--store", store)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [WINNOW, "serve", "--http", address, "--project", "p"]
    with start_process(command, env={**ALONE, "WINNOW_STORE": str(store)}, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        lines: list[str] = []
        while len(lines) < 3:
            lines.append(json.loads(server.stderr.readline())["message"])
    assert [line.rpartition("; ")[2] for line in lines[1:]] == [
        f"add one: winnow key add --store '{store}' NAME",
        f"index some: winnow ingest --store '{store}' PATH --project p",
    ]
