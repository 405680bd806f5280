"""Addresses that open, on the shell: of files that exist below the folder that was ingested, and of no others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from typer.testing import CliRunner

from winnow.server.commands.corpus.cite import app as cite
from winnow.server.commands.ingest import app as ingest
from winnow.server.commands.quote import app as quote
from winnow.server.commands.search import app as search
from winnow.server.commands.terminal.links import file_url
from winnow.server.models import Document

DOCUMENT = Document("d1", "default", "a b.pdf", "", "A", "pdf", "hash")


COMMANDS = {"cite": cite, "ingest": ingest, "quote": quote, "search": search}


def _run(command: str, *arguments: str) -> str:
    settings = {"WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off"}
    done = CliRunner().invoke(COMMANDS[command], arguments, env=settings)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "my notes"
    folder.mkdir()
    (folder / "va#lve 1.md").write_text("# Valve\n\nThe red valve opens at seven bar.\n", encoding="utf-8")
    _run("ingest", str(folder), "--store", str(tmp_path / "store"))
    return tmp_path / "store"


def test_quotes_and_results_have_an_address_that_opens_while_the_file_is_there(store: Path) -> None:
    file = store.parent / "my notes" / "va#lve 1.md"
    to = ("--store", str(store))
    question = "when does the red valve open"
    (row,) = json.loads(_run("quote", question, *to, "--json"))["quotes"]
    assert Path(unquote(urlsplit(row["url"]).path)) == file
    assert row["url"] == file.as_uri()
    for arguments in (["search", question, "--json"], ["search", question, "--explain", "--json"]):
        (row,) = json.loads(_run(*arguments, *to))["results"]
        assert row["url"] == file.as_uri()
    assert file.as_uri() in _run("quote", question, *to).splitlines()
    assert f"   {file.as_uri()}" in _run("search", question, "--explain", *to).splitlines()
    file.unlink()
    (row,) = json.loads(_run("quote", question, *to, "--json"))["quotes"]
    assert "url" not in row
    assert "file://" not in _run("quote", question, *to)


def test_citations_have_an_address_of_their_file_or_none(store: Path) -> None:
    file = store.parent / "my notes" / "va#lve 1.md"
    file.write_text("---\ntitle: Valves\ncitekey: ohm27\nauthor: Ohm\nyear: 1827\n---\nThe red valve opens.\n")
    to = ("--store", str(store))
    _run("ingest", str(file.parent), *to)
    for arguments in (["red valve"], ["--document", file.name]):
        assert json.loads(_run("cite", *arguments, *to, "--json"))["urls"] == [file.as_uri()]
        lines = _run("cite", *arguments, *to).splitlines()
        assert lines[1:2] == [file.as_uri()]
    file.unlink()
    assert json.loads(_run("cite", "red valve", *to, "--json"))["urls"] == [None]


def test_a_file_without_a_citation_is_named_once(store: Path) -> None:
    file = store.parent / "my notes" / "va#lve 2.md"
    file.write_text("The blue valve closes.\n")
    to = ("--store", str(store))
    _run("ingest", str(file.parent), *to)
    assert _run("cite", "--document", file.name, *to) == f"{file.as_uri()}\n"


def test_the_address_of_a_page_ends_with_it(tmp_path: Path) -> None:
    (tmp_path / "a b.pdf").touch()
    document = replace(DOCUMENT, source=str(tmp_path))
    assert file_url(document, "a b.pdf#page=3") == f"{tmp_path.as_uri()}/a%20b.pdf#page=3"
    assert file_url(document) == f"{tmp_path.as_uri()}/a%20b.pdf"


def test_the_address_of_a_record_is_that_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").touch()
    document = replace(DOCUMENT, uri="all.jsonl#7", type="record", source=str(tmp_path))
    assert file_url(document) == f"{tmp_path.as_uri()}/all.jsonl"


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        ("inner", "../outside.pdf"),
        ("inner", "{root}/outside.pdf"),
        ("inner", "to_outside.pdf"),
        ("inner", "a\0b.pdf"),
        ("inner", "x" * 5_000),
        ("inner", "missing.pdf"),
        ("inner", ""),
    ],
)
def test_a_file_outside_its_source_or_without_a_possible_name_has_no_address(
    tmp_path: Path, source: str, uri: str
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "outside.pdf").touch()
    (tmp_path / "inner" / "to_outside.pdf").symlink_to(tmp_path / "outside.pdf")
    document = replace(DOCUMENT, uri=uri.format(root=tmp_path), source=str(tmp_path / source))
    assert file_url(document) is None


def test_a_source_that_is_no_folder_of_this_machine_has_no_address() -> None:
    assert file_url(replace(DOCUMENT, uri="pyproject.toml", source="")) is None
    assert file_url(replace(DOCUMENT, uri="pyproject.toml", source=".")) is None
