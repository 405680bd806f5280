"""JSON of programs and servers: read within bounds, unwrapped, and followed along a path."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.text.printable import one_line

_ENVELOPE = frozenset({"ok", "data", "meta", "errors"})
_MESSAGE_CHARS = 300


class NoValue(Exception):
    """The input is not one JSON value, or has nothing where the answer should be; the message says which."""


@dataclass(frozen=True, slots=True)
class ReportedFailure(Exception):
    """The program says itself that it failed, with this message."""

    message: str


def parse_value(data: bytes) -> Any:
    """The one JSON value of these bytes. Raises ``NoValue``."""
    try:
        return json.loads(data, parse_constant=_refuse_constant, parse_float=_parse_float)
    except RecursionError:
        raise NoValue("it is nested too deeply") from None
    except ValueError:
        raise NoValue("it printed no single JSON value") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _parse_float(text: str) -> float:
    """A number that JSON can carry on: 1e999 would become one that it does not have."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def take_answer(value: Any, path: Sequence[str | int]) -> Any:
    """The answer in what was printed: the ``data`` of an envelope, and in that what the path leads to.

    Raises ``NoValue``, and ``ReportedFailure`` for an envelope that says ``"ok": false``.

    >>> take_answer({"ok": True, "data": {"hits": [1, 2]}}, ["hits", 1])
    2
    """
    if _is_envelope(value):
        if not value["ok"]:
            raise ReportedFailure(_describe(value.get("errors")))
        value = value.get("data")
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            raise NoValue(f"it has nothing at {one_line(str(step), 60)!r} of onSuccess.path") from None
    return value


def _is_envelope(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("ok"), bool) or not value.keys() <= _ENVELOPE:
        return False
    return "data" in value or not value["ok"]


def _describe(errors: Any) -> str:
    first = errors[0] if isinstance(errors, list) and errors else errors
    said = first.get("message") if isinstance(first, Mapping) else first
    return one_line(said, _MESSAGE_CHARS) if isinstance(said, str) and said else "it says that it failed"
