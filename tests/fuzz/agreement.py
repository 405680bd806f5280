"""Invariants of every decoded frame and every encoded result."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from winnow.sandbox.child import results
from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.limits import MIB, Limits

from . import values

LIMITS = Limits()


def decode_checked(data: bytes, limits: Limits = LIMITS) -> frames.Frame | None:
    """Decode, and check the frame against the limits independently of the decoder."""
    try:
        frame = frames.decode(data, limits)
    except frames.ProtocolError:
        return None
    match frame:
        case frames.CallFrame(method, params, each):
            assert len(data) <= limits.request_bytes
            assert (type(method), len(method) <= frames.METHOD_CHARS, type(params)) == (str, True, dict)
            assert len(each) <= frames.BATCH_CALLS
            for value in (method, params, *each):
                is_plain(value, limits.nesting)
        case frames.OutputFrame(text):
            assert 0 < len(text) <= frames.OUT_CHARS
            text.encode()
        case frames.ResultFrame(value, text):
            is_plain(value, limits.nesting)
            if text is not None and len(data) <= limits.result_bytes:
                assert text == frames.dump(value).decode()
        case frames.FailureFrame(status, error):
            assert status in frames.CHILD_STATUSES
            assert all(len(text) <= frames.ERROR_CHARS for text in error.values() if isinstance(text, str))
            is_plain(error, 1)
    return frame


def is_plain(value: Any, nesting: int) -> None:
    """Exact JSON types, finite, encodable, of bounded depth and number."""
    assert _height(value) <= nesting + 1
    everything = list(_nodes(value))
    assert len(everything) <= frames.RESULT_NODES
    for node in everything:
        assert type(node) in (dict, list, str, int, float, bool, type(None))
        if type(node) is float:
            assert math.isfinite(node)
        if type(node) is int:
            float(node)  # every reader has room for it
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def _nodes(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, dict):
            pending += [*node, *node.values()]
        elif isinstance(node, list):
            pending += node


def _height(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_height, inner), default=0)


def encode_checked(value: Any) -> tuple[Any, results.NotData | None]:
    """Encode, and check that the data is plain and round-trips, or that the error is readable."""
    try:
        data = results.copy_as_data(value, LIMITS.nesting)
    except results.NotData as refusal:
        return None, refusal
    except (values.OwnError, TypeError, ValueError, AttributeError, ArithmeticError):
        return (
            None,
            None,
        )  # the object's own error: raised by its methods, or by builtins that got a wrong value from it
    is_plain(data, LIMITS.nesting)
    arrived = frames.decode(frames.dump({"result": data}), replace(LIMITS, result_bytes=64 * MIB))
    assert arrived == frames.ResultFrame(data, frames.dump(data).decode())
    return data, None


def is_readable(refusal: results.NotData | None) -> None:
    """Check that a refusal names place, reason and alternative, and is shorter than the refused value."""
    if refusal is not None:
        assert refusal.message.startswith(("result", "the result"))
        assert (len(refusal.message) <= 300, bool(refusal.hint)) == (True, True)


def split(bodies: list[bytes], longest: int, sizes: list[int]) -> list[bytes]:
    """The bodies that a splitter finds in the joined stream, fed in pieces of these sizes in rotation."""
    stream, splitter, found = b"".join(map(frames.pack, bodies)), frames.Splitter(longest), []
    turn = 0
    while stream:
        size = sizes[turn % len(sizes)]
        turn += 1
        splitter.feed(stream[:size])
        stream = stream[size:]
        while (body := splitter.next()) is not None:
            found.append(body)
    return found
