"""Documents, chunks and projects in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from server.backends.base import Changes, Known
from server.models import Chunk, Document, Passage, ProjectInfo


class Catalogue:
    """The ``DocumentStore`` in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def projects(self) -> list[ProjectInfo]:
        """All projects, by name."""
        raise NotImplementedError

    def embedding(self, project: str) -> str:
        """The fingerprint that all documents of the project share, or ""."""
        raise NotImplementedError

    def generation(self, project: str) -> int:
        """Grows with every ingest that changed the project."""
        raise NotImplementedError

    def passages(self, chunk_ids: Sequence[str], project: str) -> dict[str, Passage]:
        """The chunks that exist in this project, by id."""
        raise NotImplementedError

    def documents(self, project: str) -> list[Document]:
        """All documents of a project, by uri."""
        raise NotImplementedError

    def text(self, document_id: str, project: str) -> str | None:
        """The whole text of a document."""
        raise NotImplementedError

    def chunks(self, document_id: str, project: str) -> list[Chunk]:
        """The chunks of a document in reading order."""
        raise NotImplementedError

    def known(self, project: str) -> list[Known]:
        """What tells whether a document changed, for all documents of a project."""
        raise NotImplementedError

    def stamps(self, project: str, source: str) -> dict[str, str]:
        """What each file of a source looked like when it was read."""
        raise NotImplementedError

    def chunk_ids(self, project: str) -> list[str]:
        """All chunks of a project."""
        raise NotImplementedError

    def chunk_count(self) -> int:
        """Chunks in all projects."""
        raise NotImplementedError

    def apply(self, changes: Changes) -> None:
        """One atomic, durable change."""
        raise NotImplementedError

    def begin(self, project: str) -> bool:
        """Mark the project as being written."""
        raise NotImplementedError

    def finish(self, project: str, *, changed: bool) -> None:
        """Take the mark away."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the file."""
