"""The state of a file in its stamp: its size, and the time of its last change.

Apart from ``change_detection``, which brings the readers, because pages are shown by servers that read no files.
"""

from __future__ import annotations


def state_of(size: int, modified_ns: int) -> str:
    """The part of a stamp that is about the file itself."""
    return f"{size}:{modified_ns}"


def has_state(stamp: str, size: int, modified_ns: int) -> bool:
    """Whether a stamp is of a file of this size that was changed at this time, whatever else it stands for.

    >>> has_state("1.29:512:1700000000000000000:0a1b", 512, 1700000000000000000)
    True
    """
    return ":".join(stamp.split(":")[1:3]) == state_of(size, modified_ns)
