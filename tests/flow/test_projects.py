"""``winnow project``: projects are created, shown, changed and listed from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.flow.test_commands import winnow
from tests.tiny_models import write_model

SETTINGS = {
    "top_k": 9,
    "max_chars_per_chunk": 1000,
    "fusion": "rrf",
    "hybrid": False,
    "embedder": "m/1",
    "labels": {"doc_tag": "paper", "environment": "prod", "repository": "acme/papers"},
    "languages": ["de", "en"],
    "citation_style": "apa",
}
FLAGS = (
    *("--top-k", "9", "--max-chars", "1000", "--fusion", "rrf", "--no-hybrid", "--embedder", "m/1"),
    *("--doc-tag", "paper", "--environment", "prod", "--repository", "acme/papers"),
    *("--language", "de", "--language", "en", "--citation-style", "apa"),
)


def project(store: Path, *arguments: str, exit_code: int = 0) -> Any:
    """What ``winnow project`` prints as JSON."""
    run = winnow("project", *arguments, "--json", "--store", str(store))
    assert (run.returncode, run.stderr) == (exit_code, "")
    return json.loads(run.stdout)


def test_a_project_is_created_with_its_settings_shown_changed_and_listed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    created = project(store, "create", "team/papers", *FLAGS)
    assert created == project(store, "show", "team/papers")
    assert (created["name"], created["settings"], created["documents"]) == ("team/papers", SETTINGS, 0)
    changed = project(store, "set", "team/papers", "--top-k", "7", "--reset", "labels", "--doc-tag", "x")
    labels = {"doc_tag": "x", "environment": "", "repository": ""}
    assert changed["settings"] == {**SETTINGS, "top_k": 7, "labels": labels}
    project(store, "create", "other")
    listed = project(store, "list")
    assert [row["name"] for row in listed["projects"]] == ["other", "team/papers"]
    assert listed["projects"][1]["settings"] == changed["settings"]
    assert project(store, "set", "team/papers", "--reset", "all")["settings"] == listed["projects"][0]["settings"]


def test_what_a_project_holds_is_shown_and_a_project_that_was_only_ingested_exists(tmp_path: Path) -> None:
    store, notes = tmp_path / "store", tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Pumps\n\nA pump needs oil.\n", "utf-8")
    flags = ("--project", "notes", "--store", str(store))
    assert winnow("sources", "add", str(notes), "--id", "mine", *flags).returncode == 0
    assert winnow("ingest", str(notes), *flags).returncode == 0
    shown = project(store, "show", "notes")
    assert (shown["documents"], shown["passages"], shown["generation"], shown["is_complete"]) == (1, 1, 1, True)
    assert shown["sources"] == [{"id": "mine", "paths": [str(notes)]}]
    assert shown["ingested_from"] == [str(notes)]
    assert shown["changed"].startswith("20")
    assert project(store, "set", "notes", "--top-k", "3")["settings"]["top_k"] == 3
    assert "notes: 1 document, 1 passage" in winnow("project", "show", "notes", "--store", str(store)).stdout


def test_settings_are_reset_by_the_names_of_their_flags(tmp_path: Path) -> None:
    store = tmp_path / "store"
    before = project(store, "create", "papers")["settings"]
    project(store, "set", "papers", "--max-chars", "1000", "--doc-tag", "paper", "--language", "de")
    flags = ("--reset", "max-chars", "--reset", "doc-tag", "--reset", "language")
    assert project(store, "set", "papers", *flags)["settings"] == before


def test_a_project_is_bound_to_a_model_by_the_name_that_ingests_take(tmp_path: Path) -> None:
    made = project(tmp_path / "store", "create", "papers", "--embedder", f"onnx:{write_model(tmp_path / 'tiny')}")
    assert made["settings"]["embedder"].startswith("onnx/tiny/")


@pytest.mark.parametrize(
    ("arguments", "reason", "message"),
    [
        (("show", "paper"), "INVALID_PROJECT", "there is no project 'paper'; projects: papers."),
        (("set", "paper", "--top-k", "1"), "INVALID_PROJECT", "projects: papers."),
        (("set", "papers"), "INVALID_REQUEST", "name a setting to change"),
        (("set", "papers", "--reset", "color"), "INVALID_REQUEST", "the settings are all, top_k"),
        (("set", "papers", "--top-k", "101"), "INVALID_REQUEST", "project settings: top_k"),
        (
            ("set", "papers", "--embedder", "m1"),
            "INVALID_REQUEST",
            "should be minilm, bge-small, multilingual, fastembed:MODEL",
        ),
        (("set", "papers", "--language", "../x"), "INVALID_REQUEST", "project settings: languages.0"),
        (("create", "papers"), "INVALID_REQUEST", "winnow project show --store"),
        (("create", "a b"), "INVALID_REQUEST", "cannot be the name of a project"),
        (("create", "x\x1b[31m"), "INVALID_REQUEST", "cannot be the name of a project"),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...], reason: str, message: str
) -> None:
    before = project(tmp_path / "store", "create", "papers")
    error = project(tmp_path / "store", *arguments, exit_code=2)["error"]
    assert error["details"]["reason"] == reason
    assert message in error["message"]
    assert project(tmp_path / "store", "list")["projects"][0]["settings"] == before["settings"]


def test_a_store_that_is_not_there_is_named_and_not_created(tmp_path: Path) -> None:
    error = project(tmp_path / "none", "list", exit_code=2)["error"]
    assert f"there is no index in {tmp_path / 'none'}" in error["message"]
    assert not (tmp_path / "none").exists()
