"""``winnow scan``, ``winnow documents`` and ``winnow read`` as people use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.patience import LIMIT
from tests.plain_store import index_by_words
from winnow.server.commands.corpus import documents, read, scan
from winnow.server.text.framing import NOTICE
from winnow.server.text.sizes import count_of

PAGES = {
    "guide/one.md": "---\ntitle: One\nstage: beta\n---\n\nThe lantern burns oil. A lantern is lit.\n",
    "guide/two.md": "---\ntitle: Two\nstage: alpha\n---\n\nEach lantern has a wick: --trim it.\n",
    "notes.md": "# Notes\n\nNo light here but one Lantern.\n",
}
WINNOW = Path(sys.executable).with_name("winnow")
COMMANDS = {"scan": scan.app, "documents": documents.app, "read": read.app}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return index_by_words(folder, tmp_path_factory.mktemp("index") / "store").store


@pytest.fixture
def run(store: Path) -> Callable[..., Result]:
    def winnow(command: str, *arguments: str) -> Result:
        return CliRunner().invoke(COMMANDS[command], ["--store", str(store), *arguments])

    return winnow


def _payload(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("options", "matches"),
    [
        ((), 3),
        (("--ignore-case",), 4),
        (("--path", "guide/*"), 3),
        (("--where", "stage=beta"), 2),
        (("--where", "stage=BETA", "--where", "stage=alpha"), 3),
        (("--where", "stage=", "--ignore-case"), 1),
    ],
)
def test_a_scan_counts_and_lists_within_a_path_and_a_field(
    run: Callable[..., Result], options: tuple[str, ...], matches: int
) -> None:
    assert run("scan", "lantern", "--count", *options).stdout.startswith(
        f"{count_of(matches, 'match', 'matches')} in "
    )
    payload = _payload(run("scan", "lantern", "--json", *options))
    assert (payload["total"]["matches"], payload["count"], payload["complete"]) == (matches, matches, True)
    grouped = _payload(run("scan", "lantern", "--group-by", "file", "--json", *options))
    assert sum(row["matches"] for row in grouped["results"]) == matches


@pytest.mark.parametrize("command", [("scan", "lantern"), ("read", "One")])
def test_a_person_at_a_terminal_is_not_told_what_models_are(command: tuple[str, ...], store: Path) -> None:
    assert NOTICE in _run_at_a_pipe(store, command)
    shown = _run_at_a_terminal(store, command)
    assert ("lantern" in shown, NOTICE in shown) == (True, False)


def _run_at_a_pipe(store: Path, command: tuple[str, ...]) -> str:
    arguments = [WINNOW, *command, "--store", str(store)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=LIMIT, check=True).stdout


def _run_at_a_terminal(store: Path, command: tuple[str, ...]) -> str:
    ours, theirs = os.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        run = subprocess.Popen([WINNOW, *command, "--store", str(store)], stdout=theirs, stderr=subprocess.DEVNULL)
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # Linux: the other end is closed
            while part := terminal.read(65_536):
                shown += part
        assert run.wait(LIMIT) == 0
    return shown.decode()


def test_a_pattern_that_begins_with_a_dash_stands_behind_two(run: Callable[..., Result]) -> None:
    assert _payload(run("scan", "--json", "--", "--trim"))["total"]["matches"] == 1
    assert "write -- before one that begins with -" in " ".join(run("scan", "--help").stdout.split())


def test_documents_are_listed_by_the_front_matter_that_they_have_or_have_not(run: Callable[..., Result]) -> None:
    for options, files in (
        ((), list(PAGES)),
        (("--where", "stage=beta"), ["guide/one.md"]),
        (
            (
                "--where",
                "stage=",
            ),
            ["notes.md"],
        ),
        (("guide/*", "--sort", "-title"), ["guide/two.md", "guide/one.md"]),
    ):
        payload = _payload(run("documents", "--json", *options))
        assert [row["file"] for row in payload["results"]] == files
        shown = run("documents", *options).stdout
        assert [name for name in PAGES if name in shown] == sorted(files)


def test_pages_of_both_lists_join_to_the_whole(run: Callable[..., Result]) -> None:
    for command in (("scan", "(?i)lantern"), ("documents",)):
        whole, rows, cursor = _payload(run(*command, "--json"))["results"], [], ""
        while cursor is not None:
            page = _payload(run(*command, "--json", "--limit", "1", *(("--cursor", cursor) if cursor else ())))
            rows, cursor = rows + page["results"], page["next_cursor"]
        assert rows == whole


def test_a_document_is_read_by_path_and_title_to_its_end(run: Callable[..., Result]) -> None:
    for name in ("guide/one.md", "One"):
        text, start = "", 0
        while start is not None:
            piece = _payload(run("read", name, "--max-tokens", "8", "--start", str(start), "--json"))
            text, start = text + piece["text"], piece["next"]
        assert text == PAGES["guide/one.md"]
    assert run("read", "guide/one.md", "--all").stdout == PAGES["guide/one.md"] + "\n"
    whole = _payload(run("read", "guide/one.md", "--all", "--json"))
    assert (whole["text"], whole["start"], whole["next"]) == (PAGES["guide/one.md"], 0, None)
    shown = run("read", "guide/one.md").stdout
    assert [line for line in PAGES["guide/one.md"].splitlines() if f" > {line}" not in shown.splitlines()] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("scan", "("), "missing )"),
        (("scan", "lantern", "--where", "stage"), "write FIELD=VALUE"),
        (("scan", "lantern", "--group-by", "stages"), "document, folder, section, match"),
        (("documents", "--limit", "5000"), "limit: input should be less than or equal to 1000"),
        (("read", "one.md"), "nearest: 'guide/one.md'"),
        (
            ("documents", "--sort", "name"),
            "sort: path, title, created, updated or tokens; - before it: descending (got",
        ),
        (("read", "guide/one.md", "--start", "9999"), "beyond the document's"),
    ],
)
def test_a_wrong_argument_is_a_usage_error_that_says_what_to_write(
    run: Callable[..., Result], arguments: tuple[str, ...], said: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert said in json.loads(run(*arguments, "--json").stdout)["error"]["message"]
