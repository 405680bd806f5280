"""The catalogue: atomic changes, honest counts, reads from many threads."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patience import LIMIT
from winnow.server.backends.catalogue import SCHEMA_VERSION, Catalogue
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id
from winnow.server.models import Chunk, Document, DocumentReading, Filters, Passage, Place, ProjectInfo, Reading
from winnow.server.storage.base import CatalogueChanges, CatalogueEntry, IndexedDocument
from winnow.server.storage.sqlite import connect

pytestmark = pytest.mark.both_users


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue(tmp_path / "catalogue.sqlite3")
    yield opened
    opened.close()


def entry(uri: str, *texts: str, project: str = "p", embedding: str = "m/1") -> CatalogueEntry:
    id = document_id(project, uri)
    document = Document(
        id,
        project,
        uri,
        "/docs",
        uri.title(),
        "markdown",
        f"hash of {texts}",
        tags=("a", "b"),
        metadata={"n": [1, "x"]},
    )
    chunks = tuple(
        Chunk(chunk_id(project, uri, ("H",), text, 0), id, n, ("H",), text, 0, len(text), 1)
        for n, text in enumerate(texts)
    )
    return CatalogueEntry(document, " ".join(texts), chunks, uri, embedding, "context")


def changes(*entries: CatalogueEntry, project: str = "p", deleted: tuple[str, ...] = ()) -> CatalogueChanges:
    return CatalogueChanges(project, "/docs", entries, deleted)


def begin(catalogue: Catalogue, *entries: CatalogueEntry, project: str = "p") -> None:
    catalogue.begin_write(project)
    catalogue.apply(changes(*entries, project=project))


def test_what_went_in_comes_out(catalogue: Catalogue) -> None:
    one = entry("a.md", "first", "second")
    begin(catalogue, one)
    assert catalogue.documents("p") == [one.document]
    assert catalogue.chunks(one.document.id, "p") == list(one.chunks)
    assert catalogue.text(one.document.id, "p") == "first second"
    assert catalogue.passages([one.chunks[1].id, "0" * 12], "p") == {
        one.chunks[1].id: Passage(one.chunks[1], one.document)
    }
    assert catalogue.indexed_documents("p") == [
        IndexedDocument(one.document.id, "a.md", "/docs", "a.md", one.document.content_hash, "context", "m/1")
    ]
    assert (catalogue.chunk_ids("p"), catalogue.chunk_count()) == (sorted(c.id for c in one.chunks), 2)


def test_a_document_that_comes_again_replaces_itself(catalogue: Catalogue) -> None:
    begin(catalogue, entry("a.md", "first", "second"))
    catalogue.apply(changes(entry("a.md", "third")))
    assert [chunk.text for chunk in catalogue.chunks(document_id("p", "a.md"), "p")] == ["third"]
    assert catalogue.chunk_count() == 1


PLACES = (Place(0, "page", 1, "i"), Place(6, "page", 2), Place(6, "sheet", 3, "Q1", (2, 21)))
READING = Reading("pdf", 3, 2, needs_ocr=(2,), attachments=("a.zip",), notes=("one note",))


def test_places_and_how_a_file_was_read_come_and_go_with_the_document(catalogue: Catalogue) -> None:
    one = replace(entry("a.pdf", "first", "second"), places=PLACES, reading=READING)
    id = one.document.id
    begin(catalogue, one, entry("b.md", "third"))
    assert (catalogue.places(id), catalogue.places(document_id("p", "b.md"))) == (PLACES, ())
    assert list(catalogue.readings_within(Filters("p"))) == [
        DocumentReading("a.pdf", "/docs", "markdown", 12, 2, READING),
        DocumentReading("b.md", "/docs", "markdown", 5, 1, None),
    ]
    catalogue.apply(changes(replace(one, places=PLACES[:1], reading=None)))
    assert (catalogue.places(id), next(catalogue.readings_within(Filters("p"))).reading) == (PLACES[:1], None)
    catalogue.apply(changes(deleted=(id,)))
    assert catalogue.places(id) == ()


def test_a_passage_has_the_places_that_it_is_in(catalogue: Catalogue) -> None:
    one = entry("a.pdf", "first", "second")
    first, second = one.chunks
    chunks = (first, replace(second, start=6, end=12))
    begin(catalogue, replace(one, chunks=chunks, places=PLACES), entry("b.md", "third"))
    ids = [first.id, second.id, entry("b.md", "third").chunks[0].id]
    places = {id: passage.places for id, passage in catalogue.passages(ids, "p").items()}
    assert places == {first.id: PLACES[:1], second.id: PLACES[1:], ids[2]: ()}


@given(
    st.lists(st.integers(0, 30), max_size=12),
    st.tuples(st.integers(0, 32), st.integers(0, 32)).map(sorted),
)
def test_the_places_of_a_span_are_those_that_hold_its_characters(starts: list[int], span: list[int]) -> None:
    places = tuple(Place(start, "page", number) for number, start in enumerate(sorted(starts), 1))
    start, end = span
    ends = [*(place.start for place in places[1:]), 100]
    characters = set(range(start, max(end, start + 1)))
    holding = [
        place
        for place, stop in zip(places, ends, strict=False)
        if not characters.isdisjoint(range(place.start, stop))
    ]
    with TemporaryDirectory() as folder, closing(Catalogue(Path(folder) / "catalogue.sqlite3")) as catalogue:
        one = replace(entry("a.pdf", "text"), places=places)
        begin(catalogue, one)
        found = catalogue.places_within(one.document.id, start, end)
    # Places without text of their own come with the one that begins where they do.
    begins = {place.start for place in holding}
    assert found == tuple(place for place in places if place.start in begins)


def test_no_project_sees_another_ones_chunks(catalogue: Catalogue) -> None:
    mine, theirs = entry("a.md", "same"), entry("a.md", "same", project="q")
    begin(catalogue, mine)
    begin(catalogue, theirs, project="q")
    assert catalogue.passages([theirs.chunks[0].id], "p") == {}
    assert catalogue.text(theirs.document.id, "p") is None
    assert catalogue.chunks(theirs.document.id, "p") == []


def test_the_generation_grows_with_every_change_and_with_nothing_else(catalogue: Catalogue) -> None:
    seen = [catalogue.generation("p")]
    begin(catalogue, entry("a.md", "x"))
    seen.append(catalogue.generation("p"))
    catalogue.apply(CatalogueChanges("p", "/docs", stamps={"a.md": "1:2"}))
    catalogue.finish_write("p")
    seen.append(catalogue.generation("p"))
    catalogue.apply(changes(deleted=(document_id("p", "a.md"),)))
    seen.append(catalogue.generation("p"))
    assert seen == [0, 1, 1, 2]


def test_projects_are_counted_and_an_empty_one_is_none(catalogue: Catalogue) -> None:
    catalogue.begin_write("empty")
    begin(catalogue, entry("a.md", "x", "y"))
    (info,) = catalogue.projects()
    assert replace(info, changed="") == ProjectInfo("p", 1, 2, 1, "m/1")
    assert abs(datetime.fromisoformat(info.changed) - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_project_has_an_embedding_only_if_all_its_documents_share_it(catalogue: Catalogue) -> None:
    begin(catalogue, entry("a.md", "x"))
    assert catalogue.embedding("p") == "m/1"
    catalogue.apply(changes(entry("b.md", "y", embedding="")))
    assert catalogue.embedding("p") == ""
    assert catalogue.embedding("nowhere") == ""


def test_a_change_that_fails_leaves_nothing_behind(catalogue: Catalogue) -> None:
    good = entry("a.md", "x")
    broken = replace(good, chunks=(good.chunks[0], good.chunks[0]))
    catalogue.begin_write("p")
    with pytest.raises(WinnowError, match="UNIQUE constraint failed"):
        catalogue.apply(changes(entry("b.md", "y"), broken))
    assert (catalogue.documents("p"), catalogue.chunk_count(), catalogue.generation("p")) == ([], 0, 0)


def test_stamps_are_kept_per_source_and_can_be_forgotten(catalogue: Catalogue) -> None:
    catalogue.apply(CatalogueChanges("p", "/docs", stamps={"a.md": "1", "b.md": "2"}))
    catalogue.apply(CatalogueChanges("p", "/other", stamps={"a.md": "3"}))
    catalogue.apply(CatalogueChanges("p", "/docs", stamps={"a.md": None}))
    assert (catalogue.stamps("p", "/docs"), catalogue.stamps("p", "/other")) == ({"b.md": "2"}, {"a.md": "3"})


def test_a_writer_that_never_finished_is_remembered(catalogue: Catalogue) -> None:
    before = catalogue.has_unfinished_write("p")
    catalogue.begin_write("p")
    during = catalogue.has_unfinished_write("p")
    catalogue.finish_write("p")
    assert (before, during, catalogue.has_unfinished_write("p")) == (False, True, False)


def test_many_threads_may_read(catalogue: Catalogue) -> None:
    begin(catalogue, *(entry(f"{n}.md", f"text {n}") for n in range(50)))
    with ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(lambda _: len(catalogue.documents("p")), range(64)))
    assert counts == [50] * 64


def test_more_ids_than_one_statement_takes(catalogue: Catalogue) -> None:
    one = entry("a.md", *(f"text {n}" for n in range(1200)))
    begin(catalogue, one)
    assert len(catalogue.passages([chunk.id for chunk in one.chunks], "p")) == 1200


def test_a_second_writer_is_told_who_the_first_is(catalogue: Catalogue) -> None:
    with (
        catalogue.only_writer(),
        pytest.raises(WinnowError, match="being written by process") as caught,
        catalogue.only_writer(),
    ):
        pass
    assert caught.value.reason == "INDEX_HELD"
    with catalogue.only_writer():
        pass


def test_a_file_that_is_no_catalogue_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite3"
    path.write_text("something else, long enough to be looked at as a database header" * 20)
    with pytest.raises(WinnowError, match="cannot be used"):
        Catalogue(path)


def test_a_catalogue_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite3"
    Catalogue(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(WinnowError, match="layout 99"):
        Catalogue(path)


def test_a_catalogue_keeps_its_identity(tmp_path: Path) -> None:
    identities = []
    for _ in range(2):
        opened = Catalogue(tmp_path / "catalogue.sqlite3")
        identities.append(opened.identity)
        opened.close()
    assert identities[0] == identities[1]


def test_labels_come_out_as_they_went_in(catalogue: Catalogue) -> None:
    one = entry("a.md", "x")
    labelled = replace(one, document=replace(one.document, environment="prod", repository="acme/app"))
    begin(catalogue, labelled, entry("b.md", "y"))
    assert [(document.environment, document.repository) for document in catalogue.documents("p")] == [
        ("prod", "acme/app"),
        ("", ""),
    ]
    assert catalogue.passages([one.chunks[0].id], "p")[one.chunks[0].id].document == labelled.document


def test_a_document_in_doubt_has_no_context_and_is_otherwise_as_before(catalogue: Catalogue) -> None:
    begin(catalogue, entry("a.md", "x"), entry("b.md", "y"))
    before = catalogue.indexed_documents("p")
    catalogue.mark_dirty([document_id("p", "a.md"), "unknown"])
    assert catalogue.indexed_documents("p") == [
        replace(one, context_hash="") if one.uri == "a.md" else one for one in before
    ]


# The layout that the first winnow wrote, with one document in it.
VERSION_1 = """
CREATE TABLE catalogue (identity TEXT NOT NULL);
CREATE TABLE projects (
    name TEXT PRIMARY KEY, generation INTEGER NOT NULL DEFAULT 0, writing INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE documents (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, uri TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL,
    type TEXT NOT NULL, content_hash TEXT NOT NULL, vendor TEXT NOT NULL, doc_tag TEXT NOT NULL,
    tags TEXT NOT NULL, created TEXT NOT NULL, metadata TEXT NOT NULL,
    origin TEXT NOT NULL, embedding TEXT NOT NULL, context_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX documents_by_uri ON documents (project, uri);
CREATE INDEX documents_by_embedding ON documents (project, embedding);
CREATE TABLE texts (document_id TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE chunks (
    id TEXT PRIMARY KEY, document_id TEXT NOT NULL, ordinal INTEGER NOT NULL, heading_path TEXT NOT NULL,
    text TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, tokens INTEGER NOT NULL,
    project TEXT NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document_id, ordinal);
CREATE INDEX chunks_by_project ON chunks (project, id);
CREATE TABLE files (
    project TEXT NOT NULL, source TEXT NOT NULL, origin TEXT NOT NULL, stamp TEXT NOT NULL,
    PRIMARY KEY (project, source, origin)
) WITHOUT ROWID;
INSERT INTO catalogue VALUES ('0123abcd');
INSERT INTO projects VALUES ('p', 7, 0);
INSERT INTO documents VALUES (
    'd1', 'p', 'a.md', '/docs', 'A', 'markdown', 'hash', 'acme', 'v1', '["x"]', '2026-01-01', '{"n": 1}',
    'a.md', 'm/1', 'context'
);
INSERT INTO texts VALUES ('d1', 'words');
INSERT INTO chunks VALUES ('c1', 'd1', 0, '["H"]', 'words', 0, 5, 1, 'p');
INSERT INTO files VALUES ('p', '/docs', 'a.md', '1:5:1');
PRAGMA user_version = 1;
"""


# What later layouts before places and readings added, and the values of the one document.
VERSION_5 = f"""
{VERSION_1}
ALTER TABLE documents ADD COLUMN environment TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN repository TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN body_start INTEGER NOT NULL DEFAULT 0;
CREATE INDEX documents_by_language ON documents (project, language);
ALTER TABLE catalogue ADD COLUMN vectors TEXT NOT NULL DEFAULT 'vectors';
ALTER TABLE catalogue ADD COLUMN dimension INTEGER NOT NULL DEFAULT 384;
UPDATE documents SET environment = 'prod', repository = 'r', language = 'en', body_start = 2;
DROP INDEX chunks_by_document;
CREATE INDEX chunks_by_document ON chunks (document_id, ordinal, tokens);
PRAGMA user_version = 5;
"""


@pytest.fixture
def first_layout(tmp_path: Path) -> Path:
    path = tmp_path / "catalogue.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
    return path


def test_a_catalogue_without_places_is_brought_up_to_date_and_its_documents_have_none(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_5)
    for _ in range(2):
        with closing(Catalogue(path)) as opened:
            (passage,) = opened.passages(["c1"], "p").values()
            document = passage.document
            facts = document.environment, document.repository, document.language, document.body_start
            assert (passage.chunk.text, passage.places, facts) == ("words", (), ("prod", "r", "en", 2))
            assert (opened.places("d1"), opened.places_within("d1", 0, 5)) == ((), ())
            (read,) = opened.readings_within(Filters("p"))
            assert read == DocumentReading("a.md", "/docs", "markdown", 5, 1, None)
            assert (opened.generation("p"), opened.identity) == (7, "0123abcd")
    Catalogue(tmp_path / "new.sqlite3").close()
    assert layout(path) == layout(tmp_path / "new.sqlite3")


def layout(path: Path) -> tuple[int, dict[str, list[str]], list[str]]:
    """The version of a catalogue's file, the columns of its tables, and its indexes."""
    with closing(sqlite3.connect(path)) as connection:
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {
            name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in sorted(names)
        }
        indexes = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        return version, columns, sorted(row[0] for row in indexes)


def test_a_catalogue_of_the_first_layout_is_brought_up_to_date_and_keeps_everything(first_layout: Path) -> None:
    for _ in range(2):
        opened = Catalogue(first_layout)
        document = Document(
            "d1",
            "p",
            "a.md",
            "/docs",
            "A",
            "markdown",
            "hash",
            vendor="acme",
            doc_tag="v1",
            tags=("x",),
            created="2026-01-01",
            metadata={"n": 1},
        )
        assert opened.passages(["c1"], "p") == {
            "c1": Passage(Chunk("c1", "d1", 0, ("H",), "words", 0, 5, 1), document)
        }
        assert opened.indexed_documents("p") == [
            IndexedDocument("d1", "a.md", "/docs", "a.md", "hash", "context", "m/1")
        ]
        assert (opened.identity, opened.generation("p"), opened.stamps("p", "/docs")) == (
            "0123abcd",
            7,
            {"a.md": "1:5:1"},
        )
        opened.close()


def test_a_catalogue_brought_up_to_date_is_laid_out_like_a_new_one(first_layout: Path, tmp_path: Path) -> None:
    Catalogue(first_layout).close()
    Catalogue(tmp_path / "new.sqlite3").close()
    assert layout(first_layout) == layout(tmp_path / "new.sqlite3")
    assert layout(first_layout)[0] == SCHEMA_VERSION


def test_a_migration_that_fails_leaves_the_first_layout_as_it_was(first_layout: Path) -> None:
    with closing(sqlite3.connect(first_layout)) as connection:
        connection.execute("ALTER TABLE documents ADD COLUMN repository TEXT")  # the second step finds it there
    before = layout(first_layout)
    with pytest.raises(WinnowError, match="cannot be used"):
        Catalogue(first_layout)
    assert layout(first_layout) == before


def test_a_catalogue_that_several_open_at_once_is_brought_up_to_date_once(first_layout: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(Catalogue, [first_layout] * 8))
    assert [len(one.documents("p")) for one in opened] == [1] * 8
    for one in opened:
        one.close()


def test_a_change_to_a_write_ahead_log_waits_for_others(tmp_path: Path) -> None:
    """SQLite itself fails at once there, whatever its busy timeout is."""
    path = tmp_path / "kept.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as busy:
        busy.execute("CREATE TABLE kept (id)")
        busy.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(connect, path)
            time.sleep(0.2)
            assert not waiting.done()
            busy.execute("COMMIT")
            with closing(waiting.result(LIMIT)) as connection:
                assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
