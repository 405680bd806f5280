"""Works of Zotero are cited by their own facts, whatever stands in their notes, marks and attachments."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.zotero_database import write_database
from tests.zotero_library import Library, Zotero
from winnow.server.commands.corpus.cite import app as cite
from winnow.server.commands.zotero import app as zotero

TITLE = "The galvanic circuit"
NOTE = "Silver and zinc were bought at the market"
MARK = "current is proportional to the tension"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An index of one work with a note, a text, a mark in it, and what its owner wrote in Extra."""
    library = Library("library", "My Library", random.Random(1))
    held = Zotero(tmp_path / "Zotero", tmp_path / "papers", [library])
    held.folder.mkdir()
    work = library.add(
        "book",
        "1827-00-00",
        title=TITLE,
        creators=[{"creatorType": "author", "firstName": "Georg", "lastName": "Ohm"}],
        date="1827",
        publisher="Riemann",
        place="Berlin",
        edition="2",
        series="Physics of Metals",
        ISBN="978-3-16-148410-0",
        rights="public domain",
        extra="Citation Key: ohm1827\nOriginal Date: 1826\nread twice",
        tags=[{"tag": "current"}],
        collections=[],
    )
    text = b"# Another heading\n\nThe tension of a cell was measured with a torsion balance.\n"
    file = held.attach(library, work, "scan of chapter.md", text, title="Chapter", contentType="text/markdown")
    library.add("note", parentItem=work.key, note=f"<h1>My thoughts</h1><p>{NOTE}.</p>", tags=[], collections=[])
    library.add(
        "annotation",
        parentItem=file.key,
        annotationType="highlight",
        annotationText=MARK,
        annotationComment="",
        annotationColor="#ffd400",
        annotationPageLabel="1",
        annotationSortIndex="00001",
        annotationPosition=json.dumps({"pageIndex": 0}),
        tags=[],
    )
    write_database(held)
    done = CliRunner().invoke(
        zotero,
        ["ingest", "--data-folder", str(held.folder), "--no-api", "--store", str(tmp_path / "store")],
        env=SETTINGS,
    )
    assert done.exit_code == 0, done.output
    return tmp_path / "store"


SETTINGS = {"WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off", "WINNOW_GRAPH": "off"}


def _cite(store: Path, question: str, style: str) -> dict[str, list[str]]:
    done = CliRunner().invoke(cite, [question, "--style", style, "--store", str(store), "--json"], env=SETTINGS)
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("question", [NOTE, MARK, "tension measured with a torsion balance"])
def test_a_note_a_mark_and_a_file_are_cited_by_the_title_of_their_work(store: Path, question: str) -> None:
    (entry,) = _cite(store, question, "apa")["entries"]
    assert entry.startswith("Ohm, G. (1827). The galvanic circuit (2nd ed.). Riemann."), entry


def test_what_zotero_and_its_field_extra_state_of_a_work_is_written_again(store: Path) -> None:
    (entry,) = (json.loads(each) for each in _cite(store, NOTE, "csl-json")["entries"])
    assert {name: entry[name] for name in ("title", "edition", "publisher-place", "collection-title", "ISBN")} == {
        "title": TITLE,
        "edition": "2",
        "publisher-place": "Berlin",
        "collection-title": "Physics of Metals",
        "ISBN": "978-3-16-148410-0",
    }
    assert (entry["original-date"], entry["note"]) == ({"date-parts": [[1826]]}, "read twice")
    assert entry["custom"] == {"rights": "public domain"}
    (bibtex,) = _cite(store, NOTE, "bibtex")["entries"]
    for line in ("address = {Berlin}", "series = {Physics of {Metals}}", "rights = {public domain}"):
        assert line in bibtex
