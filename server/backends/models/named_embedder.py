"""The common part of embedding models that a setting names: an identity, and the languages of their name."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from winnow.server.storage.base import ENGLISH, Vector

# Texts of different kinds that have nothing in common. Few enough to pass as a query: a service is asked once.
UNRELATED = (
    "The recipe needs two eggs and a cup of flour.",
    "How do I reset my password?",
    "Glaciers retreated fastest in the last decade.",
    "def area(radius): return 3.14 * radius ** 2",
    "The court dismissed the appeal.",
    "Violin concerto in D major",
    "Children under five travel free of charge.",
    "A protein that binds to the membrane of the cell",
    "Quarterly revenue rose by four percent.",
    "She painted the garden fence on Sunday.",
    "Error 404: the page was not found",
    "The treaty was signed in 1648.",
)
# A service's vectors differ in their last digits from one call to the next; rankings should not.
_BACKGROUND_DIGITS = 2
# English models have names such as bge-small-en-v1.5; names of multilingual models do not match.
_ENGLISH_NAME = re.compile(r"(?:^|[-_/.])(?:en|english)(?:[-_/.]|$)|all-minilm-l\d+-v\d", re.IGNORECASE)


class NamedEmbedder(ABC):
    """A model with a name. A subclass sets ``_fingerprint`` when it is loaded, and calls ``_measure``."""

    _fingerprint: str
    _dimension: int
    _background: float

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def fingerprint(self) -> str:
        """The identity of the vectors: it changes whenever they change, as far as the model tells."""
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    @property
    def languages(self) -> frozenset[str] | None:
        """English if the name is that of an English model, else None (unknown)."""
        return languages_of(self._name)

    @property
    def background(self) -> float:
        """The mean cosine of unrelated texts, measured when the model was loaded."""
        return self._background

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), in the order of ``texts``. Longer texts are truncated."""
        return self._embed_texts(texts) if texts else np.empty((0, self._dimension), dtype=np.float32)

    def _measure(self, vectors: Vector) -> None:
        """Set the dimension and the background by the vectors of ``UNRELATED``."""
        self._dimension = vectors.shape[1]
        self._background = mean_cosine(vectors)

    @abstractmethod
    def _embed_texts(self, texts: Sequence[str]) -> Vector:
        """The same for at least one text."""


def mean_cosine(vectors: Vector) -> float:
    """The mean cosine of two different rows, at least 0, to two digits. Rows are of length 1.

    >>> mean_cosine(np.array([[1.0, 0.0], [0.6, 0.8]]))
    0.6
    """
    count = len(vectors)
    # The square of the sum of all rows is the sum of all cosines, those of rows with themselves included.
    together = float(np.square(vectors.sum(axis=0, dtype=np.float64)).sum())
    return max(round((together - count) / (count * (count - 1)), _BACKGROUND_DIGITS), 0.0)


def languages_of(name: str) -> frozenset[str] | None:
    """The languages of a model by its name; None if they are unknown.

    >>> languages_of("BAAI/bge-small-en-v1.5"), languages_of("BAAI/bge-m3")
    (frozenset({'en'}), None)
    """
    return ENGLISH if _ENGLISH_NAME.search(name) else None
