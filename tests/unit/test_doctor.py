"""The doctor: each fault has a line that names it and says what to do."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.tiny_models import write_model
from winnow import SEARCH_PATH
from winnow.server.commands import health
from winnow.server.commands.health import examine, find_changed_files, find_foreign_package, walls
from winnow.server.commands.ingest import app as ingest
from winnow.server.commands.reindex import app as reindex
from winnow.server.commands.terminal.findings import Finding, is_healthy
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.both_users

WINNOW = Path(sys.executable).with_name("winnow")


def _by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {f"{finding.group}/{finding.check}": finding for finding in findings}


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """The doctor's findings on this machine, for a store that does not exist yet."""
    return list(examine(load_settings(store=tmp_path_factory.mktemp("doctor") / "store")))


def test_this_installation_is_right(findings: list[Finding]) -> None:
    """Versions, dependencies, packages, vocabulary and model are as installed."""
    named = _by_name(findings)
    expected = ["winnow", "python", "dependencies", "installation", "tokens"]
    assert [name for name in expected if not named[f"versions/{name}"].ok] == []
    assert named["model/embedding"].ok


def test_a_store_that_is_not_made_yet_is_no_fault(findings: list[Finding]) -> None:
    """The first ingest creates it."""
    folder = _by_name(findings)["store/folder"]
    assert (folder.ok, folder.detail.endswith("(not made yet)")) == (True, True)


def test_every_line_that_is_not_right_says_what_to_do(tmp_path: Path) -> None:
    """The whole command, with settings that are wrong in several ways."""
    (tmp_path / "file").write_text("in the way", "utf-8")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        found = list(
            examine(load_settings(store=tmp_path / "file" / "store", models=tmp_path / "none", qdrant_url=url))
        )
    named = _by_name(found)
    assert (named["store/folder"].ok, named["backends/qdrant"].ok, is_healthy(found)) == (False, False, False)
    assert [finding for finding in found if not finding.ok and not finding.advice] == []


@pytest.mark.walls
def test_an_opt_in_that_no_missing_wall_needs_is_to_be_taken_back() -> None:
    (tier,) = (
        each for each in walls.CHECKS[0](Settings(allow_weaker_sandbox=("landlock",))) if each.check == "tier"
    )
    assert (tier.ok, tier.advice) == (
        False,
        "every wall stands, so accept nothing: take allow_weaker_sandbox back",
    )


def test_a_check_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor runs on broken installations, so it must not fail itself."""

    def broken(settings: Settings) -> list[Finding]:
        raise OSError("no such device")

    monkeypatch.setattr(health, "CHECKS", (broken,))
    found = list(examine(load_settings()))
    detail = "the check itself failed: OSError: no such device"
    assert [(f.check, f.ok, f.detail, f.advice) for f in found] == [("broken", False, detail, health.REINSTALL)]


def test_what_is_worth_knowing_does_not_decide() -> None:
    """Little free space is a warning; a missing wall is a failure."""
    warning = Finding("store", "space", False, "1 MB free", "make room", essential=False)
    fault = Finding("walls", "seccomp", False, "not there", "use a newer kernel")
    assert (is_healthy([warning]), is_healthy([warning, fault])) == (True, False)


@pytest.fixture
def make_distribution(tmp_path: Path) -> Callable[[], Distribution]:
    """An installed distribution with one file of ours, as pip would record it."""
    (tmp_path / "winnow").mkdir()
    (tmp_path / "winnow/__init__.py").write_text("mine\n", "utf-8")
    metadata = tmp_path / "winnow_mcp-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: winnow-mcp\nVersion: 1\n", "utf-8")
    record = "winnow/__init__.py,sha256=_LyADbPxhnAAuFLxzgBEuPFYT3at4e1uZRiYJPlcPNo,5\n"
    (metadata / "RECORD").write_text(record, "utf-8")
    return lambda: Distribution.at(metadata)


def test_a_file_that_another_distribution_has_overwritten_is_named(
    make_distribution: Callable[[], Distribution], tmp_path: Path
) -> None:
    """An installation of anything may write into our folder."""
    assert list(find_changed_files(make_distribution())) == []
    (tmp_path / "winnow/__init__.py").write_text("theirs\n", "utf-8")
    assert list(find_changed_files(make_distribution())) == ["winnow/__init__.py is not what was installed"]
    (tmp_path / "winnow/__init__.py").unlink()
    assert list(find_changed_files(make_distribution())) == ["winnow/__init__.py is missing"]


def test_a_package_that_is_imported_from_elsewhere_or_owned_twice_is_named() -> None:
    """Another module can take the name in these two ways."""
    home = Path(SEARCH_PATH)
    assert list(find_foreign_package("winnow", home, ["winnow-mcp"])) == []
    assert list(find_foreign_package("winnow", home, ["winnow-mcp", "other"])) == ["winnow also belongs to other"]
    elsewhere = list(find_foreign_package("winnow", Path("/elsewhere"), ["winnow-mcp"]))
    assert elsewhere == [f"winnow is imported from {home / 'winnow'}, not from /elsewhere"]


def test_the_command_prints_the_same_for_programs(tmp_path: Path) -> None:
    """`{ok, checks: [{check, ok, detail, advice}]}`, and an exit code that agrees."""
    done = subprocess.run(
        [WINNOW, "doctor", "--json", "--store", tmp_path], capture_output=True, text=True, check=False
    )
    told = json.loads(done.stdout)
    assert set(told) == {"ok", "checks"}
    assert {"check", "ok", "detail", "advice"} <= set(told["checks"][0])
    assert (done.returncode == 0) == told["ok"] == all(c["ok"] for c in told["checks"] if c["essential"])


def test_the_command_shows_an_arrow_for_every_advice(tmp_path: Path) -> None:
    """The text output has the same content as the JSON."""
    (tmp_path / "file").write_text("in the way", "utf-8")
    done = subprocess.run(
        [WINNOW, "doctor", "--store", tmp_path / "file"], capture_output=True, text=True, check=False
    )
    assert (
        done.returncode,
        "→ move it away, or choose another folder: --store" in " ".join(done.stdout.split()),
    ) == (1, True)


def test_the_embedded_engine_is_tried_with_everything_else() -> None:
    found = {finding.check: finding.ok for finding in examine(load_settings())}
    assert found["embedded"] is True


def test_a_project_without_vectors_of_the_model_in_use_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Search answers with a warning; the doctor must report the fault."""
    (tmp_path / "a.md").write_text("# Proxy\n\nThe proxy is a gateway.\n", encoding="utf-8")
    monkeypatch.setenv("WINNOW_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("WINNOW_EMBEDDER", f"onnx:{write_model(tmp_path / 'model')}")
    indexed = CliRunner().invoke(
        ingest, [str(tmp_path / "a.md"), "--project", "mine"], env={"WINNOW_EMBEDDING": "off"}
    )
    assert indexed.exit_code == 0
    model, vectors = health._model(load_settings())
    assert (model.ok, vectors.ok, is_healthy([model, vectors])) == (True, False, False)
    assert "project 'mine' was indexed without the embedding model" in vectors.detail
    assert vectors.advice == "run: winnow ingest PATH... --project mine, or winnow reindex"
    assert CliRunner().invoke(reindex, []).exit_code == 0
    assert [finding.ok for finding in health._model(load_settings())] == [True]
    other = write_model(tmp_path / "other")
    (found,) = [each for each in health._model(load_settings(embedder=f"onnx:{other}")) if not each.ok]
    assert ("another model (onnx/model/" in found.detail, found.advice) == (True, "run: winnow reindex")
