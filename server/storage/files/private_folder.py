"""Private folders: a store holds the text of documents, so only its owner may enter it, whatever the umask."""

from __future__ import annotations

import stat
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(folder: Path) -> None:
    """Create the folder, and those above it that are missing, with mode 0700.

    An existing folder keeps its mode: its owner chose it.
    """
    if not folder.parent.exists():  # mkdir would give parents the mode of the umask
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def is_private(folder: Path) -> bool:
    """Whether only its owner may enter the folder."""
    return not folder.stat().st_mode & _OTHERS
