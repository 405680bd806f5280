"""``index_state``: a text that changes with the index, for callers that keep answers."""

from __future__ import annotations

from server.contracts.search import IndexState
from server.operations.base import Answer, RequestContext
from server.runtime.audit import fingerprint


def read_index_state(context: RequestContext, request: IndexState) -> Answer:
    """Answer with one text for the generations of all projects in reach, of their passages and their graphs."""
    catalogue, retriever = context.index.catalogue, context.index.retriever
    projects = context.settings.reachable
    state = {name: (catalogue.generation(name), retriever.generation(name)) for name in projects}
    return Answer({"state": fingerprint(state)}, "ids_only", 0, 0)
