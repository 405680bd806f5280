"""The common part of embedding models that a setting names: an identity, and the languages of their name."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from winnow.server.errors import WinnowError
from winnow.server.storage.base import ENGLISH, Vector

# Questions of different kinds, each with a text that answers it; the other texts have nothing in common with it.
# Few enough to pass as a query: a service is asked once.
QUESTIONS, ANSWERS = zip(
    ("How much flour goes into the recipe?", "The recipe needs two eggs and a cup of flour."),
    ("When did glaciers shrink most quickly?", "Glaciers retreated fastest in the last decade."),
    ("function that computes the area of a circle", "def area(radius): return 3.14 * radius ** 2"),
    ("What did the court decide about the appeal?", "The court dismissed the appeal."),
    ("Do young children pay for travel?", "Children under five travel free of charge."),
    ("Which protein attaches to the cell membrane?", "A protein that binds to the membrane of the cell"),
    ("How much did revenue grow in the quarter?", "Quarterly revenue rose by four percent."),
    ("When was the treaty signed?", "The treaty was signed in 1648."),
    strict=True,
)
# A service's vectors differ in their last digits from one call to the next; rankings should not.
_SCALE_DIGITS = 2
# Rankings with a background of 0 and of 0.1 are equally good (docs/decisions/0003-retrieval.md), so every copy of
# a model that needs none has none.
_LEAST_BACKGROUND = 0.1
# English models have names such as bge-small-en-v1.5; names of multilingual models do not match.
_ENGLISH_NAME = re.compile(r"(?:^|[-_/.])(?:en|english)(?:[-_/.]|$)|all-minilm-l\d+-v\d", re.IGNORECASE)


class NamedEmbedder(ABC):
    """A model with a name. A subclass sets ``_fingerprint`` when it is loaded, and calls ``_measure``."""

    _fingerprint: str
    _dimension: int
    _background: float
    _related: float

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

    @property
    def related(self) -> float:
        """The mean cosine of a question and a text that answers it, measured when the model was loaded."""
        return self._related

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), in the order of ``texts``. Longer texts are truncated."""
        return self._embed_texts(texts) if texts else np.empty((0, self._dimension), dtype=np.float32)

    def _measure(self, questions: Vector, answers: Vector) -> None:
        """Set the dimension and the scale of cosines by the vectors of ``QUESTIONS`` and ``ANSWERS``.

        Raises ``WinnowError("MODEL_UNAVAILABLE")`` for vectors without a direction: of zeros, or not finite.
        """
        lengths = np.linalg.norm(np.concatenate([questions, answers]), axis=-1)
        if not np.allclose(lengths, 1.0, atol=1e-3):
            raise WinnowError(
                "MODEL_UNAVAILABLE", f"the model {self._name} cannot be used: its vectors are zero or not finite"
            )
        self._dimension = answers.shape[1]
        self._background, self._related = measure_scale(questions, answers)

    def embed_queries(self, queries: Sequence[str]) -> Vector:
        """The same for queries, which a model reads as any text unless a subclass says otherwise."""
        return self.embed(queries)

    @abstractmethod
    def _embed_texts(self, texts: Sequence[str]) -> Vector:
        """The same for at least one text."""


def measure_scale(questions: Vector, answers: Vector) -> tuple[float, float]:
    """The mean cosines of a question with other questions' answers, and with its own. Rows are of length 1.

    >>> measure_scale(np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[0.8, 0.6], [0.0, 1.0]]))
    (0.48, 0.8)
    """
    cosines = questions.astype(np.float64) @ answers.astype(np.float64).T
    own = float(np.trace(cosines))
    background = (float(cosines.sum()) - own) / (cosines.size - len(cosines))
    least = background if background >= _LEAST_BACKGROUND else 0.0
    return round(least, _SCALE_DIGITS), round(own / len(cosines), _SCALE_DIGITS)


def languages_of(name: str) -> frozenset[str] | None:
    """The languages of a model by its name; None if they are unknown.

    >>> languages_of("BAAI/bge-small-en-v1.5"), languages_of("BAAI/bge-m3")
    (frozenset({'en'}), None)
    """
    return ENGLISH if _ENGLISH_NAME.search(name) else None
