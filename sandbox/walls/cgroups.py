"""A memory cgroup around all scripts together: the kernel bounds their resident memory, where the host allows it.

The limits of each child bound its address space, and the parent polls each child's resident memory. The group
covers what those two leave: many children at once, and growth between two polls. Creating a group takes write
access to the control-group file system, which root has and a service manager may delegate; without it the other
two stand alone, and `winnow doctor` says so.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from winnow.sandbox.protocol.limits import MIB
from winnow.sandbox.protocol.outcome import WallReport

_PREFIX = "winnow-"
_ADVICE = "run the server as root, or under a service manager that delegates it a memory cgroup (Delegate=memory)"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class _Names:
    """The file names of one version of control groups."""

    limit: str
    swap: str  # the limit that keeps growth from going to swap instead
    swap_includes_memory: bool
    events: str
    kills: str  # the line of ``events`` that counts processes killed by the limit


_NAMES = {
    "cgroup2": _Names("memory.max", "memory.swap.max", False, "memory.events", "oom_kill"),
    "cgroup": _Names(
        "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", True, "memory.oom_control", "oom_kill"
    ),
}


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """A place for memory groups: the folder of this process's own group."""

    names: _Names
    folder: Path


def _find_hierarchies() -> Iterator[_Hierarchy]:
    """The mounted hierarchies that control memory, each with this process's group."""
    own_groups = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own_groups[controllers] = path.lstrip("/")
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        mount, kind, options = Path(before.split()[4]), after.split()[0], after.split()[2].split(",")
        if kind == "cgroup2" and "" in own_groups:
            yield _Hierarchy(_NAMES[kind], _group_folder(mount, own_groups[""]))
        elif kind == "cgroup" and "memory" in options:
            yield _Hierarchy(_NAMES[kind], _group_folder(mount, own_groups.get("memory", "")))


def _group_folder(mount: Path, path: str) -> Path:
    """The folder of this process's group: the mount itself where ``path`` is the host's name for a container."""
    return mount / path if (mount / path).is_dir() else mount


class MemoryGroup:
    """One control group. Its processes, and all they fork, share ``limit_bytes`` of resident memory."""

    def __init__(self, folder: Path, names: _Names) -> None:
        self._folder = folder
        self._names = names

    @classmethod
    def create(cls, limit_bytes: int) -> MemoryGroup | str:
        """Create a group with this limit; returns the reason where that fails."""
        reason = "no memory cgroup is mounted"
        with contextlib.suppress(OSError):
            for hierarchy in _find_hierarchies():
                _remove_stale_groups(hierarchy.folder)
                group = cls(hierarchy.folder / f"{_PREFIX}{os.getpid()}-{next(_numbers)}", hierarchy.names)
                try:
                    group._folder.mkdir()
                    group._set_limit(limit_bytes)
                except OSError as error:
                    group.remove()
                    reason = f"{hierarchy.folder}: {error.strerror}"
                else:
                    return group
        return reason

    def _set_limit(self, limit_bytes: int) -> None:
        names = self._names
        self._write(names.limit, limit_bytes)
        # A kernel may be built without accounting of swap.
        with contextlib.suppress(OSError):
            self._write(names.swap, limit_bytes if names.swap_includes_memory else 0)

    def _write(self, name: str, value: int) -> None:
        (self._folder / name).write_text(str(value))

    def add_process(self, pid: int) -> None:
        """Add a process and everything it forks from now on. OSError when the kernel refuses."""
        self._write("cgroup.procs", pid)

    def count_kills(self) -> int:
        """The number of processes of the group that its limit has killed."""
        with contextlib.suppress(OSError):
            for line in (self._folder / self._names.events).read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == self._names.kills:
                    return int(count)
        return 0

    def remove(self) -> None:
        """Remove the group; every process in it must be gone. Idempotent."""
        with contextlib.suppress(OSError):
            self._folder.rmdir()


def create_around(pid: int, limit_bytes: int) -> tuple[MemoryGroup | None, WallReport]:
    """Create a group around a process that has not forked yet, where the host allows it; with its report."""
    group = MemoryGroup.create(limit_bytes)
    if isinstance(group, str):
        return None, _report_missing(group)
    try:
        group.add_process(pid)
    except OSError as error:
        group.remove()
        return None, _report_missing(f"the kernel refused to add the process: {error.strerror}")
    detail = f"{limit_bytes // MIB:,} MiB, kept by the kernel"
    return group, replace(_report_missing(detail), stands=True, advice="")


def _report_missing(detail: str) -> WallReport:
    return WallReport(
        "memory_group", "resident memory of all scripts together", False, detail, _ADVICE, reinforces=True
    )


def _remove_stale_groups(folder: Path) -> None:
    """Remove the empty groups of killed parents: those named after processes that are gone."""
    for group in folder.glob(f"{_PREFIX}*"):
        pid = group.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            with contextlib.suppress(OSError):
                group.rmdir()
