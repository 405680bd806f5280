"""File permissions: write access to loaded files, and read access to stored files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from winnow.server.backends.catalogue import Catalogue
from winnow.server.commands.health import examine
from winnow.server.settings.loading import load_settings
from winnow.server.storage.files.lock import HOLDER, StoreLock
from winnow.server.storage.files.private_folder import is_private, make_private
from winnow.server.tools.scripts.skills import load_skills

pytestmark = pytest.mark.both_users

SKILL = 'def answer():\n    """Answer."""\n    return 42\n'
SOMEBODY_ELSE = 12_345


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one skill that only its owner may write."""
    skills = tmp_path / "skills"
    skills.mkdir(mode=0o755)
    (skills / "mine.py").write_text(SKILL)
    (skills / "mine.py").chmod(0o644)
    return skills


@pytest.mark.parametrize(("mode", "is_loaded"), [(0o600, True), (0o644, True), (0o664, False), (0o646, False)])
def test_a_skill_that_others_may_write_is_left_out(folder: Path, mode: int, is_loaded: bool) -> None:
    (folder / "mine.py").chmod(mode)
    assert ("answer" in load_skills([folder]).skills) is is_loaded


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_folder_of_skills_that_others_may_write_is_left_out(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    skill_set = load_skills([folder])
    assert ("answer" in skill_set.skills, [one.what for one in skill_set.left_out]) == (False, [str(folder)])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("which", ["mine.py", "."])
def test_a_skill_of_another_user_is_left_out(folder: Path, which: str) -> None:
    os.chown(folder / which, SOMEBODY_ELSE, SOMEBODY_ELSE)
    skill_set = load_skills([folder])
    assert "answer" not in skill_set.skills
    assert ["another user owns it" in one.why for one in skill_set.left_out] == [True]


def test_a_named_pipe_among_skills_holds_up_nothing(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py", mode=0o600)
    skill_set = load_skills([folder])
    assert ("answer" in skill_set.skills, ["not a file" in one.why for one in skill_set.left_out]) == (
        True,
        [True],
    )


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_folder_of_a_store_is_its_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        Catalogue(tmp_path / "one" / "catalogue.sqlite3").close()
        StoreLock(tmp_path / "two", HOLDER).release()
        make_private(tmp_path / "three" / "four")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("one", "two", "three", "three/four")] == [
        0o700
    ] * 4


def test_the_doctor_names_a_store_that_others_may_read(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    settings = load_settings(store=store, embedding="off", execute_code="off")

    def privacy() -> list[str]:
        return [one.advice for one in examine(settings) if one.check == "privacy"]

    assert (is_private(store), privacy()) == (True, [])
    store.chmod(0o755)
    assert (is_private(store), privacy()) == (
        False,
        [f"other users can read your documents' text there; run: chmod 700 {store}"],
    )
