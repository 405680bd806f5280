"""Search by words and parts of words, in claims and content.

A query is looked for word by word. Where no entry has any of the words, their trigrams are looked for, so that a
misspelt word finds what is spelt almost alike.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from winnow.server.claims.indexes.word_index import LEAST_CHARS, count_indexed, find_postings
from winnow.server.storage.sqlite import Database
from winnow.server.text.words.stop_words import STOPWORDS

_MOST_WORDS, _MOST_TRIGRAMS = 16, 32
_WORD = re.compile(r"\w+")
# The number of entries that are looked up before the whole view is read.
_FIRST = 64

Ranked = Sequence[tuple[int, float]]  # numbers of entries and scores, the best first


def search(
    database: Database, query: str, where: str, values: Sequence[Any], limit: int
) -> list[tuple[str, float]]:
    """Ids of entries and scores above 0, the best first. ``where`` is a condition on the table ``entries``."""
    found = words_of(query)
    if not found:
        return []
    with database.snapshot() as connection, database.decoding():
        for parts in (found, _trigrams_of(found)):
            ranked = _rank(connection, parts)
            if rows := _best_of_view(connection, ranked, where, values, limit):
                return rows
    return []


def words_of(query: str) -> list[str]:
    """The words of a query that are long enough to be found, without stop words unless all are stop words.

    >>> words_of("How does the Kernel page?")
    ['kernel', 'page']
    """
    words = list(dict.fromkeys(word for word in _WORD.findall(query.casefold()) if len(word) >= LEAST_CHARS))
    return ([word for word in words if word not in STOPWORDS] or words)[:_MOST_WORDS]


def _trigrams_of(words: Sequence[str]) -> list[str]:
    trigrams = (word[at : at + LEAST_CHARS] for word in words for at in range(len(word) - LEAST_CHARS + 1))
    return list(dict.fromkeys(trigrams))[:_MOST_TRIGRAMS]


def _rank(connection: sqlite3.Connection, parts: Sequence[str]) -> Ranked:
    from winnow.server.claims.indexes.word_ranking import rank_entries  # brings numpy

    return rank_entries([find_postings(connection, part) for part in parts], *count_indexed(connection))


def _best_of_view(
    connection: sqlite3.Connection, ranked: Ranked, where: str, values: Sequence[Any], limit: int
) -> list[tuple[str, float]]:
    """The best of these entries that belong to a view, with their ids; entries with equal scores by id."""
    best = _look_up(connection, _through_ties(ranked, max(_FIRST, limit)), where, values)
    if len(best) < limit and len(ranked) > _FIRST:  # a view of few entries
        query = f"SELECT number FROM entries WHERE {where}"
        numbers = {number for (number,) in connection.execute(query, tuple(values))}
        seen = [row for row in ranked if row[0] in numbers]
        best = _look_up(connection, _through_ties(seen, limit), where, values)
    return best[:limit]


def _through_ties(ranked: Ranked, most: int) -> Ranked:
    """The first ``most`` rows, and the rows after them that have the same score as the last of them."""
    end = min(most, len(ranked))
    while 0 < end < len(ranked) and ranked[end][1] == ranked[end - 1][1]:
        end += 1
    return ranked[:end]


def _look_up(
    connection: sqlite3.Connection, ranked: Ranked, where: str, values: Sequence[Any]
) -> list[tuple[str, float]]:
    query = (
        "SELECT entries.number, entries.id FROM json_each(?) wanted"
        f" CROSS JOIN entries ON entries.number = wanted.value WHERE {where}"
    )
    scores = dict(ranked)
    rows = connection.execute(query, (json.dumps(list(scores)), *values))
    return sorted(((id, scores[number]) for number, id in rows), key=lambda row: (-row[1], row[0]))
