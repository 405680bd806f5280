"""Questions that an index can answer: its own headings."""

from __future__ import annotations

from winnow.server.operations.base import Store

WARMUP = 20  # questions asked before anything is measured


def pick_questions(store: Store, project: str, count: int) -> list[str]:
    """``count`` headings with their documents' titles, evenly spread, the same in every run."""
    headed = [
        " ".join([document.title, *chunk.heading_path[-1:]])[:200]
        for document in store.catalogue.documents(project)
        for chunk in store.catalogue.chunks(document.id, project)
        if chunk.heading_path and chunk.ordinal % 3 == 0
    ]
    distinct = [text for text in dict.fromkeys(headed) if len(text) > 10]
    step = max(len(distinct) // max(count, 1), 1)
    return distinct[::step][:count]
