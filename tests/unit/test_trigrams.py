"""The index of trigrams: it rules documents out, never one with a match, whatever was changed or interrupted."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.server.backends import trigrams
from winnow.server.backends.catalogue import Catalogue
from winnow.server.ids import chunk_id, document_id
from winnow.server.models import Chunk, Document, ExcludedText, Filters
from winnow.server.operations.corpus.patterns import compile_pattern
from winnow.server.storage.base import CatalogueChanges, CatalogueEntry

P = "p"
ALPHABET = 'abkKsS\u212a\u017fßéÉ中😀\ufffe "-.'
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=30)


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue(tmp_path / "catalogue.sqlite3")
    opened.begin_write(P)
    yield opened
    opened.close()


def _entry(uri: str, text: str) -> CatalogueEntry:
    id = document_id(P, uri)
    chunk = Chunk(chunk_id(P, uri, (), text, 0), id, 0, (), text, 0, len(text), 1)
    return CatalogueEntry(Document(id, P, uri, "/docs", uri, "markdown", "hash"), text, (chunk,), uri, "m/1", "c")


def _write(catalogue: Catalogue, texts: Mapping[str, str], deleted: tuple[str, ...] = ()) -> None:
    entries = [_entry(uri, text) for uri, text in texts.items()]
    catalogue.apply(CatalogueChanges(P, "/docs", entries, [document_id(P, uri) for uri in deleted]))


def _read(catalogue: Catalogue, pattern: str, *, case: bool = True) -> list[str | None]:
    """The text of each document by path, None for those that were ruled out."""
    needed = compile_pattern(pattern, literal=True, case=case).needed
    with closing(catalogue.texts_within(Filters(P), needed=needed)) as documents:
        return [None if isinstance(one, ExcludedText) else one.data.decode() for one in documents]


def test_a_document_that_lacks_the_text_is_not_read(catalogue: Catalogue) -> None:
    _write(catalogue, {"a": "one kubectl apply", "b": "two pods", "c": "three KUBECTL"})
    catalogue.index_texts(1)
    assert _read(catalogue, "kubectl") == ["one kubectl apply", None, "three KUBECTL"]
    assert _read(catalogue, "pods") == [None, "two pods", None]
    assert _read(catalogue, "po") == ["one kubectl apply", "two pods", "three KUBECTL"]


def test_what_was_ruled_out_has_its_place_and_its_size(catalogue: Catalogue) -> None:
    _write(catalogue, {"a": "naïve", "b": "", "c": "pods"})
    catalogue.index_texts(1)
    needed = compile_pattern("pods").needed
    with closing(catalogue.texts_within(Filters(P), 1, needed)) as documents:
        first, second = documents
    assert first == ExcludedText(1, 1, 0)
    assert (second.number, second.chunks) == (2, 1)
    with closing(catalogue.texts_within(Filters(P), 0, needed)) as documents:
        assert next(documents) == ExcludedText(0, 1, 5)


def test_a_small_catalogue_has_no_index(catalogue: Catalogue) -> None:
    _write(catalogue, {"a": "one", "b": "two"})
    catalogue.index_texts()
    assert _read(catalogue, "one") == ["one", "two"]
    catalogue.index_texts(3)
    assert _read(catalogue, "one") == ["one", "two"]
    catalogue.index_texts(2)
    assert _read(catalogue, "one") == ["one", None]


def test_changed_and_new_documents_are_read_until_they_are_indexed(catalogue: Catalogue) -> None:
    _write(catalogue, {"a": "one", "b": "two", "c": "three"})
    catalogue.index_texts(1)
    _write(catalogue, {"a": "four", "d": "five"}, deleted=("b",))
    assert _read(catalogue, "four") == ["four", None, "five"]
    catalogue.index_texts()
    assert _read(catalogue, "four") == ["four", None, None]
    assert _read(catalogue, "one") == [None, None, None]


def test_a_program_that_does_not_know_the_index_cannot_make_it_wrong(catalogue: Catalogue, tmp_path: Path) -> None:
    _write(catalogue, {"a": "one", "b": "two"})
    catalogue.index_texts(1)
    with closing(sqlite3.connect(tmp_path / "catalogue.sqlite3")) as other:
        other.execute("UPDATE texts SET text = 'new words' WHERE document_id = ?", (document_id(P, "a"),))
        other.execute("DELETE FROM texts WHERE document_id = ?", (document_id(P, "b"),))
        other.execute("INSERT INTO texts VALUES (?, 'other words')", (document_id(P, "b"),))
        other.commit()
    assert _read(catalogue, "words") == ["new words", "other words"]


def test_an_index_of_mostly_removed_documents_is_built_anew(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(trigrams, "_SLACK", 3)
    for number in range(5):
        _write(catalogue, {"a": f"text {number}", "b": "other"})
        catalogue.index_texts(1)
    with closing(sqlite3.connect(tmp_path / "catalogue.sqlite3")) as reader:
        ((last,),) = reader.execute("SELECT max(number) FROM trigram_documents").fetchall()
    assert last < 8
    assert _read(catalogue, "text 4") == ["text 4", None]
    assert _read(catalogue, "text 3") == [None, None]


def test_a_text_with_a_nul_is_always_read(catalogue: Catalogue) -> None:
    _write(catalogue, {"a": "one\0two", "b": "one"})
    catalogue.index_texts(1)
    assert _read(catalogue, "two") == ["one\0two", None]


def test_batches_are_indexed_one_after_the_other(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigrams, "_BATCH_CHARS", 8)
    _write(catalogue, {f"{number}": f"text {number}" for number in range(5)})
    catalogue.index_texts(1)
    assert _read(catalogue, "text 3") == [None, None, None, "text 3", None]


def test_a_long_text_with_many_parts_is_found(catalogue: Catalogue) -> None:
    parts = [f"{number} and {number * 7919}" for number in range(300)]
    _write(catalogue, {"a": " ".join(parts), "b": "nothing"})
    catalogue.index_texts(1)
    for pattern in (".*".join(parts[:60]), "|".join(parts[:30]), " ".join(parts)):
        needed = compile_pattern(pattern).needed
        with closing(catalogue.texts_within(Filters(P), needed=needed)) as documents:
            assert [isinstance(one, ExcludedText) for one in documents] == [False, True]


def test_without_fts5_every_text_is_read(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigrams, "_has_fts5", lambda database: False)
    _write(catalogue, {"a": "one", "b": "two"})
    catalogue.index_texts(1)
    assert _read(catalogue, "one") == ["one", "two"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from winnow.server.backends import trigrams
from winnow.server.backends.catalogue import Catalogue
trigrams._BATCH_CHARS = 1
index, count = trigrams._index_document, 0
def index_and_die(connection, id):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return index(connection, id)
trigrams._index_document = index_and_die
Catalogue(Path(sys.argv[1])).index_texts(1)
"""


