"""The settings of a project: their form as JSON, what is refused, and their table in the catalogue."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.test_catalogue import layout
from winnow.server.backends.catalogue import Catalogue
from winnow.server.errors import WinnowError
from winnow.server.models import CitationStyle, Environment
from winnow.server.settings.project_settings import (
    Fusion,
    ProjectLabels,
    ProjectSettings,
    check_name,
    make_settings,
    settings_from_json,
    settings_to_json,
)

PLAIN = st.text(st.characters(exclude_categories=("C", "Z")), max_size=50)
SETTINGS = st.builds(
    ProjectSettings,
    top_k=st.integers(1, 100),
    max_chars_per_chunk=st.integers(200, 20_000),
    fusion=st.sampled_from(["", *get_args(Fusion)]),
    hybrid=st.booleans(),
    embedder=PLAIN,
    labels=st.builds(
        ProjectLabels,
        doc_tag=PLAIN,
        environment=st.sampled_from(["", *get_args(Environment)]),
        repository=PLAIN,
    ),
    languages=st.lists(st.from_regex(r"[a-z]{2,3}([_-][A-Za-z]{2,8})?", fullmatch=True), max_size=20).map(tuple),
    citation_style=st.sampled_from(get_args(CitationStyle)),
)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}", fullmatch=True)
# From the present layout to the one before projects had settings of their own.
TO_LAYOUT_6 = """
DROP TABLE project_settings;
ALTER TABLE projects DROP COLUMN changed;
ALTER TABLE projects DROP COLUMN state;
ALTER TABLE projects DROP COLUMN successor;
PRAGMA user_version = 6;
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with closing(Catalogue(tmp_path / "catalogue.sqlite3")) as opened:
        yield opened


@given(SETTINGS)
def test_settings_are_the_same_after_their_way_through_json(settings: ProjectSettings) -> None:
    text = settings_to_json(settings)
    assert settings_from_json("p", text) == settings
    assert set(json.loads(text)) == set(ProjectSettings.model_fields)


def test_settings_have_the_defaults_of_the_contract() -> None:
    assert json.loads(settings_to_json(ProjectSettings())) == {
        "top_k": 6,
        "max_chars_per_chunk": 1800,
        "fusion": "",
        "hybrid": True,
        "embedder": "",
        "labels": {"doc_tag": "", "environment": "", "repository": ""},
        "languages": [],
        "citation_style": "pandoc",
    }


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"top_k": True}, "top_k"),
        ({"top_k": "6"}, "top_k"),
        ({"top_k": float("nan")}, "top_k"),
        ({"max_chars_per_chunk": 199}, "max_chars_per_chunk"),
        ({"max_chars_per_chunk": 20_001}, "max_chars_per_chunk"),
        ({"fusion": "sum"}, "fusion"),
        ({"hybrid": "yes"}, "hybrid"),
        ({"hybrid": 1}, "hybrid"),
        ({"embedder": "x" * 501}, "embedder"),
        ({"embedder": "a\nb"}, "embedder"),
        ({"labels": {"doc_tag": "x" * 201}}, "labels.doc_tag"),
        ({"labels": {"doc_tag": "a\x1b[31m"}}, "labels.doc_tag"),
        ({"labels": {"environment": "live"}}, "labels.environment"),
        ({"labels": {"team": "a"}}, "labels.team"),
        ({"labels": None}, "labels"),
        ({"languages": ["../etc"]}, "languages.0"),
        ({"languages": ["en"] * 21}, "languages"),
        ({"languages": "en"}, "languages"),
        ({"citation_style": "turabian"}, "citation_style"),
        ({"later": 1}, "later"),
    ],
)
def test_what_is_out_of_range_is_refused_and_named(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(WinnowError) as caught:
        make_settings(fields)
    assert caught.value.reason == "INVALID_REQUEST"
    assert caught.value.message.startswith(f"project settings: {where}")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "text", ["", "null", "[]", '{"top_k": 6, "later": true}', '{"top_k": "all"}', "{", "\x00"]
)
def test_stored_settings_of_another_version_are_an_error_that_says_what_to_do(text: str) -> None:
    with pytest.raises(WinnowError) as caught:
        settings_from_json("papers", text)
    assert caught.value.reason == "INDEX_UNAVAILABLE"
    assert "winnow project set papers --reset all" in caught.value.message


@given(NAMES)
def test_a_name_of_the_documented_form_is_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "/a", "-a", ".a", "a b", "a\n", "a\x00", "ä", "a" * 65, "a\u202eb", "a%2f"])
def test_any_other_name_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(WinnowError, match="cannot be the name of a project") as caught:
        check_name(name)
    assert "\n" not in caught.value.message


@given(st.text(max_size=80).filter(lambda text: not text.isascii()))
def test_no_name_with_a_character_beyond_ascii_is_accepted(name: str) -> None:
    with pytest.raises(WinnowError):
        check_name(name)


def test_a_project_without_settings_has_the_defaults_and_does_not_exist(catalogue: Catalogue) -> None:
    assert catalogue.project_settings("p") == ProjectSettings()
    assert catalogue.existing_projects() == []


def test_saved_settings_create_the_project_and_belong_to_it_alone(catalogue: Catalogue) -> None:
    mine, theirs = ProjectSettings(top_k=9), ProjectSettings(hybrid=False)
    catalogue.save_project_settings("a", mine)
    catalogue.save_project_settings("a/b", theirs)
    assert (catalogue.project_settings("a"), catalogue.project_settings("a/b")) == (mine, theirs)
    assert [info.name for info in catalogue.existing_projects()] == ["a", "a/b"]
    assert catalogue.projects() == []
    catalogue.save_project_settings("a", theirs)
    assert catalogue.project_settings("a") == theirs


def test_a_catalogue_of_the_layout_before_settings_is_migrated_and_keeps_its_projects(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite3"
    Catalogue(path).close()
    now = layout(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"{TO_LAYOUT_6} INSERT INTO projects (name, generation) VALUES ('p', 7)")
    assert layout(path)[0] == 6
    for _ in range(2):
        with closing(Catalogue(path)) as opened:
            assert (opened.generation("p"), opened.project_settings("p")) == (7, ProjectSettings())
    assert layout(path) == now
