"""Ids that are the same on every machine: digests of content, not counters.

An id is 12 characters of ``0-9a-v``: 60 bits of BLAKE2b in base 32, so that ``int(id, 32)`` is a valid point
id of a vector store (an unsigned integer below 2**63) and a person can still read it aloud.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

_ALPHABET = "0123456789abcdefghijklmnopqrstuv"
_LENGTH = 12
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_REST = len(_PAIRS) - 1  # the last ten bits
_SHAPE = re.compile(rf"[{_ALPHABET}]{{{_LENGTH}}}")


def document_id(project: str, uri: str) -> str:
    """The id of a document, from its project and its URI."""
    return _digest("document", project, uri)


def chunk_id(project: str, uri: str, heading_path: Sequence[str], text: str, repetition: int) -> str:
    """The id of a chunk, from its text and its place.

    ``repetition`` counts from 0 the chunks of one document with equal heading path and text, so that a
    repeated text has two chunks.
    """
    return _digest("chunk", project, uri, *heading_path, text, str(repetition))


def section_id(project: str, uri: str, heading_path: Sequence[str]) -> str:
    """The id of a section of a document: the headings that lead to it, outermost first."""
    return _digest("section", project, uri, *heading_path)


# Called for every mention: an ingest needs the id of each name a dozen times.
@lru_cache(maxsize=16_384)
def entity_id(project: str, name: str) -> str:
    """The id of an entity: its normalised name within its project, whatever its type."""
    return _digest("entity", project, name)


def point_id(chunk: str) -> int:
    """The number of a chunk in a vector store."""
    return int(chunk, 32)


def chunk_of_point(point: int) -> str:
    """The chunk id of a vector store's number: the inverse of ``point_id``."""
    # A search converts hundreds of points: two digits at a time without a loop take a fifth of the time.
    pairs, rest = _PAIRS, _REST
    return (
        f"{pairs[point >> 50]}{pairs[point >> 40 & rest]}{pairs[point >> 30 & rest]}"
        f"{pairs[point >> 20 & rest]}{pairs[point >> 10 & rest]}{pairs[point & rest]}"
    )


def is_chunk_id(text: str) -> bool:
    """Whether ``text`` has the form of an id (not whether anything has that id)."""
    return _SHAPE.fullmatch(text) is not None


def _digest(*parts: str) -> str:
    # Each part is preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
    state = blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return chunk_of_point(int.from_bytes(state.digest(), "big") >> 4)
