"""``winnow setup`` in throw-away homes: with a real server, and real files of clients in four formats."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.flow.test_stdio import WINNOW
from tests.patience import LIMIT
from tests.pdf_files import PdfFile, build_pdf, paragraph
from winnow.server.commands.setup.applying import set_up
from winnow.server.commands.setup.changes import find_homes, plan_entry
from winnow.server.commands.setup.clients import CLIENTS
from winnow.server.commands.setup.diagnosis import examine_clients, finding_of
from winnow.server.commands.setup.first_run import offer_index
from winnow.server.commands.setup.handshake import Handshake
from winnow.server.commands.setup.launch import Launch
from winnow.server.commands.setup.machine import Machine, System
from winnow.server.commands.terminal.console_script import find_console_script
from winnow.server.commands.terminal.findings import Finding
from winnow.server.ingest.children import parser
from winnow.server.ingest.children.reader_pool import StartedChildren
from winnow.server.settings.settings import Settings

NOTE = "# Backups\n\nBackups are encrypted with age before they leave the house.\n"
# Files of clients, as their documentation has them, below the home folder.
FILES: Mapping[str, str] = {
    ".config/Claude/claude_desktop_config.json": '{\n  "mcpServers": {\n    "a": {"command": "npx"}\n  }\n}\n',
    ".config/zed/settings.json": '// Zed\n{\n  "theme": "One Dark", // dark\n  "context_servers": {},\n}\n',
    ".codex/config.toml": 'model = "o9"\n\n[mcp_servers.docs]\ncommand = "npx" # docs\n',
    ".config/goose/config.yaml": "# Goose\nextensions:\n  developer:\n    type: builtin\n",
    ".config/Code/User/mcp.json": '{"servers": {}}',
}
NAMES = ["claude-desktop", "vscode", "zed", "codex", "goose"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with five clients, whose server needs no engine and no model."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".config" / "winnow").mkdir()
    (tmp_path / ".config" / "winnow" / "winnow.toml").write_text('daemon = "off"\nembedding = "off"\n')
    return tmp_path


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a shell of this home, without a variable of this test run."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **more}


def winnow(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [WINNOW, *arguments],
        env=environment(home, **variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def setup(home: Path, *arguments: str, **variables: str) -> tuple[int, dict[str, Any]]:
    done = winnow(home, "setup", *arguments, "--json", **variables)
    return done.returncode, json.loads(done.stdout)


def contents(home: Path) -> dict[str, bytes]:
    """Every file of the clients, and what stands beside them."""
    folders = {(home / name).parent for name in FILES}
    return {str(path): path.read_bytes() for folder in folders for path in folder.iterdir()}


def test_setup_again_the_doctor_and_removal_on_a_machine_with_five_clients(home: Path) -> None:
    before = contents(home)
    code, first = setup(home, "--project", "notes")
    assert (code, [(row["client"], row["state"]) for row in first["clients"]]) == (
        0,
        [(name, "added") for name in NAMES],
    )
    command, store = str(find_console_script()), home / ".local" / "share" / "winnow"
    assert first["launch"] == {
        "command": command,
        "args": ["serve", "--store", str(store), "--project", "notes"],
        "env": {},
    }
    assert "kb_retrieve_evidence" in first["handshake"]["tools"]
    assert first["handshake"]["tokens"] > 1_000
    assert all(command in text.decode() for path, text in contents(home).items() if "backup" not in path)
    after = contents(home)
    code, second = setup(home, "--project", "notes")
    assert (code, {row["state"] for row in second["clients"]}, contents(home)) == (0, {"unchanged"}, after)
    code, examined = setup(home, "--doctor")
    handshakes = [check for check in examined["checks"] if check["check"] == "handshake"]
    assert (code, examined["ok"], [check["ok"] for check in handshakes]) == (0, True, [True] * len(NAMES))
    code, removed = setup(home, "--remove")
    assert (code, {row["state"] for row in removed["clients"]}, contents(home)) == (0, {"removed"}, before)


def test_what_setup_prints_names_each_file_its_copy_the_tools_and_what_to_do_next(home: Path) -> None:
    done = winnow(home, "setup", "zed", "codex")
    assert (done.returncode, "No documents are indexed in" in done.stderr) == (0, True)
    lines = done.stdout.splitlines()
    zed = home / ".config" / "zed" / "settings.json"
    assert lines[0] == f"Zed    added to {zed}"
    assert lines[2] == "Each file as it was is kept beside it, as *.winnow-backup-*"
    assert "The server starts as clients start it (" in done.stdout
    assert "  Codex  start a new session; /mcp shows the state" in lines
    assert lines[-1] == "Where one does not: winnow setup --doctor. To undo all of this: winnow setup --remove"


def test_print_shows_the_entry_and_writes_and_starts_nothing(home: Path) -> None:
    before = contents(home)
    done = winnow(home, "setup", "codex", "--print")
    assert (done.returncode, contents(home), (home / ".local").exists()) == (0, before, False)
    file = home / ".codex" / "config.toml"
    assert f'\n{file}:\n[mcp_servers.winnow]\ncommand = "{find_console_script()}"\n' in done.stdout
    assert done.stdout.endswith("Nothing was written, and nothing was started.\n")
    winnow(home, "setup", "codex")
    done = winnow(home, "setup", "codex", "--print", "--remove")
    assert done.stdout == f"Codex  would be removed from {file}\n"
    assert "[mcp_servers.winnow]" in file.read_text()


def test_print_shows_the_entry_for_a_file_that_has_to_be_changed_by_hand(home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.write_text("mcp_servers = {docs = {command = 'npx'}}\n")
    done = winnow(home, "setup", "codex", "--print")
    assert (done.returncode, "winnow setup --print shows the entry to put in by hand" in done.stdout) == (1, True)
    assert f"\n{file}:\n[mcp_servers.winnow]\n" in done.stdout


def test_nothing_that_setup_says_has_a_key_of_another_server(home: Path) -> None:
    keys = {"env": {"TOKEN": "s3cret"}}
    servers = {"a": {"command": "npx", **keys}, "winnow": {"command": "/old/winnow", **keys}}
    file = home / ".cursor" / "mcp.json"
    write(file, json.dumps({"mcpServers": servers}))
    said = [winnow(home, "setup", "cursor", *arguments) for arguments in (["--print"], ["--doctor"], [])]
    file.write_text(file.read_text().replace('s3cret"', 's3cret" "x"'))
    said.append(winnow(home, "setup", "cursor"))
    assert [done.returncode for done in said] == [0, 1, 0, 1]
    assert [done for done in said if "s3cret" in done.stdout + done.stderr] == []


@pytest.mark.parametrize("variables", [{"HOME": "here"}, {"HOME": "."}])
def test_a_home_without_an_absolute_path_is_refused(tmp_path: Path, variables: dict[str, str]) -> None:
    """Its files would be those of the working folder."""
    (tmp_path / "here" / ".cursor").mkdir(parents=True)
    (tmp_path / ".cursor").mkdir()
    done = winnow(tmp_path, "setup", "cursor", **variables)
    assert (done.returncode, "set HOME to its absolute path" in done.stderr) == (2, True)
    assert [each.name for each in tmp_path.rglob("*.json")] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has the home of another user by mistake")
def test_root_leaves_no_file_in_the_home_of_another_user(home: Path) -> None:
    before = contents(home)
    os.chown(home, 1000, 1000)
    done = winnow(home, "setup", "--project", "notes")
    assert (done.returncode, "belongs to another user; run setup as that user" in done.stderr) == (2, True)
    assert (contents(home), (home / ".local").exists()) == (before, False)


def test_skills_are_written_for_the_clients_that_read_them_and_removed_again(home: Path) -> None:
    before = contents(home)
    code, answer = setup(home, "--skills")
    folders = {row["folder"]: row["clients"] for row in answer["skills"]}
    shared, copilot = home / ".agents" / "skills", home / ".copilot" / "skills"
    assert (code, answer["ok"], {row["state"] for row in answer["skills"]}) == (0, True, {"added"})
    assert {(str(Path(folder).parent), tuple(names)) for folder, names in folders.items()} == {
        (str(copilot), ("vscode",)), (str(shared), ("zed", "codex", "goose")),
    }  # fmt: skip
    assert (shared / "winnow-playbook" / "SKILL.md").read_text().startswith('---\nname: "winnow-playbook"\n')
    assert contents(home) == before
    told = winnow(home, "setup", "--skills", "zed", "--print").stdout
    assert told.startswith(f"Zed: {shared}\n  winnow-playbook  already there\n")
    assert "Agent skills of winnow stay" in winnow(home, "setup", "--remove").stdout
    assert setup(home, "--skills", "--remove")[1]["ok"]
    assert (shared.exists(), copilot.exists()) == (False, False)
    assert "Agent skills of winnow stay" not in winnow(home, "setup", "--remove").stdout


def test_a_client_that_reads_no_skills_says_so(home: Path) -> None:
    code, answer = setup(home, "--skills", "claude-desktop", "cursor")
    assert (code, answer["without_skills"], answer["missing"]) == (1, ["claude-desktop"], ["cursor"])
    done = winnow(home, "setup", "--skills", "claude-desktop")
    assert (done.returncode, done.stdout) == (1, "Claude Desktop: it reads no skills from a folder\n")


def test_a_machine_without_clients_gets_the_entry_to_paste(tmp_path: Path) -> None:
    done = winnow(tmp_path, "setup")
    assert (done.returncode, "no client was found on this machine" in done.stderr) == (1, True)
    assert json.loads(done.stdout)["mcpServers"]["winnow"]["command"] == str(find_console_script())
    done = winnow(tmp_path, "setup", "goose")
    assert (done.returncode, f"there is no {tmp_path}/.config/goose/config.yaml" in done.stderr) == (1, True)
    assert done.stdout.startswith('extensions:\n  winnow:\n    name: "winnow"\n')
    assert winnow(tmp_path, "setup", "--remove").returncode == 0


def test_a_client_that_is_named_and_not_here_does_not_hold_up_the_others(home: Path) -> None:
    code, report = setup(home, "codex", "windsurf")
    assert (code, [row["client"] for row in report["clients"]], report["missing"]) == (1, ["codex"], ["windsurf"])


def test_a_broken_file_is_left_alone_and_the_others_are_set_up(home: Path) -> None:
    broken = home / ".config" / "Claude" / "claude_desktop_config.json"
    broken.write_text('{\n  "mcpServers": {,\n')
    code, report = setup(home, "claude-desktop", "zed")
    first, second = report["clients"]
    assert (code, first["state"], second["state"]) == (1, "failed", "added")
    assert first["error"]["details"] | {"line": 2, "column": 18} == first["error"]["details"]
    assert broken.read_text() == '{\n  "mcpServers": {,\n'


def test_a_switch_that_keeps_a_client_from_the_server_is_told_at_once(home: Path) -> None:
    write(home / ".gemini" / "settings.json", '{"mcp": {"allowed": ["a"]}}')
    code, report = setup(home, "gemini", "--print")
    told = "mcp.allowed names the servers that may run, and not winnow"
    assert (code, report["clients"][0]["switched_off_by"]) == (0, [told])
    assert f"BUT {told}: put winnow into that list" in winnow(home, "setup", "gemini", "--print").stdout


def test_variables_of_the_shell_that_move_files_of_winnow_are_written_and_others_are_named(home: Path) -> None:
    moved = home / "moved.toml"
    moved.write_text('daemon = "off"\nembedding = "off"\ncalls_per_minute = 77\n')
    code, report = setup(home, "codex", WINNOW_CONFIG=str(moved), WINNOW_LOG_QUERIES="1")
    assert (code, report["launch"]["env"]) == (0, {"WINNOW_CONFIG": str(moved)})
    (note,) = report["notes"]
    assert (note.partition(" of this shell")[0], note.endswith(f"into {moved}")) == ("WINNOW_LOG_QUERIES", True)


def test_the_only_project_with_documents_is_meant_and_of_several_one_has_to_be_named(home: Path) -> None:
    (home / "pages").mkdir()
    (home / "pages" / "backups.md").write_text(NOTE)
    assert winnow(home, "ingest", "pages", "--project", "notes").returncode == 0
    code, report = setup(home, "codex", "--print")
    assert (code, report["launch"]["args"][-1]) == (0, "notes")
    assert winnow(home, "ingest", "pages", "--project", "work").returncode == 0
    code, refused = setup(home, "codex", "--print")
    assert (code, "the store has several projects: notes, work" in refused["error"]["message"]) == (2, True)
    code, refused = setup(home, "codex", "--print", "--project", "wrok")
    assert (code, "one of those that have: notes, work" in refused["error"]["message"]) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["emacs"], 2, "no client 'emacs'; there are claude-desktop"),
        (["--doctor", "--remove"], 2, "--doctor changes nothing"),
        (["--doctor", "--skills"], 2, "--doctor changes nothing"),
        (["--store", "nowhere"], 2, "there is no store"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(home: Path, arguments: list[str], code: int, told: str) -> None:
    before = contents(home)
    done = winnow(home, "setup", *arguments)
    assert (done.returncode, told in done.stderr, contents(home)) == (code, True, before)


def test_where_winnow_opens_no_store_setup_says_the_choices_and_still_removes_and_explains(home: Path) -> None:
    """As on Windows, whose Python has no locks of files."""
    code = "import sys; sys.modules['fcntl'] = None; sys.argv[0] = 'winnow'; "
    code += "from winnow.server.commands.entry.cli import main; main()"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, "setup", "codex", *arguments]
        return subprocess.run(
            command, env=environment(home), capture_output=True, text=True, timeout=LIMIT, check=False
        )

    refused, removed, examined = run(), run("--remove"), run("--doctor")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert [word for word in ("no module fcntl", "WSL 2", "container") if word not in refused.stderr] == []
    assert (removed.returncode, "nothing to remove from" in removed.stdout) == (0, True)
    assert (examined.returncode, "has no entry winnow" in " ".join(examined.stdout.split())) == (1, True)


# --- a server that does not start ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "arguments", "reason", "told", "log"),
    [
        (
            sys.executable,
            ("-c", "import sys; sys.exit('no such index')"),
            "SOURCE_UNAVAILABLE",
            "it ended, or speaks no MCP (Connection closed)",
            ["no such index"],
        ),
        ("/nowhere/winnow", (), "SOURCE_UNAVAILABLE", "/nowhere/winnow cannot be started: No such file", []),
        (sys.executable, ("-c", "print('no protocol')"), "SOURCE_UNAVAILABLE", "it ended, or speaks no MCP", []),
    ],
)
def test_nothing_is_written_where_the_server_does_not_start(
    home: Path, command: str, arguments: tuple[str, ...], reason: str, told: str, log: list[str]
) -> None:
    before = contents(home)
    report = set_up(find_homes(Machine(System.LINUX, home, {})), Launch(command, arguments), only_print=False)
    assert report.failure is not None
    assert (report.ok, report.failure.reason, told in report.failure.message) == (False, reason, True)
    assert (report.failure.details["log"], contents(home)) == (log, before)


def test_the_end_of_the_server_s_log_is_shown_and_nothing_is_written(home: Path) -> None:
    """Here by an option that the user put into the entry, which stays there."""
    entry = '[mcp_servers.winnow]\ncommand = "/old/winnow"\nargs = ["serve", "--nonsense"]\n'
    write(home / ".codex" / "config.toml", entry)
    before = contents(home)
    done = winnow(home, "setup", "codex")
    assert (done.returncode, done.stdout, contents(home)) == (1, "", before)
    assert "winnow: the server does not start as clients start it: " in done.stderr
    assert "No such option: --nonsense" in done.stderr
    assert "Nothing was written." in done.stderr


def test_the_server_is_started_in_the_bare_environment_of_a_client(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    seen = home / "seen.json"
    code = f"import json, os; json.dump([dict(os.environ), os.getcwd()], open({str(seen)!r}, 'w'))"
    launch = Launch(sys.executable, ("-I", "-c", code), {"WINNOW_MODELS": "/models"})
    set_up(find_homes(Machine(System.LINUX, home, {})), launch, only_print=False)
    variables, folder = json.loads(seen.read_text())
    usual = {"HOME", "LOGNAME", "USER", "LC_CTYPE"}
    assert {name: value for name, value in variables.items() if name not in usual} == {
        "PATH": "",
        "SHELL": "",
        "TERM": "",
        "WINNOW_MODELS": "/models",
    }
    assert (variables["HOME"], folder) == (str(home), str(home))


# --- the doctor ---------------------------------------------------------------------------------------------


def doctor(home: Path, *names: str) -> dict[str, Finding]:
    """The findings that are not fine, by their checks."""
    chosen = [client for client in CLIENTS if client.name in names]
    findings = examine_clients(Machine(System.LINUX, home, {}), chosen)
    return {finding.check: finding for finding in findings if not finding.ok}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("client", "file", "text", "check", "told"),
    [
        ("cursor", "", "", "installed", "nothing of it is here; its file would be {home}/.cursor/mcp.json"),
        ("cursor", ".cursor/other", "", "file", "{home}/.cursor/mcp.json is not there"),
        ("cursor", ".cursor/mcp.json", "{", "file", "{home}/.cursor/mcp.json: line 1, column 2"),
        ("cursor", ".cursor/mcp.json", "{}", "entry", "{home}/.cursor/mcp.json has no entry winnow"),
        (
            "cursor",
            ".cursor/mcp.json",
            '{"mcpServers": {"docs": {"command": "/x/winnow"}}}',
            "entry",
            "docs there seems to be winnow under another name",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            '{"mcpServers": {"winnow": {"url": "http://x"}}}',
            "entry",
            "starts no command",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            '{"mcpServers": {"winnow": {"command": "winnow"}}}',
            "command",
            "winnow is no absolute path",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            '{"mcpServers": {"winnow": {"command": "/gone/winnow"}}}',
            "command",
            "/gone/winnow is not there any more",
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            '{"mcpServers": {"winnow": {"command": "/gone/winnow", "disabled": true}}}',
            "switch",
            "the entry is switched off: disabled is true",
        ),
        (
            "codex",
            ".codex/config.toml",
            '[mcp_servers.winnow]\ncommand = "/gone/winnow"\nenabled = false\n',
            "switch",
            "the entry is switched off: enabled is false",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            '{"mcp": {"excluded": ["winnow"]}, "mcpServers": {"winnow": {"command": "/gone/winnow"}}}',
            "switch",
            "{home}/.gemini/settings.json: mcp.excluded names winnow",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            '{"mcp": {"allowed": ["a"]}, "mcpServers": {"winnow": {"command": "/gone/winnow"}}}',
            "switch",
            "mcp.allowed names the servers that may run, and not winnow",
        ),
        (
            "claude-code",
            ".claude.json",
            '{"projects": {"/a": {}, "/b": {"disabledMcpServers": ["winnow"]}}, '
            '"mcpServers": {"winnow": {"command": "/gone/winnow"}}}',
            "switch",
            "{home}/.claude.json: projects./b.disabledMcpServers names winnow",
        ),
    ],
)
def test_the_doctor_says_why_a_client_does_not_show_the_server(
    tmp_path: Path, client: str, file: str, text: str, check: str, told: str
) -> None:
    if file:
        write(tmp_path / file, text)
    found = doctor(tmp_path, client)[check]
    assert (told.format(home=tmp_path) in found.detail, found.advice != "") == (True, True)


def test_the_doctor_starts_no_program_but_this_installation(tmp_path: Path) -> None:
    other = tmp_path / "bin" / "winnow"
    write(other, f"#!/bin/sh\ntouch {tmp_path}/started\n")
    other.chmod(0o755)
    write(tmp_path / ".cursor/mcp.json", json.dumps({"mcpServers": {"winnow": {"command": str(other)}}}))
    found = doctor(tmp_path, "cursor")["command"]
    assert f"{other} is not this installation" in found.detail
    assert not (tmp_path / "started").exists()


def test_the_doctor_starts_this_installation_by_its_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another name of the same file could lie modules, which Python would load."""
    other = tmp_path / "bin" / "winnow"
    write(tmp_path / "bin" / "winnow.py", f"open({str(tmp_path / 'loaded')!r}, 'w').close()\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    try:
        os.link(find_console_script(), other)
    except OSError:
        pytest.skip("a hard link to the command cannot be made from another file system")
    entry = {"command": str(other), "args": ["serve", "--store", str(tmp_path / "gone")]}
    write(tmp_path / ".cursor/mcp.json", json.dumps({"mcpServers": {"winnow": entry}}))
    found = doctor(tmp_path, "cursor")
    assert (f"there is no store {tmp_path}/gone" in found["handshake"].detail, (tmp_path / "loaded").exists()) == (
        True,
        False,
    )


@pytest.mark.parametrize("name", ["x" * 5_000, "x\0y"])
def test_the_doctor_takes_a_path_that_can_be_none_as_missing(tmp_path: Path, name: str) -> None:
    entries = [
        {"command": f"/{name}"},
        {"command": str(find_console_script()), "args": ["serve", "--store", name]},
    ]
    for entry, check in zip(entries, ("command", "store"), strict=True):
        write(tmp_path / ".cursor/mcp.json", json.dumps({"mcpServers": {"winnow": entry}}))
        assert "is not there" in doctor(tmp_path, "cursor")[check].detail


@pytest.mark.parametrize(
    ("entry", "check", "told"),
    [
        ({"args": ["exec", "script.py"]}, "command", "it runs winnow exec, and not winnow serve"),
        ({}, "command", "and not winnow serve, so it is not started here"),
    ],
)
def test_the_doctor_runs_no_other_command_of_this_installation(
    tmp_path: Path, entry: dict[str, Any], check: str, told: str
) -> None:
    own = {"command": str(find_console_script()), **entry}
    write(tmp_path / ".cursor/mcp.json", json.dumps({"mcpServers": {"winnow": own}}))
    found = doctor(tmp_path, "cursor")
    assert (told in found[check].detail, "handshake" in found) == (True, False)


def test_a_variable_that_makes_an_interpreter_load_code_is_not_set_in_a_trial(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    write(home / "evil" / "sitecustomize.py", f"open({str(home / 'loaded')!r}, 'w').close()\n")
    variables = f'PYTHONPATH = "{home}/evil"\nWINNOW_LIMITS = "strict"\n'
    entry = f'[mcp_servers.winnow]\ncommand = "/old/winnow"\nargs = []\n[mcp_servers.winnow.env]\n{variables}'
    write(home / ".codex" / "config.toml", entry)
    code, report = setup(home, "codex")
    assert (code, (home / "loaded").exists()) == (0, False)
    assert [note.partition(" in ")[0] for note in report["notes"]] == ["PYTHONPATH"]
    assert variables.strip() in (home / ".codex" / "config.toml").read_text()
    code, examined = setup(home, "--doctor", "codex")
    told = [check["detail"] for check in examined["checks"] if check["check"] == "variables"]
    assert (code, (home / "loaded").exists(), told[0].split()[0]) == (0, False, "PYTHONPATH")


def test_the_doctor_shows_the_end_of_the_log_of_a_server_that_does_not_start(tmp_path: Path) -> None:
    write(tmp_path / ".cursor/other", "")
    (home,) = find_homes(Machine(System.LINUX, tmp_path, {}), [c for c in CLIENTS if c.name == "cursor"])
    launch = Launch(str(find_console_script()), ("serve", "--store", str(tmp_path / "gone"), "--project", "p"))
    plan_entry(home, launch).write()
    found = doctor(tmp_path, "cursor")
    assert found["store"].detail == f"{tmp_path}/gone is not there"
    assert f"there is no store {tmp_path}/gone" in found["handshake"].detail


def test_the_doctor_says_where_two_files_of_a_client_start_different_servers(tmp_path: Path) -> None:
    for folder, name in (("Claude", "a"), ("Claude-3p", "b")):
        entry = {"mcpServers": {"winnow": {"command": f"/gone/{name}"}}}
        write(tmp_path / ".config" / folder / "claude_desktop_config.json", json.dumps(entry))
    assert doctor(tmp_path, "claude-desktop")["homes"].detail == "its files start different servers"


# --- a terminal ---------------------------------------------------------------------------------------------


def answers_at_a_terminal(home: Path, answers: list[str], *clients: str, code: int = 0) -> Iterator[str]:
    """What the command shows on a terminal whose user gives these answers, part after part."""
    process, screen = pty.fork()
    if process == 0:
        os.chdir(home)
        os.execve(WINNOW, ["winnow", "setup", *clients], environment(home, TERM="dumb"))
    end, waiting = time.monotonic() + LIMIT, b""
    while time.monotonic() < end:
        if not select.select([screen], [], [], LIMIT)[0]:
            break
        try:
            part = os.read(screen, 65_536)
        except OSError:  # the command has ended
            break
        waiting += part
        yield part.decode("utf-8", "replace")
        if waiting.rstrip().endswith(b"(Enter: none):") and answers:
            os.write(screen, f"{answers.pop(0)}\n".encode())
            waiting = b""
    os.close(screen)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == code


def test_a_first_run_at_a_terminal_indexes_a_folder_and_answers_a_question(home: Path) -> None:
    write(home / "pages" / "backups.md", NOTE)
    shown = "".join(answers_at_a_terminal(home, ["~/nowhere", "~/pages", "how are backups encrypted?"], "codex"))
    assert f"there is no {home}/nowhere" in shown
    assert "default: 1 document written" in shown
    assert "Codex  added to" in shown
    assert "Clients on this machine: Codex." in shown
    assert "Backups are encrypted with age before they leave the house." in shown.rpartition("encrypted?")[2]


def test_a_first_run_without_a_client_answers_a_question_all_the_same(tmp_path: Path) -> None:
    write(tmp_path / "pages" / "backups.md", NOTE)
    write(tmp_path / ".config" / "winnow" / "winnow.toml", 'daemon = "off"\nembedding = "off"\n')
    shown = "".join(answers_at_a_terminal(tmp_path, ["~/pages", "how are backups encrypted?"], code=1))
    assert "Clients on this machine: none." in shown
    assert "no client was found on this machine, so nothing was written" in shown
    assert "Backups are encrypted with age before they leave the house." in shown.rpartition("encrypted?")[2]


@pytest.mark.parametrize(("answer", "written"), [("y", [1, 1]), ("", [1])])
def test_a_first_run_tells_the_risk_of_reading_without_walls_and_asks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    written: list[int],
) -> None:
    (tmp_path / "pages").mkdir()
    write(tmp_path / "pages" / "backups.md", NOTE)
    (tmp_path / "pages" / "report.pdf").write_bytes(
        build_pdf(PdfFile([paragraph(72, 760, ["The vault is locked at night."] * 3)]))
    )
    monkeypatch.setattr(
        parser, "start_walled_children", lambda options, tasks: StartedChildren(options, None, "landlock")
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{tmp_path}/pages\n{answer}\n"))
    settings = Settings(store=tmp_path / "store", embedding="off", daemon="off")
    assert offer_index(settings)
    shown = capsys.readouterr().out
    assert [int(count) for count in re.findall(r"default: (\d) document", shown)] == written
    assert "a harmful file could then read, change and send all that you can" in shown.rpartition("Read them")[0]


def test_a_first_run_at_a_terminal_without_a_folder_says_the_commands(home: Path) -> None:
    shown = "".join(answers_at_a_terminal(home, [""], "codex"))
    assert "  winnow ingest FOLDER" in shown
    assert "Codex  added to" in shown
    assert "A question" not in shown


def test_a_tier_that_the_user_names_is_in_the_entry_and_stays_there(home: Path) -> None:
    code, first = setup(home, "codex", "--allow-weaker-sandbox", "container")
    named = ["--allow-weaker-sandbox", "container"]
    assert (code, first["launch"]["args"][-2:], first["notes"]) == (0, named, [])
    again, told = setup(home, "codex", WINNOW_ALLOW_WEAKER_SANDBOX="container")
    assert told["notes"] == []  # the entry says it already
    entry = (home / ".codex" / "config.toml").read_text()
    assert (again, entry.count('"--allow-weaker-sandbox"'), entry.count('"container"')) == (0, 1, 1)
    refused = winnow(home, "setup", "codex", "--allow-weaker-sandbox", "bogus")
    assert (refused.returncode, "neither a tier (container, namespaces)" in refused.stderr) == (2, True)


@pytest.mark.walls
def test_an_opt_in_with_which_no_script_runs_here_is_told_before_anything_is_written(home: Path) -> None:
    """All walls stand here, so that naming one accepts too much."""
    _, told = setup(home, "codex", "--print", "--allow-weaker-sandbox", "landlock")
    assert told["notes"] == [
        "with --allow-weaker-sandbox landlock no script runs on this host: accepted is landlock; named without "
        "need: landlock; every wall stands, so accept nothing; winnow doctor says what to do"
    ]
    absent = next(client.name for client in CLIENTS if client.name not in NAMES)
    shown = winnow(home, "setup", absent, "--print", "--allow-weaker-sandbox", "landlock")
    assert "note: with --allow-weaker-sandbox landlock no script runs on this host: " in shown.stderr


def test_a_variable_that_no_file_may_set_is_named_with_the_argument_of_the_entry(home: Path) -> None:
    _, told = setup(home, "codex", "--print", WINNOW_ALLOW_WEAKER_SANDBOX="container", WINNOW_ENABLE_WRITES="true")
    weaker, writes = told["notes"]
    assert weaker.startswith("WINNOW_ALLOW_WEAKER_SANDBOX of this shell will not reach the server")
    assert weaker.endswith("run winnow setup --allow-weaker-sandbox container")
    assert "The entry needs the argument --enable-writes: put it there by hand" in writes
    assert [note for note in told["notes"] if "winnow.toml" in note] == []
    _, told = setup(
        home,
        *("codex", "--print", "--allow-weaker-sandbox", "container"),
        WINNOW_ALLOW_WEAKER_SANDBOX="container",
    )
    assert told["notes"] == []


def test_a_variable_that_switches_off_or_is_empty_is_no_reason_to_add_the_argument(home: Path) -> None:
    off = {"WINNOW_ENABLE_WRITES": "false", "WINNOW_ALLOW_WEAKER_READER": "0", "WINNOW_ALLOW_WEAKER_SANDBOX": ""}
    _, told = setup(home, "codex", "--print", **off)
    named = [note.partition("The entry needs the argument ")[2].partition(":")[0] for note in told["notes"]]
    assert named == ["--no-allow-weaker-reader", "--no-enable-writes"]


@pytest.mark.parametrize(("seconds", "is_slow"), [(9.9, False), (10.6, True)])
def test_a_slow_start_is_advice_and_no_failure_for_setup_and_its_doctor_alike(
    seconds: float, is_slow: bool
) -> None:
    done = Handshake("0.1.0", ("help",), 100, seconds)
    finding = finding_of(CLIENTS[0], done)
    assert (finding.ok, finding.essential, finding.advice) == (not is_slow, False, done.advice)
    assert done.advice.startswith("it took 10.6 s, and some clients wait 10 s only") is is_slow
