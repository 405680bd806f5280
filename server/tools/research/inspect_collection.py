"""``inspect_collection``: what the index holds of one project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from winnow.server.contracts.research import CollectionAnswer
from winnow.server.operations.answers.tiers import dumps
from winnow.server.operations.research.collections import INSPECT_COLLECTION
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool
from winnow.server.tools.research.query import MAX_SIZE

DESCRIPTION = """\
What the index holds of one project: passages, models, vectors, keys of payloads, indexes, storage.
Use when: you want to know which filters and citation facts a project has.
Do not use when: you look for content (query).
Returns at most: 5 sample payloads, 20,000 tokens.
If you need more, call: kb_documents for all documents.
Defaults: sample 0. Max: 5."""


def render_collection(payload: dict[str, Any]) -> list[str]:
    """The figures, one kind on a line; then each sample as JSON."""
    lines = [f"project {payload['project']}: {payload['size']} passages in {payload['collection']}"]
    lines += _render_facts(payload)
    for number, sample in enumerate(payload["sample_payloads"], start=1):
        lines += [f"sample {number}:", *frame_text(dumps(sample))]
    return lines


def _render_facts(payload: dict[str, Any]) -> Iterator[str]:
    yield f"models: dense {payload['dense_model'] or 'none'}, sparse {payload['sparse_model'] or 'none'}"
    yield f"vectors: {', '.join(payload['named_vectors'])}"
    yield f"payload keys: {', '.join(payload['payload_keys']) or 'none'}"
    for kind, names in payload["indexes"].items():
        yield f"{kind} indexes: {', '.join(names) or 'none'}"
    yield "storage: " + ", ".join(f"{name} {str(is_so).lower()}" for name, is_so in payload["storage"].items())


TOOL = Tool(
    operation=INSPECT_COLLECTION,
    title="Inspect a project's collection",
    description=DESCRIPTION,
    answer=CollectionAnswer,
    lines=render_collection,
    max_size=MAX_SIZE,
    pack="research",
)
