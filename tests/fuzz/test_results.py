"""Any result of a script becomes plain data within the bounds, or an error with a clear reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from winnow.sandbox.child import results
from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.limits import Limits

from . import agreement, values
from .choices import Choices
from .engine import CHOICES, examples

LIMITS = Limits()


@examples(400)
@given(CHOICES)
def test_an_ordinary_value_arrives_as_the_data_that_it_is(choices: Choices) -> None:
    value, plain = values.ordinary(choices)
    data = results.copy_as_data(value, LIMITS.nesting)
    assert (json.dumps(data), data) == (json.dumps(plain), plain)
    assert agreement.encode_checked(value) == (plain, None)


@examples(300)
@given(CHOICES)
def test_a_hostile_value_becomes_data_or_an_error_with_a_reason(choices: Choices) -> None:
    _, refusal = agreement.encode_checked(values.hostile(choices))
    agreement.is_readable(refusal)


class _Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "another text"

    def __len__(self) -> int:
        return -1


class _Number(int):
    def __int__(self) -> int:
        return 2**5000

    def bit_length(self) -> int:
        return 1


class _Share(float):
    def __float__(self) -> float:
        return float("nan")


class _Endless(list[Any]):
    def __iter__(self) -> Any:
        while True:
            yield 1


class _EndlessItems(dict[Any, Any]):
    def items(self) -> Any:
        while True:
            yield "k", "v"


_LYING = {
    "a text": (_Text("text"), "text"),
    "a key": ({_Text("key"): 1}, {"key": 1}),
    "a number": (_Number(7), 7),
    "a number that is a key": ({_Number(7): 1}, {"7": 1}),
    "a share": (_Share(0.5), 0.5),
}


@pytest.mark.parametrize("what", _LYING)
def test_a_number_or_text_is_what_its_builtin_base_holds(what: str) -> None:
    value, data = _LYING[what]
    found = results.copy_as_data(value, 64)
    assert (found, type(found)) == (data, type(data))
    assert frames.dump(found) == frames.dump(data)


def _double(times: int) -> Any:
    value: Any = [1]
    for _ in range(times):
        value = [value, value]
    return value


_LOOP: list[Any] = []
_LOOP.append(_LOOP)

_REFUSED = {
    "result is an integer of 2,001 bits": _Number(2**2000),
    "the result holds more than 200,000 values": _Endless(),
    "result has two keys that are 'k' as text": _EndlessItems(),
    "result['rows'][0]['n'] is an integer of 1,024 bits": {"rows": [{"n": 2**1023}]},
    "result has two keys that are '1' as text": {1: "a", "1": "b"},
    "result has two keys that are '?' as text": {"\ud800": "a", "?": "b"},
    "result['a'] is an integer of 1,024 bits": {"a": {2**1023: "b"}},
    "the result holds more than 4,194,304 characters": ["x" * 1_000_000] * 1_000,
    "result" + "[0]" * 8 + " is nested deeper than 64 levels, or contains itself": _LOOP,
    "result[0] is of type 'bytes', which is not data": [b"x"],
}


@pytest.mark.parametrize("message", _REFUSED)
def test_what_is_not_data_is_named_with_its_place(message: str) -> None:
    with pytest.raises(results.NotData) as caught:
        results.copy_as_data(_REFUSED[message], 64)
    assert caught.value.message == message


def test_references_that_multiply_are_counted_each_time() -> None:
    with pytest.raises(results.NotData, match="more than 200,000 values"):
        results.copy_as_data(_double(40), 64)
