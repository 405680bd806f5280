"""The users whose programs listen at a port of this machine, as Linux lists them.

On a machine of several users, the usual port of Zotero may be another user's while the own Zotero is closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"
_ADDRESS, _STATE, _USER = 1, 3, 7  # columns of a table


def owners_of(port: int, tables: Sequence[Path] = _TABLES) -> frozenset[int]:
    """The users that listen at a TCP port of any address; empty where the system does not say."""
    rows = (line.split() for table in tables for line in _lines_of(table))
    return frozenset(
        int(row[_USER])
        for row in rows
        if len(row) > _USER and row[_STATE] == _LISTENING and int(row[_ADDRESS].rpartition(":")[2], 16) == port
    )


def _lines_of(table: Path) -> Iterator[str]:
    try:
        yield from table.read_text("ascii", "replace").splitlines()[1:]
    except OSError:
        return
