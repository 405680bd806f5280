"""The index from passages to the claims that cite them: kept by the file itself, whatever writes the entries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow.server.claims.indexes.citations import PassageClaim
from winnow.server.claims.projects import move_notebooks
from winnow.server.claims.records import Claim, Entry, Evidence, EvidenceStatus, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook, View

BOOKS = Notebook("books")
ALL = View(BOOKS)


def an_entry(*passages: str, status: EvidenceStatus = "verified", **more: object) -> Entry:
    """An entry with a claim for each of these passages, which cites it."""
    id = new_entry_id()
    claims = tuple(
        Claim(id=claim_id(id, number), text=f"On {each}.", evidence=(_evidence(each, status),) * 2)
        for number, each in enumerate(passages, 1)
    )
    fields = {"id": id, "project": "books", "topic": "t", "author": "ada", "claims": claims, **more}
    return Entry.model_validate(fields)


def _evidence(passage: str, status: EvidenceStatus) -> Evidence:
    return Evidence(passage_id=passage, quote="q", status=status, stance="refutes")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteClaimStore]:
    with closing(SqliteClaimStore(claims_path(tmp_path))) as one:
        yield one


def cited(store: SqliteClaimStore, *passages: str, view: View = ALL) -> list[str]:
    return [each.claim_id for each in store.citing(view, passages, 3)]


def test_a_claim_cites_the_passages_of_its_verified_evidence_once(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("p1", "p2"))
    store.add(BOOKS, an_entry("p1", status="drifted"))
    expected = PassageClaim("p1", f"{entry.id}.1", "On p1.", "refutes", "probation", "ada", 1)
    assert store.citing(ALL, ["p1", "p1", "p9"], 3) == [expected]
    assert cited(store, "p2", "p1") == [f"{entry.id}.1", f"{entry.id}.2"]
    assert store.citing(ALL, [], 3) == []


def test_a_check_a_revision_and_a_removal_change_what_is_cited(store: SqliteClaimStore, tmp_path: Path) -> None:
    entry = store.add(BOOKS, an_entry("p1"))
    (claim,) = entry.claims
    lost = claim.model_copy(update={"evidence": (_evidence("p1", "missing"),)})
    store.refresh([entry.model_copy(update={"claims": (lost,)})])
    assert cited(store, "p1") == []
    store.revise(BOOKS, entry.model_copy(update={"claims": (claim,)}))
    assert cited(store, "p1") == [claim.id]
    move_notebooks(tmp_path, "books", "shelf")
    assert (cited(store, "p1"), cited(store, "p1", view=View(Notebook("shelf")))) == ([], [claim.id])
    move_notebooks(tmp_path, "shelf", "")
    assert store.database.rows("SELECT count(*) FROM citations") == [(0,)]


def test_a_claim_that_a_revision_wrote_has_the_author_of_the_revision(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("p1", "p2"))
    first, second = entry.claims
    store.revise(BOOKS, entry.model_copy(update={"claims": (first, second.model_copy(update={"author": "bob"}))}))
    assert [each.author for each in store.citing(ALL, ["p1", "p2"], 3)] == ["ada", "bob"]


def test_an_index_of_an_earlier_version_is_made_again(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("p1"))
    store.close()
    with closing(sqlite3.connect(store.database.path)) as connection, connection:
        connection.execute("DROP TRIGGER citations_added")
        connection.execute("CREATE TRIGGER citations_added AFTER INSERT ON entries BEGIN SELECT 1; END")
        connection.execute("DELETE FROM citations")
    with closing(SqliteClaimStore(store.database.path)) as opened:
        assert cited(opened, "p1") == [f"{entry.id}.1"]


def test_other_notebooks_and_entries_that_wait_cite_nothing_for_a_reader(store: SqliteClaimStore) -> None:
    store.add(Notebook("books", "a-key"), an_entry("p1", owner="a-key"))
    waiting = store.add(BOOKS, an_entry("p1", needs_review=True, session="one"))
    for view, expected in ((ALL, []), (View(BOOKS, "two"), []), (View(BOOKS, "one"), [f"{waiting.id}.1"])):
        assert cited(store, "p1", view=view) == expected


def test_so_many_claims_of_a_passage_are_given_those_of_the_latest_entries_first(store: SqliteClaimStore) -> None:
    entries = [store.add(BOOKS, an_entry("p1")) for _ in range(5)]
    found = store.citing(ALL, ["p1"], 3)
    assert [each.claim_id for each in found] == [f"{entry.id}.1" for entry in entries[:1:-1]]
    assert {each.total for each in found} == {5}


def test_a_file_without_the_index_gets_it_with_the_entries_there_are(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("p1"))
    store.close()
    with closing(sqlite3.connect(store.database.path)) as connection:
        for name in ("added", "changed", "removed"):
            connection.execute(f"DROP TRIGGER citations_{name}")
        connection.execute("DROP TABLE citations")
    for _ in range(2):
        with closing(SqliteClaimStore(store.database.path)) as opened:
            assert cited(opened, "p1") == [f"{entry.id}.1"]
