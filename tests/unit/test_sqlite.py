"""A damaged or locked SQLite file is a WinnowError from every method of a store, never an error of sqlite3."""

from __future__ import annotations

import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from winnow.server.backends.catalogue import Binding, Catalogue
from winnow.server.backends.graphs.document_facts import SqliteFactStore
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.claims.records import Claim, ClaimVerdict, Comparison, Entry, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore
from winnow.server.claims.store import Change, Notebook, View
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id, section_id
from winnow.server.models import Chunk, Document, Filters
from winnow.server.retrieval.graph.base import RankQuery
from winnow.server.retrieval.graph.records import DocumentGraph, Node
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage import sqlite
from winnow.server.storage.base import CatalogueChanges, CatalogueEntry
from winnow.server.storage.files import seal

P, URI = "p", "a.md"
ID, CHUNK = document_id(P, URI), chunk_id(P, URI, ("H",), "words", 0)
Call = Callable[[Any], object]
# Larger each time, so that replaced rows do not leave enough room.
SIZES = count(20_000, 20_000)


def _entry() -> CatalogueEntry:
    document = Document(ID, P, URI, "/docs", "A", "markdown", "hash", tags=("a",), metadata={"n": 1})
    return CatalogueEntry(
        document, "x" * next(SIZES), (Chunk(CHUNK, ID, 0, ("H",), "words", 0, 5, 1),), URI, "m/1", "context"
    )


