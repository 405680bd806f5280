"""Numbers of bytes as a reader sees them."""

from __future__ import annotations

_MIB = 1024 * 1024


def describe_bytes(size: int) -> str:
    """A number of bytes, in MiB from 0.01 MiB on.

    >>> describe_bytes(16 * 1024 * 1024), describe_bytes(1_200_000), describe_bytes(900)
    ('16 MiB', '1.14 MiB', '900 bytes')
    """
    if size < _MIB // 100:
        return f"{size:,} bytes"
    return f"{size / _MIB:,.2f}".rstrip("0").rstrip(".") + " MiB"
