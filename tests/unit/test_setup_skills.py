"""Agent skills in the folders of clients: written, updated, taken out, and never over somebody's change."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from winnow.server.commands.setup.changes import ChangeState
from winnow.server.commands.setup.clients import CLIENTS
from winnow.server.commands.setup.machine import Machine, System
from winnow.server.commands.setup.skill_folders import RECORD, find_skill_folders, has_skills
from winnow.server.commands.setup.skills import SkillOutcome, describe_skills, install_skills, remove_skills
from winnow.server.settings.settings import Settings
from winnow.server.tools.agent_skills.rendering import skill_files
from winnow.server.tools.agent_skills.table import AGENT_SKILLS

pytestmark = pytest.mark.both_users

# The folder of the user's skills below the home folder, as the clients' documentation has it.
FOLDERS: Mapping[str, str] = {
    "claude-code": ".claude/skills",
    "vscode": ".copilot/skills",
    "cursor": ".cursor/skills",
    "windsurf": ".codeium/windsurf/skills",
    "zed": ".agents/skills",
    "codex": ".agents/skills",
    "gemini": ".gemini/skills",
    "cline": ".cline/skills",
    "continue": ".continue/skills",
    "junie": ".junie/skills",
    "goose": ".agents/skills",
}
SHIPPED = {
    f"{skill.name}/{file}": text.encode()
    for skill in AGENT_SKILLS
    for file, text in skill_files(skill, None, Settings()).items()
}


def machine_of(home: Path, system: System = System.LINUX, **variables: str) -> Machine:
    return Machine(system, home, variables)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A home with Claude Code and Cursor."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".cursor").mkdir()
    return machine_of(tmp_path)


def install(machine: Machine, *, only_print: bool = False) -> list[SkillOutcome]:
    return install_skills(find_skill_folders(machine, CLIENTS), only_print=only_print)


def remove(machine: Machine, *, only_print: bool = False) -> list[SkillOutcome]:
    return remove_skills(find_skill_folders(machine, CLIENTS), only_print=only_print)


def states(outcomes: list[SkillOutcome]) -> set[ChangeState | None]:
    return {outcome.state for outcome in outcomes}


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but the records."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != RECORD)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def place(machine: Machine, name: str = "winnow-playbook") -> Path:
    return machine.home / ".claude" / "skills" / name


@pytest.mark.parametrize("system", list(System))
def test_the_folders_are_those_of_the_clients_documentation(tmp_path: Path, system: System) -> None:
    machine = machine_of(tmp_path, system)
    found = {client.name: [*machine.paths(client.skills)] for client in CLIENTS if client.skills}
    assert found == {name: [tmp_path / folder] for name, folder in FOLDERS.items()}


def test_the_folder_of_claude_code_moves_with_its_variable(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere"))
    (claude,) = (client for client in CLIENTS if client.name == "claude-code")
    assert [*machine.paths(claude.skills)] == [tmp_path / "elsewhere" / "skills"]


def test_skills_come_once_are_the_shipped_files_and_go_without_a_trace(machine: Machine) -> None:
    before = sorted(machine.home.rglob("*"))
    assert states(install(machine)) == {ChangeState.ADDED}
    for folder in (".claude", ".cursor"):
        assert files_below(machine.home / folder / "skills") == SHIPPED
    again = sorted(machine.home.rglob("*"))
    assert (states(install(machine)), sorted(machine.home.rglob("*"))) == ({ChangeState.UNCHANGED}, again)
    assert has_skills(machine, CLIENTS)
    assert states(remove(machine)) == {ChangeState.REMOVED}
    assert (sorted(machine.home.rglob("*")), has_skills(machine, CLIENTS)) == (before, False)
    assert states(remove(machine)) == {ChangeState.ABSENT}


def test_a_client_that_is_not_here_or_reads_no_skills_gets_none(tmp_path: Path) -> None:
    (tmp_path / ".lmstudio").mkdir()
    assert find_skill_folders(machine_of(tmp_path), CLIENTS) == []


def test_clients_that_share_a_folder_get_one_copy(tmp_path: Path) -> None:
    for name in (".codex", ".config/zed"):
        (tmp_path / name).mkdir(parents=True)
    (folder,) = find_skill_folders(machine_of(tmp_path), CLIENTS)
    assert (folder.titles, folder.path) == ("Zed, Codex", tmp_path / ".agents" / "skills")


def test_print_writes_nothing_and_says_what_would_be(machine: Machine) -> None:
    before = sorted(machine.home.rglob("*"))
    outcomes = install(machine, only_print=True)
    assert (states(outcomes), sorted(machine.home.rglob("*"))) == ({ChangeState.ADDED}, before)
    lines = [*describe_skills(outcomes, planned=True)]
    assert lines[:2] == [f"Claude Code: {place(machine).parent}", "  winnow-playbook  would be added"]
    install(machine)
    there = sorted(machine.home.rglob("*"))
    assert (states(remove(machine, only_print=True)), sorted(machine.home.rglob("*"))) == (
        {ChangeState.REMOVED}, there,
    )  # fmt: skip


def test_a_skill_of_an_earlier_version_is_updated_and_its_file_that_went_is_removed(machine: Machine) -> None:
    install(machine)
    earlier, gone = place(machine) / "SKILL.md", place(machine) / "references" / "gone.md"
    earlier.write_bytes(b"earlier")
    gone.write_bytes(b"gone")
    record = {"files": {"SKILL.md": digest(b"earlier"), "references/gone.md": digest(b"gone")}}
    (place(machine) / RECORD).write_text(json.dumps(record))
    # The file of recipes is as this version writes it, though the record does not have it.
    outcomes = {(each.folder.titles, each.skill): each.state for each in install(machine)}
    assert outcomes[("Claude Code", "winnow-playbook")] == ChangeState.UPDATED
    assert files_below(place(machine).parent) == SHIPPED


@pytest.mark.parametrize("act", [install, remove])
def test_a_skill_that_was_changed_is_left_alone_and_the_others_are_not(machine: Machine, act: object) -> None:
    install(machine)
    changed = place(machine) / "SKILL.md"
    changed.write_text("mine")
    before = files_below(place(machine))
    assert callable(act)
    outcomes = act(machine)
    failed = [each for each in outcomes if each.error]
    assert [(each.folder.titles, each.skill) for each in failed] == [("Claude Code", "winnow-playbook")]
    assert failed[0].error is not None
    assert failed[0].error.message == (
        f"{changed} was changed, so nothing of this skill was touched; move its folder away first"
    )
    assert files_below(place(machine)) == before


def test_a_skill_of_somebody_else_with_the_same_name_is_left_alone(machine: Machine) -> None:
    place(machine).mkdir(parents=True)
    (place(machine) / "SKILL.md").write_text("theirs")
    (outcome,) = (each for each in install(machine) if each.error)
    assert outcome.error is not None
    assert "is not of winnow" in outcome.error.message
    assert files_below(place(machine)) == {"SKILL.md": b"theirs"}
    assert ChangeState.ABSENT in states(remove(machine))
    assert files_below(place(machine)) == {"SKILL.md": b"theirs"}


def test_files_that_a_user_put_beside_ours_stay(machine: Machine) -> None:
    install(machine)
    (place(machine) / "notes.md").write_text("mine")
    other = place(machine, "another")
    other.mkdir()
    (other / "SKILL.md").write_text("theirs")
    assert states(install(machine)) == {ChangeState.UNCHANGED}
    remove(machine)
    assert files_below(place(machine).parent) == {
        "winnow-playbook/notes.md": b"mine",
        "another/SKILL.md": b"theirs",
    }


@pytest.mark.parametrize(
    "name", ["../../../victim.md", "/etc/passwd.md", "references/../../victim.md", "victim", "a/b.md", ".ssh.md"]
)
@pytest.mark.parametrize("act", [install, remove])
def test_a_record_that_names_a_file_elsewhere_is_refused(machine: Machine, name: str, act: object) -> None:
    install(machine)
    victim = machine.home / "victim.md"
    victim.write_text("keep")
    (place(machine) / RECORD).write_text(json.dumps({"files": {name: digest(b"keep")}}))
    assert callable(act)
    (failed,) = (each for each in act(machine) if each.error)
    assert failed.error is not None
    assert "is not as winnow wrote it" in failed.error.message
    assert victim.read_text() == "keep"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 7}', '{"files": {"SKILL.md": 7}}', "[" * 100_000])
def test_a_record_that_is_none_is_refused(machine: Machine, text: str) -> None:
    install(machine)
    (place(machine) / RECORD).write_text(text)
    (failed,) = (each for each in remove(machine) if each.error)
    assert failed.error is not None
    assert "is not as winnow wrote it" in failed.error.message


@pytest.mark.parametrize("name", ["SKILL.md", "references"])
@pytest.mark.parametrize("act", [install, remove])
def test_a_link_among_the_files_of_a_skill_is_not_followed(machine: Machine, name: str, act: object) -> None:
    install(machine)
    victims = machine.home / "victims"
    os.rename(place(machine), victims)
    place(machine).mkdir()
    os.rename(victims / RECORD, place(machine) / RECORD)
    os.symlink(victims / name, place(machine) / name)
    before = files_below(victims)
    assert callable(act)
    (failed,) = (each for each in act(machine) if each.error)
    assert failed.error is not None
    assert failed.error.message == (
        f"{place(machine) / name} is a link, so nothing of this skill was touched; remove it"
    )
    assert files_below(victims) == before


def test_a_folder_of_skills_behind_a_link_is_written_to(machine: Machine, tmp_path: Path) -> None:
    """People keep such folders in a repository and link to them."""
    kept = tmp_path / "repository"
    kept.mkdir()
    os.symlink(kept, machine.home / ".claude" / "skills")
    install(machine)
    assert files_below(kept) == SHIPPED
    assert states(remove(machine)) == {ChangeState.REMOVED}
    assert files_below(kept) == {}


def test_an_interrupted_write_is_completed_by_the_next_one(machine: Machine) -> None:
    """The record is written last: a file that is this version's already needs no record."""
    install(machine)
    (place(machine) / RECORD).unlink()
    (place(machine) / "references" / "recipes.md").unlink()
    assert states(install(machine)) == {ChangeState.ADDED, ChangeState.UNCHANGED}
    assert files_below(place(machine).parent) == SHIPPED
    assert states(remove(machine)) == {ChangeState.REMOVED}
