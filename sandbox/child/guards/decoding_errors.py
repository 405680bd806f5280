"""Errors of decoding: their text, of positions within their bytes.

The method in C takes the first position as it is, and shows the byte there. A script chooses the position, and so
reads any byte in front of the object (CPython issue 123378).
"""

from __future__ import annotations

from typing import Any

from .freezing import replace_method

_parts: Any = dict(vars(UnicodeDecodeError))


def _show(error: UnicodeDecodeError) -> str:
    encoding, data, start, end, reason = (
        _parts[name].__get__(error) for name in ("encoding", "object", "start", "end", "reason")
    )
    if data is None:  # never initialised
        return ""
    inside = memoryview(data if isinstance(data, bytes) else b"")  # a script may have put anything there
    if 0 <= start < len(inside) and end == start + 1:
        return f"'{encoding!s}' codec can't decode byte 0x{inside[start]:02x} in position {start}: {reason!s}"
    return f"'{encoding!s}' codec can't decode bytes in position {start}-{end - 1}: {reason!s}"


def guard_decoding_errors() -> None:
    """Replace the method. Raises RuntimeError where that is impossible: no script runs there."""
    replace_method(UnicodeDecodeError, "__str__", _show)
    if str(UnicodeDecodeError("ascii", b"ab", -1, 0, "reason")) != (
        "'ascii' codec can't decode bytes in position -1--1: reason"
    ):
        raise RuntimeError("the methods of errors cannot be replaced here")
