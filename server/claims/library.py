"""The entries of a store and the vectors of their claims, opened at their first use."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from server.claims.sqlite_store import SqliteClaimStore, claims_path
from server.claims.store import Notebook

if TYPE_CHECKING:  # vectors bring numpy, which a server that shares an engine does without
    from server.claims.vectors import ClaimVectors


class ClaimLibrary:
    """Opens the file of entries of a store when it is first needed, and creates it where there is none."""

    def __init__(self, store: Path) -> None:
        self._path = claims_path(store)
        self._lock = threading.Lock()
        self._open: ClaimVectors | None = None
        # The generation of a project's index at which the quotes of a notebook were last checked.
        self.checked: dict[Notebook, int] = {}
        # The last change of a notebook up to which all entries have vectors of a model.
        self.compared: dict[tuple[Notebook, str], int] = {}

    @property
    def has_file(self) -> bool:
        """Whether anything was ever written."""
        return self._path.exists()

    @property
    def store(self) -> SqliteClaimStore:
        """The store of entries. Raises what opening raises."""
        return self.vectors.store

    @property
    def vectors(self) -> ClaimVectors:
        """The vectors of claims. Raises what opening raises."""
        from server.claims.vectors import ClaimVectors

        with self._lock:
            if self._open is None:
                self._open = ClaimVectors(SqliteClaimStore(self._path))
            return self._open

    def close(self) -> None:
        """Close the file, if it was opened."""
        with self._lock:
            if self._open is not None:
                self._open.store.close()
                self._open = None
