"""A bound on the resident memory of all scripts together, kept by the kernel where a memory cgroup can be had.

Address space is bounded for each child by its limits, and each child's resident memory is looked at by its keeper.
This is for what those two leave: many children at once, and growth between two looks. Creating a group takes write
access to the control-group file system, which root has, and a service manager may delegate; without it the other
two hold alone, and `winnow doctor` says so.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.protocol.limits import MIB
from sandbox.protocol.outcome import WallReport

_PREFIX = "winnow-"
_ADVICE = "run the server as root, or under a service manager that delegates it a memory cgroup (Delegate=memory)"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class _Names:
    """How one version of control groups calls things."""

    limit: str
    swap: str  # the limit that keeps growth from going to swap instead
    swap_includes_memory: bool
    events: str
    kills: str  # the line of ``events`` that counts processes killed for want of memory


_NAMES = {
    "cgroup2": _Names("memory.max", "memory.swap.max", False, "memory.events", "oom_kill"),
    "cgroup": _Names(
        "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", True, "memory.oom_control", "oom_kill"
    ),
}


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """Where memory groups are made: the folder of this process's own group."""

    names: _Names
    folder: Path


def _hierarchies() -> Iterator[_Hierarchy]:
    """Mounted hierarchies that control memory, and where in them this process is."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own[controllers] = path.lstrip("/")
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        mount, kind, options = Path(before.split()[4]), after.split()[0], after.split()[2].split(",")
        if kind == "cgroup2" and "" in own:
            yield _Hierarchy(_NAMES[kind], _existing(mount, own[""]))
        elif kind == "cgroup" and "memory" in options:
            yield _Hierarchy(_NAMES[kind], _existing(mount, own.get("memory", "")))


def _existing(mount: Path, path: str) -> Path:
    """The group of this process; a container may be told the name that the host sees, and then the mount is it."""
    return mount / path if (mount / path).is_dir() else mount


class MemoryGroup:
    """One control group. Processes put into it, and all they fork, share ``limit_bytes`` of resident memory."""

    def __init__(self, folder: Path, names: _Names) -> None:
        self._folder = folder
        self._names = names

    @classmethod
    def make(cls, limit_bytes: int) -> MemoryGroup | str:
        """A group with this limit; or why there is none."""
        why = "no memory cgroup is mounted"
        with contextlib.suppress(OSError):
            for hierarchy in _hierarchies():
                _sweep(hierarchy.folder)
                group = cls(hierarchy.folder / f"{_PREFIX}{os.getpid()}-{next(_numbers)}", hierarchy.names)
                try:
                    group._folder.mkdir()
                    group._bound(limit_bytes)
                except OSError as error:
                    group.remove()
                    why = f"{hierarchy.folder}: {error.strerror}"
                else:
                    return group
        return why

    def _bound(self, limit_bytes: int) -> None:
        names = self._names
        self._write(names.limit, limit_bytes)
        # A kernel may be built without accounting of swap.
        with contextlib.suppress(OSError):
            self._write(names.swap, limit_bytes if names.swap_includes_memory else 0)

    def _write(self, name: str, value: int) -> None:
        (self._folder / name).write_text(str(value))

    def take(self, pid: int) -> None:
        """Put a process in; what it forks from now on is in as well. OSError when the kernel refuses."""
        self._write("cgroup.procs", pid)

    def kills(self) -> int:
        """How many processes the kernel has killed here for want of memory."""
        with contextlib.suppress(OSError):
            for line in (self._folder / self._names.events).read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == self._names.kills:
                    return int(count)
        return 0

    def remove(self) -> None:
        """Let go of it; every process in it must be gone. Idempotent."""
        with contextlib.suppress(OSError):
            self._folder.rmdir()


def around(pid: int, limit_bytes: int) -> tuple[MemoryGroup | None, WallReport]:
    """A group around a process that has forked nothing yet, where one can be had; and what to tell of it."""
    made = MemoryGroup.make(limit_bytes)
    if isinstance(made, str):
        return None, _told(made)
    try:
        made.take(pid)
    except OSError as error:
        made.remove()
        return None, _told(f"the kernel takes no process in: {error.strerror}")
    return made, replace(_told(f"{limit_bytes // MIB:,} MiB, kept by the kernel"), stands=True, advice="")


def _told(detail: str) -> WallReport:
    return WallReport(
        "memory_group", "resident memory of all scripts together", False, detail, _ADVICE, reinforces=True
    )


def _sweep(folder: Path) -> None:
    """Remove what a keeper that was killed has left: empty groups named after processes that are gone."""
    for group in folder.glob(f"{_PREFIX}*"):
        pid = group.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            with contextlib.suppress(OSError):
                group.rmdir()
