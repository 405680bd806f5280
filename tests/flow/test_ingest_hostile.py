"""A file can fail, an ingest cannot: hostile files are named with their reasons, their neighbours are indexed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.hostile_files import FILES, MIB, write
from tests.ingesting import ingest_paths
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.graphs.document_facts import SqliteFactStore
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.commands.ingest import app
from winnow.server.ingest.graph_update import GraphTarget, GraphUpdate
from winnow.server.ingest.pipeline import IngestReport, Progress, RawDocument, Target, ingest_documents
from winnow.server.ingest.writing.embedding import EmbeddingStage, make_points
from winnow.server.models import Chunk, Document
from winnow.server.retrieval.graph.records import DocumentGraph
from winnow.server.storage.base import Vector
from winnow.server.storage.files.store_folder import CATALOGUE

_GOOD = {"a_good.md": "# Good\n\nThe first neighbour.\n", "z_good.html": "<p>The last neighbour.</p>"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "documents"
    documents.mkdir()
    for name, text in _GOOD.items():
        (documents / name).write_text(text)
    return documents


def uris(target: Target) -> set[str]:
    return {each.uri for each in target.catalogue.documents("p")}


PIPE = "a named pipe, not a file; leave it out with a line in .winnowignore"
NOT_TEXT = "not text (looks like PDF); rename it to what it is"


def reasons(report: IngestReport) -> dict[str, str]:
    return {failure.name.partition(":")[0]: failure.reason for failure in report.failures}


# The peak is read from the kernel: getrusage starts with the value of the parent process.
_MEASURED = """
import resource
from pathlib import Path
from winnow.server.commands.entry.cli import main
try:
    main()
