"""The last change of each notebook, in a file next to the folder of claims, by which a loss of claims is detected.

A file of claims that is missing, empty or an older copy looks like a file with fewer changes. The sequence and the
digest of each notebook's last change are therefore written here, after the change is on the disk, and compared
when the file of claims is opened. That file may have more changes, if a process ended between the two writes, but
never fewer or different ones.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from winnow.server.claims.store import Notebook
from winnow.server.errors import WinnowError
from winnow.server.storage.files.private_file import write_private

Head = tuple[int, str]  # the sequence of a change and its digest

_ADVICE = (
    "bring it back (winnow restore FILE --replace, or a copy that winnow claims backup made); to go on without "
    "what is lost: winnow claims adopt"
)
# Another process that creates the file needs less time than this for its first page.
_CREATING_SECONDS, _POLL_SECONDS = 2.0, 0.05


def heads_path(claims: Path) -> Path:
    """The path of the heads of a file of claims: ``claims-heads.json`` next to its folder, in the store."""
    folder = claims.parent
    return folder.with_name(f"{folder.name}-heads.json")


class NotebookHeads:
    """The heads of the notebooks in a file of claims. Safe to use from several threads."""

    def __init__(self, claims: Path) -> None:
        self._claims = claims
        self._path = heads_path(claims)
        self._lock = threading.Lock()

    def read(self) -> dict[Notebook, Head]:
        """The heads, {} where none was ever written. Raises ``WinnowError`` for a file that was altered."""
        try:
            rows = json.loads(self._path.read_text("utf-8"))
            return {Notebook(str(row[0]), str(row[1])): (int(row[2]), str(row[3])) for row in rows}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, LookupError):
            raise describe_loss(
                f"{self._path} is not as it was written, so nothing shows whether claims are lost"
            ) from None

    def require_file(self) -> None:
        """Raise ``WinnowError`` if the file of claims is empty, or is missing although claims were written."""
        until = time.monotonic() + _CREATING_SECONDS
        while self._claims.exists() and not self._claims.stat().st_size:
            if time.monotonic() > until:
                raise describe_loss(f"{self._claims} is empty: the claims that it had are lost")
            time.sleep(_POLL_SECONDS)
        if not self._claims.exists() and (heads := self.read()):
            raise describe_loss(f"{self._claims} is gone, and with it {_changes(heads)}")

    def require_changes(self, digest_at: Callable[[Notebook, int], str | None]) -> None:
        """Raise ``WinnowError`` unless the file has the last change of each notebook."""
        for notebook, (sequence, digest) in self.read().items():
            if digest_at(notebook, sequence) != digest:
                raise describe_loss(
                    f"{self._claims} is older than what was written, or another file: it lacks change {sequence} "
                    f"of the notebook of {notebook.project}"
                )

    def advance(self, notebook: Notebook, head: Head) -> None:
        """Store the last change of a notebook, which is on the disk already."""
        # If the head cannot be written, the older one stays, whose change the file of claims has, too.
        with self._lock, suppress(OSError, WinnowError):
            self._write({**self.read(), notebook: head})

    def replace(self, heads: Mapping[Notebook, Head]) -> None:
        """Store these heads in place of all others."""
        with self._lock:
            self._write(heads)

    def _write(self, heads: Mapping[Notebook, Head]) -> None:
        rows = [[each.project, each.owner, *head] for each, head in heads.items()]
        write_private(self._path, self._path.with_name(f".{self._path.name}.{os.getpid()}"), json.dumps(rows))


def were_written(claims: Path) -> bool:
    """Whether claims were ever written: their file exists, or the heads that show its loss."""
    return claims.exists() or heads_path(claims).exists()


def _changes(heads: Mapping[Notebook, Head]) -> str:
    return f"{sum(sequence for sequence, _ in heads.values()):,} changes of {len(heads):,} notebooks"


def describe_loss(what: str) -> WinnowError:
    """The error about claims that are lost, with how to bring them back."""
    return WinnowError("INDEX_UNAVAILABLE", f"{what}; {_ADVICE}")
