"""Search by words: an index of the trigrams of claims and content, so that parts of words are found as well.

A query is looked for word by word. Where no entry has any of the words, their trigrams are looked for, so that a
misspelt word finds what is spelt almost alike. Where SQLite has no such index, texts are compared one by one.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from server.backends.sqlite import Database
from server.text.stop_words import STOPWORDS

_MOST_WORDS, _MOST_TRIGRAMS, _SIZE = 16, 32, 3
_WORD = re.compile(r"\w+")
_CREATE = "CREATE VIRTUAL TABLE words USING fts5(claims, content, tokenize = 'trigram')"
# A word in a claim counts twice as much as one in the content.
_RANK = "bm25(words, 2.0, 1.0)"


def prepare(database: Database) -> None:
    """Create the index where SQLite can keep one and the file has none; fill it with the entries there are."""
    if has_index(database) or sqlite3.sqlite_version_info < (3, 34):  # the first with trigrams
        return
    if not database.rows("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"):
        return
    with database.transaction() as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
            return  # another process was first
        connection.execute(_CREATE)
        for number, record in connection.execute("SELECT number, record FROM entries").fetchall():
            index(connection, number, record)


def has_index(database: Database) -> bool:
    """Whether the file has the index."""
    return bool(database.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'words'"))


def index(connection: sqlite3.Connection, number: int, record: str) -> None:
    """Index an entry, given as JSON, in place of its earlier state."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
        return
    entry = json.loads(record)
    claims = "\n".join(claim["text"] for claim in entry["claims"])
    content = "\n".join(entry[name] for name in ("title", "topic", "content"))
    connection.execute("DELETE FROM words WHERE rowid = ?", (number,))
    # FTS5 reads a text up to its first NUL.
    texts = (text.replace("\0", " ") for text in (claims, content))
    connection.execute("INSERT INTO words (rowid, claims, content) VALUES (?, ?, ?)", (number, *texts))


def search(
    database: Database, query: str, where: str, values: Sequence[Any], limit: int
) -> list[tuple[str, float]]:
    """Ids of entries and scores above 0, the best first. ``where`` is a condition on the table ``entries``."""
    found = words_of(query)
    if not found:
        return []
    if not has_index(database):
        return _scan(database, found, where, values, limit)
    statement = (
        f"SELECT entries.id, -{_RANK} AS score FROM words JOIN entries ON entries.number = words.rowid"
        f" WHERE words MATCH ? AND {where} ORDER BY {_RANK}, entries.id LIMIT ?"
    )
    by_words = database.rows(statement, _any_of(found), *values, limit)
    rows = by_words or database.rows(statement, _any_of(_trigrams_of(found)), *values, limit)
    return [(entry, max(score, 1e-9)) for entry, score in rows]


def words_of(query: str) -> list[str]:
    """The words of a query that an index of trigrams can find, without stop words unless all are stop words.

    >>> words_of("How does the Kernel page?")
    ['kernel', 'page']
    """
    words = list(dict.fromkeys(word for word in _WORD.findall(query.lower()) if len(word) >= _SIZE))
    return ([word for word in words if word not in STOPWORDS] or words)[:_MOST_WORDS]


def _any_of(texts: Sequence[str]) -> str:
    return " OR ".join(f'"{text}"' for text in texts)


def _trigrams_of(words: Sequence[str]) -> list[str]:
    trigrams = (word[at : at + _SIZE] for word in words for at in range(len(word) - _SIZE + 1))
    return list(dict.fromkeys(trigrams))[:_MOST_TRIGRAMS]


def _scan(
    database: Database, words: Sequence[str], where: str, values: Sequence[Any], limit: int
) -> list[tuple[str, float]]:
    score = " + ".join("(instr(lower(record), ?) > 0)" for _ in words)
    query = f"SELECT id, {score} AS score FROM entries WHERE {where} AND score > 0 ORDER BY score DESC, id LIMIT ?"
    return [(entry, float(score)) for entry, score in database.rows(query, *words, *values, limit)]
