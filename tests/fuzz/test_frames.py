"""Whatever a child says, the keeper gets a frame within its limits or a ProtocolError, for a bounded price."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import frames
from sandbox.limits import MIB, Limits

from .choices import Choices
from .engine import CHOICES, TAPES, examples
from .hostile_json import body

LIMITS = Limits()
# Eight MiB of result: what a wider setting would let through.
WIDE = replace(LIMITS, result_bytes=8 * MIB)


def keeps_the_agreement(data: bytes, limits: Limits = LIMITS) -> frames.Frame | None:
    """Decode; what comes out is checked against the limits by other means than the decoder's."""
    try:
        frame = frames.decode(data, limits)
    except frames.ProtocolError:
        return None
    match frame:
        case frames.Call(method, params, each):
            assert len(data) <= limits.request_bytes
            assert (type(method), len(method) <= frames.METHOD_CHARS, type(params)) == (str, True, dict)
            assert len(each) <= frames.BATCH_CALLS
            for value in (method, params, list(each)):
                is_plain(value, limits.nesting)
        case frames.Out(text):
            assert 0 < len(text) <= frames.OUT_CHARS
            text.encode()
        case frames.Result(value, text):
            is_plain(value, limits.nesting)
            if text is not None and len(data) <= limits.result_bytes:
                assert text == frames.dump(value).decode()
        case frames.Failure(status, error):
            assert status in frames.FINAL_STATUSES
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
            assert float(node) == node or abs(node) > 2**53
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


@examples(600)
@given(TAPES)
def test_any_bytes_are_a_frame_within_the_limits_or_a_protocol_error(data: bytes) -> None:
    keeps_the_agreement(data)


@examples(1_500)
@given(CHOICES)
def test_hostile_json_is_a_frame_within_the_limits_or_a_protocol_error(choices: Choices) -> None:
    keeps_the_agreement(body(choices))


@examples(400)
@given(CHOICES, st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_a_splitter_finds_the_same_bodies_however_the_stream_is_cut(choices: Choices, sizes: list[int]) -> None:
    bodies = [body(choices)[:200] for _ in range(4)]
    stream, splitter, found = b"".join(map(frames.pack, bodies)), frames.Splitter(200), []
    while stream:
        size = sizes[len(stream) % len(sizes)]
        splitter.feed(stream[:size])
        stream = stream[size:]
        while (next_body := splitter.next()) is not None:
            found.append(next_body)
    assert found == bodies


# --- what it costs to receive ----------------------------------------------------------------------------------

_UNITS = [b"[],", b"{},", b"1,", b"[[]],", b'{"a":{}},', b'{"":0},', b"1.5,", b'"\xc3\xbf",', b"999,",
          b"[[[[1]]]],", b'{"a":[{}]},', b"null,", b'"",', b"1e5,"]  # fmt: skip


def _filled(unit: bytes, size: int) -> bytes:
    head, tail = b'{"result":[', b"]}"
    times = (size - len(head) - len(tail)) // len(unit)
    return head + (unit * times)[:-1] + tail


def _peak(data: bytes, limits: Limits) -> int:
    tracemalloc.start()
    try:
        keeps = frames.decode(data, limits)
        del keeps
    except frames.ProtocolError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("unit", _UNITS, ids=repr)
def test_the_largest_frame_takes_forty_times_its_text_at_most(unit: bytes) -> None:
    """2.8 MB for a child: the figure of docs/testing.md."""
    data = _filled(unit, frames.largest(LIMITS))
    assert _peak(data, LIMITS) <= 40 * frames.largest(LIMITS)


@pytest.mark.parametrize("unit", _UNITS, ids=repr)
def test_a_frame_of_eight_megabytes_takes_forty_at_most(unit: bytes) -> None:
    """Its values are counted before they are made: parsed, `[],` eight MiB long takes 200 MB."""
    data = _filled(unit, WIDE.result_bytes)
    assert _peak(data, WIDE) <= 40 * MIB


@pytest.mark.parametrize("size", [10_000, 8 * MIB])
@pytest.mark.parametrize("unit", [b'"', b'\\"', b'"\\', b"\\", b'"\\",', b"[", b'{"":'])
def test_counting_takes_time_in_proportion(unit: bytes, size: int) -> None:
    data = b'{"result":[' + unit * (size // len(unit))
    started = time.process_time()
    with pytest.raises(frames.ProtocolError):
        frames.decode(data, WIDE)
    assert time.process_time() - started < 5.0


def test_commas_in_a_text_are_no_values() -> None:
    text = ',[{:"' * 100_000
    data = frames.dump({"result": text})
    assert frames.decode(data, WIDE) == frames.Result(text, json.dumps(text))


@pytest.mark.parametrize(
    ("data", "value", "text"),
    [
        (b' {"result":1} ', 1, "1"),
        (b'{"r\\u0065sult" : [ 1e5 , 2E-7 ]}', [100000.0, 2e-07], "[100000.0,2e-07]"),
        (b'{"result":"\\u00fc\\/"}', "ü/", '"ü/"'),
        (b'{"result":-0.0}', -0.0, "-0.0"),
    ],
)
def test_the_text_of_a_result_is_the_keepers_own(data: bytes, value: Any, text: str) -> None:
    """What is counted is what leaves, whatever the child wrote."""
    assert frames.decode(data, LIMITS) == frames.Result(value, text)


@pytest.mark.parametrize("data", [b'{"out":""}', b'{"call":"\\ud800","params":{}}', b'{"call":"","params":[]}'])
def test_what_no_limit_would_count_or_no_log_could_write_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(frames.ProtocolError):
        frames.decode(data, LIMITS)
