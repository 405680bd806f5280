"""How long each step of the kb ladder takes over an index: question by question, all steps in one run."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from server.bench.figures import percentiles, timed_ms
from server.knowledge import Caller, KnowledgeBase
from server.operations.base import Library

WARMUP = 20


def questions(library: Library, project: str, count: int) -> list[str]:
    """``count`` questions that the index can answer: headings of its own, evenly spread, the same in every run."""
    headed = [
        " ".join([document.title, *chunk.heading_path[-1:]])[:200]
        for document in library.catalogue.documents(project)
        for chunk in library.catalogue.chunks(document.id, project)
        if chunk.heading_path and chunk.ordinal % 3 == 0
    ]
    distinct = [text for text in dict.fromkeys(headed) if len(text) > 10]
    step = max(len(distinct) // max(count, 1), 1)
    return distinct[::step][:count]


async def measure(
    kb: KnowledgeBase, asked: Sequence[str], progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Milliseconds of each operation, p50, p95 and p99.

    No ranking is known before it is asked for: every search searches. ``evidence_on_top`` is what quotes add to a
    search: ``kb.extract_evidence`` over the passages that the search of the same question found.
    """
    caller = kb.caller("bench")
    for question in asked[:WARMUP]:
        await _ladder(kb, caller, question, {})
    taken: dict[str, list[float]] = {}
    for number, question in enumerate(asked, start=1):
        await _ladder(kb, caller, question, taken)
        progress(number)
    return {"questions": len(asked), "ms": {name: percentiles(times) for name, times in taken.items()}}


async def _ladder(kb: KnowledgeBase, caller: Caller, question: str, taken: dict[str, list[float]]) -> None:
    async def timed(
        name: str, operation: str, arguments: dict[str, Any], *, is_known: bool = False
    ) -> dict[str, Any]:
        payload: dict[str, Any] = {}
        asking = caller if is_known else replace(caller, run=secrets.token_hex(8))

        async def ask() -> None:
            payload.update((await kb.call(operation, arguments, asking)).payload)

        taken.setdefault(name, []).append(await timed_ms(ask))
        return payload

    found = await timed("kb.search", "kb.search", {"query": question})
    ids = [row["passage_id"] for row in found["results"]]
    await timed("evidence_on_top", "kb.extract_evidence", {"question": question, "passage_ids": ids})
    await timed("kb.retrieve_evidence", "kb.retrieve_evidence", {"question": question})
    await timed("semantic_search", "semantic_search", {"query": question})
    await timed("kb.read_excerpt", "kb.read_excerpt", {"passage_id": ids[0]})
    await timed("kb.expand_excerpt", "kb.expand_excerpt", {"passage_id": ids[0]})
    await timed("fill", "kb.search", {"query": question}, is_known=True)
    taken.pop("fill")
    await timed("kb.search, known ranking", "kb.search", {"query": question}, is_known=True)