finally:
    (own,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    print(max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
"""


def test_all_hostile_files_together_leave_the_good_ones_indexed(folder: Path, tmp_path: Path) -> None:
    """Each is named with the reason of the table or indexed, and no process has a gigabyte in memory."""
    for name in FILES:
        write(folder, name)
    arguments = ("ingest", str(folder), "--store", str(tmp_path / "own"), "--project", "p", "--json")
    environment = {**os.environ, "WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off"}
    ran = subprocess.run([sys.executable, "-c", _MEASURED, *arguments], capture_output=True, env=environment)
    *report, memory_kib = ran.stdout.decode().splitlines()
    assert (ran.returncode, int(memory_kib) < 1024 * 1024) == (0, True)
    failures = json.loads("\n".join(report))["failures"]
    found = {one["name"].partition(":")[0]: one["reason"] for one in failures}
    expected = {name: reason for name, (_, reason) in FILES.items() if reason is not None}
    assert {name for name in {*found, *expected} if expected.get(name, "-") not in found.get(name, "")} == set()
    assert all(f"{one['name']}{one['reason']}".isprintable() for one in failures)
    with closing(Catalogue(tmp_path / "own" / CATALOGUE)) as catalogue:
        indexed = {each.uri.partition("#")[0] for each in catalogue.documents("p")}
    assert {*_GOOD, *FILES} - expected.keys() - indexed == set()


def test_names_that_are_not_utf_8_and_names_of_two_lines_are_escaped(target: Target, folder: Path) -> None:
    for name in (b"caf\xe9.md", b"two\nlines.md", b"\x1b[31mred.md"):
        (folder / os.fsdecode(name)).write_text("Words.\n")
    assert ingest_paths(target, [folder]).failures == ()
    assert uris(target) == {*_GOOD, r"caf\xe9.md", r"two\x0alines.md", r"\x1b[31mred.md"}
    again = ingest_paths(target, [folder])
    assert (again.documents, again.unchanged, again.deleted) == (0, 5, 0)


def test_two_files_that_are_shown_by_one_name_are_not_taken_for_one(target: Target, folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("Words.\n")
    (folder / r"caf\xe9.md").write_text("Others.\n")
    assert reasons(ingest_paths(target, [folder])) == {
        r"caf\xe9.md": "another file has the same name when shown as text; rename one of them"
    }


def test_links_lead_nowhere(target: Target, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("Outside.\n")
    (folder / "outside.md").symlink_to(tmp_path / "outside.md")
    (folder / "dangling.md").symlink_to(folder / "nowhere.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "up").symlink_to(folder)
    report = ingest_paths(target, [folder])
    assert (uris(target), report.failures) == (set(_GOOD), ())


def test_a_file_that_became_a_link_or_a_pipe_or_went_is_named(target: Target, folder: Path) -> None:
    """The type of the file when it is opened counts, not when it was listed."""
    from winnow.server.readers.documents import UnreadableFile
    from winnow.server.readers.reading import read

    (folder / "link.md").symlink_to(folder / "a_good.md")
    os.mkfifo(folder / "pipe.md")
    for name, reason in (("link.md", "a link, not a file"), ("pipe.md", "a named pipe, not a file")):
        with pytest.raises(UnreadableFile, match=reason):
            list(read(folder / name, name))
    with pytest.raises(FileNotFoundError):
        list(read(folder / "gone.md", "gone.md"))


def test_a_collection_that_grows_is_read_as_it_was_when_it_was_opened(folder: Path) -> None:
    from winnow.server.readers.reading import read

    path = folder / "c.jsonl"
    path.write_text('{"_id": 1, "text": "one"}\n{"_id": 2, "text": "two"}\n')
    documents = read(path, "c.jsonl")
    assert isinstance(next(documents), RawDocument)
    with path.open("a") as file:
        file.write('{"_id": 3, "text": "three"}\n')
    assert [one.uri for one in documents if isinstance(one, RawDocument)] == ["c.jsonl#2"]


def test_a_path_that_is_no_file_is_an_answer(target: Target, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert reasons(ingest_paths(target, [tmp_path / "pipe.md"])) == {"pipe.md": PIPE}


def test_deep_folders_are_named_and_not_walked(target: Target, folder: Path) -> None:
    deep = folder.joinpath(*["d"] * 150)
    deep.mkdir(parents=True)
    (deep / "a.md").write_text("Words.\n")
    assert list(reasons(ingest_paths(target, [folder])).values()) == [
        "its subfolders are nested more than 100 deep and are not read; split or simplify it"
    ]
    assert uris(target) == set(_GOOD)


def test_an_error_of_a_reader_is_the_files_own(target: Target, folder: Path) -> None:
    """After any exception the file is reported, and keeps its documents."""
    (folder / "b.md").write_text("Words.\n")
    ingest_paths(target, [folder])
    (folder / "b.md").unlink()
    os.mkfifo(folder / "b.md")
    assert reasons(ingest_paths(target, [folder])) == {"b.md": PIPE}
    assert uris(target) == {*_GOOD, "b.md"}


def test_markup_that_would_stall_the_ingest_dies_alone(
    target: Target, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300,000 attributes take minutes; the next page is parsed by another child."""
    monkeypatch.setattr("winnow.server.ingest.children.parser._SECONDS", {"parse": (2.0, 0.0, 2.0)})
    attributes = " ".join(f"a{number}=1" for number in range(300_000))
    (folder / "b.html").write_text(f"<p {attributes}>x</p>")
    report = ingest_paths(target, [folder])
    assert [name for name, reason in reasons(report).items() if reason.startswith("takes longer than")] == [
        "b.html"
    ]
    assert uris(target) == set(_GOOD)


def test_what_parses_markup_without_walls_has_no_secrets_and_bounds(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    from winnow.server.ingest.children import parser
    from winnow.server.ingest.children.reader_pool import StartedChildren

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(
        parser, "start_walled_children", lambda options, tasks: StartedChildren(options, None, "none")
    )
    with parser.ParserProcess() as apart:
        assert [one.title for one in apart.parse("html", "<title>A</title>", "a") if isinstance(one, RawDocument)]
        assert apart._confined._child is not None
        pid = apart._confined._child.pid
        assert "sk-secret" not in Path(f"/proc/{pid}/environ").read_text()
        assert resource.prlimit(pid, resource.RLIMIT_AS) == (1024 * MIB, 1024 * MIB)
        assert os.getpgid(pid) == pid
    assert not Path(f"/proc/{pid}").exists()


def test_a_long_text_gets_a_dry_run_and_then_is_indexed(target: Target, folder: Path) -> None:
    (folder / "long.md").write_text("# Long\n\n" + "The proxy listens on a port. " * 12_000)
    assert ingest_paths(target, [folder]).failures == ()
    assert "long.md" in uris(target)


def test_the_command_names_each_failed_file_in_one_line(folder: Path, tmp_path: Path) -> None:
    write(folder, "divs.html")
    (folder / "c.jsonl").write_text('{"_id": "two\\nlines\\u001b[2K", "text": "x"}\n' * 2)
    ran = CliRunner().invoke(app, [str(folder), "--store", str(tmp_path / "own")])
    assert ran.exit_code == 0
    lines = [line for line in ran.stdout.splitlines() if line.startswith("not read: ")]
    assert lines == [
        "not read: c.jsonl#two lines: the same name twice in one collection; only the first document is kept",
        "not read: divs.html: nested too deeply; split or simplify it",
    ]


def test_a_generated_source_with_hostile_documents_is_bounded_like_files(target: Target) -> None:
    raw = RawDocument("a", "markdown", "t" * MIB, "Words.", tags=("\a",) * 5_000, created="\x1b[2K" * 99)
    assert ingest_documents(target, "lib", [raw]).failures == ()
    (document,) = target.catalogue.documents("p")
    assert (len(document.title), len(document.tags), document.created) == (500, 1, "\ufffd")


class Counting:
    """An embedder that counts the texts it is given."""

    fingerprint, dimension, languages, background, related = "counting", 4, None, 0.0, 1.0

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vector:
        self.texts += len(texts)
        return np.array([[1.0, len(text), 0.0, 0.0] for text in texts], dtype=np.float32)

    embed_queries = embed


def test_what_a_document_repeats_is_embedded_once_in_a_piece_of_work() -> None:
    document = Document("0" * 12, "p", "a.md", "/d", "", "text", "")
    texts = ["same"] * 20 + ["another"] * 5 + ["same"] * 5
    rows = [(document, Chunk(f"c{at}", document.id, at, (), text, 0, 1, 1)) for at, text in enumerate(texts)]
    embedder = Counting()
    found = make_points(rows, embedder)
    assert embedder.texts == 2
    assert [one.dense[1] for one in found if one.dense is not None] == [len(text) for text in texts]


def test_the_points_of_a_huge_document_are_computed_and_written_in_portions() -> None:
    document = Document("0" * 12, "p", "a.md", "/d", "", "text", "")
    rows = [(document, Chunk(f"c{at}", document.id, at, (), f"word {at}", 0, 1, 1)) for at in range(3_000)]
    embedder = Counting()
    with EmbeddingStage(embedder) as embedding:
        portions = embedding.begin(rows).portions()
        first = next(portions)
        assert (len(first), embedder.texts < 1_000) == (512, True)
        ids = [one.chunk_id for portion in (first, *portions) for one in portion]
    assert ids == [one.id for _, one in rows]


def test_documents_without_passages_fill_a_batch_by_their_text(target: Target) -> None:
    """Blank lines make no passage, and are kept with their document."""
    blank = [RawDocument(f"blank{number}", "text", "", "\n" * 40_000) for number in range(60)]
    told: list[Progress] = []
    assert ingest_documents(target, "lib", blank, progress=told.append).failures == ()
    documents = [one.documents for one in told]
    assert documents[-1] == 60
    assert all(after - before <= 40 for before, after in pairwise([0, *documents]))


def test_graphs_of_large_documents_are_written_a_few_at_a_time(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.server.ingest.graph_update._BATCH_PARTS", 100)
    sizes: list[int] = []

    class Noting(SqliteGraph):
        def apply(self, project: str, replaced: Sequence[DocumentGraph] = (), deleted: Sequence[str] = ()) -> None:
            sizes.append(len(replaced))
            super().apply(project, replaced, deleted)

    pages = [RawDocument(f"{at}.md", "markdown", "", "# a\n\nb\n\n" * 60) for at in range(6)]
    assert ingest_documents(target, "lib", pages).failures == ()
    with closing(Noting(tmp_path / "graph.sqlite3")) as store:
        graphing = GraphTarget(store, SqliteFactStore(tmp_path / "ledger.sqlite3", ""))
        report = GraphUpdate("p", target.catalogue, graphing).update()
    assert (report and report.documents, sum(sizes), max(sizes)) == (6, 6, 1)


def test_bytes_of_binary_files_named_as_text_stay_out_of_the_index(target: Target, folder: Path) -> None:
    """Neither many passages nor long lines of it cost anything: the files are named, their neighbours indexed."""
    pdf = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj << /Contents 4 0 R >> endobj\nstream\n" + b"[" * 300_000
    names = [f"paper.{ending}" for ending in ("md", "txt", "html", "rst", "csv", "jsonl")]
    for name in names:
        (folder / name).write_bytes(pdf)
    assert reasons(ingest_paths(target, [folder])) == dict.fromkeys(names, NOT_TEXT)
    assert uris(target) == set(_GOOD)
