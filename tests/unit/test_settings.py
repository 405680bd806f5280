"""Settings: one name each, with the precedence flag, variable, file."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.main import get_command
from typer.testing import CliRunner

from winnow.server.commands.serve import app as serve
from winnow.server.commands.terminal.flags import SHORTER
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load, load_settings
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.both_users


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
    assert (load().settings.project, load().source_of("project")) == ("from-file", str(config))
    monkeypatch.setenv("WINNOW_PROJECT", "from-env")
    assert (load().settings.project, load().source_of("project")) == ("from-env", "WINNOW_PROJECT")
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


def test_nothing_confines_a_server_unless_it_is_said(config: Path) -> None:
    settings = load_settings()
    assert (settings.doc_tags, settings.environment, settings.repositories) == ((), "", ())


def test_what_confines_a_server_comes_from_every_place(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text('doc_tags = ["a, b", " c "]\nenvironment = "dev"\nrepositories = ["org/app"]\n')
    settings = load_settings()
    assert (settings.doc_tags, settings.environment, settings.repositories) == (
        ("a, b", "c"),
        "dev",
        ("org/app",),
    )
    monkeypatch.setenv("WINNOW_DOC_TAGS", "d, e")
    monkeypatch.setenv("WINNOW_ENVIRONMENT", "scratch")
    settings = load_settings(repositories="org/web,org/api")
    assert (settings.doc_tags, settings.environment, settings.repositories) == (
        ("d", "e"),
        "scratch",
        ("org/web", "org/api"),
    )


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("environment", "production"),
        ("environment", "Prod"),
        ("doc_tags", " , "),
        ("repositories", ","),
        ("doc_tags", ["a", " "]),
    ],
)
def test_a_slip_in_what_confines_a_server_is_refused_rather_than_no_restriction(
    config: Path, flag: str, value: str | list[str]
) -> None:
    with pytest.raises(WinnowError, match=rf"{flag}: .* \(from --{flag.replace('_', '-')}\)"):
        load_settings(**{flag: value})


@pytest.mark.parametrize("name", ["kb_v2_enabled", "structured_output_enabled"])
def test_a_rollback_switch_is_read_from_its_shared_variable_too_and_ours_wins(
    config: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def in_force() -> tuple[bool, str]:
        return getattr(load().settings, name), load().source_of(name)

    assert in_force() == (True, "default")
    config.write_text(f"{name} = true\n")
    monkeypatch.setenv(f"MCP_{name.upper()}", "false")
    assert in_force() == (False, f"MCP_{name.upper()}")
    monkeypatch.setenv(f"WINNOW_{name.upper()}", "true")
    assert in_force() == (True, f"WINNOW_{name.upper()}")
    assert getattr(load_settings(**{name: False}), name) is False


def test_no_other_setting_is_read_from_a_shared_variable(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROJECT", "ENVIRONMENT", "LEGACY_TOOLS"):
        monkeypatch.setenv(f"MCP_{name}", "dev")
    settings = load_settings()
    assert (settings.project, settings.environment, settings.legacy_tools) == ("default", "", False)


def test_a_wrong_shared_variable_is_named(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_KB_V2_ENABLED", "perhaps")
    with pytest.raises(WinnowError, match=r"kb_v2_enabled: .* \(from MCP_KB_V2_ENABLED\)"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "least", "most", "beyond"),
    [("scratch_mb", 1, 4096, (0, 4097)), ("scratch_minutes", 0.01, 1440, (0.009, 1441))],
)
def test_what_sessions_hold_is_bounded(
    config: Path, name: str, least: float, most: float, beyond: tuple[float, ...]
) -> None:
    assert [getattr(load_settings(**{name: value}), name) for value in (least, most)] == [least, most]
    for value in beyond:
        with pytest.raises(WinnowError, match=name):
            load_settings(**{name: value})


def test_every_setting_of_serving_is_a_flag_of_its_own_name() -> None:
    flags = {flag for parameter in get_command(serve).params for flag in parameter.opts}
    of_http = {"http", "tls_cert", "tls_key", "trusted_proxy", "host_name", "allow_address", "deny_address"}
    of_http |= {"oidc_issuer", "oidc_audience", "oidc_scope", "oidc_rules", "no_keys"}
    assert {flag[2:].replace("-", "_") for flag in flags - set(SHORTER.values())} == {
        *Settings.model_fields,
        *of_http,
        "lsp",
    }
    assert set(SHORTER.values()) <= flags


def test_a_list_that_is_given_in_several_flags_adds_up(config: Path) -> None:
    several = CliRunner().invoke(serve, ["--tools", "all", "--tools", "code"])
    assert (several.exit_code, "all and code exclude each other" in several.stderr) == (2, True)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--doc-tags", ","),
        ("--environment", "production"),
        ("--repositories", ","),
        ("--resource-links", "maybe"),
        ("--evidence", "both"),
        ("--scratch-mb", "0"),
        ("--scratch-minutes", "0"),
    ],
)
def test_a_flag_of_serving_reaches_the_setting_of_its_name(config: Path, flag: str, value: str) -> None:
    refused = CliRunner().invoke(serve, [flag, value])
    assert (refused.exit_code, f"(from {flag})" in refused.stderr) == (2, True)
