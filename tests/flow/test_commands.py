"""The command line as people and scripts use it."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.patience import LIMIT
from winnow.server.commands.entry.cli import COMMANDS, main

WINNOW = Path(sys.executable).with_name("winnow")
_CUT = re.compile(r"^  [a-z]+ .*\.\.\.$")  # a summary that was cut
_EXAMPLE = re.compile(r"    (winnow |WINNOW_\w+=\S+ winnow |echo .* \| winnow |neo4j-admin )(?!.*\| winnow .*\|)")


def winnow(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [WINNOW, *arguments], input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def outcome_of(store: Path, code: str, *options: str) -> tuple[int, dict[str, Any]]:
    run = winnow("exec", "-", "--json", "--store", str(store), "--project", "handbook", *options, stdin=code)
    return run.returncode, json.loads(run.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    run = winnow(command, "--help")
    assert (run.returncode, run.stderr) == (0, "")
    assert f"winnow {command}" in run.stdout


def subcommands() -> list[tuple[str, ...]]:
    """Every subcommand of the command line, as its words."""
    found = []
    for name, (module, _) in COMMANDS.items():
        group = typer.main.get_command(importlib.import_module(f"winnow.server.commands.{module}").app)
        found += [(name, *path) for path in paths_below(group)]
    return found


def paths_below(group: Any) -> Iterator[tuple[str, ...]]:
    for name, command in getattr(group, "commands", {}).items():
        yield (name,)
        yield from ((name, *path) for path in paths_below(command))


def test_every_subcommand_explains_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in subcommands():
        monkeypatch.setattr(sys, "argv", ["winnow", *path, "--help"])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert (path, ended.value.code, shown.err) == (path, 0, "")
        assert " ".join(("winnow", *path)) in shown.out
    assert {("key", "remove"), ("project", "create"), ("prompt", "check")} <= set(subcommands())


def test_help_fits_eighty_columns_and_has_an_example_on_each_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path in [(), *((name,) for name in COMMANDS), *subcommands()]:
        monkeypatch.setattr(sys, "argv", ["winnow", *path, "--help"])
        with pytest.raises(SystemExit):
            main()
        lines = capsys.readouterr().out.splitlines()
        assert (path, [line for line in lines if len(line) > 80 or _CUT.search(line)]) == (path, [])
        shown = "\n".join(lines).partition("  Examples:\n")[2].partition("\n\n")[0]
        examples = shown.replace("\\\n", "").splitlines()
        assert (path, bool(examples)) == (path, path != ())
        assert (path, [each for each in examples if not _EXAMPLE.match(each)]) == (path, [])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(
    "arguments", [(), ("--help",), ("search", "port", "--json"), ("search", "--help"), ("doctor",), ("config",)]
)
def test_an_output_that_cannot_be_written_is_one_line_and_a_failure(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [WINNOW, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False
        )
    lines = [line for line in run.stderr.splitlines() if "output could not be written" in line]
    assert (run.returncode, len(lines), "Traceback" in run.stderr) == (1, 1, False)


def test_no_command_and_an_unknown_one_show_the_usage() -> None:
    assert winnow().returncode == 2
    unknown = winnow("serch")
    assert (unknown.returncode, "winnow: no command 'serch'" in unknown.stderr) == (2, True)
    assert winnow("--help").returncode == 0


@pytest.mark.parametrize(
    ("said", "meant"),
    [("serch x", "search"), ("index docs", "ingest"), ("keys", "key"), ("sources rm x", "sources remove")],
)
def test_a_near_word_is_answered_with_the_command_that_was_meant(
    said: str, meant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["winnow", *said.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, f"did you mean: winnow {meant}\n" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("code", "options", "exit_code", "status"),
    [
        ("return 1 + 1", (), 0, "ok"),
        ("1 / 0", (), 1, "error"),
        ('import os\nprint(os.listdir("/"))', (), 1, "rejected"),
        ("while True: pass", ("--timeout", "1"), 3, "timeout"),
        ("'a' * 10**10", (), 3, "memory"),
        ("print('x' * 10**8)", (), 3, "limit"),
    ],
)
def test_exec_prints_exactly_the_outcome_and_its_exit_code_tells_the_verdict(
    store: Path, code: str, options: tuple[str, ...], exit_code: int, status: str
) -> None:
    returned, outcome = outcome_of(store, code, *options)
    assert (returned, outcome["status"]) == (exit_code, status)
    assert set(outcome) == {"status", "result", "stdout", "error", "usage", "walls"}
    assert set(outcome["usage"]) == {
        "wall_ms",
        "cpu_ms",
        "memory_peak_bytes",
        "sdk_calls",
        "rows",
        "result_tokens",
        "tokens_kept_out",
    }
    if outcome["error"]:
        stated = {"max"} if status == "limit" else set()
        assert set(outcome["error"]) == {"type", "message", "line", "column", "source_line", "hint", *stated}


def test_a_refused_script_is_told_its_line_and_what_to_write_instead(store: Path) -> None:
    _, outcome = outcome_of(store, 'x = 1\nimport os\nprint(os.listdir("/"))')
    assert (outcome["error"]["line"], outcome["error"]["source_line"]) == (2, "import os")
    assert outcome["error"]["hint"]


def test_exec_searches_the_project_it_is_given(store: Path) -> None:
    code = "return [row.file for row in semantic_search('incident commander', top_k=1)]"
    returned, outcome = outcome_of(store, code)
    assert (returned, outcome["result"]) == (0, ["guide/incidents.md"])


def test_exec_with_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    run = winnow("exec", str(tmp_path / "none.py"), "--store", str(tmp_path))
    assert (run.returncode, "cannot read" in run.stderr) == (2, True)


def test_search_prints_the_answer_and_its_json_is_the_payload(store: Path) -> None:
    options = ("--store", str(store), "--project", "handbook", "--top-k", "1")
    shown = winnow("search", "late payment", *options)
    assert (shown.returncode, "two percent" in shown.stdout) == (0, True)
    payload = json.loads(winnow("search", "late payment", *options, "--json").stdout)
    assert payload["results"][0]["metadata"]["file"] == "guide/billing.md"


@pytest.mark.parametrize("command", [("search", "late payment"), ("scan", "payment"), ("cite", "late payment")])
def test_a_command_for_a_project_without_documents_names_those_of_the_store(
    store: Path, command: tuple[str, str]
) -> None:
    run = winnow(*command, "--store", str(store), "--project", "nothing", "--json")
    error = json.loads(run.stdout)["error"]
    assert (run.returncode, error["details"]["reason"]) == (2, "INVALID_PROJECT")
    assert "projects of this store that have some: handbook" in error["message"]
    assert "--project handbook" in error["message"]


def test_config_shows_every_setting_with_its_source() -> None:
    rows = json.loads(winnow("config", "--json").stdout)
    assert rows["project"] == {
        "value": "default",
        "source": "default",
        "help": "project to search; where only `projects` is set, the first of them",
        "ignored": [],
    }
    assert rows["store"]["source"] == "WINNOW_STORE"


def test_quote_prints_what_answers_and_where_it_stands(store: Path) -> None:
    asked = ("how long are encrypted backups kept", "--store", str(store), "--project", "handbook")
    told = winnow("quote", *asked)
    assert told.returncode == 0, told.stderr
    assert "kept for ninety days." in told.stdout
    assert "Backups handbook" in told.stdout
    assert "(confidence 0." in told.stdout.splitlines()[0]
    payload = json.loads(winnow("quote", *asked, "--quotes", "1", "--json").stdout)
    assert [row["title"].split(" > ")[0] for row in payload["quotes"]] == ["Backups handbook"]
    assert (payload["verdict"] == "not_found", payload["missing_terms"]) == (False, ["long"])
