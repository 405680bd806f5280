"""The common part of embedding models that a setting names: an identity, and the languages of their name."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from winnow.server.storage.base import ENGLISH, Vector

# English models have names such as bge-small-en-v1.5; names of multilingual models do not match.
_ENGLISH_NAME = re.compile(r"(?:^|[-_/.])(?:en|english)(?:[-_/.]|$)|all-minilm-l\d+-v\d", re.IGNORECASE)


class NamedEmbedder(ABC):
    """A model with a name. A subclass sets ``_fingerprint`` and ``_dimension`` when it is loaded."""

    _fingerprint: str
    _dimension: int

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

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), in the order of ``texts``. Longer texts are truncated."""
        return self._embed_texts(texts) if texts else np.empty((0, self._dimension), dtype=np.float32)

    @abstractmethod
    def _embed_texts(self, texts: Sequence[str]) -> Vector:
        """The same for at least one text."""


def languages_of(name: str) -> frozenset[str] | None:
    """The languages of a model by its name; None if they are unknown.

    >>> languages_of("BAAI/bge-small-en-v1.5"), languages_of("BAAI/bge-m3")
    (frozenset({'en'}), None)
    """
    return ENGLISH if _ENGLISH_NAME.search(name) else None
