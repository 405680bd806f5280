"""Which models a project can be searched with, and the name of its collection."""

from __future__ import annotations

from dataclasses import dataclass

from server.models import ProjectInfo
from server.operations.base import RequestContext
from server.text.printable import one_line

# BM25 of ``server.retrieval.lexical``; every point has such a vector.
SPARSE_MODEL = "winnow/bm25"
_MODEL_CHARS = 200


@dataclass(frozen=True, slots=True)
class BoundModels:
    """The models that a project is bound to; ``dense`` is None where no model can search its vectors."""

    dense: str | None
    sparse: str | None

    @property
    def is_hybrid(self) -> bool:
        """Whether both legs of a hybrid search can answer."""
        return self.dense is not None and self.sparse is not None


def collection_of(project: str) -> str:
    """The name of the project's collection.

    >>> collection_of("citeloom/clean-arch")
    'proj-citeloom-clean-arch'
    """
    return f"proj-{project.replace('/', '-')}"


def bound_models(context: RequestContext, info: ProjectInfo) -> BoundModels:
    """The models of a project. A model that is still loading counts as bound."""
    sparse = SPARSE_MODEL if info.chunks else None
    embedder = context.index.embedder
    model = embedder.ready()
    is_usable = model.fingerprint == info.embedding if model else embedder.state == "loading"
    return BoundModels(one_line(info.embedding, _MODEL_CHARS) if info.embedding and is_usable else None, sparse)
