"""An index of the trigrams of all texts of a catalogue, in its own file: which documents may hold a text.

SQLite's FTS5 keeps it, without the texts and without places. It is built where a catalogue is large, and may lag
behind: ``trigram_documents`` lists what is indexed, and every other document counts as one that may hold the text.
A trigger removes a document from that list when its text is removed, whichever program does that; its entries in
the index stay and stand for nothing, because numbers are not used again.

Texts are folded before they are indexed, without tables that could differ from one version of SQLite or Python to
the next: ASCII letters to lower case, and with them the only two other characters that a case-insensitive pattern
of ASCII letters matches.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from winnow.server.models import NeededTexts
from winnow.server.storage.sqlite import Database

# A scan of so many passages takes a third of a second.
LEAST_PASSAGES = 100_000
_SIZE = 3
# Trigrams of a text, and of a query: the most common ones take a millisecond each at a million passages.
_TEXT_TRIGRAMS, _MOST_TRIGRAMS = 32, 256
_BATCH_CHARS = 8_000_000  # of a transaction, during which other writers wait
_SLACK = 1_000  # numbers of removed documents that do not matter

_CREATE = (
    "CREATE TABLE trigram_documents (number INTEGER PRIMARY KEY AUTOINCREMENT, document_id TEXT NOT NULL UNIQUE,"
    " passages INTEGER NOT NULL, characters INTEGER NOT NULL)",
    "CREATE VIRTUAL TABLE trigrams USING fts5("
    "text, tokenize = 'trigram case_sensitive 1', content = '', detail = none, columnsize = 0)",
    "CREATE TRIGGER trigrams_after_delete AFTER DELETE ON texts BEGIN"
    " DELETE FROM trigram_documents WHERE document_id = old.document_id; END",
    "CREATE TRIGGER trigrams_after_update AFTER UPDATE ON texts BEGIN"
    " DELETE FROM trigram_documents WHERE document_id IN (old.document_id, new.document_id); END",
)
_DROP = (
    "DROP TRIGGER trigrams_after_delete",
    "DROP TRIGGER trigrams_after_update",
    "DROP TABLE trigrams",
    "DROP TABLE trigram_documents",
)
_MISSING = (
    "SELECT document_id FROM texts"
    " WHERE document_id NOT IN (SELECT document_id FROM trigram_documents) ORDER BY rowid"
)


def has_trigrams(database: Database) -> bool:
    """Whether the catalogue has this index."""
    return bool(database.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'trigrams'"))


def index_trigrams(database: Database, least: int = LEAST_PASSAGES) -> None:
    """Index the documents that are not indexed yet, if there are ``least`` passages or an index exists.

    A catalogue is indexed batch by batch, each in a transaction of its own: what an interrupted run has indexed
    stays. Does nothing where SQLite has no FTS5.
    """
    if not has_trigrams(database):
        if not _has_fts5(database) or database.rows("SELECT count(*) FROM chunks")[0][0] < least:
            return
        _execute(database, _CREATE)
    missing = _missing(database)
    if _is_mostly_removed(database, len(missing)):
        _execute(database, (*_DROP, *_CREATE))
        missing = _missing(database)
    rest = iter(missing)
    while _index_batch(database, rest):
        pass


def query_of(needed: NeededTexts) -> str:
    """The query for what a text must hold: a text of each clause. "" where the index cannot tell."""
    terms: list[str] = []
    left = _MOST_TRIGRAMS
    for clause in sorted(needed, key=lambda clause: -min(map(len, clause))):
        texts = [_trigrams_of(text, min(left // len(clause), _TEXT_TRIGRAMS)) for text in clause]
        left -= sum(map(len, texts))
        if all(texts):
            terms.append(" OR ".join(f"({' AND '.join(map(_quote, trigrams))})" for trigrams in texts))
    return " AND ".join(f"({term})" for term in terms)


def _has_fts5(database: Database) -> bool:
    is_new = sqlite3.sqlite_version_info >= (3, 34)  # the first with trigrams
    return is_new and bool(database.rows("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"))


def _execute(database: Database, statements: Sequence[str]) -> None:
    with database.transaction() as connection:
        for statement in statements:
            connection.execute(statement)


def _missing(database: Database) -> list[str]:
    return [row[0] for row in database.rows(_MISSING)]


def _is_mostly_removed(database: Database, missing: int) -> bool:
    """Whether more numbers belong to removed documents than to others."""
    given = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'trigram_documents'"
    ((known, last),) = database.rows(f"SELECT (SELECT count(*) FROM trigram_documents), ({given})")
    return bool(last - known > known + missing + _SLACK)


def _index_batch(database: Database, missing: Iterator[str]) -> bool:
    """Index some of these documents, in one transaction; whether there may be more."""
    chars = 0
    with database.transaction() as connection:
        for document_id in missing:
            chars += _index_document(connection, document_id)
            if chars >= _BATCH_CHARS:
                return True
    return False


def _index_document(connection: sqlite3.Connection, document_id: str) -> int:
    """Index a document; the length of its text. One that is removed by now, or holds a NUL, is left out."""
    row = connection.execute("SELECT text FROM texts WHERE document_id = ?", (document_id,)).fetchone()
    if row is None or "\0" in row[0]:  # FTS5 reads a text up to its first NUL
        return 0
    counts = "(SELECT count(*) FROM chunks WHERE document_id = ?)"
    cursor = connection.execute(
        f"INSERT INTO trigram_documents (document_id, passages, characters) VALUES (?, {counts}, ?)",
        (document_id, document_id, len(row[0])),
    )
    connection.execute("INSERT INTO trigrams (rowid, text) VALUES (?, ?)", (cursor.lastrowid, _fold(row[0])))
    return len(row[0])


def _fold(text: str) -> str:
    # Bytes are folded in ASCII alone, and faster than text.
    data = text.encode().lower().replace("\u212a".encode(), b"k").replace("\u017f".encode(), b"s")
    return data.decode()


def _trigrams_of(text: str, most: int) -> list[str]:
    folded = _fold(text)
    return list(dict.fromkeys(folded[at : at + _SIZE] for at in range(min(most, len(folded) - _SIZE + 1))))


def _quote(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""'))
