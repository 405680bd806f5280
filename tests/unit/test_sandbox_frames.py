"""The frame decoder accepts valid frames of a child and refuses all other bytes."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.sandbox.child.results import NotData, copy_as_data
from winnow.sandbox.protocol.frames import (
    BATCH_CALLS,
    HEADER,
    CallFrame,
    FailureFrame,
    OutputFrame,
    ProtocolError,
    ResultFrame,
    Splitter,
    decode,
    decode_from_parent,
    dump,
    longest_body,
    pack,
    pack_for_child,
)
from winnow.sandbox.protocol.limits import Limits

pytestmark = pytest.mark.both_users

LIMITS = Limits()
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**1000), 2**1000) | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(DATA)
def test_a_result_arrives_as_it_left(value: Any) -> None:
    frame = decode(dump({"result": value}), LIMITS)
    assert isinstance(frame, ResultFrame)
    assert (frame.value, json.loads(frame.text or "")) == (value, value)


@given(TEXT.filter(lambda name: len(name) <= 64), st.dictionaries(TEXT, DATA, max_size=3))
def test_a_call_arrives_as_it_left(method: str, params: dict[str, Any]) -> None:
    assert decode(dump({"call": method, "params": params}), LIMITS) == CallFrame(method, params)


@given(st.lists(st.dictionaries(TEXT, DATA, max_size=3), min_size=1, max_size=4))
def test_a_batch_arrives_as_it_left(each: list[dict[str, Any]]) -> None:
    assert decode(dump({"call": "m", "params": {"k": 1}, "each": each}), LIMITS) == CallFrame(
        "m", {"k": 1}, tuple(each)
    )


@pytest.mark.parametrize("each", [[], {}, None, "ab", [1], [[]], [{}] * (BATCH_CALLS + 1), [{"a": 2**1023}]])
def test_what_is_no_batch_is_a_protocol_error(each: Any) -> None:
    with pytest.raises(ProtocolError):
        decode(dump({"call": "m", "params": {}, "each": each}), LIMITS)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_a_protocol_error(body: bytes) -> None:
    try:
        frame = decode(body, LIMITS)
    except ProtocolError:
        return
    assert isinstance(frame, CallFrame | OutputFrame | ResultFrame | FailureFrame)


@given(st.dictionaries(st.sampled_from(["call", "params", "out", "result", "done", "error", "status", "x"]), DATA))
def test_any_object_is_a_frame_or_a_protocol_error(value: dict[str, Any]) -> None:
    try:
        frame = decode(dump(value), LIMITS)
    except ProtocolError:
        return
    assert set(value) in ({"call", "params"}, {"out"}, {"result"}, {"done"}, {"error", "status"})
    assert isinstance(frame, CallFrame | OutputFrame | ResultFrame | FailureFrame)


@given(st.lists(st.binary(max_size=50), max_size=10), st.integers(1, 20))
def test_frames_are_found_however_the_stream_is_cut(bodies: list[bytes], size: int) -> None:
    stream = b"".join(map(pack, bodies))
    splitter = Splitter(50)
    found = []
    for start in range(0, len(stream), size):
        splitter.feed(stream[start : start + size])
        while (body := splitter.next()) is not None:
            found.append(body)
    assert found == bodies


@pytest.mark.parametrize("size", [51, 2**31, 2**32 - 1])
def test_a_frame_announced_too_long_is_refused_at_its_header(size: int) -> None:
    splitter = Splitter(50)
    splitter.feed(HEADER.pack(size))
    with pytest.raises(ProtocolError):
        splitter.next()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"1", b"null", b'{"call":"x"}', b'{"call":1,"params":{}}', b'{"call":"x","params":[]}',
        b'{"out":1}', b'{"done":false}', b'{"result":1,"extra":2}', b'{"result":NaN}', b'{"result":1e999}',
        b'{"result":{"a":1,"a":1}}', b'{"result":"\\udfff"}', b'{"result":"\xed\xa0\x80"}', b"\x80\x04K\x01.",
        b'{"status":"ok","error":{"type":"a","message":"b"}}', b'{"status":"error","error":{"type":"a"}}',
        b'{"status":"error","error":{"type":"a","message":"b","line":true}}',
        b'{"status":"error","error":{"type":"a","message":"b","line":-1}}',
        b'{"status":"limit","error":{"type":"a","message":"b","size":1.5}}',
        b'{"status":"limit","error":{"type":"a","message":"b","max":3000000000}}',
        b'{"result":' + b"[" * 100 + b"]" * 100 + b"}", b'{"result":' + b"9" * 400 + b"}",
        b'{"result":' + b"[" * 10**5 + b"}",
    ],
)  # fmt: skip
def test_what_no_honest_child_says_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(body, LIMITS)


def test_a_call_is_bounded_by_request_bytes() -> None:
    body = dump({"call": "x", "params": {"q": "a" * LIMITS.request_bytes}})
    assert len(body) <= longest_body(LIMITS)
    with pytest.raises(ProtocolError):
        decode(body, LIMITS)


@given(DATA)
def test_the_keepers_words_arrive_as_they_left(value: Any) -> None:
    assert decode_from_parent(pack_for_child({"ok": value})[HEADER.size :]) == {"ok": value}


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
    | st.dates() | st.decimals() | st.fractions(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.frozensets(st.integers())
    | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(_ANYTHING)
def test_any_value_becomes_data_that_the_decoder_takes_or_a_word_on_why_not(value: Any) -> None:
    try:
        data = copy_as_data(value, LIMITS.nesting)
    except NotData:
        return
    frame = decode(dump({"result": data}), LIMITS)
    assert isinstance(frame, ResultFrame)


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**1024, object(), {1: {(1, 2): 3}}, b"x", len])
def test_what_json_has_not_is_refused_with_a_hint(value: Any) -> None:
    with pytest.raises(NotData) as caught:
        copy_as_data(value, 64)
    assert caught.value.hint


def _fail(status: str, partial: Any, **more: Any) -> bytes:
    return dump({"error": {"type": "E", "message": "m"}, "status": status, "partial": partial, **more})


@given(DATA, st.sampled_from(["limit", "memory"]))
def test_a_partial_result_arrives_as_it_left(value: Any, status: str) -> None:
    frame = decode(_fail(status, value), LIMITS)
    assert isinstance(frame, FailureFrame)
    assert (frame.status, frame.partial, json.loads(frame.text or "")) == (status, value, value)


@pytest.mark.parametrize(
    "body",
    [
        _fail("error", 1),
        _fail("rejected", 1),
        _fail("limit", 1, more=1),
        _fail("limit", "x" * (LIMITS.kept_bytes + 1)),
        _fail("limit", [0] * 300_000),
        _fail("limit", 2**2_000),
        b'{"error":{"type":"E","message":"m"},"status":"limit","partial":' + b"[" * 90 + b"]" * 90 + b"}",
        b'{"error":{"type":"E","message":"m"},"status":"limit","partial":NaN}',
        b'{"error":{"type":"E"},"status":"limit","partial":1}',
    ],
)
def test_a_partial_result_that_is_no_bounded_data_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(body, LIMITS)


def test_a_partial_result_of_the_largest_size_fits_a_frame_with_the_longest_error() -> None:
    error = {
        "type": "E" * 200,
        "message": "\u65e5" * 2_000,
        "hint": "\u65e5" * 2_000,
        "source_line": "\u65e5" * 1_000,
    }
    body = dump({"error": error, "status": "limit", "partial": "x" * (LIMITS.kept_bytes - 2)})
    assert len(body) <= longest_body(LIMITS)
    assert isinstance(decode(body, LIMITS), FailureFrame)
