"""Repeated ingests: changed files are updated, deleted ones removed, and a bad file does not stop the run."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.ingest import app
from winnow.server.commands.stats import app as stats
from winnow.server.errors import WinnowError
from winnow.server.ids import document_id
from winnow.server.ingest.pipeline import IngestReport, Progress, RawDocument, Target, ingest_documents
from winnow.server.models import Filters
from winnow.server.settings.loading import load_settings
from winnow.server.storage.files.store_folder import CATALOGUE

Ingest = Callable[..., IngestReport]

BINARY = "binary, not text; give it the suffix of its format, or leave it out with a line in .winnowignore"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "guide").mkdir(parents=True)
    (folder / "a.md").write_text("# Proxy\n\nThe proxy forwards traffic.\n")
    (folder / "guide" / "b.md").write_text("# Backup\n\nBackups are encrypted.\n")
    (folder / "c.jsonl").write_text(
        '{"_id": "1", "text": "first record"}\n{"_id": "2", "text": "second record"}\n'
    )
    return folder


def counts(report: IngestReport) -> tuple[int, int, int]:
    return report.documents, report.unchanged, report.deleted


def uris(target: Target) -> list[str]:
    return [document.uri for document in target.catalogue.documents("p")]


def in_step(target: Target) -> bool:
    return sorted(target.store.ids("p")) == target.catalogue.chunk_ids("p")


def test_a_second_run_changes_nothing_not_even_the_generation(target: Target, docs: Path) -> None:
    assert counts(ingest_paths(target, [docs])) == (4, 0, 0)
    generation = target.catalogue.generation("p")
    assert counts(ingest_paths(target, [docs])) == (0, 4, 0)
    assert target.catalogue.generation("p") == generation


def test_a_touched_file_with_the_same_text_is_unchanged(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    generation = target.catalogue.generation("p")
    os.utime(docs / "a.md", (1, 1))
    assert counts(ingest_paths(target, [docs])) == (0, 4, 0)
    assert target.catalogue.generation("p") == generation


def test_a_changed_file_replaces_its_chunks_and_a_deleted_one_leaves(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    (docs / "a.md").write_text("# Proxy\n\nThe gateway forwards traffic now.\n")
    (docs / "guide" / "b.md").unlink()
    assert counts(ingest_paths(target, [docs])) == (1, 2, 1)
    assert uris(target) == ["a.md", "c.jsonl#1", "c.jsonl#2"]
    assert in_step(target)


def test_files_with_another_name_or_place_have_moved_and_are_neither_new_nor_deleted(
    target: Target, docs: Path
) -> None:
    ingest_paths(target, [docs])
    (docs / "guide" / "b.md").rename(docs / "b2.md")
    (docs / "c.jsonl").rename(docs / "guide" / "c2.jsonl")
    (docs / "new.md").write_text("# New\n\nAnother page.\n")
    report = ingest_paths(target, [docs])
    assert (report.moved, counts(report)) == (3, (1, 1, 0))  # a collection has two records
    assert uris(target) == ["a.md", "b2.md", "guide/c2.jsonl#1", "guide/c2.jsonl#2", "new.md"]
    assert in_step(target)


def test_a_file_that_is_read_under_its_new_name_in_part_has_moved_as_far(target: Target, docs: Path) -> None:
    """What cannot be read at its new place is deleted, and fails there."""
    ingest_paths(target, [docs])
    (docs / "a.md").rename(docs / "a.docx")
    report = ingest_paths(target, [docs])
    assert (report.moved, counts(report), len(report.failures)) == (0, (0, 3, 1), 1)


def test_a_line_that_left_a_collection_leaves_the_index(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    (docs / "c.jsonl").write_text('{"_id": "2", "text": "second record"}\n')
    assert counts(ingest_paths(target, [docs])) == (0, 3, 1)
    assert uris(target) == ["a.md", "c.jsonl#2", "guide/b.md"]
    assert in_step(target)


def test_only_chunks_that_changed_are_written_again(target: Target, docs: Path) -> None:
    sections = [f"## Part {n}\n\n" + f"Sentence about part {n}. " * 40 for n in range(6)]
    (docs / "a.md").write_text("\n\n".join(sections))
    ingest_paths(target, [docs])
    sections[3] += "One more sentence."
    (docs / "a.md").write_text("\n\n".join(sections))
    report = ingest_paths(target, [docs])
    assert (report.documents, report.chunks) == (1, 1)
    assert in_step(target)


def test_a_new_title_or_tag_reaches_every_chunk(target: Target, docs: Path, backends: Backends) -> None:
    ingest_paths(target, [docs])
    (docs / "a.md").write_text("---\ntags: [edge]\n---\n# Proxy\n\nThe proxy forwards traffic.\n")
    ingest_paths(target, [docs])
    (hit,) = backends.retriever.search("proxy", Filters("p", tags=("edge",)), 5).hits
    assert backends.catalogue.passages([hit.chunk_id], "p")[hit.chunk_id].document.tags == ("edge",)


def page(facts: str, sections: int = 6) -> str:
    parts = [f"## Part {n}\n\n" + f"Sentence about part {n}. " * 40 for n in range(sections)]
    return f"---\ntitle: Parts\n{facts}\n---\n" + "\n\n".join(parts)


def hits(backends: Backends, query: str) -> list[str]:
    return [hit.chunk_id for hit in backends.retriever.search(query, Filters("p"), 5).hits if hit.lexical]


def test_new_front_matter_writes_the_first_chunk_only(target: Target, docs: Path, backends: Backends) -> None:
    (docs / "a.md").write_text(page("stage: zirconium"))
    ingest_paths(target, [docs])
    (docs / "a.md").write_text(page("stage: palladium"))
    report = ingest_paths(target, [docs])
    first = target.catalogue.chunks(document_id("p", "a.md"), "p")[0].id
    assert (report.documents, report.chunks) == (1, 1)
    assert (hits(backends, "palladium"), hits(backends, "zirconium")) == ([first], [])


def test_a_chunk_that_is_no_longer_the_first_is_found_without_the_front_matter(
    target: Target, docs: Path, backends: Backends
) -> None:
    text = page("stage: palladium")
    (docs / "a.md").write_text(text)
    ingest_paths(target, [docs])
    before = target.catalogue.chunk_ids("p")
    opening = "## Opening\n\n" + "An opening that is long enough. " * 40
    (docs / "a.md").write_text(text.replace("## Part 0", f"{opening}\n\n## Part 0"))
    report = ingest_paths(target, [docs])
    first = target.catalogue.chunks(document_id("p", "a.md"), "p")[0]
    assert (first.heading_path, hits(backends, "palladium")) == (("Opening",), [first.id])
    assert report.chunks == len(set(target.catalogue.chunk_ids("p")) - set(before)) + 1


def test_the_first_ingest_after_an_upgrade_embeds_no_chunk_whose_text_is_the_same(
    target: Target, docs: Path, backends: Backends
) -> None:
    """A store from before front matter was text: bodies without it, another state, other stamps."""
    (docs / "a.md").write_text(page("stage: palladium"))
    ingest_paths(target, [docs])
    now = {document.id: document for document in target.catalogue.indexed_documents("p")}
    path = next(iter(docs.parent.glob("**/catalogue.sqlite3")))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE files SET stamp = 'of before'")
        connection.execute("UPDATE documents SET body_start = 0, content_hash = 'of before' WHERE body_start > 0")
        connection.execute("UPDATE documents SET context_hash = substr(context_hash, 1, 32)")
        connection.commit()
    report = ingest_paths(target, [docs])
    assert (report.documents, report.unchanged, report.chunks) == (1, 3, 1)
    assert {document.id: document for document in target.catalogue.indexed_documents("p")} == now
    assert in_step(target)


def test_one_bad_file_is_named_with_its_reason_and_stops_nothing(target: Target, docs: Path) -> None:
    (docs / "bad.md").write_bytes(b"\0\0")
    (docs / "c.jsonl").write_text('{"_id": "1", "text": "x"}\nbroken\n{"_id": "1", "text": "twice"}\n')
    report = ingest_paths(target, [docs])
    assert report.documents == 3
    assert [(failure.name, failure.reason.split(":")[0]) for failure in report.failures] == [
        ("bad.md", BINARY),
        ("c.jsonl:2", "not JSON"),
        ("c.jsonl#1", "the same name twice in one collection; only the first document is kept"),
    ]


def test_a_file_that_fails_keeps_what_was_read_of_it_before_and_is_tried_again(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    good = (docs / "a.md").read_bytes()
    (docs / "a.md").write_bytes(b"\0")
    assert [failure.name for failure in ingest_paths(target, [docs]).failures] == ["a.md"]
    assert "a.md" in uris(target)
    (docs / "a.md").write_bytes(good + b"\nMore.\n")
    assert ingest_paths(target, [docs]).failures == ()


def test_a_part_of_a_source_can_be_refreshed_alone(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    (docs / "guide" / "b.md").write_text("# Backup\n\nBackups are kept for a year.\n")
    (docs / "a.md").unlink()
    assert counts(ingest_paths(target, [docs / "guide"])) == (1, 0, 0)
    assert "a.md" in uris(target)
    assert counts(ingest_paths(target, [docs / "guide" / "b.md"])) == (0, 1, 0)


def test_two_folders_with_a_file_of_one_name_do_not_overwrite_each_other(target: Target, docs: Path) -> None:
    other = docs.parent / "other"
    other.mkdir()
    (other / "a.md").write_text("Something else.")
    (failure,) = ingest_paths(target, [docs, other]).failures
    assert (failure.name, failure.reason) == (
        "a.md",
        f"{docs} has a document of this name already; ingest this one into another --project",
    )
    assert counts(ingest_paths(target, [docs])) == (0, 4, 0)


def test_a_folder_that_was_moved_keeps_its_documents(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    moved = docs.rename(docs.parent / "moved")
    assert ingest_paths(target, [moved]).failures == ()
    assert {document.source for document in target.catalogue.documents("p")} == {str(moved)}
    assert in_step(target)


def test_a_path_that_does_not_exist_is_the_callers_mistake(target: Target, tmp_path: Path) -> None:
    with pytest.raises(WinnowError, match="does not exist"):
        ingest_paths(target, [tmp_path / "nowhere"])


def test_documents_that_are_no_files_can_be_ingested_too(target: Target) -> None:
    def documents(*words: str) -> list[RawDocument]:
        return [RawDocument(f"lib/{word}", "rst", word, f"{word} does things.") for word in words]

    told: list[Progress] = []
    assert counts(ingest_documents(target, "lib", documents("os", "re"), total=2, progress=told.append)) == (
        2,
        0,
        0,
    )
    assert (told[-1].documents, told[-1].fraction, told[-1].seconds_left) == (2, 1.0, 0.0)
    assert counts(ingest_documents(target, "lib", documents("re", "io"))) == (1, 1, 1)
    assert uris(target) == ["lib/io", "lib/re"]
    assert in_step(target)


def test_a_generator_that_fails_fails_the_ingest_and_the_next_one_goes_on(target: Target) -> None:
    def failing() -> Iterator[RawDocument]:
        yield RawDocument("a", "text", "a", "words")
        raise RuntimeError("broken generator")

    with pytest.raises(RuntimeError, match="broken generator"):
        ingest_documents(target, "lib", failing())
    assert counts(ingest_documents(target, "lib", [RawDocument("a", "text", "a", "words")])) == (1, 0, 0)
    assert in_step(target)


def test_vectors_of_two_models_never_meet_in_a_project(tmp_path: Path, docs: Path) -> None:
    settings = load_settings(store=tmp_path / "store", project="p")
    backends = open_backends(settings, wait_for_model=True)
    embedder = backends.embedder.ready()
    if embedder is None:
        backends.close()
        pytest.skip(backends.embedder.why)
    try:
        without = Target("p", backends.catalogue, backends.store, None)
        ingest_paths(without, [docs])
        assert backends.retriever.search("proxy", Filters("p"), 5).legs == "lexical-only"
        with_model = Target("p", backends.catalogue, backends.store, embedder)
        assert counts(ingest_paths(with_model, [docs])) == (4, 0, 0)
        assert backends.retriever.search("proxy", Filters("p"), 5).legs == "hybrid"
        with pytest.raises(WinnowError, match="ingest into another --project") as caught:
            ingest_paths(without, [docs])
        assert caught.value.reason == "EMBEDDING_MISMATCH"
    finally:
        backends.close()


def test_the_command_reports_as_json_and_in_words(tmp_path: Path, docs: Path) -> None:
    (docs / "bad.md").write_bytes(b"\0")
    (docs / "picture.png").write_bytes(b"\0")
    (docs / "archive.zip").write_bytes(b"\0")
    arguments = [str(docs), "--store", str(tmp_path / "s"), "--project", "p"]
    first = CliRunner().invoke(app, [*arguments, "--json"])
    report = json.loads(first.stdout)
    assert (first.exit_code, report["documents"]) == (0, 4)
    assert (report["skipped"], report["images_skipped"]) == (1, 1)
    assert report["failures"] == [{"name": "bad.md", "reason": BINARY}]
    second = CliRunner().invoke(app, arguments)
    assert second.stdout.startswith("p: 0 documents written, 4 unchanged, 0 deleted; 0 chunks in ")
    assert f"not read: bad.md: {BINARY}\n" in second.stdout


def test_files_that_one_cause_kept_from_being_read_are_one_line_with_their_names(
    tmp_path: Path, docs: Path
) -> None:
    for name in ("x.md", "y.md", "z.md"):
        (docs / name).write_bytes(b"\0")
    (docs / "empty.pdf").write_bytes(b"")
    shown = CliRunner().invoke(app, [str(docs), "--store", str(tmp_path / "s")]).stdout.splitlines()
    assert shown[1:4] == [
        f"3 not read: {BINARY}",
        "  x.md, y.md, z.md",
        "not read: empty.pdf: empty; delete it, or copy it here again",
    ]


def test_a_changed_file_that_cannot_be_read_is_named_with_the_old_text_that_searches_give(
    target: Target, docs: Path
) -> None:
    """A new file that cannot be read has no old text; a record that is whole is no old text either."""
    assert ingest_paths(target, [docs]).warnings == ()
    (docs / "a.md").write_bytes(b"\0")
    (docs / "new.md").write_bytes(b"\0")
    (docs / "c.jsonl").write_text('{"_id": "1", "text": "first record"}\n{"_id": "2"\n')
    (warning,) = ingest_paths(target, [docs]).warnings
    assert warning == (
        "2 files cannot be read as changed, so searches still give the text of the last reading: a.md, c.jsonl; "
        "to take that text out, delete the file and ingest again"
    )
    assert uris(target) == ["a.md", "c.jsonl#1", "c.jsonl#2", "guide/b.md"]
    (docs / "a.md").unlink()
    (docs / "c.jsonl").write_text('{"_id": "1", "text": "first record"}\n')
    assert (ingest_paths(target, [docs]).warnings, uris(target)) == ((), ["c.jsonl#1", "guide/b.md"])


def test_an_ingest_that_did_not_end_is_named_by_stats_and_by_the_next_ingest(tmp_path: Path, docs: Path) -> None:
    place = ["--store", str(tmp_path / "s"), "--project", "p"]
    CliRunner().invoke(app, [str(docs), *place])
    with closing(Catalogue(tmp_path / "s" / CATALOGUE)) as catalogue:
        catalogue.begin_write("p")
    told = CliRunner().invoke(stats, place).stdout.splitlines()
    assert told[2] == (
        "  its last ingest did not end (it was interrupted, or failed) with 4 documents in the index; the same "
        "winnow ingest again goes on from there"
    )
    again = CliRunner().invoke(app, [str(docs), *place]).stdout.splitlines()
    assert again[-1] == (
        "the last ingest into project p did not end (it was interrupted, or failed); this one went on, with 4 "
        "documents in the index"
    )
    assert "did not end" not in CliRunner().invoke(stats, place).stdout
    assert "did not end" not in CliRunner().invoke(app, [str(docs), *place]).stdout


def test_stats_count_one_project(tmp_path: Path, docs: Path) -> None:
    for project, path in (("p", docs), ("q", docs / "a.md")):
        CliRunner().invoke(app, [str(path), "--store", str(tmp_path / "s"), "--project", project])
    place = ["--store", str(tmp_path / "s"), "--project"]
    counted = json.loads(CliRunner().invoke(stats, [*place, "q", "--json"]).stdout)["projects"]
    assert [(row["name"], row["documents"]) for row in counted] == [("q", 1)]
    assert "\nq: 1 document, 1 chunk, generation " in CliRunner().invoke(stats, [*place, "q"]).stdout
    missing = CliRunner().invoke(stats, [*place, "r"])
    assert (missing.exit_code, "there is no project 'r'; projects: p, q" in missing.stderr) == (2, True)


def test_the_command_fails_when_nothing_could_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(b"\0")
    done = CliRunner().invoke(app, [str(tmp_path / "bad.md"), "--store", str(tmp_path / "s")])
    assert done.exit_code == 1
    missing = CliRunner().invoke(app, [str(tmp_path / "nowhere"), "--store", str(tmp_path / "s"), "--json"])
    assert (missing.exit_code, json.loads(missing.stdout)["error"]["details"]["reason"]) == (2, "INVALID_REQUEST")
