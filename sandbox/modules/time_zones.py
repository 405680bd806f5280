"""Time zones without files: all are read once in the fork server, and its children share the memory."""

from __future__ import annotations

import io
import zoneinfo
from pathlib import Path
from typing import Any
from zoneinfo import _common

import tzdata  # type: ignore[import-untyped]

_contents: dict[str, bytes] = {}


def load() -> None:
    """Read every zone, and make ``zoneinfo`` read from here instead of the file system."""
    folder = Path(tzdata.__file__).parent
    same: dict[bytes, bytes] = {}  # zone names that are aliases share one copy
    for name in (folder / "zones").read_text("utf-8").split():
        data = (folder / "zoneinfo" / name).read_bytes()
        _contents[name] = same.setdefault(data, data)
    zoneinfo.reset_tzpath(to=())
    vars(_common)["load_tzdata"] = _open_zone


def _open_zone(name: str) -> io.BytesIO:
    """The data of a zone, as zoneinfo asks for it."""
    if name not in _contents:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {name}")
    return io.BytesIO(_contents[name])


def available_timezones() -> set[str]:
    """The names of all time zones."""
    return set(_contents)


OWN: dict[str, Any] = {"available_timezones": available_timezones}
