"""Entries ranked by how often they have words, with BM25, as SQLite's FTS5 computes it over trigrams."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from winnow.server.claims.indexes.word_index import POSTING

# A word in a claim counts twice as much as one in the content.
_IN_CLAIMS, _IN_CONTENT = 2.0, 1.0
_K1, _B = 1.2, 0.75
# The weight of a word that more than half of all entries have.
_LEAST_IDF = 1e-6


def rank_entries(
    found: Sequence[Sequence[tuple[int, bytes]]], entries: int, length: int
) -> list[tuple[int, float]]:
    """Numbers of entries and scores above 0, the best first.

    ``found`` has the result of ``word_index.find_postings`` for each part of a query; ``entries`` and ``length``
    are the result of ``word_index.count_indexed``.
    """
    scored = [_score(postings, entries, length / max(entries, 1)) for postings in found if postings]
    if not scored:
        return []
    numbers, places = np.unique(np.concatenate([each[0] for each in scored]), return_inverse=True)
    scores = np.bincount(places, np.concatenate([each[1] for each in scored]))
    order = np.argsort(-scores, kind="stable")
    return list(zip(numbers[order].tolist(), scores[order].tolist(), strict=True))


def _score(
    postings: Sequence[tuple[int, bytes]], entries: int, mean_length: float
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the entries that have a part of a query, and the amounts that it adds to their scores."""
    rows = np.frombuffer(b"".join(packed for _, packed in postings), np.dtype(list(POSTING)))
    per_block = [len(packed) // rows.itemsize for _, packed in postings]
    times = np.repeat([times for times, _ in postings], per_block)
    numbers, firsts, places = np.unique(rows["number"], return_index=True, return_inverse=True)
    weighed = times * (_IN_CLAIMS * rows["claims"] + _IN_CONTENT * rows["content"])
    frequency = np.bincount(places, weighed)
    idf = math.log((entries - len(numbers) + 0.5) / (len(numbers) + 0.5))
    lengths = rows["length"][firsts]
    saturated = frequency * (_K1 + 1) / (frequency + _K1 * (1 - _B + _B * lengths / mean_length))
    return numbers, (idf if idf > 0 else _LEAST_IDF) * saturated