def test_an_index_whose_building_was_killed_is_right_and_is_finished_by_the_next_run(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    _write(catalogue, {name: f"text {name}" for name in "abcd"})
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path / "catalogue.sqlite3")], check=False, timeout=60
    )
    assert killed.returncode == -9
    assert _read(catalogue, "text b") == [None, "text b", "text c", "text d"]
    catalogue.index_texts()
    assert _read(catalogue, "text b") == [None, "text b", None, None]


@settings(deadline=None)  # each example writes a file
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=6),
    later=st.dictionaries(st.integers(0, 7), TEXTS, max_size=3),
    patterns=st.lists(st.text(st.sampled_from(ALPHABET), min_size=1, max_size=6), min_size=1, max_size=5),
    case=st.booleans(),
)
def test_no_document_with_a_match_is_ruled_out(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    later: dict[int, str],
    patterns: list[str],
    case: bool,
) -> None:
    with closing(Catalogue(tmp_path_factory.mktemp("catalogue") / "catalogue.sqlite3")) as catalogue:
        catalogue.begin_write(P)
        current = {str(number): text for number, text in enumerate(texts)}
        _write(catalogue, current)
        catalogue.index_texts(1)
        changed = {str(number): text for number, text in later.items()}
        _write(catalogue, changed)
        current |= changed
        for is_indexed in (False, True):
            if is_indexed:
                catalogue.index_texts()
            for pattern in [*patterns, *(text[1:5] for text in current.values() if len(text) > 1)]:
                found = compile_pattern(pattern, literal=True, case=case).find
                read = _read(catalogue, pattern, case=case)
                pairs = zip(dict(sorted(current.items())).values(), read, strict=True)
                assert [text for text, kept in pairs if any(found(text.encode())) and kept != text] == []
