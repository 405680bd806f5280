"""Wrong words on the command line: the error names what was meant, in words and not as a pattern."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.test_stdio import WINNOW
from tests.patience import LIMIT, start_process


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one note, in the project default."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "notes").mkdir()
    (folder / "notes" / "pumps.md").write_text("# Pumps\n\nThe pump runs at night.\n")
    assert _run("ingest", str(folder / "notes"), "--store", str(folder / "store")).returncode == 0
    return folder / "store"


def _variables() -> dict[str, str]:
    return {**os.environ, "WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off"}


def _run(*words: str, script: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [WINNOW, *words],
        input=script,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        env=_variables(),
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("exec", "-", "--timeout", "0"), "Invalid value for '--timeout'"),
        (("engine", "show"), "No such command 'show'; there are status, stop"),
        (("key", "ad"), "No such command 'ad'; did you mean 'add'?"),
        (("ingest", ".", "--project", "Docs!"), "'Docs!' cannot be the name of a project: a name has at most 64"),
    ],
)
def test_an_error_of_usage_says_what_may_be_written(words: tuple[str, ...], told: str) -> None:
    done = _run(*words)
    assert (done.returncode, told in done.stderr) == (2, True)


@pytest.mark.parametrize("command", [("exec", "-"), ("search", "pump")])
def test_a_project_without_documents_is_refused_before_anything_runs(
    command: tuple[str, ...], store: Path
) -> None:
    done = _run(*command, "--project", "nope", "--store", str(store), script="return 1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "project 'nope' has no documents; projects of this store that have some: default." in done.stderr


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stderr is not None
    yield from process.stderr


def test_a_server_of_a_project_without_documents_says_so_as_it_starts(store: Path) -> None:
    command = [WINNOW, "serve", "--project", "nope", "--store", str(store)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with start_process(command, **pipes, text=True, env=_variables()) as process:
        logged = (json.loads(line) for line in _lines(process))
        said = next(line for line in logged if line["message"] == "the project has no documents")
    assert said["why"].startswith(
        "project 'nope' has no documents; projects of this store that have some: default."
    )


@pytest.mark.walls
@pytest.mark.parametrize(
    ("script", "has_note"), [("", True), ("x = 1", True), ("return 0", False), ("print('done')", False)]
)
def test_a_script_that_returns_and_prints_nothing_is_told_how_to_end(
    script: str, has_note: bool, store: Path
) -> None:
    done = _run("exec", "-", "--store", str(store), script=script)
    assert (done.returncode, "end it with: return VALUE" in done.stderr) == (0, has_note)


def test_a_backup_reports_the_size_of_its_file(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.backup"
    told = json.loads(_run("backup", str(file), "--store", str(store), "--json").stdout)
    assert told["bytes"] == file.stat().st_size
