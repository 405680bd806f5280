"""The entries of a store and the vectors of their claims, opened at first use; or the server that keeps them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.server.claims.notebook_heads import were_written
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook
from winnow.server.errors import WinnowError

if TYPE_CHECKING:  # these import numpy and an HTTP client, which a server that shares an engine does without
    from winnow.server.claims.http_notebook import HttpNotebook
    from winnow.server.claims.vectors import ClaimVectors


class ClaimLibrary:
    """Opens the file of entries of a store when it is first needed, and creates it where there is none.

    ``reach`` creates the client of another server that keeps the notebooks; None if this server keeps them.
    """

    def __init__(self, store: Path, reach: Callable[[], HttpNotebook] | None = None) -> None:
        self._path = claims_path(store)
        self._reach = reach
        self._reached: HttpNotebook | None = None
        self._lock = threading.Lock()
        self._open: ClaimVectors | None = None
        # The generation of a project's index at which the quotes of a notebook were last checked.
        self.checked: dict[Notebook, int] = {}
        # The last change of a notebook up to which all entries have vectors of a model.
        self.compared: dict[tuple[Notebook, str], int] = {}

    @property
    def has_file(self) -> bool:
        """Whether claims were ever written. True also if their file is lost, which is reported on opening it."""
        return were_written(self._path)

    @property
    def is_remote(self) -> bool:
        """Whether another server keeps the notebooks."""
        return self._reach is not None

    @property
    def remote_notebook(self) -> HttpNotebook:
        """The server that keeps the notebooks, where ``is_remote``."""
        assert self._reach is not None
        with self._lock:
            if self._reached is None:
                self._reached = self._reach()
            return self._reached

    @property
    def store(self) -> SqliteClaimStore:
        """The store of entries. Raises ``WinnowError`` if the file cannot be opened."""
        return self.vectors.store

    @property
    def vectors(self) -> ClaimVectors:
        """The vectors of claims. Raises ``WinnowError`` if the file cannot be opened."""
        from winnow.server.claims.vectors import ClaimVectors

        with self._lock:
            if self._open is not None:
                self._reopen_other(self._open.store)
            if self._open is None:
                self._open = ClaimVectors(SqliteClaimStore(self._path))
            return self._open

    def _reopen_other(self, store: SqliteClaimStore) -> None:
        """Close a file that is no longer at its path. Reopening it reports the loss or finds a restored file."""
        try:
            store.require_file()
        except WinnowError:
            store.close()
            self._open = None
            self.checked.clear()
            self.compared.clear()

    def close(self) -> None:
        """Close the file or the connections, if they were opened."""
        with self._lock:
            if self._reached is not None:
                self._reached.close()
                self._reached = None
            if self._open is not None:
                self._open.store.close()
                self._open = None
