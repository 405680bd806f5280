"""Claims that are lost are an error that names the loss, never an empty notebook."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from winnow.server.claims.adopting import adopt_claims
from winnow.server.claims.library import ClaimLibrary
from winnow.server.claims.notebook_heads import NotebookHeads, heads_path
from winnow.server.claims.projects import move_notebooks
from winnow.server.claims.records import Claim, Entry, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook
from winnow.server.commands.claims.notebooks import app
from winnow.server.errors import WinnowError

BOOK = Notebook("mine")


def an_entry() -> Entry:
    id = new_entry_id()
    return Entry(id=id, project="mine", topic="t", claims=(Claim(id=claim_id(id, 1), text="Backups are kept."),))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The file of claims of a store with two changes; beside it a copy of its state after the first."""
    path = claims_path(tmp_path / "store")
    for number in range(2):
        with closing(SqliteClaimStore(path)) as claims:
            claims.add(BOOK, an_entry())
        shutil.copy(path, tmp_path / f"copy{number}")
    return path


def test_a_file_that_is_whole_opens_and_goes_on(written: Path) -> None:
    with closing(SqliteClaimStore(written)) as claims:
        claims.add(BOOK, an_entry())
        assert claims.heads.read()[BOOK][0] == claims.last_sequence(BOOK) == 3


@pytest.mark.parametrize("loss", ["emptied", "removed", "older", "folder removed", "another"])
def test_a_loss_is_named_and_nothing_is_begun_anew(written: Path, tmp_path: Path, loss: str) -> None:
    _damage(written, tmp_path, loss)
    before = written.read_bytes() if written.exists() else None
    library = ClaimLibrary(written.parent.parent)
    assert library.has_file
    for _ in range(2):
        with pytest.raises(WinnowError, match="winnow claims adopt"):
            _ = library.store
    assert (written.read_bytes() if written.exists() else None) == before


def _damage(written: Path, tmp_path: Path, loss: str) -> None:
    if loss == "emptied":
        written.write_bytes(b"")
    elif loss == "removed":
        written.unlink()
    elif loss == "older":
        shutil.copy(tmp_path / "copy0", written)
    elif loss == "folder removed":
        shutil.rmtree(written.parent)
    else:
        other = tmp_path / "other" / "claims" / "claims.sqlite3"
        with closing(SqliteClaimStore(other)) as claims:
            for _ in range(3):
                claims.add(BOOK, an_entry())
        shutil.copy(other, written)


@pytest.mark.parametrize(
    ("loss", "changes"), [("emptied", 0), ("removed", 0), ("older", 1), ("folder removed", 0), ("another", 3)]
)
def test_adopting_goes_on_with_what_is_there(written: Path, tmp_path: Path, loss: str, changes: int) -> None:
    _damage(written, tmp_path, loss)
    store = written.parent.parent
    done = CliRunner().invoke(app, ["adopt", "--store", str(store), "--json"])
    assert (done.exit_code, json.loads(done.output)) == (0, {"changes": changes})
    with closing(SqliteClaimStore(written)) as claims:
        claims.add(BOOK, an_entry())
        assert claims.last_sequence(BOOK) == changes + 1


@pytest.mark.parametrize("kind", ["text", "folder", "link to a text", "zeros"])
def test_a_file_that_cannot_be_adopted_stays_lost_and_nothing_outside_changes(
    written: Path, tmp_path: Path, kind: str
) -> None:
    written.unlink()
    outside = tmp_path / "outside"
    if kind == "folder":
        written.mkdir()
    elif kind == "text":
        written.write_text("no claims\n" * 1_000)
    elif kind == "zeros":
        written.write_bytes(bytes(8_192))
    else:
        written.symlink_to(outside)
        outside.write_text("no claims\n" * 1_000)
    before, heads = outside.read_bytes() if outside.exists() else None, heads_path(written).read_text()
    with pytest.raises(WinnowError):
        adopt_claims(written.parent.parent)
    assert heads_path(written).read_text() == heads
    assert (outside.read_bytes() if outside.exists() else None) == before
    with pytest.raises(WinnowError):
        _ = ClaimLibrary(written.parent.parent).store


def test_a_link_to_nothing_is_removed_and_nothing_is_made_where_it_led(written: Path, tmp_path: Path) -> None:
    written.unlink()
    written.symlink_to(tmp_path / "outside")
    assert adopt_claims(written.parent.parent) == 0
    assert (written.is_symlink(), (tmp_path / "outside").exists()) == (False, False)


