"""Completion scripts by the shells that they are for, and the manual page by man."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.patience import LIMIT
from winnow.server.commands.shell.command_tree import CommandNode, CommandOption, read_tree
from winnow.server.commands.shell.completion import app as completion
from winnow.server.commands.shell.completion_scripts import SCRIPTS
from winnow.server.commands.shell.man import app as man
from winnow.server.commands.shell.man_page import man_page

TREE = read_tree()
HOSTILE = 'it\'s "quoted" $(touch harmed) `touch harmed` \\ : %s [a] (b) ~ * ; | & é'
ODD = (
    CommandNode(("winnow",), "", (), ("COMMAND",), (), (("odd", HOSTILE),)),
    CommandNode(
        ("winnow", "odd"),
        f".hidden {HOSTILE}\n\n'quoted",
        (f".first {HOSTILE}",),
        (),
        (CommandOption(("--how",), "a|b", ("a", "b"), HOSTILE),),
        (),
    ),
)


def shell(name: str) -> str:
    """The path of this shell; skips the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: str | Path, folder: Path) -> str:
    """The output of a command that ends with 0 and complains of nothing."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts of all shells, and one file to complete."""
    folder = tmp_path_factory.mktemp("shells")
    for name, script in SCRIPTS.items():
        (folder / f"script.{name}").write_text(script(TREE), "utf-8")
        (folder / f"odd.{name}").write_text(script(ODD), "utf-8")
    (folder / "notes of mine.md").write_text("", "utf-8")
    return folder


# What is typed, the last word unfinished -> the words that are offered.
COMPLETED = {
    ("winnow", "ke"): ["key"],
    ("winnow", "key", ""): ["add", "list", "remove", "revoke", "rotate"],
    ("winnow", "key", "add", "--p"): ["--projects"],
    ("winnow", "serve", "--fusion", ""): ["convex", "rrf"],
    ("winnow", "serve", "--http", "127.0.0.1:1", "--fusion", "c"): ["convex"],
    ("winnow", "graph", "export", "x", "--format", ""): ["csv", "jsonl"],
    ("winnow", "ingest", "notes"): ["notes of mine.md"],
    ("winnow", "ingest", "--references", "notes"): ["notes of mine.md"],
    ("winnow", "key", "add", "--rate", ""): [],
    ("winnow-mcp", "serve", "--fusion", "r"): ["rrf"],
}


BASH = """
source script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _winnow
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("words", COMPLETED, ids=" ".join)
def test_bash_completes(folder: Path, words: tuple[str, ...]) -> None:
    offered = run(shell("bash"), "--norc", "-c", BASH, "bash", *words, folder=folder)
    assert sorted(filter(None, offered.splitlines())) == COMPLETED[words]


@pytest.mark.parametrize("words", [("=",), ("=", "c")], ids=" ".join)
def test_bash_completes_a_value_behind_a_sign(folder: Path, words: tuple[str, ...]) -> None:
    """Bash hands over ``--fusion=c`` as three words."""
    offered = run(
        shell("bash"), "--norc", "-c", BASH, "bash", "winnow", "serve", "--fusion", *words, folder=folder
    )
    assert offered.split() == ["convex", "rrf"][: 3 - len(words)]


@pytest.mark.parametrize("words", COMPLETED, ids=" ".join)
def test_fish_completes(folder: Path, words: tuple[str, ...]) -> None:
    code = 'source script.fish; complete --escape -C "$argv"'
    offered = run(shell("fish"), "--no-config", "-c", code, " ".join(words), folder=folder)
    found = {line.partition("\t")[0].replace("\\ ", " ") for line in offered.splitlines()}
    assert sorted(found) == COMPLETED[words]


# zsh completes only in a terminal, so it runs in a pseudo-terminal. The line after the Tab key is printed.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; unsetopt prompt_cr prompt_sp list_beep; autoload -U compinit; compinit -u -D'
zpty -w shell 'source script.zsh'
zpty -w shell 'show() { print -r -- "<$BUFFER>"; zle kill-buffer; }; zle -N show; bindkey "^X" show; print REA""DY'
zpty -r shell seen '*READY*'
zpty -w -n shell "$1"$'\t\x18'
zpty -r shell seen '*<*>*'
print -r -- "$seen"
zpty -d shell
"""


