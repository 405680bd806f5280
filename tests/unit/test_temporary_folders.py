"""Temporary folders: each is removed with its process, however the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from winnow.server.backends.opening import open_backends
from winnow.server.settings.loading import load_settings
from winnow.server.storage.files.temporary_folders import CREATING, remove_abandoned, temporary_folder

pytestmark = pytest.mark.both_users

DIES = """
import os, sys
from pathlib import Path
from winnow.server.storage.files.temporary_folders import temporary_folder
with temporary_folder(Path(sys.argv[1]), "creating") as folder:
    (folder / "half").write_text("half of it")
    os._exit(1)
"""


def _left_by_the_dead(parent: Path) -> Path:
    assert subprocess.run([sys.executable, "-c", DIES, parent]).returncode == 1
    (left,) = parent.glob(".creating-*")
    return left


def test_what_a_dead_process_left_is_swept_when_the_store_is_opened(tmp_path: Path) -> None:
    left = _left_by_the_dead(tmp_path)
    assert (left / "half").exists()
    open_backends(load_settings(store=tmp_path, embedding="off"), wait_for_model=False).close()
    assert [*tmp_path.glob(".creating-*")] == []


def test_what_is_being_made_stays_and_goes_in_the_end(tmp_path: Path) -> None:
    with temporary_folder(tmp_path, CREATING) as mine, temporary_folder(tmp_path, CREATING) as yours:
        remove_abandoned(tmp_path, CREATING)
        assert (mine.is_dir(), yours.is_dir(), mine != yours) == (True, True, True)
        (mine / "made").mkdir()
        (mine / "made").rename(tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_what_only_looks_like_a_folder_of_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    (tmp_path / ".creating-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".creating-file").touch()
    (tmp_path / ".converting-other").mkdir()
    remove_abandoned(tmp_path, CREATING)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".converting-other",
        ".creating-file",
        ".creating-link",
        "elsewhere",
    ]
    assert (tmp_path / "elsewhere" / "kept").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another user")
def test_a_folder_of_another_user_stays(tmp_path: Path) -> None:
    left = _left_by_the_dead(tmp_path)
    os.chown(left, 65_534, 65_534)
    remove_abandoned(tmp_path, CREATING)
    assert left.is_dir()
