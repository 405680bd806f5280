"""Operations that only scripts call: ``hybrid_search``, ``rerank`` and ``tokens``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from winnow.server.contracts.base import MAX_TOP_K, Arguments, ChunkId, CursorText, Scope, SearchFilters, Syntax
from winnow.server.contracts.kb import Question


class HybridSearch(Arguments):
    """Arguments of the SDK's ``hybrid_search``. Only the proportion of the weights counts."""

    query: Question
    bm25_weight: float = Field(default=0.5, ge=0.0, le=1.0)
    vector_weight: float = Field(default=0.5, ge=0.0, le=1.0)
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K)
    response_mode: Literal["ids_only", "ids", "metadata", "preview", "full"] = "metadata"
    min_score: float = Field(default=0.0, ge=0.0, le=1.0)
    filters: SearchFilters | None = None
    syntax: Syntax = "fields"
    scope: Scope | None = None
    cursor: CursorText | None = None

    @model_validator(mode="after")
    def _weighs_something(self) -> HybridSearch:
        if self.bm25_weight + self.vector_weight <= 0:
            raise ValueError("bm25_weight and vector_weight are both 0; at least one leg has to count")
        return self

    @property
    def sparse_weight(self) -> float:
        """The share of words in the score, 0 to 1."""
        return self.bm25_weight / (self.bm25_weight + self.vector_weight)


class Rerank(Arguments):
    """Arguments of the SDK's ``rerank``."""

    query: Question
    ids: list[ChunkId] = Field(min_length=1, max_length=MAX_TOP_K)
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K)
    threshold: float = Field(default=0.0, ge=0.0, le=1.0)
    scope: Scope | None = None


# Any letters, so that names may be in any language; no marks that change what stands beside them.
SavedName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[\w .:/-]+$")]
_MAX_SAVED_BYTES = 1 << 30  # how much a session keeps is the store's rule, with its own message


class SaveValue(Arguments):
    """Arguments of ``save`` on the wire: a piece of a value's JSON, its first byte, and the bytes of all."""

    name: SavedName
    text: Annotated[str, StringConstraints(min_length=1, max_length=65_536)]
    start: int = Field(ge=0, le=_MAX_SAVED_BYTES)
    bytes: int = Field(ge=1, le=_MAX_SAVED_BYTES)


class LoadValue(Arguments):
    """Arguments of ``load`` on the wire: a name, and the character where the part begins."""

    name: SavedName
    start: int = Field(default=0, ge=0, le=_MAX_SAVED_BYTES)


class ListSaved(Arguments):
    """Arguments of ``saved``: none."""


class CountTokens(Arguments):
    """Arguments of the SDK's ``tokens``: several texts at once."""

    texts: list[Annotated[str, StringConstraints(max_length=10_000)]] = Field(min_length=1, max_length=200)
