"""Children behind the walls of the sandbox: one for each document, forked from a process with its readers.

A child has the request and the answer on one descriptor, and the document, opened read-only by this process, on
another. It has no other file, no network, no further process or thread.

The fork server has loaded what the expected tasks need (``readers/tasks``), and raises its walls then. For a task
that it has not loaded another one is started in its place.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from winnow.sandbox.protocol.limits import MIB, Limits
from winnow.sandbox.protocol.outcome import SandboxUnavailable
from winnow.sandbox.runners.launch import ForkServerProgram
from winnow.sandbox.runners.locked_children import ChildEnd, ChildRequest, LockedChildren
from winnow.sandbox.walls.profiles import READER
from winnow.sandbox.walls.tiers import Tier, find_tier
from winnow.server.readers import frames
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.failures import NO_ANSWER, STOPPED, TOO_LARGE, ChildFailed, crashed, too_slow
from winnow.server.readers.tasks.table import TASKS, Task

# With what the fork server has imported, a child stays below 1 GiB of resident memory.
_MEMORY_BYTES = 832 * MIB
# OCR keeps two models and the pixels of a page in memory.
_OCR_MEMORY_BYTES = 2048 * MIB
_CLOCK_FACTOR = 4  # other processes run too
# Of its processor time, where the kernel ended a child for that: the limit counts ticks, and a busy host gives a
# process more of them than it has used.
_LEAST_SHARE = 0.5
_ANSWER_BYTES = (frames.MAX_FACTS_BYTES, frames.MAX_TEXT_BYTES)
# An allocator's reservation of 1 GiB would count as memory, as would the stacks of a thread for each core.
_ENVIRONMENT: Mapping[str, str] = {
    "MIMALLOC_ARENA_RESERVE": "0",
    "TOKIO_WORKER_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
# The document is a descriptor of the child: where it is on this machine could only end up in its text.
_WITHHELD = frozenset({"path"})
MODULE = "winnow.server.readers.child"
_PACKAGES = ("site-packages", "dist-packages")


def program_of_readers(tasks: Collection[Task], *, uses_ocr: bool = False) -> ForkServerProgram:
    """The program of the fork server, with what these tasks need."""
    options = {"tasks": [task for task in TASKS if task in tasks], "uses_ocr": uses_ocr}
    return ForkServerProgram(MODULE, READER, options, folders=_package_folders(), environment=_ENVIRONMENT)


class WalledChildren:
    """The fork server, started at once, and one child for each document. For one thread at a time."""

    def __init__(self, tasks: Collection[Task], *, uses_ocr: bool = False) -> None:
        """Start the fork server with these tasks. Raises SandboxUnavailable where it does not start."""
        self._tasks = self._expected = frozenset(tasks)
        self._uses_ocr = uses_ocr
        self._memory_bytes = _OCR_MEMORY_BYTES if uses_ocr else _MEMORY_BYTES
        self._is_closed = False
        self._children = self._start()
        self.missing = _missing_of(self._children)
        self.breaches = self._children.breaches

    @property
    def tier(self) -> Tier | None:
        """The tier of the walls that stand; None where too few do, or something broke through."""
        return None if self.breaches else find_tier(self.missing)

    @property
    def is_idle(self) -> bool:
        """Whether the fork server waits for a document; False if it has died."""
        return self._children.is_idle

    def _start(self) -> LockedChildren:
        program = program_of_readers(self._tasks, uses_ocr=self._uses_ocr)
        return LockedChildren(program, Limits(memory_bytes=self._memory_bytes))

    def expect(self, tasks: Collection[Task]) -> None:
        """See ``PooledChildren.expect``."""
        self._expected = frozenset(tasks)

    def ask(self, request: dict[str, Any], seconds: float, document: BinaryIO | None) -> tuple[bytes, bytes]:
        """The facts and the text of the answer. Raises ``ChildFailed``, and ``UnreadableFile`` once closed."""
        limits = Limits(
            memory_bytes=self._memory_bytes,
            cpu_seconds=math.ceil(seconds),
            wall_seconds=_CLOCK_FACTOR * seconds,
        )
        self._load(request["do"])
        descriptor = document.fileno() if document else -1
        try:
            body = frames.dump({name: value for name, value in request.items() if name not in _WITHHELD})
            end = self._children.run(ChildRequest(body, descriptor, limits, _ANSWER_BYTES))
        except SandboxUnavailable as error:
            self._restart()
            raise ChildFailed(str(error)) from None
        if not end.parts:
            raise ChildFailed(_failure_reason(end, limits))
        facts, text = end.parts
        return facts, text

    def _load(self, task: Task) -> None:
        """Start another fork server if this one has not loaded the task."""
        if task in self._tasks:
            return
        self._check_open()
        self._tasks |= {task, *self._expected}
        self._children.close()
        self._restart()

    def _restart(self) -> None:
        """Start another fork server after the end of this one, for the next document."""
        self._check_open()
        try:
            self._children = self._start()
        except SandboxUnavailable as error:
            raise ChildFailed(str(error)) from None
        try:
            self._check_open()  # another thread may have closed it as it started
        except UnreadableFile:
            self._children.close()
            raise
        if (_missing_of(self._children), self._children.breaches) != (self.missing, self.breaches):
            self._children.close()  # the next document starts another
            raise ChildFailed("the walls around its reader are not those of the files before")

    def _check_open(self) -> None:
        if self._is_closed:
            raise UnreadableFile(STOPPED)

    def close(self) -> None:
        """End the fork server and its child; a document that is being read in another thread fails."""
        self._is_closed = True
        self._children.close()


def _missing_of(children: LockedChildren) -> tuple[str, ...]:
    return tuple(wall.name for wall in children.walls if not wall.stands and not wall.reinforces)


def _failure_reason(end: ChildEnd, limits: Limits) -> str:
    if end.is_oversized:
        return "its parser returned more text than a document may have"
    if end.is_late or (end.signal == signal.SIGKILL and end.cpu_ms >= _LEAST_SHARE * 1000 * limits.cpu_seconds):
        return too_slow(limits.cpu_seconds)
    if end.signal == signal.SIGKILL:
        return TOO_LARGE
    if end.signal == signal.SIGSYS:
        return "its parser was ended at a system call that no reader needs"
    return crashed(-end.signal) if end.signal else NO_ANSWER


def _package_folders() -> tuple[Path, ...]:
    """The folders of installed packages, and those that the operator named; not the working folder."""
    named = [Path(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    found = [Path(folder) for folder in sys.path if Path(folder).name in _PACKAGES]
    return tuple(path for path in (*named, *found) if path.is_absolute())
