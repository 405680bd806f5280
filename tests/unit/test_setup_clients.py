"""The table of MCP clients: their files on each system, and an entry of each that comes and goes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from winnow.server.commands.setup import choose_clients, find_missing
from winnow.server.commands.setup.changes import ChangeState, Home, find_homes, places_of, plan_entry, plan_removal
from winnow.server.commands.setup.clients import ALIASES, CLIENTS, Client
from winnow.server.commands.setup.editing.config_text import ConfigFormat
from winnow.server.commands.setup.launch import Launch, entry_of, is_passing, launch_in, shown_entry
from winnow.server.commands.setup.machine import Machine, System, describe_scripts
from winnow.server.errors import WinnowError

pytestmark = pytest.mark.both_users

LAUNCH = Launch("/venv/bin/winnow", ("serve", "--store", "/data/winnow", "--project", "notes"))
BY_NAME = {client.name: client for client in CLIENTS}
SUPPORT, ROAMING = "Library/Application Support", "AppData/Roaming"
CLINE = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
EVERYWHERE = {
    "claude-code": [".claude.json"],
    "cursor": [".cursor/mcp.json"],
    "windsurf": [".codeium/windsurf/mcp_config.json"],
    "codex": [".codex/config.toml"],
    "gemini": [".gemini/settings.json"],
    "lmstudio": [".lmstudio/mcp.json", ".cache/lm-studio/mcp.json"],
    "continue": [".continue/mcpServers/winnow.json"],
    "junie": [".junie/mcp/mcp.json"],
}
# The files of each client below the home folder, as its documentation has them.
FILES: Mapping[System, Mapping[str, list[str]]] = {
    System.LINUX: {
        **EVERYWHERE,
        "claude-desktop": [f".config/{name}/claude_desktop_config.json" for name in ("Claude", "Claude-3p")],
        "vscode": [f".config/{name}/User/mcp.json" for name in ("Code", "Code - Insiders")],
        "zed": [".config/zed/settings.json"],
        "cline": [".cline/data/settings/cline_mcp_settings.json", f".config/Code/{CLINE}"],
        "goose": [".config/goose/config.yaml"],
    },
    System.MACOS: {
        **EVERYWHERE,
        "claude-desktop": [f"{SUPPORT}/{name}/claude_desktop_config.json" for name in ("Claude", "Claude-3p")],
        "vscode": [f"{SUPPORT}/{name}/User/mcp.json" for name in ("Code", "Code - Insiders")],
        "zed": [".config/zed/settings.json"],
        "cline": [".cline/data/settings/cline_mcp_settings.json", f"{SUPPORT}/Code/{CLINE}"],
        "goose": [".config/goose/config.yaml"],
    },
    System.WINDOWS: {
        **EVERYWHERE,
        "claude-desktop": [
            f"{folder}/claude_desktop_config.json"
            for folder in (
                f"{ROAMING}/Claude",
                f"{ROAMING}/Claude-3p",
                "AppData/Local/Claude-3p",
                "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude",
                "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude-3p",
                "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Local/Claude-3p",
            )
        ],
        "vscode": [f"{ROAMING}/{name}/User/mcp.json" for name in ("Code", "Code - Insiders")],
        "zed": [f"{ROAMING}/Zed/settings.json"],
        "cline": [".cline/data/settings/cline_mcp_settings.json", f"{ROAMING}/Code/{CLINE}"],
        "goose": [f"{ROAMING}/Block/goose/config/config.yaml"],
    },
}
ROWS = [pytest.param(system, client, id=f"{system}-{client.name}") for system in System for client in CLIENTS]
STANDARD = {"command": LAUNCH.command, "args": list(LAUNCH.args)}
# The key path of an entry, and the entry.
ENTRIES: Mapping[str, tuple[list[str], dict[str, Any]]] = {
    **{
        name: (["mcpServers", "winnow"], STANDARD)
        for name in ("claude-desktop", "cursor", "windsurf", "gemini", "lmstudio", "cline", "continue", "junie")
    },
    "claude-code": (["mcpServers", "winnow"], {"type": "stdio", **STANDARD}),
    "vscode": (["servers", "winnow"], {"type": "stdio", **STANDARD}),
    "zed": (["context_servers", "winnow"], {"source": "custom", **STANDARD}),
    "codex": (["mcp_servers", "winnow"], STANDARD),
    "goose": (
        ["extensions", "winnow"],
        {
            "name": "winnow",
            "description": "search and scripts over your own documents",
            "enabled": True,
            "env_keys": [],
            "timeout": 300,
            "type": "stdio",
            "cmd": LAUNCH.command,
            "args": list(LAUNCH.args),
        },
    ),
}
# A file of each format with another server, as the clients' documentation has them.
FOREIGN = {
    ConfigFormat.JSON: '{\n  "%s": {\n    "memory": {\n      "command": "npx",\n      "args": []\n    }\n  }\n}',
    ConfigFormat.JSONC: '// mine\n{\n  "theme": "dark", // so\n  "%s": {\n    "a": {"command": "b"},\n  },\n}\n',
    ConfigFormat.TOML: 'model = "o9" # mine\n\n[%s.docs]\ncommand = "npx"\nargs = ["-y", "docs"]\n',
    ConfigFormat.YAML: '# mine\nMODE: "smart"\n%s:\n  developer:\n    bundled: true\n    type: builtin\n',
}


def machine(system: System, home: Path, **variables: str) -> Machine:
    return Machine(system, home, variables)


def installed(client: Client, system: System, home: Path) -> Path:
    """The first file of a client that is there, without the file itself."""
    path = home / FILES[system][client.name][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def read(client: Client, text: str) -> Any:
    """The value of a file, by the libraries that read such files."""
    if client.format is ConfigFormat.TOML:
        return tomllib.loads(text)
    return yaml.safe_load(text) if client.format is ConfigFormat.YAML else json.loads(text)


@pytest.mark.parametrize(("system", "client"), ROWS)
def test_a_file_of_a_client_is_found_where_its_documentation_says(
    system: System, client: Client, tmp_path: Path
) -> None:
    files = [tmp_path / file for file in FILES[system][client.name]]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / ".claude").mkdir()
    assert [home.path for home in find_homes(machine(system, tmp_path), [client])] == files


@pytest.mark.parametrize(("system", "client"), ROWS)
def test_an_entry_has_the_shape_that_the_client_reads(system: System, client: Client, tmp_path: Path) -> None:
    path = installed(client, system, tmp_path)
    change = plan_entry(Home(client, path), LAUNCH)
    keys, entry = ENTRIES[client.name]
    assert (change.state, change.write(), change.launch) == (ChangeState.ADDED, None, LAUNCH)
    found = read(client, path.read_text("utf-8"))
    for key in keys:
        found = found[key]
    assert found == entry
    assert list(found) == list(entry)


@pytest.mark.parametrize(("system", "client"), ROWS)
def test_a_second_run_changes_nothing_and_removal_leaves_the_bytes_of_before(
    system: System, client: Client, tmp_path: Path
) -> None:
    path = installed(client, system, tmp_path)
    before = (FOREIGN[client.format] % client.servers[0]).encode()
    path.write_bytes(before)
    home = Home(client, path)
    kept = plan_entry(home, LAUNCH).write()
    after = path.read_bytes()
    assert kept is not None
    assert (kept.read_bytes(), after != before) == (before, True)
    again = plan_entry(home, LAUNCH)
    assert (again.state, again.write(), path.read_bytes()) == (ChangeState.UNCHANGED, None, after)
    removal = plan_removal(home)
    assert (removal.state, removal.write(), path.read_bytes()) == (ChangeState.REMOVED, None, before)
    assert plan_removal(home).state is ChangeState.ABSENT
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_file_that_two_paths_lead_to_is_there_once(tmp_path: Path) -> None:
    (tmp_path / ".config/Code/User").mkdir(parents=True)
    (tmp_path / ".config/Code - Insiders").symlink_to("Code")
    homes = find_homes(machine(System.LINUX, tmp_path), [BY_NAME["vscode"]])
    assert [home.path for home in homes] == [tmp_path / ".config/Code/User/mcp.json"]


def test_a_client_that_is_not_here_has_no_file_and_messages_say_where_it_would_be(tmp_path: Path) -> None:
    here = machine(System.LINUX, tmp_path)
    assert find_homes(here) == []
    assert places_of(BY_NAME["cursor"], here) == [f"{tmp_path}/.cursor/mcp.json"]


def test_the_table_and_the_tests_know_the_same_clients() -> None:
    names = [client.name for client in CLIENTS]
    assert [sorted(files) for files in FILES.values()] == [sorted(names)] * len(System)
    assert sorted(ENTRIES) == sorted(names)
    assert {name for meant in ALIASES.values() for name in meant} <= set(names)


@pytest.mark.parametrize(
    ("client", "variables", "file"),
    [
        ("claude-code", {"CLAUDE_CONFIG_DIR": "{home}/elsewhere"}, "elsewhere/.claude.json"),
        ("codex", {"CODEX_HOME": "{home}/elsewhere"}, "elsewhere/config.toml"),
        ("codex", {"CODEX_HOME": "not/absolute"}, ".codex/config.toml"),
        ("zed", {"XDG_CONFIG_HOME": "{home}/elsewhere"}, "elsewhere/zed/settings.json"),
    ],
)
def test_the_variables_that_move_a_client_s_file_are_followed(
    client: str, variables: dict[str, str], file: str, tmp_path: Path
) -> None:
    there = {name: value.format(home=tmp_path) for name, value in variables.items()}
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    here = machine(System.LINUX, tmp_path, **there)
    assert [home.path for home in find_homes(here, [BY_NAME[client]])] == [tmp_path / file]


def test_appdata_of_windows_may_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "R/Claude").mkdir(parents=True)
    (tmp_path / "L/Packages/Claude_x/LocalCache/Roaming/Claude").mkdir(parents=True)
    here = machine(System.WINDOWS, tmp_path, APPDATA=str(tmp_path / "R"), LOCALAPPDATA=str(tmp_path / "L"))
    assert [home.path.parent for home in find_homes(here, [BY_NAME["claude-desktop"]])] == [
        tmp_path / "R/Claude",
        tmp_path / "L/Packages/Claude_x/LocalCache/Roaming/Claude",
    ]


# --- entries ------------------------------------------------------------------------------------------------


def test_what_the_user_added_to_an_entry_stays() -> None:
    before = {
        "command": "/old/bin/winnow",
        "args": ["serve", "--store=/old", "--tools", "research", "--project", "notes", "--limits=strict"],
        "env": {"WINNOW_LOG_QUERIES": "on"},
        "alwaysAllow": ["kb_search"],
    }
    launch = Launch(LAUNCH.command, LAUNCH.args, {"XDG_CACHE_HOME": "/cache"})
    assert entry_of(BY_NAME["cursor"], launch, before) == {
        "command": LAUNCH.command,
        "args": [*LAUNCH.args, "--tools", "research", "--limits=strict"],
        "env": {"WINNOW_LOG_QUERIES": "on", "XDG_CACHE_HOME": "/cache"},
        "alwaysAllow": ["kb_search"],
    }


def test_an_entry_that_the_user_switched_off_stays_off() -> None:
    goose = BY_NAME["goose"]
    assert entry_of(goose, LAUNCH, {**entry_of(goose, LAUNCH, None), "enabled": False})["enabled"] is False


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "http", "url": "http://127.0.0.1:8765/mcp"},
        {"command": "npx", "args": ["-y", "chaff"]},
        {"command": "node", "args": ["/home/winnow/chaff.js", "--log=/var/log/winnow.log"]},
        {"command": "/opt/winnowing/bin/winnowing"},
        "x",
        3,
    ],
)
def test_an_entry_that_is_another_server_s_is_not_taken_over(entry: Any) -> None:
    with pytest.raises(WinnowError, match="take it out first: winnow setup vscode --remove") as refused:
        entry_of(BY_NAME["vscode"], LAUNCH, entry)
    assert refused.value.reason == "UNSUPPORTED"


@pytest.mark.parametrize(
    "before",
    [
        {"command": "uvx", "args": ["--from", "winnow-mcp==0.1", "winnow", "serve", "--limits", "strict"]},
        {"command": "docker", "args": ["run", "-i", "example.org/winnow:1", "serve", "--limits", "strict"]},
        {"command": "C:\\tools\\winnow.exe", "args": ["serve", "--limits", "strict"]},
    ],
)
def test_an_entry_that_passes_through_another_program_is_ours(before: dict[str, Any]) -> None:
    assert entry_of(BY_NAME["cursor"], LAUNCH, before)["args"] == [*LAUNCH.args, "--limits", "strict"]


def test_the_address_of_another_server_is_told_without_its_keys() -> None:
    entry = {"url": "https://me:pa55@example.org/mcp/k3y?token=t0ken"}
    with pytest.raises(WinnowError, match=r"is a server at https://example\.org; take it out first"):
        entry_of(BY_NAME["vscode"], LAUNCH, entry)


def test_an_entry_is_displayed_without_what_the_user_added() -> None:
    added = {"env": {"WINNOW_EMBEDDER_KEY": "k3y"}, "headers": {"Authorization": "t0ken"}}
    launch = Launch(LAUNCH.command, LAUNCH.args, {"WINNOW_MODELS": "/models"})
    entry = entry_of(BY_NAME["vscode"], launch, {"command": "winnow", **added})
    assert shown_entry(BY_NAME["vscode"], launch, entry) == {
        "command": LAUNCH.command,
        "args": list(LAUNCH.args),
        "type": "stdio",
        "env": {"WINNOW_EMBEDDER_KEY": "***", "WINNOW_MODELS": "/models"},
    }


@pytest.mark.parametrize("entry", [None, "x", {}, {"command": 3}, {"command": "x", "args": "y"}])
def test_an_entry_without_a_command_starts_nothing(entry: Any) -> None:
    assert launch_in(entry, BY_NAME["cursor"].shape) is None


def test_a_command_in_a_cache_is_known_as_such() -> None:
    passing = ["/home/me/.cache/uv/archive-v0/x/bin/winnow", "/home/me/.cache/pipx/1/bin/winnow"]
    staying = ["/home/me/.local/share/uv/tools/winnow-mcp/bin/winnow", LAUNCH.command]
    assert [is_passing(Launch(command, ())) for command in passing + staying] == [True, True, False, False]


# --- what is said -------------------------------------------------------------------------------------------


def test_clients_are_chosen_by_name_or_by_another_word_in_the_order_of_the_table() -> None:
    assert [client.name for client in choose_clients(["zed", "Code", "zed"])] == ["vscode", "zed"]
    assert [client.name for client in choose_clients(["claude"])] == ["claude-desktop", "claude-code"]
    assert choose_clients([]) == list(CLIENTS)
    with pytest.raises(WinnowError, match="no client 'emacs'; there are claude-desktop, ") as refused:
        choose_clients(["emacs"])
    assert refused.value.reason == "NOT_FOUND"


def test_of_a_word_for_two_clients_one_on_this_machine_is_enough() -> None:
    here = [Home(BY_NAME["claude-code"], Path("x"))]
    assert [client.name for client in find_missing(["claude", "zed"], here)] == ["zed"]
    assert [client.name for client in find_missing(["claude"], [])] == ["claude-desktop", "claude-code"]
    assert find_missing([], []) == []


def test_macos_and_windows_are_told_the_choices_for_scripts_in_one_sentence() -> None:
    sentences = {system: describe_scripts(system) for system in System}
    assert sentences[System.LINUX] == ""
    for system, choice in ((System.MACOS, "virtual machine"), (System.WINDOWS, "WSL 2")):
        assert [word for word in ("container", choice, "monty") if word not in sentences[system]] == []
        assert sentences[system].count(". ") == 0
