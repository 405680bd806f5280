"""Starts the children that read documents, and keeps them from one ingest for the next.

Their fork server takes up to a second to start, and a child of it some milliseconds. A process that ingests
often, such as a watcher, keeps it in a pool; it takes no processor time there, and some memory, so it is ended
when it has been idle for a while. A document has a child of its own in any case, forked from a process that has
read none.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.tasks.table import Task

IDLE_SECONDS = 180.0
_REASON_CHARS = 200


class Children(Protocol):
    """The children of one kind."""

    def ask(self, request: dict[str, Any], seconds: float, document: BinaryIO | None) -> tuple[bytes, bytes]:
        """The facts and the text of the answer. Raises ``ChildFailed``, and ``UnreadableFile`` once closed."""

    def close(self) -> None:
        """End the children; a document that is being read in another thread fails."""


class PooledChildren(Children, Protocol):
    """Children that can be kept while there is nothing to read."""

    @property
    def is_idle(self) -> bool:
        """Whether they wait for a document; False once they have died."""

    def expect(self, tasks: Collection[Task]) -> None:
        """Have these tasks loaded together with the next one that is not loaded yet."""


@dataclass(frozen=True, slots=True)
class StartedChildren:
    """Children for documents that are read with these options.

    ``children`` is None where no tier of walls stands; ``tier`` names it otherwise. ``missing`` says what is
    missing of the walls, "" for nothing.
    """

    options: ReadOptions
    children: PooledChildren | None
    missing: str
    tier: str = ""

    @property
    def is_idle(self) -> bool:
        """Whether they wait for a document; also where there are none, so that no start is tried again at once."""
        return self.children is None or self.children.is_idle

    def close(self) -> None:
        """End the children."""
        if self.children is not None:
            self.children.close()


def start_walled_children(options: ReadOptions, tasks: Collection[Task]) -> StartedChildren:
    """Start children for these tasks behind walls, where there are walls."""
    if not sys.platform.startswith("linux"):
        return StartedChildren(options, None, "they need Linux")
    # Tables of the walls, on Linux only.
    from winnow.sandbox.protocol.outcome import SandboxUnavailable
    from winnow.server.ingest.children.walled_children import WalledChildren

    try:
        children = WalledChildren(tasks, uses_ocr=options.uses_ocr)
    except SandboxUnavailable as error:
        return StartedChildren(options, None, str(error)[:_REASON_CHARS])
    missing = ", ".join((*children.missing, *children.breaches))[:_REASON_CHARS]
    if children.tier is None:
        children.close()
        return StartedChildren(options, None, missing)
    return StartedChildren(options, children, missing, children.tier.name)


class ReaderPool:
    """Keeps the children of the last ingest for the next one with the same options. Safe to use from any thread.

    They are ended after ``idle_seconds``, by an ingest with other options, and by ``close``. Those of an ingest
    that has passwords are not kept.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._kept: StartedChildren | None = None
        self._timer: threading.Timer | None = None
        self._starting: threading.Thread | None = None
        self._is_closed = False

    def start_early(self, options: ReadOptions, tasks: Collection[Task]) -> None:
        """Start children in a thread, for an ingest that begins in a moment; ``take`` waits for them."""
        with self._lock:
            if self._is_closed or self._kept is not None or self._starting is not None:
                return
            self._starting = threading.Thread(
                target=self._start, args=(options, tasks), name="winnow-children", daemon=True
            )
            self._starting.start()

    def _start(self, options: ReadOptions, tasks: Collection[Task]) -> None:
        try:
            self.give_back(start_walled_children(options, tasks))
        finally:
            self._starting = None

    def take(self, options: ReadOptions, tasks: Collection[Task]) -> StartedChildren:
        """Children for one ingest alone: those that were kept, or new ones with these tasks."""
        self._await_start()
        kept = self._remove()
        if kept is not None:
            if kept.options == options and kept.is_idle:
                return kept
            kept.close()
        return start_walled_children(options, tasks)

    def give_back(self, started: StartedChildren) -> None:
        """Keep the children of an ingest that has ended and reads nothing any more."""
        with self._lock:
            is_kept = (
                started.is_idle and not started.options.passwords and not self._is_closed and self._kept is None
            )
            if is_kept:
                self._kept = started
                self._timer = threading.Timer(self._idle_seconds, self._end_idle, (started,))
                self._timer.daemon = True
                self._timer.start()
        if not is_kept:
            started.close()

    def close(self) -> None:
        """End the children that are kept, and keep none from now on."""
        with self._lock:
            self._is_closed = True
        self._await_start()
        if kept := self._remove():
            kept.close()

    def _await_start(self) -> None:
        if (starting := self._starting) is not None:
            starting.join()

    def _remove(self) -> StartedChildren | None:
        """Take out what is kept, and stop its timer."""
        with self._lock:
            kept, self._kept = self._kept, None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return kept

    def _end_idle(self, idle: StartedChildren) -> None:
        with self._lock:
            if self._kept is not idle:
                return
            self._kept = self._timer = None
        idle.close()
