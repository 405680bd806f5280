"""The store of entries: durable, append-only, with a chain of digests, and closed to other notebooks."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow.server.claims.exchange import FORMAT, back_up, export_lines, import_lines
from winnow.server.claims.hash_chain import digest_of
from winnow.server.claims.projects import move_notebooks, require_no_notebooks
from winnow.server.claims.records import Claim, ClaimVerdict, Comparison, Entry, Evidence, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import _LAYOUT, SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook, View
from winnow.server.claims.vectors import ClaimVectors
from winnow.server.errors import WinnowError

BOOKS = Notebook("books")
ALL = View(BOOKS)


def an_entry(topic: str, *texts: str, **more: object) -> Entry:
    entry_id = new_entry_id()
    claims = tuple(Claim(id=claim_id(entry_id, at), text=text) for at, text in enumerate(texts, start=1))
    return Entry.model_validate(
        {"id": entry_id, "project": "books", "topic": topic, "claims": claims, "content": " ".join(texts), **more}
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteClaimStore]:
    with closing(SqliteClaimStore(tmp_path / "claims" / "claims.sqlite3")) as one:
        yield one


def test_an_entry_is_read_as_it_was_written_and_by_another_process_too(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("memory/paging", "Pages have 4 KiB."))
    assert entry.sequence == 1
    assert store.read(ALL, [entry.id, new_entry_id()]) == {entry.id: entry}
    with closing(SqliteClaimStore(store.database.path)) as other:
        assert other.read(ALL, [entry.id]) == {entry.id: entry}


def test_a_revision_needs_the_state_it_was_made_from_and_the_history_keeps_both(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("memory", "Pages have 4 KiB."))
    revised = store.revise(BOOKS, entry.model_copy(update={"topic": "memory/paging"}))
    assert (revised.revision, revised.sequence) == (2, 2)
    with pytest.raises(WinnowError, match="has revision 2 by now, not 1"):
        store.revise(BOOKS, entry)
    with pytest.raises(WinnowError, match="there is no entry"):
        store.revise(Notebook("books", "a-key"), revised)
    changes = store.history(BOOKS, entry.id)
    assert [json.loads(change.body)["topic"] for change in changes] == ["memory", "memory/paging"]
    assert store.first_flaw(BOOKS) is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE history SET body = replace(body, '4 KiB', '8 KiB') WHERE sequence = 2",
        "UPDATE history SET at = at + 1 WHERE sequence = 2",
        "UPDATE history SET kind = 'revised' WHERE sequence = 2",
        "DELETE FROM history WHERE sequence = 2",
    ],
)
def test_a_change_that_was_altered_or_removed_is_found(store: SqliteClaimStore, statement: str) -> None:
    for number in range(3):
        store.add(BOOKS, an_entry("memory", f"Pages have 4 KiB, said {number}."))
    assert store.first_flaw(BOOKS) is None
    with store.database.transaction() as connection:
        connection.execute(statement)
    assert store.first_flaw(BOOKS) == 2


def test_a_verdict_of_the_operators_model_never_takes_the_place_of_another(store: SqliteClaimStore) -> None:
    one, other = (store.add(BOOKS, an_entry("memory", f"Pages have {size} KiB.")) for size in (4, 8))
    pair = {"claim_id": one.claims[0].id, "other_id": other.claims[0].id}
    turned = {"claim_id": pair["other_id"], "other_id": pair["claim_id"]}
    by_model = ClaimVerdict(**pair, judgement="contradicts", by="nli:small@0123456789ab", created_at=1)
    by_agent = ClaimVerdict(**turned, judgement="agrees", by="ada", created_at=2)
    store.judge(BOOKS, [by_model])
    assert store.verdicts([one.id]) == [by_model]
    store.judge(BOOKS, [by_agent])
    store.judge(BOOKS, [by_model.model_copy(update={"created_at": 3})])
    assert store.verdicts([one.id]) == [by_agent]
    assert [change.kind for change in store.history(BOOKS)] == ["written", "written", "judged", "judged"]


def test_another_notebook_sees_nothing(store: SqliteClaimStore) -> None:
    entry = store.add(Notebook("books", "key-a"), an_entry("memory", "Pages have 4 KiB."))
    for notebook in (BOOKS, Notebook("books", "key-b"), Notebook("other", "key-a")):
        view = View(notebook, sees_all=True)
        assert store.read(view, [entry.id]) == {}
        assert store.recent(view, 0, 10) == []
        assert store.topics(view) == []
        assert store.search_words(view, "pages", 10) == []
        assert store.listing(view, 0, 10) == []
        assert store.most_contested(view, 0.0, 10) == []
        assert store.counts(view).entries == 0
        assert store.entry_numbers(view) == []
    assert list(store.read(View(Notebook("books", "key-a")), [entry.id])) == [entry.id]


def test_notebooks_move_with_the_name_of_their_project_and_go_with_it(tmp_path: Path) -> None:
    """Of three projects one is renamed and one is removed; the third, and the history of the first, stay whole."""
    names = ("books", "letters", "notes")
    with closing(SqliteClaimStore(claims_path(tmp_path))) as store:
        entries = {name: store.add(Notebook(name, "k"), an_entry("t", f"{name} have pages.")) for name in names}
        ids = {name: entry.id for name, entry in entries.items()}
        for number, name in enumerate(names):
            store.compare(
                ids[name], [Comparison(entry_id=ids[name], other_id=ids[names[number - 1]], entropy=0.5)]
            )
            store.save_vectors(ids[name], "m", [(f"{ids[name]}:1", b"\0" * 8)])
    with pytest.raises(WinnowError, match="there are claims of a project 'notes' already"):
        require_no_notebooks(tmp_path, "notes")
    require_no_notebooks(tmp_path, "library")
    move_notebooks(tmp_path, "books", "library")
    move_notebooks(tmp_path, "letters", "")
    with closing(SqliteClaimStore(claims_path(tmp_path))) as store:
        assert store.notebooks() == [Notebook("library", "k"), Notebook("notes", "k")]
        moved = View(Notebook("library", "k"))
        assert list(store.read(moved, list(ids.values()))) == [ids["books"]]
        assert store.read(View(Notebook("letters", "k")), [ids["letters"]]) == {}
        assert [found for found, _ in store.search_words(moved, "pages", 9)] == [ids["books"]]
        assert store.first_flaw(moved.notebook) is None
        assert store.add(moved.notebook, an_entry("t", "More.")).sequence == 2
        assert [(one.entry_id, one.other_id) for one in store.comparisons(list(ids.values()))] == [
            (ids["books"], ids["notes"])
        ]
        left = store.database.rows("SELECT count(*) FROM vectors")[0][0]
        words = {row[0] for row in store.database.rows("SELECT term FROM terms")}
    assert (left, words) == (2, {"books", "notes", "have", "pages", "more"})


def test_an_entry_that_waits_for_approval_is_seen_by_its_own_session_alone(store: SqliteClaimStore) -> None:
    waiting = store.add(BOOKS, an_entry("memory", "Pages have 4 KiB.", needs_review=True, session="mine"))
    assert store.read(ALL, [waiting.id]) == {}
    assert store.search_words(View(BOOKS, "other"), "pages", 5) == []
    assert list(store.read(View(BOOKS, "mine"), [waiting.id])) == [waiting.id]
    nameless = store.add(BOOKS, an_entry("memory", "Nobody wrote it.", needs_review=True))
    assert store.read(View(BOOKS, ""), [nameless.id]) == {}
    assert store.counts(View(BOOKS, sees_all=True)).awaiting_review == 2


def test_a_prefix_of_topics_ends_at_a_level(store: SqliteClaimStore) -> None:
    for topic in ("memory", "memory/paging", "memory/paging/tlb", "memory-maps", "memory0", "other"):
        store.add(BOOKS, an_entry(topic, f"About {topic}."))

    def topics_below(prefix: str) -> list[str]:
        return [each.topic for each in store.topics(View(BOOKS, topic_prefix=prefix))]

    assert topics_below("memory") == ["memory", "memory/paging", "memory/paging/tlb"]
    assert topics_below("memory/paging/") == ["memory/paging", "memory/paging/tlb"]
    assert topics_below("mem") == []


def test_words_are_found_in_part_misspelt_and_with_marks_of_a_query_language(store: SqliteClaimStore) -> None:
    paging = store.add(BOOKS, an_entry("memory", "Authentication needs a kernel page."))
    other = store.add(BOOKS, an_entry("cooking", "Bread needs flour."))

    def found(query: str) -> list[str]:
        return [entry for entry, _ in store.search_words(ALL, query, 10)]

    assert found("authenti") == [paging.id]
    assert found("What is authentification?")[0] == paging.id
    assert found('"flour" OR NEAR(*)') == [other.id]
    assert found("a?") == []
    assert all(score > 0 for _, score in store.search_words(ALL, "needs", 10))


def test_verdicts_and_comparisons_are_found_from_both_entries_and_a_later_verdict_counts(
    store: SqliteClaimStore,
) -> None:
    first, second = (store.add(BOOKS, an_entry("memory", f"Pages have {size} KiB.")) for size in (4, 8))
    ids = (first.claims[0].id, second.claims[0].id)
    store.judge(BOOKS, [ClaimVerdict(claim_id=ids[0], other_id=ids[1], judgement="agrees")])
    store.judge(BOOKS, [ClaimVerdict(claim_id=ids[1], other_id=ids[0], judgement="contradicts")])
    store.compare(first.id, [Comparison(entry_id=first.id, other_id=second.id, entropy=0.2, friction=1.0)])
    for entry in (first, second):
        assert [verdict.judgement for verdict in store.verdicts([entry.id])] == ["contradicts"]
        assert [(each.entropy, each.friction) for each in store.comparisons([entry.id])] == [(0.2, 0.0)]  # follows
    assert [change.kind for change in store.history(BOOKS)] == ["written", "written", "judged", "judged"]
    assert store.counts(ALL).sequence == 4  # nothing has changed since: verdicts are changes
    assert store.recent(ALL, 4, 10) == []
    assert store.first_flaw(BOOKS) is None


def test_what_was_found_out_is_no_revision(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("memory", "Pages have 4 KiB."))
    store.refresh([entry.model_copy(update={"friction": 0.5, "integration_status": "contested"})])
    now = store.read(ALL, [entry.id])[entry.id]
    assert (now.friction, now.integration_status, now.revision, now.sequence) == (0.5, "contested", 1, 1)
    assert [each.id for each in store.most_contested(ALL, 0.3, 5)] == [entry.id]
    assert len(store.history(BOOKS)) == 1


def test_recent_changes_come_in_order_and_go_on_after_a_sequence(store: SqliteClaimStore) -> None:
    entries = [store.add(BOOKS, an_entry("memory", f"Claim {number}.")) for number in range(3)]
    store.revise(BOOKS, entries[0])
    changes = [(change.sequence, change.kind, entry.id) for change, entry in store.recent(ALL, 1, 10)]
    assert changes == [
        (2, "written", entries[1].id),
        (3, "written", entries[2].id),
        (4, "revised", entries[0].id),
    ]


def test_an_entry_that_changed_several_times_is_one_change_the_last(store: SqliteClaimStore) -> None:
    first, second = (store.add(BOOKS, an_entry("memory", f"Claim {number}.")) for number in range(2))
    for _ in range(3):
        first = store.revise(BOOKS, first)
    changes = [(change.sequence, change.kind, entry.id) for change, entry in store.recent(ALL, 0, 10)]
    assert changes == [(2, "written", second.id), (5, "revised", first.id)]
    assert [change.sequence for change, _ in store.recent(ALL, 0, 1)] == [2]


def test_drift_is_a_change_and_no_revision(store: SqliteClaimStore) -> None:
    entries = [store.add(BOOKS, an_entry("memory", f"Claim {number}.")) for number in range(2)]
    store.note_drift(BOOKS, [entries[0].id])
    assert [(change.sequence, change.kind) for change, _ in store.recent(ALL, 2, 10)] == [(3, "drifted")]
    found = store.read(ALL, [entries[0].id])[entries[0].id]
    assert (found.revision, found.sequence, store.first_flaw(BOOKS)) == (1, 3, None)
    with closing(SqliteClaimStore(store.database.path.with_name("other") / "claims.sqlite3")) as other:
        assert import_lines(other, [line.encode() for line in export_lines(store, BOOKS)]).appended == 3
        assert other.history(BOOKS) == store.history(BOOKS)


class _Letters:
    """Vectors of the letters of a text."""

    fingerprint, dimension, languages, background, related = "letters/1", 26, None, 0.0, 1.0

    def embed(self, texts: object) -> object:
        assert isinstance(texts, list)
        rows = np.array([[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    embed_queries = embed


def test_vectors_find_the_nearest_claim_also_after_a_revision_and_in_the_view_alone(
    store: SqliteClaimStore,
) -> None:
    vectors, model = ClaimVectors(store), _Letters()
    bread = store.add(BOOKS, an_entry("cooking", "flour", "water"))
    page = store.add(BOOKS, an_entry("memory", "page"))
    vectors.embed(model, [bread, page])  # type: ignore[arg-type]

    def nearest(query: str, view: View = ALL) -> list[str]:
        return [each.entry_id for each in vectors.nearest(model, view, query, 5, 0.9)]  # type: ignore[arg-type]

    assert nearest("tawer") == [bread.id]
    assert nearest("gape") == [page.id]
    assert nearest("gape", View(BOOKS, topic_prefix="cooking")) == []
    for text in ("salt", "yeast"):
        page = store.read(ALL, [page.id])[page.id]
        claims = (page.claims[0].model_copy(update={"text": text}),)
        page = store.revise(BOOKS, page.model_copy(update={"claims": claims}))
        vectors.embed(model, [page])  # type: ignore[arg-type]
        assert (nearest("gape"), nearest(text)) == ([], [page.id])
    assert nearest("salt") == []


def test_the_least_similarity_is_above_that_of_unrelated_texts(store: SqliteClaimStore) -> None:
    vectors, model = ClaimVectors(store), _Letters()
    model.background = 0.75
    page = store.add(BOOKS, an_entry("memory", "page"))
    vectors.embed(model, [page])  # type: ignore[arg-type]
    (same,) = vectors.nearest(model, ALL, "gape", 5, 0.9)  # type: ignore[arg-type]
    (near,) = vectors.nearest(model, ALL, "gaper", 5, 0.5)  # type: ignore[arg-type]
    assert same.similarity == pytest.approx(1.0)
    assert near.similarity == pytest.approx((4 / np.sqrt(20) - 0.75) / 0.25, abs=1e-5)
    assert vectors.nearest(model, ALL, "gaps", 5, 0.1) == []  # type: ignore[arg-type]


def test_an_export_is_imported_once_unchanged_and_its_evidence_is_checked_anew(
    store: SqliteClaimStore, tmp_path: Path
) -> None:
    entry = an_entry("memory", "Pages have 4 KiB.")
    evidence = Evidence(quote="4 KiB", status="verified")
    entry = entry.model_copy(update={"claims": (entry.claims[0].model_copy(update={"evidence": (evidence,)}),)})
    store.add(BOOKS, entry)
    store.revise(BOOKS, entry)
    lines = [line.encode() for line in export_lines(store, BOOKS)]
    with closing(SqliteClaimStore(tmp_path / "other" / "claims.sqlite3")) as other:
        assert import_lines(other, lines).appended == 2
        assert [line.encode() for line in export_lines(other, BOOKS)] == lines
        assert import_lines(other, lines).appended == 0
        (imported,) = other.listing(ALL, 0, 10)
        assert imported.claims[0].evidence[0].status == "unchecked"
        assert (imported.revision, other.first_flaw(BOOKS)) == (2, None)
        other.add(BOOKS, an_entry("memory", "It went on."))
    new = store.add(BOOKS, an_entry("memory", "The first went on too."))
    with closing(SqliteClaimStore(tmp_path / "other" / "claims.sqlite3")) as other:
        report = import_lines(other, [line.encode() for line in export_lines(store, BOOKS)])
        assert (report.appended, report.refused) == (1, ())
        assert list(other.read(ALL, [new.id])) == [new.id]
        assert other.first_flaw(BOOKS) is None


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda line: line.replace(b"4 KiB", b"8 KiB"), "chain of digests"),
        (lambda line: line[:-1], "no JSON object"),
        (lambda line: b"[" * 100_000, "no JSON object"),
        (lambda line: b"x" * 1_000_001, "bytes"),
        (lambda line: json.dumps({**json.loads(line), "kind": "run"}).encode(), "not a change"),
        (lambda line: json.dumps({**json.loads(line), "sequence": "1"}).encode(), "not a change"),
        (lambda line: json.dumps({**json.loads(line), "entry_id": new_entry_id()}).encode(), "another entry"),
        (lambda line: json.dumps({**json.loads(line), "body": "{}"}).encode(), "not a change"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_not_imported(
    store: SqliteClaimStore, tmp_path: Path, spoil: object, why: str
) -> None:
    store.add(BOOKS, an_entry("memory", "Pages have 4 KiB."))
    head, line = (line.encode() for line in export_lines(store, BOOKS))
    with closing(SqliteClaimStore(tmp_path / "other" / "claims.sqlite3")) as other:
        with pytest.raises(WinnowError, match=why):
            import_lines(other, [head, spoil(line)])  # type: ignore[operator]
        assert other.notebooks() == []


@pytest.mark.parametrize("at", [-1.0, 253_402_300_800, float("inf"), float("nan")])
def test_a_change_without_a_time_that_can_be_shown_is_not_imported(tmp_path: Path, at: float) -> None:
    """Otherwise the changes of the notebook could not be read any more."""
    with closing(SqliteClaimStore(tmp_path / "claims.sqlite3")) as store:
        entry = an_entry("memory", "Pages have 4 KiB.")
        body = entry.model_dump_json(exclude={"project", "owner", "sequence"})
        with pytest.raises(WinnowError, match="not a change"):
            import_lines(store, an_export((entry.id, "written", body), at=at))
        assert store.notebooks() == []


def test_a_verdict_is_imported_with_both_of_its_entries_only(store: SqliteClaimStore) -> None:
    """A file of one notebook could judge the entries of another otherwise."""
    first, second = (store.add(BOOKS, an_entry("memory", text)) for text in ("Pages have 4 KiB.", "They have 8."))
    verdict = ClaimVerdict(claim_id=first.claims[0].id, other_id=second.claims[0].id, judgement="contradicts")
    with pytest.raises(WinnowError, match="no line before it has"):
        import_lines(store, an_export((first.id, "judged", verdict.model_dump_json())), Notebook("other"))
    assert store.verdicts([first.id]) == []
    store.judge(BOOKS, [verdict])
    assert import_lines(store, [line.encode() for line in export_lines(store, BOOKS)]).known == 3


def test_the_status_of_an_imported_entry_is_not_taken_from_the_file(tmp_path: Path) -> None:
    with closing(SqliteClaimStore(tmp_path / "claims.sqlite3")) as store:
        entry = an_entry("memory", "Pages have 4 KiB.").model_copy(update={"integration_status": "integrated"})
        body = entry.model_dump_json(exclude={"project", "owner", "sequence"})
        import_lines(store, an_export((entry.id, "written", body)))
        assert store.read(ALL, [entry.id])[entry.id].integration_status == "probation"


@pytest.mark.parametrize("notebook", [Notebook("a b"), Notebook("books\n"), Notebook("books", "\x1b[2J")])
def test_a_notebook_of_an_import_has_the_name_of_a_project_and_the_id_of_a_key(
    store: SqliteClaimStore, notebook: Notebook
) -> None:
    with pytest.raises(WinnowError, match="the name of a project"):
        import_lines(store, an_export(), notebook)


def an_export(*rows: tuple[str, str, str], at: float = 1.0) -> list[bytes]:
    """The lines of an export with these changes: entry, kind and body."""
    lines, previous = [json.dumps({"format": FORMAT, "project": BOOKS.project, "owner": ""})], ""
    for number, (entry_id, kind, body) in enumerate(rows, start=1):
        previous = digest_of(previous, number, entry_id, kind, at, body)
        row = {"sequence": number, "entry_id": entry_id, "kind": kind, "at": at, "body": body, "digest": previous}
        lines.append(json.dumps(row))
    return [line.encode() for line in lines]


def test_an_import_never_changes_entries_of_another_notebook(store: SqliteClaimStore) -> None:
    entry = store.add(BOOKS, an_entry("memory", "Pages have 4 KiB."))
    lines = [line.encode() for line in export_lines(store, BOOKS)]
    with pytest.raises(WinnowError, match="in another notebook"):
        import_lines(store, lines, Notebook("stolen"))
    assert list(store.read(ALL, [entry.id])) == [entry.id]
    assert store.notebooks() == [BOOKS]


def test_a_backup_is_a_whole_store_and_replaces_no_file(store: SqliteClaimStore, tmp_path: Path) -> None:
    entry = store.add(BOOKS, an_entry("memory", "Pages have 4 KiB."))
    back_up(store, tmp_path / "copy.sqlite3")
    with closing(SqliteClaimStore(tmp_path / "copy.sqlite3")) as copy:
        assert list(copy.read(ALL, [entry.id])) == [entry.id]
        assert copy.first_flaw(BOOKS) is None
    assert (tmp_path / "copy.sqlite3").stat().st_mode & 0o077 == 0
    (tmp_path / "link.sqlite3").symlink_to(tmp_path / "elsewhere.sqlite3")
    for name in ("copy.sqlite3", "link.sqlite3"):
        with pytest.raises(WinnowError, match="exists already"):
            back_up(store, tmp_path / name)
    with pytest.raises(WinnowError, match="cannot be written"):
        back_up(store, tmp_path / "gone" / "copy.sqlite3")
    assert not (tmp_path / "elsewhere.sqlite3").exists()


# The first layout as it was released. A later version migrates a file that was written with it.
_FIRST = Path(__file__).with_name("claims_layout_1.sql")


def test_a_file_of_the_first_layout_is_read(tmp_path: Path) -> None:
    path = tmp_path / "claims.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_FIRST.read_text("utf-8"))
    with closing(SqliteClaimStore(path)) as store:
        (entry,) = store.listing(ALL, 0, 10)
        assert entry.claims[0].text == "Pages have 4 KiB."
        assert [found for found, _ in store.search_words(ALL, "pages", 5)] == [entry.id]
        assert store.first_flaw(BOOKS) is None
        assert store.database.layout_version() == _LAYOUT.version


def test_a_file_of_a_later_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.sqlite3"
    SqliteClaimStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(WinnowError, match="layout 99"):
        SqliteClaimStore(path)


def test_a_damaged_file_is_not_said_to_be_repaired_by_an_ingest(tmp_path: Path) -> None:
    path = tmp_path / "claims.sqlite3"
    path.write_bytes(b"\xa5" * 8192)
    with pytest.raises(WinnowError, match="winnow claims backup") as refused:
        SqliteClaimStore(path)
    assert "--repair" not in refused.value.message


_WRITER = """
import sys
from pathlib import Path
from winnow.server.claims.hash_chain import digest_of
from winnow.server.claims.projects import move_notebooks, require_no_notebooks
from winnow.server.claims.records import Claim, Entry, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore
from winnow.server.claims.store import Notebook
store = SqliteClaimStore(Path(sys.argv[1]))
while True:
    id = new_entry_id()
    claims = tuple(Claim(id=claim_id(id, number), text=f"Claim {number}.") for number in range(1, 21))
    store.add(Notebook("books"), Entry(id=id, project="books", topic="memory", claims=claims))
    print(id, flush=True)
"""


def test_a_killed_writer_loses_no_entry_that_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "claims.sqlite3"
    with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        answered = [writer.stdout.readline().decode().strip() for _ in range(100)]
        os.kill(writer.pid, signal.SIGKILL)
        answered += writer.stdout.read().decode().split()
    with closing(SqliteClaimStore(path)) as store:
        found = store.read(ALL, answered)
        assert set(found) == {each for each in answered if len(each) == 12}
        assert all(len(entry.claims) == 20 for entry in found.values())
        assert store.first_flaw(BOOKS) is None
        assert store.database.rows("PRAGMA integrity_check")[0][0] == "ok"
