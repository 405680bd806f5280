"""The settings that the operator, the user and a file in the working folder may set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from winnow.sandbox.runners.runner_table import MANDATORY_WALLS
from winnow.sandbox.walls.tiers import TIERS
from winnow.sandbox.walls.wall_table import ALL_WALLS
from winnow.server.commands.config import app as config_app
from winnow.server.commands.serve import app as serve
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load, load_settings
from winnow.server.settings.permissions import KEYS, SETTERS, TOPICS, Setter
from winnow.server.settings.settings import Settings
from winnow.server.settings.value_types import WALLS, WEAKER_TIERS

pytestmark = pytest.mark.both_users

# A value that is not the default, for each setting, as TOML.
OTHER = {
    "store": '"/elsewhere"',
    "models": '"/elsewhere"',
    "project": '"private"',
    "projects": '["private", "secret"]',
    "doc_tags": '["public"]',
    "environment": '"dev"',
    "repositories": '["org/app"]',
    "embedding": '"off"',
    "embedder": '"openai:http://127.0.0.1:9/v1#m"',
    "embedder_key": '"a key"',
    "fusion": '"rrf"',
    "boost_vendor": "2.0",
    "boost_types": "{code = 2.0}",
    "boost_recency": "2.0",
    "boost_recency_days": "10.0",
    "boost_entity": "2.0",
    "boost_topic": "2.0",
    "reranker": '"/elsewhere"',
    "rerank_top": "3",
    "mmr": "0.5",
    "evidence": '"lexical"',
    "index_memory_mb": "512",
    "qdrant_url": '"http://127.0.0.1:9"',
    "qdrant_api_key": '"a key"',
    "qdrant_shards": "2",
    "qdrant_replicas": "2",
    "qdrant_on_disk": "false",
    "graph": '"off"',
    "neo4j_url": '"bolt://127.0.0.1:9"',
    "neo4j_user": '"me"',
    "neo4j_password": '"a password"',
    "entities": '"/elsewhere"',
    "daemon": '"off"',
    "engine_idle_minutes": "1.0",
    "drain_seconds": "1.0",
    "watch": '"on"',
    "watch_scan_minutes": "5.0",
    "watch_poll_seconds": "5.0",
    "default_response_mode": '"full"',
    "content": '"summary"',
    "structured_output_enabled": "false",
    "resource_links": '"on"',
    "tools": '"code"',
    "tool_names": '"dotted"',
    "kb_v2_enabled": "false",
    "legacy_tools": "true",
    "scratch_mb": "2",
    "scratch_minutes": "2.0",
    "execute_code": '"off"',
    "sandbox": '"monty"',
    "allow_weaker_reader": "true",
    "enable_writes": "true",
    "ingest_roots": '["/elsewhere"]',
    "nli_model": '"/elsewhere"',
    "notebook_url": '"http://127.0.0.1:9"',
    "notebook_token": '"a key"',
    "review_claims": "true",
    "allow_weaker_sandbox": '["landlock"]',
    "skills": '["/elsewhere"]',
    "prompt_packs": '["/elsewhere"]',
    "tool_packs": '["/elsewhere"]',
    "limits": '"strict"',
    "script_calls": "7",
    "script_text_mb": "7",
    "script_rows": "7",
    "script_previews": "7",
    "script_documents": "7",
    "result_kb": "7",
    "result_tokens": "700",
    "wall_seconds": "2.0",
    "memory_mb": "128",
    "workers": "7",
    "queue": "7",
    "queue_seconds": "7.0",
    "calls_per_minute": "7",
    "harvest": '"alert"',
    "harvest_passages": "700",
    "harvest_minutes": "7.5",
    "scripts_per_minute": "7",
    "reads_per_minute": "7",
    "audit": '"off"',
    "audit_mb": "1.0",
    "audit_days": "1",
    "log_queries": "true",
    "otlp_url": '"http://localhost:4318"',
    "log_file": '"/srv/winnow.log"',
    "log_mb": "1.0",
    "log_files": "2",
}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Setter, Path]:
    """The paths of all settings files; no file exists and no variable is set."""
    for name in [name for name in os.environ if name.startswith(("WINNOW_", "MCP_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "home" / "winnow").mkdir(parents=True)
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "folder")
    return {
        Setter.OPERATOR: tmp_path / "operator.toml",
        Setter.USER: tmp_path / "home" / "winnow" / "winnow.toml",
        Setter.FOLDER: tmp_path / "folder" / "winnow.toml",
    }


def test_every_setting_has_a_topic_and_says_who_may_set_it() -> None:
    names = [name for settings in TOPICS.values() for name in settings]
    assert sorted(names) == sorted(Settings.model_fields)
    assert [name for name in names if not Settings.model_fields[name].description] == []
    assert sorted(OTHER) == sorted(names)


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("place", [Setter.USER, Setter.FOLDER])
def test_a_file_sets_what_the_table_says_and_nothing_else(
    places: dict[Setter, Path], name: str, place: Setter
) -> None:
    default = getattr(load().settings, name)
    places[place].write_text(f"{name} = {OTHER[name]}\n")
    found = load()
    may = place.value <= SETTERS[name].value
    assert (getattr(found.settings, name) != default) is may
    assert found.source_of(name) == (str(places[place]) if may else "default")
    assert [one.name for one in found.ignored] == ([] if may else [name])


@pytest.mark.parametrize("name", OTHER)
def test_the_file_that_the_operator_names_sets_everything(
    places: dict[Setter, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = getattr(load().settings, name)
    monkeypatch.setenv("WINNOW_CONFIG", str(places[Setter.OPERATOR]))
    places[Setter.OPERATOR].write_text(f"{name} = {OTHER[name]}\n")
    assert getattr(load().settings, name) != default


def test_a_file_in_the_working_folder_is_trusted_where_the_operator_names_it(
    places: dict[Setter, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    places[Setter.FOLDER].write_text('store = "/elsewhere"\n')
    monkeypatch.setenv("WINNOW_CONFIG", "winnow.toml")
    assert (load().settings.store, load().ignored) == (Path("/elsewhere"), ())


def test_the_users_file_is_not_read_where_the_operator_names_one(
    places: dict[Setter, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    places[Setter.USER].write_text('project = "mine"\n')
    monkeypatch.setenv("WINNOW_CONFIG", str(places[Setter.OPERATOR]))
    assert load().settings.project == "default"


def test_the_working_folder_comes_last(places: dict[Setter, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    places[Setter.FOLDER].write_text('fusion = "rrf"\nmmr = 0.5\nlimits = "strict"\n')
    places[Setter.USER].write_text('fusion = "convex"\n')
    monkeypatch.setenv("WINNOW_MMR", "0.9")
    settings = load({"limits": "standard"}).settings
    assert (settings.fusion, settings.mmr, settings.limits) == ("convex", 0.9, "standard")


@pytest.mark.parametrize(
    "content",
    [
        b"fusion = ",
        b"\xff\xfe",
        b"a = " + b"[" * 100_000,
        b"# " + b"x" * 300_000,
        b'fusion = "nonsense"\nmmr = 0.5\n',
        b'"a\\nb\\u001b[31m" = 1\n',
        b"unknown = 1\n",
    ],
    ids=["broken", "no-text", "deep", "large", "wrong-value", "forged-name", "unknown"],
)
def test_no_file_in_the_working_folder_stops_a_command(places: dict[Setter, Path], content: bytes) -> None:
    places[Setter.FOLDER].write_bytes(content)
    found = load()
    assert found.settings.fusion == "convex"
    (line,) = found.ignored_lines()
    assert line.startswith(f"{places[Setter.FOLDER]}: ")
    assert [char for char in line if not char.isprintable()] == []


def test_a_named_pipe_in_the_working_folder_holds_up_nothing(places: dict[Setter, Path]) -> None:
    os.mkfifo(places[Setter.FOLDER])
    assert [one.why for one in load().ignored] == ["is not a file"]


def test_the_folders_good_values_count_beside_a_wrong_one(places: dict[Setter, Path]) -> None:
    places[Setter.FOLDER].write_text('fusion = "nonsense"\nmmr = 0.5\n')
    assert (load().settings.mmr, load().source_of("fusion")) == (0.5, "default")


def test_naming_one_project_never_widens_its_reach(
    places: dict[Setter, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    places[Setter.USER].write_text('project = "a"\nprojects = ["a", "b"]\n')
    assert load().settings.reachable == ("a", "b")
    assert load({"project": "a"}).settings.reachable == ("a",)
    assert load({"project": "a", "projects": "a,b"}).settings.reachable == ("a", "b")
    monkeypatch.setenv("WINNOW_PROJECT", "b")
    assert load().settings.reachable == ("b",)
    monkeypatch.setenv("WINNOW_PROJECTS", "b,c")
    assert load().settings.reachable == ("b", "c")


def test_a_server_of_a_project_that_the_operator_left_out_does_not_start(places: dict[Setter, Path]) -> None:
    places[Setter.USER].write_text('projects = ["a", "b"]\n')
    refused = CliRunner().invoke(serve, ["--project", "c"])
    assert (refused.exit_code, "not among the projects in reach: a, b" in refused.stderr) == (2, True)


def test_without_a_project_the_first_of_those_in_reach_is_searched(places: dict[Setter, Path]) -> None:
    chosen = load({"projects": "alpha,beta"})
    assert (chosen.settings.project, chosen.source_of("project")) == ("alpha", "--projects")
    assert load({"project": "beta", "projects": "alpha,beta"}).settings.project == "beta"
    assert load().settings.project == "default"
    places[Setter.USER].write_text('project = "beta"\n')
    assert load({"projects": "alpha,beta"}).settings.project == "beta"


@pytest.mark.parametrize("flags", [["--project", "c", "--projects", "a,b"], ["--projects", "a,b"]])
def test_a_server_whose_own_project_is_out_of_reach_does_not_start(
    places: dict[Setter, Path], flags: list[str]
) -> None:
    places[Setter.USER].write_text('project = "c"\n')
    refused = CliRunner().invoke(serve, flags)
    assert (refused.exit_code, "name one of them with --project" in refused.stderr) == (2, True)
    assert "--projects c,a,b" in refused.stderr


@pytest.mark.parametrize(("key", "address"), KEYS.items())
def test_a_key_goes_only_to_the_server_that_it_was_given_with(
    places: dict[Setter, Path], monkeypatch: pytest.MonkeyPatch, key: str, address: str
) -> None:
    form = "openai:http://127.0.0.1:{}/v1#m" if address == "embedder" else "http://127.0.0.1:{}"
    ours, other = form.format(1001), form.format(1002)
    places[Setter.USER].write_text(f'{address} = "{ours}"\n{key} = "the secret"\n')
    assert getattr(load({address: ours}).settings, key).get_secret_value() == "the secret"
    with pytest.raises(WinnowError, match=f"{key} .* is not sent to") as refused:
        load({address: other})
    assert "the secret" not in refused.value.message
    monkeypatch.setenv(f"WINNOW_{key.upper()}", "for the other")
    assert getattr(load({address: other}).settings, key).get_secret_value() == "for the other"


def test_a_key_by_itself_is_for_the_address_that_is_named_elsewhere(places: dict[Setter, Path]) -> None:
    places[Setter.USER].write_text('qdrant_api_key = "the secret"\n')
    assert load({"qdrant_url": "http://127.0.0.1:1"}).settings.qdrant_api_key is not None


def test_config_lists_what_was_ignored(places: dict[Setter, Path]) -> None:
    places[Setter.FOLDER].write_text('store = "/elsewhere"\nfusion = "rrf"\n')
    shown = CliRunner().invoke(config_app, [])
    assert (shown.exit_code, "/elsewhere" in shown.stdout) == (0, False)
    assert "store ignored: a file in the working folder may not set it" in shown.stderr
    assert [line.split()[1] for line in shown.stdout.splitlines() if line.startswith("fusion")] == ["rrf"]


@pytest.mark.parametrize("place", [Setter.USER, Setter.FOLDER])
def test_what_only_the_operator_may_set_is_not_sent_to_another_file_that_is_ignored(
    places: dict[Setter, Path], place: Setter
) -> None:
    places[place].write_text('allow_weaker_sandbox = ["container"]\nenable_writes = true\n')
    (line,) = load().ignored_lines()
    assert line == (
        f"{places[place]}: allow_weaker_sandbox, enable_writes ignored: set it with a flag, a variable or the "
        "file named by WINNOW_CONFIG, each time winnow is started"
    )


def test_every_command_says_on_stderr_what_was_ignored(places: dict[Setter, Path]) -> None:
    places[Setter.FOLDER].write_text('store = "/elsewhere"\n')
    winnow = Path(sys.executable).parent / "winnow"
    ran = subprocess.run([winnow, "model", "show", "--json"], capture_output=True, text=True, check=False)
    assert "store ignored" in ran.stderr
    assert "store ignored" not in ran.stdout


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("bogus", "'bogus' is neither a tier (container, namespaces) nor a wall that may be missing"),
        ("none", "'none' is neither a tier"),
        ("full", "'full' is neither a tier"),
        ("seccomp", "'seccomp' is neither a tier"),
        ("Container", "did you mean 'container'?"),
        ("land_lock", "did you mean 'landlock'?"),
        pytest.param("x" * 5_000, f"'{'x' * 80}' is neither a tier", id="a long word"),
        (
            "container,landlock",
            "container, landlock together: name one tier (container, namespaces), or walls alone",
        ),
    ],
)
def test_a_weaker_sandbox_is_accepted_by_the_name_of_a_tier_or_of_walls_alone(given: str, complaint: str) -> None:
    with pytest.raises(WinnowError) as refused:
        load_settings(allow_weaker_sandbox=given)
    assert refused.value.reason == "INVALID_REQUEST"
    assert complaint in refused.value.message


@pytest.mark.parametrize("name", ["docs\n", "-docs", "", "d" * 65])
def test_a_name_that_no_project_can_have_is_refused_in_words(name: str) -> None:
    with pytest.raises(WinnowError) as refused:
        load_settings(project=name)
    assert (refused.value.reason, "cannot be the name of a project" in refused.value.message) == (
        "INVALID_REQUEST",
        True,
    )


def test_the_walls_and_tiers_that_may_be_named_are_those_of_the_sandbox() -> None:
    assert [*WALLS] == [wall.name for wall in ALL_WALLS if wall.name not in MANDATORY_WALLS]
    assert [*WEAKER_TIERS] == [name for name, tier in TIERS.items() if tier.lacks]
