"""Search by words: the ranking of SQLite's index of trigrams, from an index that is always up to date."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow.server.claims.indexes.words import words_of
from winnow.server.claims.records import Claim, Entry, claim_id
from winnow.server.claims.sqlite_store import SqliteClaimStore
from winnow.server.claims.store import Notebook, View

BOOKS = Notebook("books")
ALL = View(BOOKS)
_HAS_TRIGRAMS = sqlite3.sqlite_version_info >= (3, 34)
# Parts of each other, repetitions within a word, other scripts, words longer than the index keeps of an end.
_WORDS = (
    "page",
    "paging",
    "pages",
    "ana",
    "banana",
    "anana",
    "the",
    "other",
    "there",
    "kernel",
    "kernels",
    "internationalization",
    "internationalize",
    "über",
    "überblick",
    "標準ライブラリの文書",
    "ライブラリ",
    "ио",
    "ион",
    "станция",
    "aaaaaaaaaaaaaaaaaaaa",
    "a_b",
    "4096",
    "x",
)
_QUERIES = (
    "page",
    "ana",
    "the",
    "kernels page banana",
    "internationalizat",
    "über",
    "ライブラリ",
    "ион станция",
    "aaaaaaaaaa",
    "pagyng kernul",
    "a_b 4096",
    "quartz xylophone",
)


def an_entry(choice: random.Random, number: int) -> Entry:
    id = f"{number:012}"
    texts = [" ".join(choice.choices(_WORDS, k=choice.randint(1, 12))) for _ in range(choice.randint(1, 3))]
    claims = tuple(Claim(id=claim_id(id, at), text=text) for at, text in enumerate(texts, 1))
    content = ". ".join(choice.choices(_WORDS, k=choice.randint(0, 40))).upper()
    return Entry(id=id, project="books", topic=f"area{number % 3}", claims=claims, content=content)


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    choice = random.Random(7)
    return [an_entry(choice, number) for number in range(200)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]) -> Iterator[SqliteClaimStore]:
    with closing(SqliteClaimStore(tmp_path_factory.mktemp("claims") / "claims.sqlite3")) as one:
        for entry in entries:
            one.add(BOOKS, entry)
        yield one


def ranked_by_fts5(entries: list[Entry], query: str) -> list[tuple[str, float]]:
    """The ranking of an index of trigrams over the same texts."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5(id UNINDEXED, claims, content, tokenize = 'trigram')"
        )
        for entry in entries:
            claims = "\n".join(claim.text for claim in entry.claims)
            content = "\n".join((entry.title, entry.topic, entry.content))
            connection.execute("INSERT INTO words VALUES (?, ?, ?)", (entry.id, claims, content))
        rank = "bm25(words, 0.0, 2.0, 1.0)"
        statement = f"SELECT id, -{rank} FROM words WHERE words MATCH ? ORDER BY {rank}, id LIMIT 50"
        words = words_of(query)
        trigrams = dict.fromkeys(word[at : at + 3] for word in words for at in range(len(word) - 2))
        by_words = connection.execute(statement, (_any_of(words),)).fetchall()
        return by_words or connection.execute(statement, (_any_of(trigrams),)).fetchall()


def _any_of(texts: object) -> str:
    return " OR ".join(f'"{text}"' for text in texts)  # type: ignore[attr-defined]


@pytest.mark.skipif(not _HAS_TRIGRAMS, reason="the reference needs SQLite 3.34")
@pytest.mark.parametrize("query", _QUERIES)
def test_entries_are_ranked_as_by_an_index_of_trigrams(
    store: SqliteClaimStore, entries: list[Entry], query: str
) -> None:
    found, expected = store.search_words(ALL, query, 50), ranked_by_fts5(entries, query)
    assert [entry for entry, _ in found] == [entry for entry, _ in expected]
    assert [score for _, score in found] == pytest.approx([max(score, 1e-9) for _, score in expected])


def test_the_queries_find_something_in_every_way(store: SqliteClaimStore) -> None:
    found = {query: len(store.search_words(ALL, query, 50)) for query in _QUERIES}
    assert min(found.values()) == found["quartz xylophone"] == 0
    assert sorted(found.values())[1] > 0


@pytest.mark.parametrize("topic", ["area0", "area2", "area9"])
def test_a_view_of_few_entries_has_its_part_of_the_same_ranking(
    store: SqliteClaimStore, entries: list[Entry], topic: str
) -> None:
    of_topic = {entry.id for entry in entries if entry.topic == topic}
    everything = store.search_words(ALL, "page banana", len(entries))
    narrow = store.search_words(View(BOOKS, topic_prefix=topic), "page banana", len(entries))
    assert narrow == [row for row in everything if row[0] in of_topic]


def test_a_revised_entry_is_found_by_what_it_says_now_and_others_stay(tmp_path: Path) -> None:
    choice = random.Random(3)
    entries = [an_entry(choice, number) for number in range(70)]
    claim = entries[5].claims[0].model_copy(update={"text": "Zebras graze."})
    revised = entries[5].model_copy(update={"claims": (claim,), "content": ""})
    with closing(SqliteClaimStore(tmp_path / "revised.sqlite3")) as store:
        written = [store.add(BOOKS, entry) for entry in entries]
        store.revise(BOOKS, revised.model_copy(update={"revision": written[5].revision}))
        found = {query: store.search_words(ALL, query, 100) for query in ("zebra", "page", "banana kernels")}
    with closing(SqliteClaimStore(tmp_path / "written" / "claims.sqlite3")) as store:
        for entry in (*entries[:5], revised, *entries[6:]):
            store.add(BOOKS, entry)
        assert found == {query: store.search_words(ALL, query, 100) for query in found}
    assert [entry for entry, _ in found["zebra"]] == [revised.id]


def test_a_file_with_an_index_of_trigrams_gets_the_index_of_words_instead(
    tmp_path: Path, entries: list[Entry]
) -> None:
    path = tmp_path / "claims.sqlite3"
    with closing(SqliteClaimStore(path)) as store:
        for entry in entries[:80]:
            store.add(BOOKS, entry)
        expected = store.search_words(ALL, "kernels page", 50)
    with closing(sqlite3.connect(path)) as connection:
        for table in ("terms", "term_ends", "postings", "indexed_entries"):
            connection.execute(f"DROP TABLE {table}")
        if _HAS_TRIGRAMS:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5(claims, content, tokenize = 'trigram')")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    with closing(SqliteClaimStore(path)) as store:
        assert expected == store.search_words(ALL, "kernels page", 50) != []
        assert store.database.rows("SELECT name FROM sqlite_master WHERE name LIKE 'words%'") == []
