"""Keys and watched sources that are lost are an error that names the loss, never fewer keys or sources."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from winnow.server.errors import WinnowError
from winnow.server.jobs.watching import sources
from winnow.server.storage.keys import key_file
from winnow.server.storage.keys.key_ring import KeyRing

pytestmark = pytest.mark.both_users


@dataclass(frozen=True, slots=True)
class Records:
    """A file of records: its name, how one more is added to it, and how the names in it are read."""

    file: str
    add: Callable[[Path, str], Any]
    names: Callable[[Path], list[str]]

    def head(self, store: Path) -> Path:
        return store / self.file.replace(".json", "-head.json")


def _add_source(store: Path, name: str) -> None:
    made = sources.WatchedSource(id=name, paths=(f"/srv/{name}",), project="p")
    sources.change_sources(store, lambda before: [*before, made])


ALL = (
    Records(
        key_file.FILE,
        lambda store, name: key_file.add_key(store, key_file.new_key(name, 1_000)[0], 1_000),
        lambda store: [key.name for key in key_file.read_keys(store)],
    ),
    Records(sources.FILE, _add_source, lambda store: [one.id for one in sources.read_sources(store)]),
)
each = pytest.mark.parametrize("records", ALL, ids=lambda one: one.file)


def _two_states(records: Records, store: Path) -> None:
    """A file with two records, and beside the store a copy of its first state."""
    records.add(store, "first")
    shutil.copy(store / records.file, store.parent / "older")
    records.add(store, "second")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return folder


@each
@pytest.mark.parametrize("loss", ["removed", "older", "emptied", "half", "zeros"])
def test_a_file_that_lacks_what_was_written_is_an_error_of_each_use(
    records: Records, loss: str, store: Path
) -> None:
    _two_states(records, store)
    path = store / records.file
    whole = path.read_bytes()
    if loss == "removed":
        path.unlink()
    elif loss == "older":
        shutil.copy(store.parent / "older", path)
    else:
        path.write_bytes({"emptied": b"", "half": whole[: len(whole) // 2], "zeros": bytes(len(whole))}[loss])
    lost = path.read_bytes() if path.exists() else None
    for use in (records.names, lambda store: records.add(store, "third")):
        with pytest.raises(WinnowError, match="winnow restore FILE --replace"):
            use(store)
    assert (path.read_bytes() if path.exists() else None) == lost


@each
def test_a_file_that_is_brought_back_goes_on(records: Records, store: Path) -> None:
    _two_states(records, store)
    newest = store.parent / "newest"
    shutil.copy(store / records.file, newest)
    shutil.copy(store.parent / "older", store / records.file)
    shutil.copy(newest, store / records.file)
    records.add(store, "third")
    assert records.names(store) == ["first", "second", "third"]


@each
def test_without_its_head_a_file_counts_as_it_is(records: Records, store: Path) -> None:
    """The error names the head to delete: the way on without what is lost, and a file of an earlier version."""
    _two_states(records, store)
    shutil.copy(store.parent / "older", store / records.file)
    with pytest.raises(WinnowError, match="it has 1 of 2 changes") as raised:
        records.names(store)
    assert str(records.head(store)) in raised.value.message
    records.head(store).unlink()
    assert records.names(store) == ["first"]
    records.add(store, "third")
    assert (records.names(store), records.head(store).exists()) == (["first", "third"], True)


@each
def test_a_head_that_is_older_lost_nothing_and_one_that_is_no_head_is_named(records: Records, store: Path) -> None:
    """A process may end after it wrote the file and before it wrote the head."""
    records.add(store, "first")
    head = records.head(store).read_text("utf-8")
    records.add(store, "second")
    records.head(store).write_text(head, "utf-8")
    assert records.names(store) == ["first", "second"]
    for text in ("", "[", '{"changes": 0}', "\0" * 20):
        records.head(store).write_text(text, "utf-8")
        with pytest.raises(WinnowError, match="is not as it was written"):
            records.names(store)


def test_a_server_accepts_no_key_of_an_older_file(store: Path) -> None:
    """A key that was revoked since is in the older copy without its revocation."""
    _two_states(ALL[0], store)
    ring = KeyRing(store)
    assert ring.active_count == 2
    key_file.revoke_key(store, "first", 2_000)
    assert [key.name for key in ring.active_keys()] == ["second"]
    shutil.copy(store.parent / "older", store / key_file.FILE)
    assert (ring.active_count, ring.is_needed, "older than what was written" in ring.problem) == (0, True, True)
