"""An index of the words of entries, in tables of their file: finds the entries that have a part of a word.

Theory of operation. ``terms`` has every word once, in folded case. Each part of a word is the beginning of a
suffix of the word: "ag" begins "aging", a suffix of "paging". ``term_ends`` has the first characters of each
suffix, so that one range query finds a part. ``postings`` has the entries of each word in packed rows, 64 entries
a block, so that a common word takes few reads. ``indexed_entries`` has the words of each entry, which are needed
to remove it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from array import array
from collections import Counter
from collections.abc import Sequence
from struct import Struct

from winnow.server.storage.sqlite import Database

# The shortest word that is indexed, and the shortest part that is found.
LEAST_CHARS = 3
# The characters of a suffix that are stored. More would take much space in scripts without spaces between words.
_START_CHARS = 8
_BLOCK_BITS = 6
_PAGE = 500  # entries that one transaction indexes when a file is brought up to date
_WORD = re.compile(r"\w+")
_LAST = "\U0010ffff"  # sorts behind every character of a word

# A row of a block, little-endian: the entry's number, the counts of the word in its claims and in its content
# (which has at most 50,000 characters), and the entry's length in trigrams.
POSTING = (("number", "<u4"), ("claims", "<u2"), ("content", "<u2"), ("length", "<u4"))
_ROW = Struct("<IHHI")

SCHEMA = """
CREATE TABLE terms (number INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE TABLE term_ends (start TEXT NOT NULL, term INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (start, term, at)) WITHOUT ROWID;
CREATE TABLE postings (term INTEGER NOT NULL, block INTEGER NOT NULL, rows BLOB NOT NULL,
    PRIMARY KEY (term, block)) WITHOUT ROWID;
CREATE TABLE indexed_entries (number INTEGER PRIMARY KEY, length INTEGER NOT NULL, terms BLOB NOT NULL);
CREATE INDEX indexed_by_length ON indexed_entries (length)
""".strip()

# The cast is needed because SQLite joins blobs to a text.
_APPEND = (
    "INSERT INTO postings VALUES (?, ?, ?)"
    " ON CONFLICT (term, block) DO UPDATE SET rows = CAST(rows || excluded.rows AS BLOB)"
)
_KEY = "term = :term AND block = :block"
_MATCHING = (
    "SELECT found.times, p.rows FROM (SELECT e.term, count(*) AS times FROM term_ends e"
    " WHERE e.start >= ?1 AND e.start < ?2 AND (?1 = ?3 OR"
    " substr((SELECT term FROM terms WHERE number = e.term), e.at + 1, length(?3)) = ?3)"
    " GROUP BY e.term) found CROSS JOIN postings p ON p.term = found.term"
)


def prepare(database: Database) -> None:
    """Index the entries that are not indexed yet, because an earlier version of winnow wrote the file."""
    missing = (
        "SELECT number, record FROM entries WHERE number NOT IN (SELECT number FROM indexed_entries)"
        f" ORDER BY number LIMIT {_PAGE}"
    )
    while database.rows(missing):
        with database.transaction() as connection:
            for number, record in connection.execute(missing).fetchall():
                index(connection, number, record)
    _drop_earlier_index(database)


def index(connection: sqlite3.Connection, number: int, record: str) -> None:
    """Index an entry, given as JSON, in place of its earlier state."""
    remove(connection, number)
    entry = json.loads(record)
    claims = "\n".join(claim["text"] for claim in entry["claims"]).casefold()
    content = "\n".join(entry[name] for name in ("title", "topic", "content")).casefold()
    in_claims, in_content = Counter(_WORD.findall(claims)), Counter(_WORD.findall(content))
    words = [word for word in {**in_claims, **in_content} if len(word) >= LEAST_CHARS]
    numbers = _numbers_of(connection, words)
    length = sum(max(len(text) - LEAST_CHARS + 1, 0) for text in (claims, content))
    connection.executemany(
        _APPEND,
        (
            (term, number >> _BLOCK_BITS, _ROW.pack(number, in_claims[word], in_content[word], length))
            for word, term in zip(words, numbers, strict=True)
        ),
    )
    connection.execute("INSERT INTO indexed_entries VALUES (?, ?, ?)", (number, length, numbers.tobytes()))


def remove(connection: sqlite3.Connection, number: int) -> None:
    """Remove an entry, if it is indexed. Its words stay until ``remove_unused_words``."""
    found = connection.execute("SELECT terms FROM indexed_entries WHERE number = ?", (number,)).fetchone()
    if found is None:
        return
    block = number >> _BLOCK_BITS
    for term in array("I", found[0]):
        key = {"term": term, "block": block}
        for (rows,) in connection.execute(f"SELECT rows FROM postings WHERE {_KEY}", key).fetchall():
            left = b"".join(_ROW.pack(*row) for row in _ROW.iter_unpack(rows) if row[0] != number)
            change = "UPDATE postings SET rows = :rows" if left else "DELETE FROM postings"
            connection.execute(f"{change} WHERE {_KEY}", {**key, "rows": left})
    connection.execute("DELETE FROM indexed_entries WHERE number = ?", (number,))


def remove_unused_words(connection: sqlite3.Connection) -> None:
    """Remove the words that no entry has any more."""
    for table, column in (("terms", "number"), ("term_ends", "term")):
        connection.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT term FROM postings)")


def find_postings(connection: sqlite3.Connection, part: str) -> list[tuple[int, bytes]]:
    """For each word that contains ``part`` (in folded case): the count of it, and packed rows of the entries.

    ``POSTING`` describes the rows. A word has several elements in the result if its entries fill several blocks.
    """
    start = part[:_START_CHARS]
    return connection.execute(_MATCHING, (start, start + _LAST, part)).fetchall()


def count_indexed(connection: sqlite3.Connection) -> tuple[int, int]:
    """The number of entries, and the sum of their lengths in trigrams."""
    ((entries, length),) = connection.execute("SELECT count(*), coalesce(sum(length), 0) FROM indexed_entries")
    return entries, length


def _numbers_of(connection: sqlite3.Connection, words: Sequence[str]) -> array[int]:
    """The number of each of these words; a new word gets a number."""
    query = "SELECT term, number FROM terms WHERE term IN (SELECT value FROM json_each(?))"
    known = dict(connection.execute(query, (json.dumps(words),)).fetchall())
    for word in words:
        if word in known:
            continue
        known[word] = connection.execute("INSERT INTO terms (term) VALUES (?)", (word,)).lastrowid
        ends = range(len(word) - LEAST_CHARS + 1)
        rows = ((word[at : at + _START_CHARS], known[word], at) for at in ends)
        connection.executemany("INSERT INTO term_ends VALUES (?, ?, ?)", rows)
    return array("I", (known[word] for word in words))


def _drop_earlier_index(database: Database) -> None:
    """Drop the index of an earlier version of winnow, if this SQLite has the module that maintained it."""
    earlier = (
        "SELECT 1 FROM sqlite_master, pragma_module_list m WHERE m.name = 'fts5' AND sqlite_master.name = 'words'"
    )
    if database.rows(earlier):
        with database.transaction() as connection:
            connection.execute("DROP TABLE IF EXISTS words")
