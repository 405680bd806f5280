"""Ingests with a bibliography: documents get the facts of their entries, and repeated runs change only those."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path
from winnow.server.commands.ingest import app
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import IngestReport, Target
from winnow.server.ingest.references.reference_report import NamedReason, ReferenceReport
from winnow.server.ingest.selection.deletions import DeletionRule
from winnow.server.models import Document
from winnow.server.settings.loading import load_settings

ENTRIES = {
    "ohm": "@article{ohm, title={The galvanic circuit}, author={Ohm, Georg}, year={1827},\n"
    " keywords={current, law}, journal={Annals}, doi={10.1000/ohm}, file={:papers/ohm.md:Text}}",
    "volt": "@book{volt, title={On piles}, author={Volta, Alessandro}, year={1800}}",
    "note": "@misc{note, title={A note on quasars}, year={1963}, abstract={Quasars are far away.}}",
    "lost": "@misc{lost, title={Lost}, year={1900}, file={lost.pdf}}",
}


class Library:
    """A folder of papers and its bibliography, which is written by citekeys."""

    def __init__(self, folder: Path) -> None:
        self.papers, self.file = folder / "papers", folder / "library.bib"
        self.papers.mkdir()
        self.write_paper("ohm.md", "# Circuits\n\nThe current is proportional.\n")
        self.write_paper("piles.md", "# On Piles\n\nLetter of 1800 to the society.\n")
        self.write_paper("other.md", "# Other\n\nNobody knows it.\n")
        self.write("ohm", "volt", "note", "lost")

    def write_paper(self, name: str, text: str) -> None:
        (self.papers / name).write_text(text, "utf-8")

    def write(self, *keys: str, **changed: str) -> None:
        self.file.write_text("\n".join(changed.get(key, ENTRIES[key]) for key in keys), "utf-8")

    def ingest(self, target: Target, **options: Any) -> IngestReport:
        return ingest_paths(target, [self.papers], references=self.file, **options)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


def documents(target: Target) -> dict[str, Document]:
    return {document.uri: document for document in target.catalogue.documents("p")}


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    return report.documents, report.unchanged, report.deleted, report.chunks


def test_documents_get_the_facts_of_their_entries_and_entries_without_a_file_are_documents(
    target: Target, library: Library
) -> None:
    report = library.ingest(target)
    held = documents(target)
    assert sorted(held) == ["library.bib#lost", "library.bib#note", "ohm.md", "other.md", "piles.md"]
    assert (held["ohm.md"].title, held["ohm.md"].tags) == ("The galvanic circuit", ("current", "law"))
    assert held["ohm.md"].metadata == {
        "citekey": "ohm",
        "authors": ["Ohm, Georg"],
        "author": ["Ohm"],
        "year": 1827,
        "item_type": "article-journal",
        "issued": "1827",
        "doi": "10.1000/ohm",
        "container": "Annals",
        "work.title": "The galvanic circuit",
        "work.title-case": ["title"],
        "work.keywords": ["current", "law"],
    }
    assert held["piles.md"].metadata["citekey"] == "volt"
    assert held["other.md"].metadata == {}
    assert target.catalogue.text(held["library.bib#note"].id, "p") == "Quasars are far away."
    assert report.references == ReferenceReport(
        path=str(library.file),
        entries=4,
        matched=2,
        without_file=2,
        matched_files=(
            NamedReason("ohm.md", "ohm, by its path"),
            NamedReason("piles.md", "volt, by its title and year"),
        ),
        unmatched_files=(NamedReason("other.md", "no entry has its path, its DOI, or its title and year"),),
        unmatched_files_count=1,
        missing_files=(NamedReason("lost", "its file is not among the documents: lost.pdf"),),
        missing_files_count=1,
    )


def test_a_second_run_reads_and_writes_nothing_and_reports_the_same(target: Target, library: Library) -> None:
    first = library.ingest(target)
    generation = target.catalogue.generation("p")
    second = library.ingest(target)
    assert counts(second) == (0, 5, 0, 0)
    assert second.references == first.references
    assert target.catalogue.generation("p") == generation


def test_a_changed_fact_changes_its_document_alone_and_no_vector(target: Target, library: Library) -> None:
    library.ingest(target)
    library.write("ohm", "volt", "note", "lost", ohm=ENTRIES["ohm"].replace("Annals", "Journal"))
    assert counts(library.ingest(target)) == (1, 4, 0, 0)
    assert documents(target)["ohm.md"].metadata["container"] == "Journal"


def test_the_document_of_a_removed_entry_leaves_and_its_file_loses_its_facts(
    target: Target, library: Library
) -> None:
    library.ingest(target)
    library.write("volt", "lost")
    assert counts(library.ingest(target))[:3] == (1, 3, 1)
    held = documents(target)
    assert sorted(held) == ["library.bib#lost", "ohm.md", "other.md", "piles.md"]
    assert (held["ohm.md"].title, held["ohm.md"].metadata) == ("Circuits", {})


def test_an_entry_whose_file_arrives_is_no_document_any_more_and_is_one_again_without_it(
    target: Target, library: Library
) -> None:
    library.ingest(target)
    library.write_paper("quasars.md", "# A Note on Quasars\n\nPrinted in 1963.\n")
    assert counts(library.ingest(target))[:3] == (1, 4, 1)
    assert documents(target)["quasars.md"].metadata["citekey"] == "note"
    (library.papers / "quasars.md").unlink()
    library.ingest(target)
    assert "library.bib#note" in documents(target)


def test_files_of_an_earlier_ingest_count_as_files_of_their_entries(target: Target, library: Library) -> None:
    library.ingest(target)
    other = library.papers.parent / "more"
    other.mkdir()
    (other / "new.md").write_text("# New\n\nA page.\n", "utf-8")
    report = ingest_paths(target, [other], references=library.file)
    assert report.references is not None
    assert (report.references.matched, report.references.without_file) == (0, 2)
    assert "library.bib#ohm" not in documents(target)


def test_a_newer_bibliography_replaces_the_entries_of_an_older_one_and_says_so(
    target: Target, library: Library
) -> None:
    library.ingest(target)
    newer = library.file.with_name("library-new.bib")
    newer.write_text(ENTRIES["note"].replace("Quasars are far away.", "Quasars are farther away."), "utf-8")
    os.utime(library.file, ns=(0, 0))
    report = ingest_paths(target, [], references=newer)
    assert report.references is not None
    assert (report.references.without_file, report.references.replaced) == (1, 1)
    held = documents(target)
    assert [name for name in sorted(held) if "#" in name] == ["library-new.bib#note", "library.bib#lost"]
    assert target.catalogue.text(held["library-new.bib#note"].id, "p") == "Quasars are farther away."
    again = ingest_paths(target, [], references=library.file).references
    assert again is not None
    assert again.newer == (NamedReason("note", "kept as library-new.bib has it, which is newer"),)
    assert documents(target).keys() == held.keys()


def test_an_entry_of_a_bibliography_that_is_gone_is_replaced_by_any_other(
    target: Target, library: Library
) -> None:
    library.ingest(target)
    moved = library.file.rename(library.file.with_name("moved.bib"))
    ingest_paths(target, [library.papers], references=moved)
    assert [name for name in sorted(documents(target)) if "#" in name] == ["moved.bib#lost", "moved.bib#note"]


def test_a_changed_file_is_matched_anew(target: Target, library: Library) -> None:
    library.ingest(target)
    library.write_paper("piles.md", "# Of batteries\n\nLetter of 1800 to the society.\n")
    library.ingest(target)
    held = documents(target)
    assert (held["piles.md"].metadata, "library.bib#volt" in held) == ({}, True)


def test_a_run_without_the_bibliography_takes_the_facts_away(target: Target, library: Library) -> None:
    library.ingest(target)
    report = ingest_paths(target, [library.papers])
    assert (report.references, report.documents) == (None, 2)
    assert documents(target)["ohm.md"].metadata == {}
    library.ingest(target)
    assert documents(target)["ohm.md"].metadata["citekey"] == "ohm"


def test_an_entry_that_cannot_be_read_any_more_keeps_its_document_and_is_named(
    target: Target, library: Library
) -> None:
    library.ingest(target)
    library.write("note", "ohm", "volt", "lost", note="@misc{note, title={A note on quasars, year=1963")
    report = library.ingest(target)
    assert report.references is not None
    assert [flaw.name for flaw in report.references.flaws] == ["line 1: note"]
    assert "library.bib#note" in documents(target)


@pytest.mark.parametrize("text", ["", "nothing that is an entry"])
def test_a_bibliography_without_entries_deletes_no_entry(target: Target, library: Library, text: str) -> None:
    library.ingest(target)
    library.file.write_text(text)
    assert library.ingest(target).held == 2
    assert {"library.bib#note", "library.bib#lost"} <= set(documents(target))


@pytest.mark.parametrize("keys", [(), ("volt", "note", "lost")], ids=["emptied", "without its entry"])
def test_a_file_whose_entry_is_not_in_the_bibliography_any_more_is_warned_of(
    target: Target, library: Library, keys: tuple[str, ...]
) -> None:
    """An emptied bibliography, or an older one, takes the facts of files; so that is said, once."""
    library.ingest(target)
    library.write(*keys)
    count = "1 file has" if keys else "2 files have"
    (warning,) = (each for each in library.ingest(target).warnings if "no entry any more" in each)
    assert warning.startswith(f"{count} no entry any more (citekey, authors, year): the bibliography has none")
    assert not [each for each in library.ingest(target).warnings if "no entry any more" in each]
    library.write("ohm", "volt", "note", "lost")
    assert not [each for each in library.ingest(target).warnings if "no entry any more" in each]
    assert documents(target)["ohm.md"].metadata["citekey"] == "ohm"


def test_many_entries_that_leave_at_once_are_held_back_from_a_watcher(target: Target, library: Library) -> None:
    entries = [f"@misc{{k{number}, title={{Title {number}}}, year=2000}}" for number in range(40)]
    library.file.write_text("\n".join(entries))
    library.ingest(target)
    library.file.write_text(entries[0])
    assert library.ingest(target, deletions=DeletionRule(is_watching=True)).held == 39
    assert len([uri for uri in documents(target) if uri.startswith("library.bib#")]) == 40
    assert library.ingest(target).deleted == 39


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("gone.bib", None, "No such file or directory"),
        ("library.txt", b"x", "not a bibliography; its name must end in"),
        ("library.bib", b"\x00\x01\x02\x03" * 400, "binary, not text"),
    ],
)
def test_a_file_that_is_no_bibliography_is_an_error_and_nothing_is_ingested(
    target: Target, library: Library, name: str, content: bytes | None, reason: str
) -> None:
    file = library.file.parent / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(WinnowError, match=reason):
        ingest_paths(target, [library.papers], references=file)
    assert documents(target) == {}


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.md", "papers/../../secret.md", "file:///etc/passwd"])
def test_no_attachment_outside_the_ingested_folders_is_read(target: Target, library: Library, path: str) -> None:
    (library.papers.parent / "secret.md").write_text("# Secret\n\nThe key is under the mat.\n")
    library.write("ohm", ohm=f"@misc{{ohm, title={{Harmless}}, year=2000, file={{{path}}}}}")
    report = library.ingest(target)
    held = documents(target)
    assert sorted(held) == ["library.bib#ohm", "ohm.md", "other.md", "piles.md"]
    assert [target.catalogue.text(each.id, "p") for each in held.values() if each.type == "record"] == ["Harmless"]
    assert report.references is not None
    assert report.references.missing_files_count == 1


# --- the command


def _run(arguments: list[str]) -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_command_takes_a_bibliography_with_or_without_folders(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_EMBEDDING", "off")
    monkeypatch.setenv("WINNOW_GRAPH", "off")
    store = ["--store", str(tmp_path / "store")]
    alone = _run(["--references", str(library.file), *store])
    assert (alone["documents"], alone["references"]["without_file"]) == (4, 4)
    together = _run([str(library.papers), "--references", str(library.file), *store])
    assert (together["references"]["matched"], together["deleted"]) == (2, 2)
    with closing(Catalogue(catalogue_path(load_settings(store=tmp_path / "store")))) as catalogue:
        assert len(catalogue.documents("default")) == 5


def test_a_bibliography_among_the_paths_is_refused_with_the_flag(library: Library, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(library.file), "--store", str(tmp_path / "store")])
    assert result.exit_code == 2
    assert f"winnow ingest --store {tmp_path / 'store'} FOLDER --references {library.file}" in result.stderr


@pytest.mark.walls
def test_accents_of_latex_are_kept_behind_the_walls_of_the_reader(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_EMBEDDING", "off")
    monkeypatch.setenv("WINNOW_GRAPH", "off")
    author = r"M{\"u}ller-{\O}rsted, Zo\"e"
    library.file.write_text(
        rf"@misc{{mo, title={{Na{{\"\i}}ve {{\ss}}ets of $x^2$}}, author={{{author}}}, year={{1999}}}}"
    )
    _run(["--references", str(library.file), "--store", str(tmp_path / "store")])
    with closing(Catalogue(catalogue_path(load_settings(store=tmp_path / "store")))) as catalogue:
        (found,) = [each for each in catalogue.documents("default") if each.metadata.get("citekey") == "mo"]
    assert (found.title, found.metadata["authors"]) == ("Naïve ßets of $x^2$", ["Müller-Ørsted, Zoë"])
