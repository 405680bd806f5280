"""The fork server's answers to the parent. Frozen records, checked when they are decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from .frames import ProtocolError
from .jobs import check_fields


@dataclass(frozen=True, slots=True)
class WallResult:
    """The self-test of one wall: whether what it forbids was refused, and what was observed."""

    name: str
    stands: bool
    detail: str


@dataclass(frozen=True, slots=True)
class ForkServerReady:
    """The fork server has started. ``breaches`` are the attempts that broke through all walls together."""

    walls: tuple[WallResult, ...]
    breaches: tuple[str, ...]

    @classmethod
    def decode(cls, value: Mapping[str, Any]) -> ForkServerReady:
        """The answer in a message; raises ProtocolError if it is not one."""
        hello = check_fields(check_fields(value, _READY_FIELDS)["hello"], _HELLO_FIELDS)
        if not all(type(breach) is str for breach in hello["breaches"]):
            raise ProtocolError("a breach in a message has another type")
        walls = (WallResult(**check_fields(wall, _WALL_FIELDS)) for wall in hello["walls"])
        return cls(tuple(walls), tuple(hello["breaches"]))

    def encode(self) -> dict[str, Any]:
        """The answer as a message carries it."""
        return {"hello": asdict(self)}


@dataclass(frozen=True, slots=True)
class ChildSpawned:
    """The child of the request ``id`` is locked, or will be in a moment. Its pidfd comes with the message."""

    id: int

    @classmethod
    def decode(cls, value: Mapping[str, Any]) -> ChildSpawned:
        """The answer in a message; raises ProtocolError if it is not one."""
        return cls(check_fields(value, _SPAWNED_FIELDS)["spawned"])

    def encode(self) -> dict[str, Any]:
        """The answer as a message carries it."""
        return {"spawned": self.id}


@dataclass(frozen=True, slots=True)
class ChildReaped:
    """The child of the request ``id`` has ended: the signal that killed it or 0, and what it used."""

    id: int
    signal: int
    cpu_ms: float
    memory_peak_bytes: int

    @classmethod
    def decode(cls, value: Mapping[str, Any]) -> ChildReaped:
        """The answer in a message; raises ProtocolError if it is not one."""
        reaped = check_fields(value, _REAPED_FIELDS)
        return cls(reaped["gone"], reaped["signal"], reaped["cpu_ms"], reaped["memory_peak_bytes"])

    def encode(self) -> dict[str, Any]:
        """The answer as a message carries it."""
        return {
            "gone": self.id,
            "signal": self.signal,
            "cpu_ms": self.cpu_ms,
            "memory_peak_bytes": self.memory_peak_bytes,
        }


ForkServerAnswer = ForkServerReady | ChildSpawned | ChildReaped


def decode_answer(value: Any) -> ForkServerAnswer:
    """The answer in a message; raises ProtocolError if it is none of the three."""
    if type(value) is dict:
        for name, decode in _DECODERS.items():
            if name in value:
                return decode(value)
    raise ProtocolError("the fork server sent an unknown answer")


# The field that only one kind of answer has -> how it is decoded.
_DECODERS: Mapping[str, Callable[[Mapping[str, Any]], ForkServerAnswer]] = MappingProxyType(
    {"hello": ForkServerReady.decode, "spawned": ChildSpawned.decode, "gone": ChildReaped.decode}
)
_READY_FIELDS: Mapping[str, type] = MappingProxyType({"hello": dict})
_HELLO_FIELDS: Mapping[str, type] = MappingProxyType({"walls": list, "breaches": list})
_WALL_FIELDS: Mapping[str, type] = MappingProxyType({"name": str, "stands": bool, "detail": str})
_SPAWNED_FIELDS: Mapping[str, type] = MappingProxyType({"spawned": int})
_REAPED_FIELDS: Mapping[str, type] = MappingProxyType(
    {"gone": int, "signal": int, "cpu_ms": float, "memory_peak_bytes": int}
)
