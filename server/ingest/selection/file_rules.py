"""Which files of a source are documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileRules:
    """Which files of a source are documents.

    ``include``: only files that match one of these patterns, if there are any; ``exclude``: none that match one of
    these. Both are patterns of ``.gitignore``, relative to the source. ``ignore_files``: whether those count.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_files: bool = True


ALL_FILES = FileRules()
