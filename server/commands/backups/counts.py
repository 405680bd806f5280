"""Descriptions of a backup by ``winnow backup`` and ``winnow restore``, in the same words."""

from __future__ import annotations

from typing import Final, Protocol

from winnow.server.text.sizes import count_of

NOT_IN_IT: Final = (
    "not in it: documents, passages and vectors, which winnow ingest makes again from your files; to copy them "
    "too: winnow migrate --to DIR, while the store is not in use"
)


class BackupCounts(Protocol):
    """The counts of each kind in a backup."""

    @property
    def projects(self) -> int: ...
    @property
    def sources(self) -> int: ...
    @property
    def keys(self) -> int: ...
    @property
    def jobs(self) -> int: ...
    @property
    def notebooks(self) -> int: ...


def describe_counts(counts: BackupCounts) -> str:
    """The contents of a backup in words, the same when it is made and when it is restored."""
    return (
        f"{count_of(counts.projects, 'project')}, {count_of(counts.sources, 'watched source')}, "
        f"{count_of(counts.keys, 'key')}, {count_of(counts.jobs, 'job')}, "
        f"{count_of(counts.notebooks, 'notebook')} of claims"
    )
