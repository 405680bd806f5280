"""Time zones without files: all are read once in the fork server, and its children share the memory.

The class is the library's version in Python. The version in C trusts its caches: a key whose comparison empties
the cache, a subclass with a cache of its own, or a file or date of a script makes it write and read memory that is
not a time zone (CPython issues 125318, 142781, 142782, 145883).
"""

from __future__ import annotations

import importlib
import io
import types
import zoneinfo
from pathlib import Path
from typing import Any
from zoneinfo import _common

import tzdata  # type: ignore[import-untyped]

from .ordered_dict import OrderedDict

_contents: dict[str, bytes] = {}
_python_zones: Any = importlib.import_module("zoneinfo._zoneinfo")  # it has no type stub

ZoneInfo: Any = _python_zones.ZoneInfo
_repr = ZoneInfo.__repr__


def load() -> None:
    """Read every zone, and make ``zoneinfo`` read from here instead of the file system."""
    folder = Path(tzdata.__file__).parent
    same: dict[bytes, bytes] = {}  # zone names that are aliases share one copy
    for name in (folder / "zones").read_text("utf-8").split():
        data = (folder / "zoneinfo" / name).read_bytes()
        _contents[name] = same.setdefault(data, data)
    zoneinfo.reset_tzpath(to=())
    vars(_common)["load_tzdata"] = _open_zone
    # Its cache of the latest zones is an OrderedDict, whose keys are the script's.
    ZoneInfo._strong_cache = OrderedDict()
    _python_zones.collections = types.SimpleNamespace(OrderedDict=OrderedDict)
    ZoneInfo.__repr__ = _describe_zone


def _describe_zone(zone: Any) -> str:
    """The ``repr`` that the class in C has."""
    return f"zoneinfo.{_repr(zone)}"


def _open_zone(name: str) -> io.BytesIO:
    """The data of a zone, as zoneinfo asks for it."""
    if name not in _contents:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {name}")
    return io.BytesIO(_contents[name])


def available_timezones() -> set[str]:
    """The names of all time zones."""
    return set(_contents)


OWN: dict[str, Any] = {"ZoneInfo": ZoneInfo, "available_timezones": available_timezones}
