"""``index_state``: a text that changes with the index and what rows of it show, for callers that keep answers."""

from __future__ import annotations

from winnow.server.contracts.search import IndexState
from winnow.server.operations.base import GRAPH_SECONDS, Answer, RequestContext
from winnow.server.operations.claims.projection import claims_view
from winnow.server.operations.declaration import Operation
from winnow.server.runtime.audit import fingerprint


def read_index_state(context: RequestContext, request: IndexState) -> Answer:
    """Answer with one text for all projects in reach: their passages, their graphs, and the caller's notebooks."""
    catalogue, retriever = context.index.catalogue, context.index.retriever
    state = {
        name: (catalogue.generation(name), retriever.generation(name), _last_claim(context, name))
        for name in context.settings.reachable
    }
    return Answer({"state": fingerprint(state)}, "ids_only", 0, 0)


def _last_claim(context: RequestContext, project: str) -> int:
    """The last change of the notebook whose claims rows of this project show; 0 where they show none."""
    view = claims_view(context, project)
    return context.index.claims.store.last_sequence(view.notebook) if view else 0


INDEX_STATE = Operation("index_state", IndexState, read_index_state, in_scripts=False, seconds=GRAPH_SECONDS)
