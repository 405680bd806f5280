"""Any bytes of a child become a frame within the limits or a ProtocolError, with bounded time and memory."""

from __future__ import annotations

import json
import time
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.limits import MIB, Limits

from . import agreement
from .choices import Choices
from .engine import CHOICES, TAPES, examples
from .hostile_json import body

LIMITS = Limits()
# Eight MiB of result, which a larger setting would allow.
WIDE = replace(LIMITS, result_bytes=8 * MIB)


@examples(600)
@given(TAPES)
def test_any_bytes_are_a_frame_within_the_limits_or_a_protocol_error(data: bytes) -> None:
    agreement.decode_checked(data)


@examples(1_500)
@given(CHOICES)
def test_hostile_json_is_a_frame_within_the_limits_or_a_protocol_error(choices: Choices) -> None:
    agreement.decode_checked(body(choices))


@examples(400)
@given(CHOICES, st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_a_splitter_finds_the_same_bodies_however_the_stream_is_cut(choices: Choices, sizes: list[int]) -> None:
    bodies = [body(choices)[:200] for _ in range(4)]
    assert agreement.split(bodies, 200, sizes) == bodies


# --- the cost of receiving -------------------------------------------------------------------------------------

_UNITS = [b"[],", b"{},", b"1,", b"[[]],", b'{"a":{}},', b'{"":0},', b"1.5,", b'"\xc3\xbf",', b"999,",
          b"[[[[1]]]],", b'{"a":[{}]},', b"null,", b'"",', b"1e5,"]  # fmt: skip


def _fill(unit: bytes, size: int) -> bytes:
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
    """5.4 MB for a child; docs/testing.md has the measured figure."""
    data = _fill(unit, frames.longest_body(LIMITS))
    assert _peak(data, LIMITS) <= 40 * frames.longest_body(LIMITS)


_WORST = [b"[],", b'{"":0},', b'{"a":[{}]},', b'"",']


@pytest.mark.parametrize("unit", _WORST, ids=repr)
def test_a_frame_of_eight_megabytes_takes_forty_at_most(unit: bytes) -> None:
    """Its values are counted before they are made: `{"a":[{}]},` eight MiB long took 259 MiB to parse."""
    data = _fill(unit, WIDE.result_bytes)
    assert _peak(data, WIDE) <= 40 * MIB


@pytest.mark.parametrize("unit", _WORST, ids=repr)
def test_as_many_values_as_are_parsed_take_forty_megabytes_at_most(unit: bytes) -> None:
    starts = sum(map(unit.count, (b",", b":", b"[", b"{")))
    data = _fill(unit, (frames.RESULT_NODES // starts - 3) * len(unit))
    assert isinstance(frames.decode(data, WIDE), frames.ResultFrame)
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
    assert frames.decode(data, WIDE) == frames.ResultFrame(text, json.dumps(text))


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
    """The counted text is the text that leaves, whatever the child wrote."""
    assert frames.decode(data, LIMITS) == frames.ResultFrame(value, text)


@pytest.mark.parametrize("data", [b'{"out":""}', b'{"call":"\\ud800","params":{}}', b'{"call":"","params":[]}'])
def test_what_no_limit_would_count_or_no_log_could_write_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(frames.ProtocolError):
        frames.decode(data, LIMITS)
