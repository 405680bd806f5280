"""The verdict on an answer as one line of text, for tools and for the shell."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

# What is missing, by the kind of thing that was asked for.
_NOUNS: Mapping[str, str] = MappingProxyType(
    {
        "number": "a number",
        "date": "a date",
        "version": "a version",
        "port": "a port",
        "name": "a name",
        "command": "a command, file or option",
    }
)


def render_verdict(payload: Mapping[str, Any]) -> str:
    """Whether the quotes answer the question, the words of it that no document has, and what no passage states.

    >>> render_verdict({"verdict": "not_found", "confidence": 0.02, "missing_terms": ["Kafka"], "quotes": [],
    ...                 "asked_for": "other", "is_stated": True})
    "not found (confidence 0.020): no document searched has 'Kafka'"
    >>> lacking = {"asked_for": "port", "is_stated": False}
    >>> render_verdict({"verdict": "partly", "confidence": 0.4, "missing_terms": [], "quotes": [], **lacking})
    'partly (confidence 0.400): no passage states a port near the subject'
    """
    missing = ", ".join(f"'{word}'" for word in payload["missing_terms"])
    parts = [f"no document searched has {missing}"] if missing else []
    if payload["verdict"] == "partly" and not payload["is_stated"]:
        parts.append(f"no passage states {_NOUNS[payload['asked_for']]} near the subject")
    if payload["verdict"] == "not_found" and payload["quotes"]:
        parts.append("nearest quotes follow")
    stated = f"{payload['verdict'].replace('_', ' ')} (confidence {payload['confidence']:.3f})"
    return f"{stated}: {'; '.join(parts)}" if parts else stated
