"""One name per setting: flag, variable, file, in that order."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from server.errors import WinnowError
from server.settings import load_settings, source_of


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "winnow.toml"
    monkeypatch.setenv("WINNOW_CONFIG", str(path))
    return path


def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings().project == "default"
    config.write_text('project = "from-file"\n')
    assert (load_settings().project, source_of("project")) == ("from-file", str(config))
    monkeypatch.setenv("WINNOW_PROJECT", "from-env")
    assert (load_settings().project, source_of("project")) == ("from-env", "WINNOW_PROJECT")
    assert load_settings(project="from-flag").project == "from-flag"


def test_a_list_in_the_environment_is_written_with_commas(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_PROJECTS", "a, b,c")
    assert load_settings().projects == ("a", "b", "c")


def test_a_wrong_value_is_refused_with_the_place_it_was_set(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_MEMORY_MB", "3")
    with pytest.raises(WinnowError, match=r"memory_mb: .* \(from WINNOW_MEMORY_MB\)"):
        load_settings()


def test_an_unknown_key_and_a_broken_file_are_refused(config: Path) -> None:
    config.write_text("projekt = 1\n")
    with pytest.raises(WinnowError, match="projekt"):
        load_settings()
    config.write_text("project = \n")
    with pytest.raises(WinnowError, match="settings"):
        load_settings()


def test_settings_are_frozen(config: Path) -> None:
    with pytest.raises(ValidationError):
        load_settings().project = "other"  # type: ignore[misc]
