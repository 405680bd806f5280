"""The parent's requests: to run a script, and to fork a child. Frozen records, checked when they are decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .frames import ProtocolError
from .limits import Limits


@dataclass(frozen=True, slots=True)
class ScriptJob:
    """One script with its limits, as the parent sends it to a child."""

    code: str
    stdout_bytes: int
    result_bytes: int
    whole_bytes: int  # of a result beyond `result_bytes`, which the host keeps
    request_bytes: int
    nesting: int
    memory_bytes: int
    skills: Mapping[str, Mapping[str, str]] | None = None  # `sources` and `homes`; see child/modules/skills.py

    @classmethod
    def build(cls, code: str, limits: Limits, skills: Mapping[str, Mapping[str, str]] | None = None) -> ScriptJob:
        """The job of a script with these limits."""
        return cls(
            code=code,
            stdout_bytes=limits.stdout_total_bytes,
            result_bytes=limits.result_bytes,
            whole_bytes=max(limits.result_bytes, limits.kept_bytes),
            request_bytes=limits.request_bytes,
            nesting=limits.nesting,
            memory_bytes=limits.memory_bytes,
            skills=skills,
        )

    @classmethod
    def decode(cls, value: Any) -> ScriptJob:
        """The job in a frame; raises ProtocolError if it is not one."""
        job = cls(**check_fields(value, _JOB_FIELDS, optional=frozenset({"skills"})))
        if job.skills is not None:
            for names in check_fields(job.skills, _SKILL_FIELDS).values():
                check_fields(names, dict.fromkeys(names, str))
        return job

    def encode(self) -> dict[str, Any]:
        """The job as a frame carries it."""
        fields = {name: getattr(self, name) for name in _JOB_FIELDS if name != "skills"}
        return fields if self.skills is None else {**fields, "skills": dict(self.skills)}


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """A request to the fork server: fork a child with these limits. ``id`` names it in the answers."""

    id: int
    memory_bytes: int
    cpu_seconds: int

    @classmethod
    def decode(cls, value: Any) -> SpawnRequest:
        """The request in a message; raises ProtocolError if it is not one."""
        fields = check_fields(value, _SPAWN_FIELDS)
        return cls(fields["spawn"], fields["memory_bytes"], fields["cpu_seconds"])

    def encode(self) -> dict[str, int]:
        """The request as a message carries it."""
        return {"spawn": self.id, "memory_bytes": self.memory_bytes, "cpu_seconds": self.cpu_seconds}


_JOB_FIELDS: Mapping[str, type] = MappingProxyType(
    {
        "code": str,
        **dict.fromkeys(("stdout_bytes", "result_bytes", "whole_bytes", "request_bytes"), int),
        "nesting": int,
        "memory_bytes": int,
        "skills": dict,
    }
)
_SKILL_FIELDS: Mapping[str, type] = MappingProxyType({"sources": dict, "homes": dict})
_SPAWN_FIELDS: Mapping[str, type] = MappingProxyType({"spawn": int, "memory_bytes": int, "cpu_seconds": int})


def check_fields(value: Any, types: Mapping[str, type], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The dict itself, if it has exactly these fields with values of exactly these types; else ProtocolError."""
    if type(value) is not dict or not types.keys() - optional <= value.keys() <= types.keys():
        raise ProtocolError("a message has other fields")
    for name, item in value.items():
        if type(item) is not types[name]:
            raise ProtocolError(f"{name} of a message has another type")
    return value
