"""Claims that are lost are an error that names the loss, never an empty notebook."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from server.claims.library import ClaimLibrary
from server.claims.notebook_heads import heads_path
from server.claims.projects import move_notebooks
from server.claims.records import Claim, Entry, claim_id, new_entry_id
from server.claims.sqlite_store import SqliteClaimStore, claims_path
from server.claims.store import Notebook
from server.errors import WinnowError

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
    before = written.read_bytes() if written.exists() else None
    library = ClaimLibrary(written.parent.parent)
    assert library.has_file
    for _ in range(2):
        with pytest.raises(WinnowError, match="winnow claims adopt"):
            _ = library.store
    assert (written.read_bytes() if written.exists() else None) == before


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
