"""Ignore files and deletions that are held back, in whole ingests."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from winnow.server.commands.ingest import app
from winnow.server.errors import WinnowError
from winnow.server.ingest.file_discovery import Root, find_files
from winnow.server.ingest.pipeline import IngestReport, SourcePart, Target, ingest_parts
from winnow.server.ingest.selection.deletions import ANY_DELETION, DeletionRule
from winnow.server.ingest.selection.file_rules import FileRules
from winnow.server.ingest.selection.request import IngestRequest

WATCHING = DeletionRule(is_watching=True)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    for number in range(40):
        path = folder / f"part{number % 2}" / f"{number:02}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Page {number}\n\nWords of page {number}.\n")
    return folder


def uris(target: Target) -> list[str]:
    return [document.uri for document in target.catalogue.documents("p")]


def counts(report: IngestReport) -> tuple[int, int, int]:
    return report.documents, report.deleted, report.held


def test_files_that_become_ignored_leave_the_index_and_the_report_says_so(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    (docs / ".winnowignore").write_text("part1/\n00.md\n")
    report = ingest_paths(target, [docs])
    assert (counts(report), report.ignored) == ((0, 21, 0), 2)
    assert report.warnings == (
        "21 documents left the index because patterns leave their files out; --no-ignore reads them",
    )
    assert counts(ingest_paths(target, [docs], rules=FileRules(ignore_files=False))) == (21, 0, 0)


def test_a_folder_that_is_empty_keeps_its_documents_until_all_deletions_are_allowed(
    target: Target, docs: Path
) -> None:
    ingest_paths(target, [docs])
    shutil.rmtree(docs)
    docs.mkdir()
    report = ingest_paths(target, [docs])
    assert (counts(report), len(uris(target))) == ((0, 0, 40), 40)
    assert "40 of 40 documents are gone, and were kept: the folder or library is empty" in report.warnings[0]
    assert report.warnings[0].endswith(f"run: winnow ingest {docs} --allow-deletions --project p")
    assert counts(ingest_paths(target, [docs], deletions=ANY_DELETION)) == (0, 40, 0)


def test_a_source_that_is_gone_keeps_its_documents_until_all_deletions_are_allowed(
    target: Target, docs: Path
) -> None:
    ingest_paths(target, [docs])
    shutil.rmtree(docs)
    with pytest.raises(
        WinnowError, match=r"does not exist, and its documents were kept.*--allow-deletions --project p$"
    ):
        ingest_paths(target, [docs])
    with pytest.raises(WinnowError, match="does not exist"):
        ingest_paths(target, [docs.with_name("other")], deletions=ANY_DELETION)
    part = SourcePart(Root(str(docs), ""), find_files(Root(str(docs), "")))
    assert counts(ingest_parts(target, [part], IngestRequest())) == (0, 0, 40)
    assert counts(ingest_paths(target, [docs], deletions=ANY_DELETION)) == (0, 40, 0)


def test_a_watcher_holds_back_many_deletions_and_makes_those_that_were_confirmed(
    target: Target, docs: Path
) -> None:
    ingest_paths(target, [docs])
    for path in list(docs.rglob("*.md"))[:26]:
        path.unlink()
    held = ingest_paths(target, [docs], deletions=WATCHING)
    too_few = ingest_paths(target, [docs], deletions=DeletionRule(is_watching=True, confirmed=25))
    confirmed = ingest_paths(target, [docs], deletions=DeletionRule(is_watching=True, confirmed=26))
    assert [counts(held), counts(too_few), counts(confirmed)] == [(0, 0, 26), (0, 0, 26), (0, 26, 0)]


def test_deletions_of_a_moment_ago_count_as_well(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    for path in list(docs.rglob("*.md"))[:5]:
        path.unlink()
    assert counts(ingest_paths(target, [docs], deletions=DeletionRule(is_watching=True, recent=20))) == (0, 0, 5)
    assert counts(ingest_paths(target, [docs], deletions=DeletionRule(is_watching=True, recent=19))) == (0, 5, 0)


def test_a_renamed_folder_is_no_deletion(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    (docs / "part0").rename(docs / "first")
    (docs / "part1").rename(docs / "second")
    report = ingest_paths(target, [docs], deletions=WATCHING)
    assert (counts(report), report.moved) == ((0, 0, 0), 40)
    assert uris(target) == [file.uri for file in find_files(Root(str(docs), "")).files]


def test_a_collection_that_loses_most_of_its_records_keeps_them_while_watched(
    target: Target, tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    records = [json.dumps({"_id": number, "text": f"record {number}"}) for number in range(60)]
    path.write_text("\n".join(records))
    ingest_paths(target, [path])
    path.write_text("\n".join(records[:20]))
    assert [counts(ingest_paths(target, [path], deletions=WATCHING)) for _ in range(2)] == [(0, 0, 40)] * 2
    assert counts(ingest_paths(target, [path])) == (0, 40, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_source_that_may_not_be_read_loses_nothing(target: Target, docs: Path) -> None:
    ingest_paths(target, [docs])
    docs.chmod(0)
    try:
        report = ingest_paths(target, [docs], deletions=ANY_DELETION)
    finally:
        docs.chmod(0o700)
    assert (counts(report), [failure.name for failure in report.failures]) == ((0, 0, 0), ["."])


def test_a_listing_from_before_a_folder_became_a_link_reads_nothing_behind_the_link(
    target: Target, docs: Path, tmp_path: Path
) -> None:
    part = SourcePart(Root(str(docs), ""), find_files(Root(str(docs), "")))
    (docs / "part0").rename(tmp_path / "away")
    for path in (tmp_path / "away").iterdir():
        path.write_text("a secret of another folder")
    (docs / "part0").symlink_to(tmp_path / "away")
    report = ingest_parts(target, [part], IngestRequest())
    assert (counts(report), {failure.reason for failure in report.failures}) == (
        (20, 0, 0),
        {"a link, not a file; to read what it leads to, name that"},
    )


def test_the_command_ignores_and_deletes_as_its_flags_say(tmp_path: Path, docs: Path) -> None:
    (docs / ".gitignore").write_text("part0/\n")

    def run(*flags: str) -> dict[str, object]:
        arguments = [str(docs), "--store", str(tmp_path / "store"), "--json", *flags]
        result = CliRunner().invoke(app, arguments, env={"WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off"})
        report: dict[str, object] = json.loads(result.stdout)
        return {name: report[name] for name in ("documents", "deleted", "ignored", "held")}

    assert run() == {"documents": 20, "deleted": 0, "ignored": 1, "held": 0}
    assert run("--no-ignore") == {"documents": 20, "deleted": 0, "ignored": 0, "held": 0}
    shutil.rmtree(docs)
    docs.mkdir()
    assert run() == {"documents": 0, "deleted": 0, "ignored": 0, "held": 40}
    assert run("--allow-deletions") == {"documents": 0, "deleted": 40, "ignored": 0, "held": 0}


@pytest.mark.parametrize("option", [[], ["--explain"]])
def test_an_address_is_answered_with_the_way_to_fetch_it(option: list[str]) -> None:
    result = CliRunner().invoke(app, [*option, "https://me:secret@example.org/docs/?a=1&b=two words"])
    assert result.exit_code == 2
    shown = "https://***@example.org/docs/?a=***&b=*** words"
    assert f"{shown} is an address; winnow reads files, no web pages" in result.stderr
    assert "wget --mirror" in result.stderr
    assert f"--directory-prefix=site '{shown}' and then: winnow ingest site/" in result.stderr


def test_files_of_unknown_types_are_counted_by_the_end_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_EMBEDDING", "off")
    for name in ("a.md", "b.zzz", "c.ZZZ", "d.yyy", "e.a_long_end_of_a_name"):
        (tmp_path / name).write_bytes(b"# Text")
    (tmp_path / "f").write_bytes(bytes(100))
    result = CliRunner().invoke(app, [str(tmp_path), "--store", str(tmp_path / ".store")])
    assert "5 files of unknown types were skipped: (no suffix) 2, .zzz 2, .yyy 1\n" in result.stdout


def test_a_file_of_an_old_word_processor_is_skipped_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_EMBEDDING", "off")
    for name in ("a.md", "b.doc", "c.xyz"):
        (tmp_path / name).write_bytes(b"# Text")
    result = CliRunner().invoke(app, [str(tmp_path), "--store", str(tmp_path / ".store")])
    assert "2 files of unknown types were skipped: .doc 1, .xyz 1; save .doc as .docx\n" in result.stdout


@pytest.mark.parametrize(
    ("address", "fetched"),
    [
        ("https://example.org/docs/guide/", "https://example.org/docs/guide/"),
        ("https://example.org/docs/guide", "https://example.org/docs/guide/"),
        ("https://example.org", "https://example.org/"),
        ("https://example.org/docs/page.html", "https://example.org/docs/page.html"),
    ],
)
def test_the_command_that_fetches_a_site_stays_below_the_folder_that_was_named(address: str, fetched: str) -> None:
    result = CliRunner().invoke(app, [address])
    assert result.exit_code == 2
    assert f"--directory-prefix=site {fetched} and then: winnow ingest site/" in result.stderr
