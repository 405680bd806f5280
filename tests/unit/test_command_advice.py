"""Commands in messages are complete: they name the store and the project that the user named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from winnow.server.commands.terminal.advice import complete_commands

WINNOW = Path(sys.executable).with_name("winnow")
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
