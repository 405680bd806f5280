"""Jobs and spawn requests round-trip, and malformed ones are refused."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.jobs import ScriptJob, SpawnRequest
from winnow.sandbox.protocol.limits import Limits

pytestmark = pytest.mark.both_users

SKILLS = {"sources": {"notes": "def note(): pass"}, "homes": {"note": "notes"}}


@pytest.mark.parametrize("skills", [None, SKILLS])
def test_a_job_arrives_as_it_was_sent(skills: Any) -> None:
    job = ScriptJob.build("1", Limits(), skills)
    body = frames.pack_for_child(job.encode())[frames.HEADER.size :]
    assert ScriptJob.decode(frames.decode_from_parent(body)) == job
    assert ("skills" in job.encode()) == (skills is not None)


def test_a_spawn_request_arrives_as_it_was_sent() -> None:
    request = SpawnRequest(3, 1024, 1)
    assert request.encode() == {"spawn": 3, "memory_bytes": 1024, "cpu_seconds": 1}
    assert SpawnRequest.decode(request.encode()) == request


def test_a_job_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ScriptJob.build("1", Limits()).code = "2"  # type: ignore[misc]


@pytest.mark.parametrize(
    "change",
    [
        {"code": b"1"},
        {"nesting": "8"},
        {"nesting": True},
        {"more": 1},
        {"skills": []},
        {"skills": {"sources": {}}},
        {"skills": {**SKILLS, "sources": {"notes": 1}}},
    ],
)
def test_a_malformed_job_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(frames.ProtocolError):
        ScriptJob.decode({**ScriptJob.build("1", Limits()).encode(), **change})


@pytest.mark.parametrize(
    "value", [None, [], {}, {"spawn": 1}, {"spawn": "1", "memory_bytes": 1, "cpu_seconds": 1}]
)
def test_a_malformed_spawn_request_is_refused(value: Any) -> None:
    with pytest.raises(frames.ProtocolError):
        SpawnRequest.decode(value)
