"""``winnow project export`` and ``import``: a project in one file, without its original files."""

from __future__ import annotations

import json
import os
import shlex
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.flow.test_commands import winnow
from tests.flow.test_projects import project
from tests.ingesting import ingest_paths
from tests.tiny_models import write_model
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import ingest_documents
from winnow.server.ingest.report import Progress
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters, Place, Reading
from winnow.server.projects.archive import DOCUMENTS, PROJECT, ArchivedProject, ProjectArchive, write_archive
from winnow.server.projects.checked_archive import MANIFEST
from winnow.server.projects.removal import delete_project, purge_projects
from winnow.server.projects.transfer import export_project, import_project
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectLabels, ProjectSettings
from winnow.server.settings.settings import Settings

PAGES = {
    "proxy.md": "---\nteam: edge\nsince: 2024\ntags: [a, b]\n---\n# Proxy\n\nproxy gateway\n\n## Twice\n\nsame\n",
    "guide/policy.rst": "Policy\n======\n\nbackup policy ünï\n",
    "page.html": "<title>Pipes</title><h1>Pipes</h1><p>A pipe carries oil.</p>",
    "open.py": "def open_valve(bar: int) -> bool:\n    return bar > 4\n",
    "all.jsonl": '{"_id": "../1", "title": "Oil", "text": "Oil is changed.", "metadata": {"n": 1.5, "x": null}}\n',
}
PAGED = RawDocument(
    "paper.pdf",
    "pdf",
    "Paper",
    "first page\n\nsecond page",
    metadata={"doi": "10.1/x", "authors": ["A, B"]},
    places=(Place(0, "page", 1, "i"), Place(12, "page", 2, "ii", None)),
    reading=Reading("liteparse", pages=2, needs_ocr=(2,), notes=("a note",)),
    language="fr",
)
OWN = ProjectSettings(top_k=9, fusion="rrf", labels=ProjectLabels(doc_tag="later"), languages=("de", "en"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(
        store=tmp_path / "one", project="team/papers", embedder=f"onnx:{write_model(tmp_path / 'm')}"
    )


@pytest.fixture
def backends(settings: Settings, tmp_path: Path) -> Iterator[Backends]:
    """A store with a project of files, and of a document with places."""
    for name, text in PAGES.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text, "utf-8")
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        target = target_of(settings, opened, opened.embedder.ready())
        assert ingest_paths(target, [tmp_path / "docs"]).failures == ()
        assert ingest_documents(target, "papers", [PAGED]).failures == ()
        opened.catalogue.save_project_settings("team/papers", OWN)
        yield opened


@pytest.fixture
def archive(settings: Settings, backends: Backends, tmp_path: Path) -> Path:
    path = tmp_path / "papers.zip"
    assert export_project(settings, backends.catalogue, "team/papers", path) == len(PAGES) + 1
    return path


@pytest.fixture
def other(settings: Settings, tmp_path: Path) -> Iterator[Backends]:
    """Another store, empty."""
    with closing(open_backends(elsewhere(settings), wait_for_model=True)) as opened:
        yield opened


def elsewhere(settings: Settings) -> Settings:
    return settings.model_copy(update={"store": settings.store.with_name("two")})


def no_progress(progress: Progress) -> None:
    """Ignore progress."""


def read_in(settings: Settings, opened: Backends, path: Path, name: str = "team/papers") -> None:
    with path.open("rb") as file:
        import_project(settings, opened, ProjectArchive(file, path.name), name, no_progress)


def content(opened: Backends, name: str) -> list[Any]:
    """All that a project holds but its ids and sources."""
    catalogue = opened.catalogue
    return [
        catalogue.project_settings(name),
        *(
            (
                replace(document, id="", project="", source=""),
                catalogue.text(document.id, name),
                [replace(chunk, id="", document_id="") for chunk in catalogue.chunks(document.id, name)],
                catalogue.places(document.id),
            )
            for document in catalogue.documents(name)
        ),
        [(each.uri, each.reading) for each in catalogue.readings_within(Filters(name))],
    ]


def ranking(opened: Backends, name: str) -> list[tuple[float, str]]:
    """Scores and texts of a search."""
    hits = opened.retriever.search("proxy backup policy page oil", Filters(name), 20, walk="auto").hits
    passages = opened.catalogue.passages([hit.chunk_id for hit in hits], name)
    return sorted((round(hit.score, 6), passages[hit.chunk_id].chunk.text) for hit in hits)


def test_an_imported_project_has_the_same_documents_passages_and_answers(
    settings: Settings, backends: Backends, archive: Path, other: Backends
) -> None:
    read_in(elsewhere(settings), other, archive)
    assert content(other, "team/papers") == content(backends, "team/papers")
    assert other.catalogue.chunk_ids("team/papers") == backends.catalogue.chunk_ids("team/papers")
    assert ranking(other, "team/papers") == ranking(backends, "team/papers")
    assert len(ranking(other, "team/papers")) == other.store.count() == backends.store.count()
    again = archive.with_name("again.zip")
    export_project(elsewhere(settings), other.catalogue, "team/papers", again)
    assert again.read_bytes() == archive.read_bytes()
    assert archive.stat().st_mode & 0o777 == 0o600


def test_a_project_is_imported_under_another_name_beside_the_first(
    settings: Settings, backends: Backends, archive: Path
) -> None:
    read_in(settings, backends, archive, "copy")
    assert content(backends, "copy") == content(backends, "team/papers")
    # The score of a word depends on all documents of a store, so they are compared in one store.
    assert ranking(backends, "copy") == ranking(backends, "team/papers")


def test_an_ingest_of_the_files_takes_over_what_was_imported(
    settings: Settings, other: Backends, archive: Path, tmp_path: Path
) -> None:
    here = elsewhere(settings)
    read_in(here, other, archive)
    other.catalogue.save_project_settings("team/papers", ProjectSettings())
    before = other.catalogue.chunk_ids("team/papers")
    report = ingest_paths(target_of(here, other, other.embedder.ready()), [tmp_path / "docs"])
    assert (report.failures, report.deleted) == ((), 0)
    assert other.catalogue.chunk_ids("team/papers") == before
    assert other.catalogue.sources("team/papers") == [str(tmp_path / "docs")]
    (tmp_path / "docs" / "page.html").unlink()
    assert ingest_paths(target_of(here, other, other.embedder.ready()), [tmp_path / "docs"]).deleted == 1


def test_an_interrupted_import_is_hidden_resumed_or_given_up(
    settings: Settings, other: Backends, backends: Backends, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.server.ingest.pipeline._BATCH_CHUNKS", 1)

    def stop(progress: Progress) -> None:
        if progress.documents == 2:
            raise KeyboardInterrupt

    for name in ("team/papers", "given/up"):
        with archive.open("rb") as file, pytest.raises(KeyboardInterrupt):
            import_project(elsewhere(settings), other, ProjectArchive(file, "x"), name, stop)
        assert len(other.catalogue.documents(name)) == 2
    assert (other.catalogue.existing_projects(), other.catalogue.generation("team/papers")) == ([], 0)
    assert not delete_project(other.catalogue, "given/up")
    assert purge_projects(elsewhere(settings), other) == ("given/up",)
    read_in(elsewhere(settings), other, archive)
    assert content(other, "team/papers") == content(backends, "team/papers")
    assert (other.catalogue.hidden_projects(), other.store.count()) == ({}, backends.store.count())


def rewrite(path: Path, change: Callable[[dict[str, bytes]], dict[str, bytes]], *, signs: bool = True) -> Path:
    """The archive with other entries; ``signs``: its manifest has the number and digest of the documents."""
    with zipfile.ZipFile(path) as source:
        entries = change({name: source.read(name) for name in source.namelist()})
    if signs:
        manifest, lines = json.loads(entries[MANIFEST]), entries[DOCUMENTS]
        manifest |= {"documents": lines.count(b"\n"), "digest": sha256(lines).hexdigest()}
        entries[MANIFEST] = json.dumps(manifest).encode()
    made = path.with_name("hostile.zip")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in entries.items():
            target.writestr(name, data)
    return made


def with_document(**fields: Any) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    """Add a document with these fields at the end, after good ones."""
    line = json.dumps({"uri": "new.md", "type": "markdown", "title": "T", "text": "words", **fields}).encode()
    return lambda entries: {**entries, DOCUMENTS: entries[DOCUMENTS] + line + b"\n"}


def with_entry(name: str, data: bytes) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda entries: {**entries, name: data}


HOSTILE: list[tuple[Callable[[dict[str, bytes]], dict[str, bytes]], bool, str]] = [
    (with_document(uri="../../etc/passwd"), True, "is no path below a folder"),
    (with_document(uri="/etc/passwd"), True, "is no path below a folder"),
    (with_document(uri="a\0b"), True, "is no path below a folder"),
    (with_document(uri="proxy.md"), True, "is there twice"),
    (with_document(uri=""), True, "uri: string should have"),
    (with_document(text=7), True, "text: input should be a valid string"),
    (with_document(type="program"), True, "type: input should be"),
    (with_document(later=1), True, "later: extra inputs are not permitted"),
    (with_document(metadata={"a": {"b": 1}}), True, "metadata.a"),
    (with_document(metadata=[]), True, "metadata: input should be"),
    (with_document(language="x\n[forged]"), True, "language: string should"),
    (with_document(body_start=-1), True, "body_start: input should be greater"),
    (with_document(body_start=True), True, "body_start: input should be a valid integer"),
    (with_document(places=[{"start": 10**30, "kind": "page", "number": 1}]), True, "places.0.start"),
    (with_document(places=[{"start": 0, "kind": "line", "number": 1}]), True, "places.0.kind"),
    (with_document(reading={"reader": "x", "pages": "2"}), True, "reading.pages"),
    (with_document(), False, "are not those that its manifest names"),
    (with_entry(DOCUMENTS, b"{}\n"), False, "line 1: uri: field required"),
    (with_entry(DOCUMENTS, b"\xff\xfe\n"), True, "line 1: invalid JSON"),
    (with_entry(DOCUMENTS, b'{"uri": "\\ud800"}\n'), True, "line 1: invalid JSON"),
    (with_entry(DOCUMENTS, b"[" * 100_000 + b"\n"), True, "line 1: invalid JSON"),
    (with_entry(DOCUMENTS, b'{"uri"'), True, "ends in the middle of a document"),
    (with_entry(DOCUMENTS, b"\n" * 100_000_000), True, "grows more than 250 times"),
    (with_entry(PROJECT, b'{"settings": {"top_k": 1000}}'), True, "settings.top_k"),
    (with_entry(PROJECT, b'{"settings": {"later": 1}}'), True, "settings.later"),
    (with_entry(PROJECT, b" " * 5_000_000), True, "is larger than 4 MiB"),
    (with_entry(MANIFEST, b"[" * 100_000), False, "manifest.json: invalid JSON"),
    (with_entry(MANIFEST, b'{"format": "winnow-project", "version": 2}'), False, "it has version 2 of the format"),
    (with_entry(MANIFEST, b'{"format": "zip", "version": 1}'), False, "manifest.json: format"),
    (with_entry("../evil.sh", b"rm"), True, "it has other entries than"),
    (with_entry("/etc/cron.d/x", b"rm"), True, "it has other entries than"),
    (
        lambda entries: {MANIFEST: entries[MANIFEST], DOCUMENTS: entries[DOCUMENTS]},
        True,
        "it has other entries than",
    ),
]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An archive of two documents, written without a store."""
    page = RawDocument("proxy.md", "markdown", "Proxy", "# Proxy\n\nproxy gateway\n", tags=("a",))
    path = tmp_path / "small.zip"
    write_archive(path, "team/papers", ArchivedProject(settings=OWN), lambda: [page, PAGED], 2)
    return path


def test_a_file_in_the_place_of_an_unfinished_archive_is_not_written_into(tmp_path: Path) -> None:
    """In a folder that others may write, its maker would read the documents along."""
    unfinished = tmp_path / f".small.zip.{os.getpid()}"
    unfinished.touch(0o666)
    with unfinished.open("rb") as made_before:
        write_archive(tmp_path / "small.zip", "p", ArchivedProject(settings=OWN), lambda: [PAGED], 1)
        assert (made_before.read(), stat.S_IMODE((tmp_path / "small.zip").stat().st_mode)) == (b"", 0o600)


def documents_of(path: Path) -> list[RawDocument]:
    """All documents of an archive, each checked."""
    with path.open("rb") as file:
        return list(ProjectArchive(file, path.name).documents())


@pytest.mark.parametrize(("change", "signs", "why"), HOSTILE, ids=[why for _, _, why in HOSTILE])
def test_a_hostile_archive_is_refused_with_the_reason(
    small: Path, change: Callable[[dict[str, bytes]], dict[str, bytes]], signs: bool, why: str
) -> None:
    made = rewrite(small, change, signs=signs)
    with pytest.raises(WinnowError) as caught:
        documents_of(made)
    assert caught.value.reason == "INVALID_REQUEST"
    assert why in caught.value.message
    assert caught.value.message.startswith("hostile.zip is not imported, nothing was changed: ")
    assert len(caught.value.message) < 600


def test_of_an_archive_whose_last_document_is_hostile_nothing_is_imported(
    settings: Settings, other: Backends, small: Path
) -> None:
    for change in (with_document(uri="../x"), with_document(type="program")):
        with pytest.raises(WinnowError, match="nothing was changed"):
            read_in(elsewhere(settings), other, rewrite(small, change))
    assert_empty(other)
    read_in(elsewhere(settings), other, rewrite(small, with_document()))
    assert len(other.catalogue.documents("team/papers")) == 3


def assert_empty(opened: Backends) -> None:
    assert (opened.catalogue.existing_projects(), opened.catalogue.hidden_projects()) == ([], {})
    assert (opened.catalogue.chunk_count(), opened.store.count()) == (0, 0)


@given(data=st.data())
@hypothesis_settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_archive_is_refused_or_the_same(small: Path, data: st.DataObject) -> None:
    whole, expected = bytearray(small.read_bytes()), documents_of(small)
    if data.draw(st.booleans()):
        whole = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    made = small.with_name("damaged.zip")
    made.write_bytes(whole)
    reasons, found = [], expected
    try:
        found = documents_of(made)
    except WinnowError as error:
        reasons.append(error.reason)
    assert (found, reasons) in ((expected, []), (expected, ["INVALID_REQUEST"]))


def test_a_project_bound_to_another_model_is_not_imported(
    settings: Settings, backends: Backends, other: Backends, tmp_path: Path
) -> None:
    backends.catalogue.save_project_settings("team/papers", ProjectSettings(embedder="another/1"))
    export_project(settings, backends.catalogue, "team/papers", tmp_path / "bound.zip")
    with pytest.raises(WinnowError, match="takes only vectors of another/1") as caught:
        read_in(elsewhere(settings), other, tmp_path / "bound.zip")
    assert caught.value.reason == "EMBEDDING_MISMATCH"
    assert_empty(other)


def test_a_name_that_is_taken_is_refused_and_the_project_of_that_name_stays(
    settings: Settings, backends: Backends, archive: Path
) -> None:
    before = content(backends, "team/papers")
    with pytest.raises(WinnowError, match="exists already"):
        read_in(settings, backends, archive)
    with pytest.raises(WinnowError, match="cannot be the name of a project"):
        read_in(settings, backends, archive, "../x")
    assert content(backends, "team/papers") == before


def test_the_commands_export_and_import_and_name_the_sources_that_they_do_not_add(tmp_path: Path) -> None:
    one, two, notes = tmp_path / "one", tmp_path / "two", tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Pumps\n\nA pump needs oil.\n", "utf-8")
    flags = ("--project", "notes", "--store", str(one))
    assert winnow("sources", "add", str(notes), *flags).returncode == 0
    assert winnow("ingest", str(notes), *flags).returncode == 0
    file = str(tmp_path / "notes.zip")
    assert project(one, "export", "notes", file)["documents"] == 1
    assert "add --force" in project(one, "export", "notes", file, exit_code=2)["error"]["message"]
    assert project(one, "export", "notes", file, "--force")["documents"] == 1
    assert "nope" in project(one, "export", "nope", str(tmp_path / "x"), exit_code=2)["error"]["message"]
    run = winnow("project", "import", file, "--name", "team/notes", "--json", "--store", str(two))
    assert run.returncode == 0, run.stderr
    imported = json.loads(run.stdout)
    assert (imported["name"], imported["documents"], imported["sources"]) == ("team/notes", 1, [])
    assert imported["archived_sources"] == [{"id": "notes", "paths": [str(notes)]}]
    assert (
        "Pumps | markdown | a.md"
        in winnow("search", "pump", "--project", "team/notes", "--store", str(two)).stdout
    )
    missing = project(two, "import", str(tmp_path / "none.zip"), exit_code=2)["error"]["message"]
    assert "none.zip cannot be read" in missing


def test_the_import_that_a_restore_names_fills_the_project_which_keeps_its_settings(tmp_path: Path) -> None:
    notes, file, saved = tmp_path / "notes", tmp_path / "notes.zip", tmp_path / "saved.backup"
    stores = {name: ("--store", str(tmp_path / name)) for name in ("first", "second", "third")}
    notes.mkdir()
    (notes / "a.md").write_text("# Pumps\n\nA pump needs oil.\n", "utf-8")
    for command in (
        ("ingest", notes, "--project", "notes", *stores["first"]),
        ("project", "export", "notes", file, *stores["first"]),
        ("project", "import", file, *stores["second"]),
        ("project", "set", "notes", "--top-k", "9", *stores["second"]),
        ("backup", saved, *stores["second"]),
    ):
        assert winnow(*map(str, command)).returncode == 0
    restored = json.loads(winnow("restore", str(saved), "--json", *stores["third"]).stdout)
    (line,) = restored["next"]
    words = shlex.split(line.partition(" (")[0].replace("FILE", str(file)))
    assert winnow(*words[1:]).returncode == 0
    shown = json.loads(winnow("project", "show", "notes", "--json", *stores["third"]).stdout)
    assert (shown["documents"], shown["settings"]["top_k"]) == (1, 9)
    assert "exists already" in winnow(*words[1:]).stderr