@pytest.mark.parametrize("heads", ["[[", "{}", '[["mine", "", "x", 1]]', "null", "\x00", "[" * 100_000, "[[1]]"])
def test_heads_of_any_content_are_made_anew_by_adopting(written: Path, heads: str) -> None:
    heads_path(written).write_text(heads)
    assert adopt_claims(written.parent.parent) == 2
    assert NotebookHeads(written).read()[BOOK][0] == 2


def _lose(claims: Path, older: Path, loss: str) -> None:
    if loss == "removed":
        claims.unlink()
    elif loss == "emptied":
        claims.write_bytes(b"")
    elif loss == "older in its place":
        shutil.copy(older, claims.with_name("new"))
        claims.with_name("new").replace(claims)
    elif loss == "older written over it":
        claims.write_bytes(older.read_bytes())
    elif loss == "log removed":
        claims.with_name(f"{claims.name}-wal").unlink()
    else:
        shutil.rmtree(claims.parent)


LOSSES = (
    "removed",
    "emptied",
    "older in its place",
    "older written over it",
    "log removed",
    "folder removed",
)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_under_a_running_server_is_noticed_before_a_change_is_acknowledged(
    written: Path, tmp_path: Path, loss: str
) -> None:
    with closing(SqliteClaimStore(written)) as claims:
        assert claims.last_sequence(BOOK) == 2
        _lose(written, tmp_path / "copy0", loss)
        with pytest.raises(WinnowError, match="winnow claims adopt"):
            claims.add(BOOK, an_entry())
        kept = NotebookHeads(written).read()
    assert kept[BOOK][0] == 2


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_under_a_running_server_is_noticed_by_the_next_read_until_the_file_is_back(
    written: Path, tmp_path: Path, loss: str
) -> None:
    shutil.copy(written, tmp_path / "whole")
    with closing(ClaimLibrary(written.parent.parent)) as library:
        held = library.store
        assert held.last_sequence(BOOK) == 2
        _lose(written, tmp_path / "copy0", loss)
        with pytest.raises(WinnowError, match="winnow claims adopt"):
            held.last_sequence(BOOK)
        if loss != "log removed":  # which had nothing that the file lacks
            with pytest.raises(WinnowError, match="winnow claims adopt"):
                _ = library.store
        written.parent.mkdir(exist_ok=True)
        shutil.copy(tmp_path / "whole", written.with_name("new"))
        written.with_name("new").replace(written)
        library.store.add(BOOK, an_entry())
        assert library.store.last_sequence(BOOK) == 3


def test_a_file_that_its_own_log_is_written_into_is_the_same(written: Path) -> None:
    with closing(ClaimLibrary(written.parent.parent)) as library:
        held = library.store
        with closing(sqlite3.connect(written)) as other:
            held.add(BOOK, an_entry())
            before = written.stat().st_mtime_ns
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert written.stat().st_mtime_ns > before
        held.add(BOOK, an_entry())
        assert (library.store is held, held.last_sequence(BOOK)) == (True, 4)


def test_a_process_that_ended_before_it_kept_the_head_lost_nothing(written: Path) -> None:
    kept = heads_path(written).read_text()
    with closing(SqliteClaimStore(written)) as claims:
        claims.add(BOOK, an_entry())
    heads_path(written).write_text(kept)
    with closing(SqliteClaimStore(written)) as claims:
        assert claims.last_sequence(BOOK) == 3


def test_a_file_of_an_earlier_version_gets_heads_when_it_is_opened(written: Path) -> None:
    heads_path(written).unlink()
    with closing(SqliteClaimStore(written)) as claims:
        assert claims.heads.read()[BOOK][0] == 2


def test_heads_follow_projects_that_are_renamed_and_removed(written: Path) -> None:
    store = written.parent.parent
    move_notebooks(store, "mine", "ours")
    with closing(SqliteClaimStore(written)) as claims:
        assert [each.project for each in claims.heads.read()] == ["ours"]
    move_notebooks(store, "ours", "")
    with closing(SqliteClaimStore(written)) as claims:
        assert (claims.heads.read(), claims.notebooks()) == ({}, [])


def test_heads_that_were_altered_are_a_named_error(written: Path) -> None:
    heads_path(written).write_text("[[")
    with pytest.raises(WinnowError, match="is not as it was written"):
        SqliteClaimStore(written)