def _graph() -> DocumentGraph:
    sections = (section_id(P, URI, (str(number),)) for number in range(next(SIZES) // 100))
    nodes = (Node(id, "Section", "section", "S", 1, 0, "", "s", ID) for id in sections)
    return DocumentGraph(ID, (Node(ID, "Document", "markdown", "A", 0, 0, "", URI, ID), *nodes), ())


def _within(catalogue: Catalogue) -> None:
    with catalogue.only_writer():
        pass


# Calls of each public method; a method without a row here fails the first test.
CATALOGUE: Mapping[str, Call] = {
    "apply": lambda one: one.apply(CatalogueChanges(P, "/docs", [_entry()], (), {URI: "1"})),
    "begin_write": lambda one: one.begin_write(P),
    "bind": lambda one: one.bind(Binding("vectors", 384)),
    "binding": lambda one: one.binding,
    "chunk_count": lambda one: one.chunk_count(),
    "chunk_ids": lambda one: one.chunk_ids(P),
    "chunks": lambda one: one.chunks(ID, P),
    "close": lambda one: one.close(),
    "documents": lambda one: one.documents(P),
    "mark_dirty": lambda one: one.mark_dirty([ID]),
    "mark_altered": lambda one: one.mark_altered([ID]),
    "is_trusted": lambda one: one.is_trusted,
    "trust": lambda one: one.trust(),
    "primary_facts": lambda one: one.primary_facts(),
    "restore_projects": lambda one: one.restore_projects({P: ProjectSettings()}),
    "embedding": lambda one: one.embedding(P),
    "finish_write": lambda one: one.finish_write(P),
    "generation": lambda one: one.generation(P),
    "identity": lambda one: one.identity,
    "count_documents": lambda one: one.count_documents(Filters(P)),
    "find_documents": lambda one: one.find_documents(Filters(P), "a"),
    "iterate_values": lambda one: list(one.iterate_values(Filters(P), "type")),
    "list_documents": lambda one: one.list_documents(Filters(P), "path", 0, 10),
    "titles": lambda one: one.titles(Filters(P)),
    "documents_within": lambda one: one.documents_within(Filters(P)),
    "field_values": lambda one: one.field_values(Filters(P), "a", 1),
    "fields": lambda one: one.fields(Filters(P)),
    "has_documents": lambda one: one.has_documents(Filters(P)),
    "paths": lambda one: one.paths(Filters(P)),
    "index_texts": lambda one: one.index_texts(0),
    "indexed_documents": lambda one: one.indexed_documents(P),
    "labels": lambda one: one.labels(Filters(P)),
    "languages": lambda one: one.languages(P),
    "only_writer": _within,
    "passages": lambda one: one.passages([CHUNK], P),
    "places": lambda one: one.places(ID),
    "places_within": lambda one: one.places_within(ID, 0, 5),
    "projects": lambda one: one.projects(),
    "renew_generations": lambda one: one.renew_generations(),
    "readings_within": lambda one: list(one.readings_within(Filters(P))),
    "rebind": lambda one: one.rebind(Binding("vectors", 384), "m/1"),
    "sizes_within": lambda one: list(one.sizes_within(Filters(P))),
    "sources": lambda one: one.sources(P),
    "spans": lambda one: one.spans(ID),
    "token_count": lambda one: one.token_count(ID),
    "stamps": lambda one: one.stamps(P, "/docs"),
    "stamp": lambda one: one.stamp(P, "/docs", "a.md"),
    "texts_within": lambda one: list(one.texts_within(Filters(P))),
    "text": lambda one: one.text(ID, P),
    "has_unfinished_write": lambda one: one.has_unfinished_write(P),
    "clear_project": lambda one: one.clear_project(P),
    "compact": lambda one: one.compact(),
    "existing_projects": lambda one: one.existing_projects(),
    "has_settings": lambda one: one.has_settings("p"),
    "forget_project": lambda one: one.forget_project(P),
    "has_pages": lambda one: one.has_pages(Filters(P)),
    "has_project": lambda one: one.has_project(P),
    "hidden_projects": lambda one: one.hidden_projects(),
    "cited_chunks": lambda one: one.cited_chunks([CHUNK]),
    "metadata": lambda one: one.metadata(ID),
    "move_project": lambda one: one.move_project(P, "q", {ID: document_id("q", URI)}, {}),
    "project_settings": lambda one: one.project_settings(P),
    "project_state": lambda one: one.project_state(P),
    "save_project_settings": lambda one: one.save_project_settings(P, ProjectSettings(top_k=next(SIZES) % 99 + 1)),
    "section_chunks": lambda one: one.section_chunks(Filters(P), lambda path: True, 10),
    "set_project_state": lambda one: one.set_project_state(P, "deleted"),
}
GRAPH: Mapping[str, Call] = {
    "apply": lambda one: one.apply(P, [_graph()]),
    "close": lambda one: one.close(),
    "counts": lambda one: one.counts(P),
    "degrees": lambda one: one.degrees(P, ID),
    "derive": lambda one: one.derive(P),
    "documents": lambda one: one.documents(P),
    "expand": lambda one: one.expand(P, [ID]),
    "export": lambda one: list(one.export(P)),
    "find": lambda one: one.find(P, "a"),
    "generation": lambda one: one.generation(P),
    "load": lambda one: one.load(P, None),
    "neighbours": lambda one: one.neighbours(P, [ID]),
    "nodes": lambda one: one.nodes(P, [ID]),
    "owned_ranks": lambda one: one.owned_ranks(P, RankQuery({ID: 1.0})),
    "paths": lambda one: one.paths(P, [ID], [ID]),
    "ranks": lambda one: one.ranks(P, RankQuery({ID: 1.0})),
}
_ENTRY_ID = "0123456789ab"
_CLAIM = Claim(id=f"{_ENTRY_ID}.1", text="words")
_BOOK, _SEEN = Notebook(P), View(Notebook(P), sees_all=True)


def _claim_entry() -> Entry:
    return Entry(id=new_entry_id(), project=P, topic="a", claims=(_CLAIM,), content="x" * (next(SIZES) % 50_000))


def _enter(manager: AbstractContextManager[None]) -> None:
    with manager:
        pass


CLAIMS: Mapping[str, Call] = {
    "add": lambda one: one.add(_BOOK, _claim_entry()),
    "deriving": lambda one: _enter(one.deriving()),
    "note_drift": lambda one: one.note_drift(_BOOK, [_ENTRY_ID]),
    "verdicts_in": lambda one: one.verdicts_in(_BOOK),
    "entries": lambda one: one.entries([_ENTRY_ID]),
    "keep_heads": lambda one: one.keep_heads(),
    "citing": lambda one: one.citing(_SEEN, ["0" * 12], 3),
    "close": lambda one: one.close(),
    "require_file": lambda one: one.require_file(),
    "compare": lambda one: one.compare(_ENTRY_ID, [Comparison(entry_id=_ENTRY_ID, other_id=_ENTRY_ID, entropy=1)]),
    "comparisons": lambda one: one.comparisons([_ENTRY_ID]),
    "counts": lambda one: one.counts(_SEEN),
    "entry_numbers": lambda one: one.entry_numbers(_SEEN),
    "first_flaw": lambda one: one.first_flaw(_BOOK),
    "history": lambda one: one.history(_BOOK),
    "import_changes": lambda one: one.import_changes(
        _BOOK, [(Change(1, _ENTRY_ID, "imported", 1.0, "{}", ""), _claim_entry())]
    ),
    "judge": lambda one: one.judge(
        _BOOK, [ClaimVerdict(claim_id=_CLAIM.id, other_id=f"{_ENTRY_ID}.2", judgement="agrees")]
    ),
    "compared": lambda one: one.compared([_ENTRY_ID]),
    "count_without_vectors": lambda one: one.count_without_vectors(_BOOK, "m/1"),
    "last_sequence": lambda one: one.last_sequence(_BOOK),
    "listing": lambda one: one.listing(_SEEN, 0, 5),
    "most_contested": lambda one: one.most_contested(_SEEN, 0.0, 5),
    "notebooks_of": lambda one: one.notebooks_of([]),
    "notebooks": lambda one: one.notebooks(),
    "read": lambda one: one.read(_SEEN, [_ENTRY_ID]),
    "recent": lambda one: one.recent(_SEEN, 0, 5),
    "refresh": lambda one: one.refresh([_claim_entry()]),
    "revise": lambda one: [one.revise(_BOOK, entry) for entry in one.listing(_SEEN, 0, 1)],
    "save_vectors": lambda one: one.save_vectors(_ENTRY_ID, "m/1", [(_CLAIM.id, b"1234")]),
    "search_words": lambda one: one.search_words(_SEEN, "words", 5),
    "topics": lambda one: one.topics(_SEEN),
    "vectors": lambda one: one.vectors(_BOOK, "m/1", 0, 5),
    "verdicts": lambda one: one.verdicts([_ENTRY_ID]),
    "without_vectors": lambda one: one.without_vectors(_BOOK, "m/1", 5),
}
LEDGER: Mapping[str, Call] = {
    "apply": lambda one: one.apply(P, {ID: ("1", b"x" * next(SIZES))}),
    "facts": lambda one: list(one.facts(P)),
    "stamps": lambda one: one.stamps(P),
}
STORES: Mapping[str, tuple[type, Callable[[Path], Any], Mapping[str, Call]]] = {
    "catalogue": (Catalogue, Catalogue, CATALOGUE),
    "graph": (SqliteGraph, SqliteGraph, GRAPH),
    "claims": (SqliteClaimStore, SqliteClaimStore, CLAIMS),
    "ledger": (SqliteFactStore, lambda path: SqliteFactStore(path, ""), LEDGER),
}


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def filled_file(kind: str, tmp_path: Path) -> Path:
    """A file with a row in every table."""
    path = tmp_path / f"{kind}.sqlite3"
    one = STORES[kind][1](path)
    for name in ("begin_write", "apply", "derive", "add", "compare", "judge"):
        if name in STORES[kind][2]:
            STORES[kind][2][name](one)
    if hasattr(one, "close"):
        one.close()
    return path


def test_every_public_method_is_called_here(kind: str) -> None:
    store, _, calls = STORES[kind]
    assert {name for name in dir(store) if not name.startswith("_")} == set(calls)


@contextmanager
def as_it_is(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    yield


@contextmanager
def locked(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as busy:
        busy.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def exclusive(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Readers are locked out, too."""
    with closing(sqlite3.connect(path, isolation_level=None)) as busy:
        busy.execute("PRAGMA locking_mode = EXCLUSIVE")
        busy.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def corrupt(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The header is intact; all pages after it are overwritten."""
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xa5" * (len(data) - 100))
    yield


@contextmanager
def cut_off(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    yield


@contextmanager
def no_database(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    path.write_bytes(b"\xa5" * 8192)
    yield


def _with(pragma: str, patch: pytest.MonkeyPatch) -> None:
    connect = sqlite.connect

    def connected(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute(pragma)
        return connection

    patch.setattr(sqlite, "connect", connected)


@contextmanager
def full(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """SQLite's limit on the file size fails like a full disk."""
    _with("PRAGMA max_page_count = 1", patch)
    yield


@contextmanager
def read_only(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    _with("PRAGMA query_only = ON", patch)
    yield


@contextmanager
def no_file(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    path.unlink()
    path.mkdir()
    yield


@contextmanager
def rows_of_nonsense(path: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The file is intact, but its columns hold neither JSON nor UTF-8."""
    columns = {
        "catalogue": {"documents": ("tags", "metadata"), "chunks": ("heading_path",)},
        "graph": {"graphs": ("nodes", "titles", "edges")},
        "claims": {"entries": ("record",), "comparisons": ("record",), "verdicts": ("record",)},
        "ledger": {"ledger": ("stamp",)},
    }
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, names in columns[path.stem].items():
            for name in names:
                connection.execute(f"UPDATE {table} SET {name} = CAST(x'ff7b5b' AS TEXT)")
    yield


STATES = (as_it_is, locked, exclusive, corrupt, cut_off, no_database, full, read_only, no_file, rows_of_nonsense)
# The text of the error in each state; every method that fails must raise it.
SAYS = {
    "locked": ("another process has been writing",),
    "exclusive": ("another process has been writing",),
    "no_database": ("it is damaged",),
    "rows_of_nonsense": ("it is damaged",),
    "corrupt": ("it is damaged",),
    "cut_off": ("it is damaged",),
    "full": ("the disk is full",),
    "read_only": ("it is read-only",),
    "no_file": ("it cannot be opened", "is a folder where a file is wanted", "was replaced by another one while"),
}


def outcomes(one: Any, calls: Mapping[str, Call]) -> Iterator[WinnowError]:
    """The errors of the methods; an exception other than WinnowError fails the test."""
    # In reverse order, closed at the end, so that nothing is rewritten before the other methods ran.
    for name in sorted(calls, key=lambda name: (name != "close", name), reverse=True):
        try:
            calls[name](one)
        except WinnowError as error:
            yield error


def open_store(make: Callable[[Path], Any], path: Path) -> Any:
    """The store, or why it does not open."""
    try:
        return make(path)
    except WinnowError as error:
        return error


@pytest.mark.parametrize("state", STATES, ids=lambda state: str(state.__name__))
@pytest.mark.parametrize("is_open_before", [False, True], ids=["opened then", "open before"])
def test_only_errors_of_ours_are_raised(
    kind: str, state: Any, is_open_before: bool, filled_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, make, calls = STORES[kind]
    if state is exclusive and is_open_before:
        return  # that lock is not available then
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    early = make(filled_file) if is_open_before else None
    with state(filled_file, monkeypatch):
        one = early or open_store(make, filled_file)
        errors = [one] if isinstance(one, WinnowError) else list(outcomes(one, calls))
    if state is as_it_is:
        assert errors == []
        return
    if not is_open_before:
        assert errors != [], "the state did no harm"
    expected = SAYS[state.__name__]
    assert [error.message for error in errors if not any(one in error.message for one in expected)] == []
    assert all(str(filled_file) in error.message for error in errors)
    is_held = state in (locked, exclusive)
    assert {(error.reason, error.retryable) for error in errors} <= {
        ("INDEX_HELD", True) if is_held else ("INDEX_UNAVAILABLE", False)
    }


_OTHER_PROCESS = """
import sys
from pathlib import Path
from winnow.server.backends.catalogue import Binding, Catalogue
catalogue = Catalogue(Path(sys.argv[1]))
catalogue.bind(Binding(sys.argv[2], 384))
catalogue.close()
"""


def _bound_elsewhere(path: Path, vectors: str) -> None:
    subprocess.run([sys.executable, "-c", _OTHER_PROCESS, str(path), vectors], check=True)


def test_what_another_process_writes_is_seen_after_the_files_were_sealed_and_compared(tmp_path: Path) -> None:
    """Closing a descriptor of the file would release SQLite's locks, and other processes would remove its log."""
    path = tmp_path / "catalogue.sqlite3"
    with closing(Catalogue(path)) as catalogue:
        for read in (_within, lambda _: seal.find_flaws(tmp_path), lambda _: Catalogue(path).close()):
            for vectors in ("vectors-1", "vectors-2"):
                read(catalogue)
                _bound_elsewhere(path, vectors)
                assert catalogue.binding == Binding(vectors, 384)
                assert path.with_name("catalogue.sqlite3-wal").exists()


def test_no_descriptor_is_left_of_files_that_were_compared(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite3"
    before = len(os.listdir("/proc/self/fd"))
    with closing(Catalogue(path)) as catalogue:
        _within(catalogue)
        assert seal.find_flaws(tmp_path) == []
        beside = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            assert seal.find_flaws(tmp_path) == []
        assert len(os.listdir("/proc/self/fd")) == beside
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_store_whose_journal_names_another_file_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    """Of a store that somebody else made: SQLite would delete that file once it has rolled the journal back."""
    path = tmp_path / "store" / "catalogue.sqlite3"
    Catalogue(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        (size,) = database.execute("PRAGMA page_size").fetchone()
    (kept := tmp_path / "kept").write_text("the only copy", "utf-8")
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(kept)
    head = (magic + struct.pack(">5I", 0, 0, path.stat().st_size // size, 512, size)).ljust(512, b"\0")
    named = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    Path(f"{path}-journal").write_bytes(head + named)
    with pytest.raises(WinnowError, match="its journal names another file"):
        Catalogue(path).close()
    assert kept.exists()
