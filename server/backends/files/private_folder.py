"""The folder of a store, which holds the text of documents: for its owner alone, whatever the umask."""

from __future__ import annotations

import stat
from pathlib import Path

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(folder: Path) -> None:
    """Make the folder where there is none, with mode 0700. One that exists keeps its mode: its owner chose it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def is_private(folder: Path) -> bool:
    """Whether nobody but its owner may enter the folder."""
    return not folder.stat().st_mode & _OF_OTHERS
