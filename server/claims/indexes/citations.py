"""An index of the claims that cite a passage with verified evidence; triggers keep it in step with the entries.

The triggers are in the file, so that every program that writes entries updates the index, an earlier version of
winnow included. The id of a passage is derived from its text: a passage with the id of the one that had a verified
quote has the quote, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.storage.sqlite import Database

_TABLE = """
CREATE TABLE citations (passage TEXT NOT NULL, entry INTEGER NOT NULL, claim TEXT NOT NULL, stance TEXT NOT NULL,
    text TEXT NOT NULL, author TEXT NOT NULL, PRIMARY KEY (passage, entry, claim, stance)) WITHOUT ROWID
"""
# Inserts the citations of the entry in ``{row}``. A record that is not JSON has none; reading it reports the
# damage. DISTINCT is needed because the conflict clause of the statement that fires a trigger overrides the
# trigger's own.
_INSERT = """
INSERT INTO citations SELECT DISTINCT json_extract(v.value, '$.passage_id'), {row}.number,
    json_extract(c.value, '$.id'), json_extract(v.value, '$.stance'), json_extract(c.value, '$.text'),
    coalesce(json_extract(c.value, '$.author'), json_extract({row}.record, '$.author'), '')
    FROM {source}json_each(CASE WHEN json_valid({row}.record) THEN {row}.record ELSE '{{}}' END, '$.claims') c,
    json_each(c.value, '$.evidence') v
    WHERE json_extract(v.value, '$.status') = 'verified' AND json_extract(v.value, '$.passage_id') <> ''
"""
# The statement that created the trigger, as SQLite stores it. An index of an earlier version has another
# statement.
_TRIGGER = "SELECT sql FROM sqlite_master WHERE name = 'citations_added'"
_REMOVED = (
    *(f"DROP TRIGGER IF EXISTS citations_{each}" for each in ("added", "changed", "removed")),
    "DROP TABLE IF EXISTS citations",
)
_ADD, _REMOVE = _INSERT.format(row="new", source=""), "DELETE FROM citations WHERE entry = old.number"
_ADDED = f"CREATE TRIGGER citations_added AFTER INSERT ON entries BEGIN {_ADD}; END"
_STATEMENTS = (
    _TABLE,
    "CREATE INDEX citations_by_entry ON citations (entry)",
    _ADDED,
    f"CREATE TRIGGER citations_changed AFTER UPDATE OF record ON entries BEGIN {_REMOVE}; {_ADD}; END",
    f"CREATE TRIGGER citations_removed AFTER DELETE ON entries BEGIN {_REMOVE}; END",
    _INSERT.format(row="entries", source="entries, "),
)
# The claims of the entries that changed last come first.
_CITING = """
SELECT passage, claim, text, stance, integration_status, author, total FROM (
    SELECT c.passage, c.claim, c.text, c.stance, e.integration_status, c.author, e.sequence,
        row_number() OVER (PARTITION BY c.passage ORDER BY e.sequence DESC, c.claim, c.stance) AS place,
        count(*) OVER (PARTITION BY c.passage) AS total
    FROM json_each(?) wanted CROSS JOIN citations c ON c.passage = wanted.value
    CROSS JOIN entries e ON e.number = c.entry WHERE {where})
WHERE place <= ? ORDER BY passage, place
"""


@dataclass(frozen=True, slots=True)
class PassageClaim:
    """A claim that cites a passage; ``total`` counts all such claims. ``author`` is a name the agent chose."""

    passage: str
    claim_id: str
    text: str
    stance: str
    integration_status: str
    author: str
    total: int


def prepare(database: Database) -> None:
    """Create the index from the entries, if the file has no index or one of an earlier version."""
    if [tuple(row) for row in database.rows(_TRIGGER)] == [(_ADDED,)]:
        return
    with database.transaction() as connection:
        if connection.execute(_TRIGGER).fetchall() != [(_ADDED,)]:  # another process may have been first
            for statement in (*_REMOVED, *_STATEMENTS):
                connection.execute(statement)


def citing(
    database: Database, passages: Sequence[str], where: str, values: Sequence[Any], most: int
) -> list[PassageClaim]:
    """At most ``most`` claims that cite each of these passages. ``where`` is a condition on the entries ``e``."""
    wanted = json.dumps([*dict.fromkeys(passages)])
    return [PassageClaim(*row) for row in database.rows(_CITING.format(where=where), wanted, *values, most)]
