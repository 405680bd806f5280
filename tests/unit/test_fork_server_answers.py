"""The fork server's answers survive the wire, and nothing else is taken for one."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from winnow.sandbox.protocol.answers import (
    ChildReaped,
    ChildSpawned,
    ForkServerAnswer,
    ForkServerReady,
    WallResult,
    decode_answer,
)
from winnow.sandbox.protocol.frames import ProtocolError

pytestmark = pytest.mark.both_users

READY = ForkServerReady((WallResult("network", stands=True, detail="refused"),), ("open",))
ANSWERS: tuple[ForkServerAnswer, ...] = (
    READY,
    ForkServerReady((), ()),
    ChildSpawned(3),
    ChildReaped(3, 9, 1.5, 4096),
)
REAPED: dict[str, Any] = {"gone": 3, "signal": 9, "cpu_ms": 1.5, "memory_peak_bytes": 4096}


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_arrives_as_it_was_sent(answer: ForkServerAnswer) -> None:
    assert decode_answer(json.loads(json.dumps(answer.encode()))) == answer


def test_the_fields_of_answers_on_the_wire() -> None:
    wall = {"name": "network", "stands": True, "detail": "refused"}
    wires = [json.loads(json.dumps(answer.encode())) for answer in ANSWERS]
    assert wires[0] == {"hello": {"walls": [wall], "breaches": ["open"]}}
    assert wires[2:] == [{"spawned": 3}, REAPED]


def test_an_answer_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        READY.breaches = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        "hello",
        {"ready": 1},
        {"hello": []},
        {"hello": {"walls": []}},
        {"hello": {"walls": [], "breaches": [1]}},
        {"hello": {"walls": [{"name": "network", "stands": 1, "detail": ""}], "breaches": []}},
        {"hello": {"walls": ["network"], "breaches": []}},
        {"spawned": "3"},
        {"spawned": True},
        {"spawned": 3, "gone": 3},
        {"gone": 3},
        {**REAPED, "cpu_ms": 1},
        {**REAPED, "hit_group_limit": True},
    ],
    ids=str,
)
def test_a_malformed_answer_is_refused(value: Any) -> None:
    with pytest.raises(ProtocolError):
        decode_answer(value)
