"""Bytes of a child: a frame within the limits or a ProtocolError, however the stream is divided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.fuzz import agreement, hostile_json
from tests.fuzz.choices import Choices
from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.limits import MIB

_SMALL = replace(agreement.LIMITS, nesting=3, request_bytes=200, result_bytes=100)
_WIDE = replace(agreement.LIMITS, result_bytes=MIB)


def check(data: bytes) -> None:
    """Use the bytes as a body, and as the tape of a grammar."""
    for body in (data, hostile_json.body(Choices(data))):
        for limits in (agreement.LIMITS, _SMALL, _WIDE):
            agreement.decode_checked(body, limits)
        bodies = [body, b"", body[:3]]
        assert agreement.split(bodies, len(body), [1 + byte for byte in data[:8]] or [1]) == bodies


def seeds() -> Iterator[bytes]:
    """A frame of each kind."""
    said = [
        {"call": "kb.search", "params": {"query": "x", "top_k": 5}}, {"out": "text\n"}, {"done": True},
        {"call": "kb.search", "params": {}, "each": [{"query": "x"}, {"query": "y"}]},
        {"result": {"rows": [{"id": "a#1", "score": 0.5, "ok": True, "none": None}], "n": -1e5, "ü": [[]]}},
        {"error": {"type": "ValueError", "message": "m", "line": 3, "column": 1, "hint": "h"}, "status": "error"},
    ]  # fmt: skip
    return map(frames.dump, said)
