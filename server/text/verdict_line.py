"""The verdict on an answer as one line of text, for tools and for the shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render_verdict(payload: Mapping[str, Any]) -> str:
    """Whether the quotes answer the question, and the words of it that no document has.

    >>> render_verdict({"verdict": "not_found", "confidence": 0.02, "missing_terms": ["Kafka"], "quotes": []})
    "not found (confidence 0.020): no document searched has 'Kafka'"
    """
    missing = ", ".join(f"'{word}'" for word in payload["missing_terms"])
    parts = [f"no document searched has {missing}"] if missing else []
    if payload["verdict"] == "not_found" and payload["quotes"]:
        parts.append("nearest quotes follow")
    stated = f"{payload['verdict'].replace('_', ' ')} (confidence {payload['confidence']:.3f})"
    return f"{stated}: {'; '.join(parts)}" if parts else stated