@pytest.mark.parametrize(
    ("typed", "filled"),
    {
        "winnow ke": "winnow key ",
        "winnow key ad": "winnow key add ",
        "winnow key add --p": "winnow key add --projects ",
        "winnow serve --fusion c": "winnow serve --fusion convex ",
        "winnow-mcp serve --fusion r": "winnow-mcp serve --fusion rrf ",
        "winnow ingest notes": "winnow ingest notes\\ of\\ mine.md ",
    }.items(),
)
def test_zsh_completes(folder: Path, typed: str, filled: str) -> None:
    seen = run(shell("zsh"), "-f", "-c", ZSH, "zsh", typed, folder=folder)
    (line,) = re.findall(r"<(.*?)>", seen)
    assert line == filled


# Prints each command of the arguments, a bar, and the options that the script has for it.
OPTIONS = {
    "bash": 'source script.bash; for at in "$@"; do echo "$at|$(_winnow_options "$at")"; done',
    "zsh": """
        autoload -U compinit; compinit -u -D; source script.zsh
        for at in "$@"; do _winnow_options "$at"; print -r -- "$at|${reply[@]%%:*}"; done
    """,
    "fish": """
        source script.fish
        for at in $argv[2..]
            echo "$at|"(string join -- " " (complete -C "$at --" | string replace -r "\\t.*" ""))
        end
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_has_every_option_of_every_command(name: str, folder: Path) -> None:
    paths = {node.path: node for node in TREE}
    lines = run(shell(name), "-c", OPTIONS[name], name, *paths, folder=folder).splitlines()
    offered = {path: set(options.split()) for path, _, options in (line.partition("|") for line in lines)}
    assert offered == {path: _spellings(node, is_long=name == "fish") for path, node in paths.items()}
    assert len(paths) > 80


def _spellings(node: CommandNode, *, is_long: bool) -> set[str]:
    found = {spelling for option in node.options for spelling in option.spellings}
    return {spelling for spelling in found if spelling.startswith("--")} if is_long else found


SOURCED = {
    "bash": "source odd.bash; _winnow_values 'winnow odd --how'",
    "zsh": 'autoload -U compinit; compinit -u -D; source odd.zsh; _winnow_commands winnow; print -r -- "$reply"',
    "fish": "source odd.fish; complete -C 'winnow '",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_is_text_for_a_shell_whatever_it_holds(name: str, folder: Path) -> None:
    run(shell(name), "-n", folder / f"odd.{name}", folder=folder)
    told = run(shell(name), "-c", SOURCED[name], folder=folder)
    assert ("a b" if name == "bash" else "touch harmed") in told
    assert not (folder / "harmed").exists()


def test_an_unknown_shell_is_refused_with_those_that_there_are() -> None:
    refused = CliRunner().invoke(completion, ["tcsh"])
    assert (refused.exit_code, "bash, zsh, fish" in refused.stderr) == (2, True)


def test_programs_get_both_as_json() -> None:
    script = json.loads(CliRunner().invoke(completion, ["zsh", "--json"]).stdout)
    page = json.loads(CliRunner().invoke(man, ["--json"]).stdout)
    assert script == {"shell": "zsh", "script": SCRIPTS["zsh"](TREE)}
    assert page == {"name": "winnow.1", "page": CliRunner().invoke(man, []).stdout}


def test_man_shows_every_option_of_every_command_and_warns_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "winnow.1").write_text(man_page(TREE, "0.0"), "utf-8")
    shown = _shown(tmp_path)
    for node in TREE[1:]:
        section = shown.partition(f"\n{node.path.upper()}\n")[2].partition("\nWINNOW")[0]
        absent = [spelling for option in node.options for spelling in option.spellings if spelling not in section]
        assert (node.path, absent, bool(section)) == (node.path, [], True)


def test_no_help_is_read_as_a_request_of_man(tmp_path: Path) -> None:
    (tmp_path / "winnow.1").write_text(man_page(ODD, "0.0"), "utf-8")
    shown = " ".join(_shown(tmp_path).split())
    assert shown.count(HOSTILE) == 4
    assert f".hidden {HOSTILE} 'quoted" in shown
    assert f".first {HOSTILE}" in shown


def _shown(folder: Path) -> str:
    command = (shell("groff"), "-man", "-ww", "-Tutf8", "-P-cbou", "-Kutf8", "-rLL=400n", "winnow.1")
    return run(*command, folder=folder).replace("−", "-")
