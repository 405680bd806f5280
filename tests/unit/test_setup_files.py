"""Configuration files of clients on the disk: what is never touched, and how the others are replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from winnow.server.commands.setup import files
from winnow.server.commands.setup.changes import ChangeState, Home, plan_entry, plan_removal
from winnow.server.commands.setup.clients import CLIENTS
from winnow.server.commands.setup.files import MOST_BYTES, list_backups, read_config_file, replace_config_file
from winnow.server.commands.setup.launch import Launch
from winnow.server.errors import WinnowError

pytestmark = pytest.mark.both_users

LAUNCH = Launch("/venv/bin/winnow", ("serve", "--store", "/data", "--project", "notes"))
CURSOR = next(client for client in CLIENTS if client.name == "cursor")
OTHER = '{"mcpServers": {"a": {"command": "x"}}}'


def home(path: Path) -> Home:
    return Home(CURSOR, path)


def set_up(path: Path) -> Path | None:
    return plan_entry(home(path), LAUNCH).write()


def refusal_of(path: Path) -> str:
    """The message that refuses the file; the file and its folder are as they were."""
    before = sorted(os.listdir(path.parent))
    with pytest.raises(WinnowError) as refused:
        set_up(path)
    assert (refused.value.reason, sorted(os.listdir(path.parent))) == ("INVALID_REQUEST", before)
    return refused.value.message


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").mkdir()
    assert "is a folder, or no file at all" in refusal_of(tmp_path / "mcp.json")


def test_a_pipe_in_its_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mcp.json")
    assert "no file at all" in refusal_of(tmp_path / "mcp.json")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "mcp.json").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert "has more than 16 MiB" in refusal_of(tmp_path / "mcp.json")


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_bytes(b'{\n"a": "\xff"}')
    assert "is not UTF-8 (line 2)" in refusal_of(tmp_path / "mcp.json")


def test_a_read_only_file_is_refused_also_where_the_user_could_replace_it(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    path.chmod(0o444)
    assert f"is read-only; make it writable first: chmod u+w {path}" in refusal_of(path)
    assert path.read_text() == OTHER


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").symlink_to(tmp_path / "gone.json")
    assert f"is a link to {tmp_path}/gone.json, which is not there" in refusal_of(tmp_path / "mcp.json")


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").symlink_to(tmp_path / "back.json")
    (tmp_path / "back.json").symlink_to(tmp_path / "mcp.json")
    assert "mcp.json " in refusal_of(tmp_path / "mcp.json")


def test_a_broken_file_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"a": ')
    assert "line 1, column 7" in refusal_of(tmp_path / "mcp.json")
    with pytest.raises(WinnowError, match="line 1, column 7"):
        plan_removal(home(tmp_path / "mcp.json"))


def test_a_folder_that_may_not_be_written_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    path = tmp_path / "below" / "mcp.json"
    path.parent.mkdir()
    path.write_text(OTHER)
    path.parent.chmod(0o500)
    try:
        assert "cannot be read or written: Permission denied; nothing was changed" in refusal_of(path)
    finally:
        path.parent.chmod(0o700)


def test_a_file_keeps_its_mode_and_its_copy_has_it_too(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    for mode in (0o600, 0o640, 0o664):
        path.chmod(mode)
        kept = set_up(path)
        assert kept is not None
        assert [stat.S_IMODE(each.stat().st_mode) for each in (path, kept)] == [mode, mode]
        plan_removal(home(path)).write()
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    os.chown(path, 1234, 4321)
    kept = set_up(path)
    assert kept is not None
    assert [(each.stat().st_uid, each.stat().st_gid) for each in (path, kept)] == [(1234, 4321)] * 2


def test_no_new_file_is_made_in_another_user_s_folder(tmp_path: Path) -> None:
    """As by sudo, which may keep the home of the user: the client could not read the file."""
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    os.chown(tmp_path, 1234, 4321)
    assert "which belongs to another user; run setup as that user" in refusal_of(tmp_path / "mcp.json")


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "settings" / "mcp.json"
    assert set_up(path) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_link_stays_a_link_and_the_file_that_it_leads_to_is_written(tmp_path: Path) -> None:
    """As where people keep their configuration in a repository."""
    real, path = tmp_path / "dotfiles" / "mcp.json", tmp_path / ".cursor" / "mcp.json"
    for each in (real, path):
        each.parent.mkdir()
    real.write_text(OTHER)
    path.symlink_to(Path("..") / "dotfiles" / "mcp.json")
    kept = set_up(path)
    assert (path.is_symlink(), "winnow" in real.read_text()) == (True, True)
    assert kept is not None
    assert (kept.parent, os.listdir(path.parent)) == (real.parent, ["mcp.json"])
    plan_removal(home(path)).write()
    assert (path.is_symlink(), real.read_text(), os.listdir(real.parent)) == (True, OTHER, ["mcp.json"])


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"\xef\xbb\xbf" + OTHER.encode())
    set_up(path)
    assert path.read_bytes().startswith(b'\xef\xbb\xbf{"mcpServers"')
    plan_removal(home(path)).write()
    assert path.read_bytes() == b"\xef\xbb\xbf" + OTHER.encode()


@pytest.mark.parametrize("before", ["", "{}", "{\n}\n", '{"mcpServers": {}}', '{"mcpServers": {\n}}', '{"a": 1}'])
def test_removal_brings_back_what_setup_had_to_make_room_in(before: str, tmp_path: Path) -> None:
    """The copy of the file tells forms apart that look the same with the entry in them."""
    path = tmp_path / "mcp.json"
    path.write_text(before)
    set_up(path)
    assert plan_removal(home(path)).write() is None
    assert (path.read_text(), os.listdir(tmp_path)) == (before, ["mcp.json"])


@pytest.mark.parametrize("before", ["", "model = 1", "model = 1\n", "model = 1\n\n", "[mcp_servers]\n"])
def test_removal_brings_back_the_end_of_the_last_line_as_it_was(before: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)
    codex = Home(next(client for client in CLIENTS if client.name == "codex"), path)
    plan_entry(codex, LAUNCH).write()
    plan_removal(codex).write()
    assert (path.read_text(), os.listdir(tmp_path)) == (before, ["config.toml"])


def test_a_file_that_setup_made_is_removed_with_its_entry(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    set_up(path)
    plan_removal(home(path)).write()
    assert os.listdir(tmp_path) == []


def test_what_the_user_changed_since_stays_when_the_entry_goes(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    set_up(path)
    path.write_text(path.read_text().replace('{"command": "x"}', '{"command": "y"}'))
    kept = plan_removal(home(path)).write()
    assert path.read_text() == OTHER.replace("x", "y")
    assert kept is not None
    assert '"winnow"' in kept.read_text()


def test_a_copy_that_is_broken_does_not_stand_in_the_way_of_a_removal(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    kept = set_up(path)
    assert kept is not None
    kept.write_text("{")
    plan_removal(home(path)).write()
    assert path.read_text() == OTHER


def test_two_copies_of_one_second_have_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.time, "gmtime", lambda: (2026, 11, 28, 5, 0, 0, 5, 332, 0))
    path = tmp_path / "mcp.json"
    for number in range(3):
        path.write_text(f'{{"n": {number}}}')
        set_up(path)
    names = [each.name for each in list_backups(read_config_file(path))]
    assert sorted(names) == [f"mcp.json.winnow-backup-20261128T050000Z{end}" for end in ("", "-1", "-2")]


def test_a_file_that_another_program_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    change = plan_entry(home(path), LAUNCH)
    path.write_text('{"newer": 1}')
    with pytest.raises(WinnowError, match="was changed by another program meanwhile") as refused:
        change.write()
    assert (refused.value.retryable, path.read_text(), os.listdir(tmp_path)) == (
        True,
        '{"newer": 1}',
        ["mcp.json"],
    )


def test_many_setups_at_once_leave_one_entry_and_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    begin = threading.Barrier(8)
    failed: list[WinnowError] = []

    def run() -> None:
        begin.wait()
        try:
            set_up(path)
        except WinnowError as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plan_entry(home(path), LAUNCH).state is ChangeState.UNCHANGED
    assert path.read_text().count('"winnow"') == 1
    assert {error.reason for error in failed} <= {"SOURCE_UNAVAILABLE"}
    assert [
        name for name in os.listdir(tmp_path) if name.startswith("mcp.json.winnow-") and "backup" not in name
    ] == []


def test_a_write_that_fails_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    file = read_config_file(path)

    def refuse(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):  # before and after there is a copy of the file
        with monkeypatch.context() as patched:
            patched.setattr(files.os, name, refuse)
            with pytest.raises(WinnowError, match="No space left on device; nothing was changed"):
                replace_config_file(file, b"{}", keeps_copy=True)
        assert (path.read_text(), os.listdir(tmp_path)) == (OTHER, ["mcp.json"])
