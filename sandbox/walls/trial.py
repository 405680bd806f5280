"""Which walls this host refuses, from a trial: a forked child raises those that hosts refuse, and reports.

It takes a few milliseconds, once for each process. A container's system-call filter and an AppArmor profile refuse
namespaces without a word in the kernel's files; only a trial shows it. What it finds decides no more than what a
server promises: the fork server raises and tests every wall again before a script runs.
"""

from __future__ import annotations

import functools
import os
import signal
import warnings
from typing import NoReturn

from winnow.sandbox.protocol.limits import Limits

from . import breaches, kernel, seccomp
from .profiles import SCRIPT
from .wall_resources import WallResources
from .wall_table import CHILD_WALLS, EMPTY_ROOT, FORK_SERVER_WALLS, PID_NAMESPACE, Wall, create_landlock_ruleset

# In the order of the fork server: what all children share, then walls of a child, two of which need no_new_privs.
# The filter comes last, because behind it the process can only end. The kernel takes the limit of processes from
# root as well and does not keep it, so that one is tried by what it forbids.
_SHARED = (*FORK_SERVER_WALLS, PID_NAMESPACE, EMPTY_ROOT)
_LANDLOCK, _PROCESSES, _FILTER = (
    wall for wall in CHILD_WALLS if wall.name in ("landlock", "process_limit", "seccomp")
)
TRIED_WALLS = frozenset(wall.name for wall in (*_SHARED, _LANDLOCK, _PROCESSES, _FILTER))
_SECONDS = 2  # hundreds of times what a trial takes
_REPORT_BYTES = 4096  # the names of all walls are a tenth of it


@functools.cache
def find_refused_walls() -> frozenset[str] | None:
    """The walls of `TRIED_WALLS` that this host refuses; None where the trial itself failed."""
    try:
        resources = _gather_resources()
        reader, writer = os.pipe()
    except OSError:
        return None
    try:
        child = _fork_quietly()
    except OSError:
        child = -1
    if child == 0:
        _raise_and_report(resources, writer)
    os.close(writer)
    with open(reader, "rb") as pipe:
        report = pipe.read(_REPORT_BYTES).decode()
    if resources.ruleset >= 0:
        os.close(resources.ruleset)
    if child > 0:
        os.waitpid(child, 0)
    # The line ends before the filter is raised, and a second one follows where the kernel did not take it.
    names, is_whole, rest = report.partition("\n")
    return frozenset((*names.split(), *rest.split())) if is_whole else None


def _gather_resources() -> WallResources:
    return WallResources(
        Limits(),
        ruleset=create_landlock_ruleset(),
        filter=seccomp.build_program(SCRIPT) if seccomp.is_supported() else b"",
    )


def _fork_quietly() -> int:
    with warnings.catch_warnings():
        # Python warns of other threads, whose locks a child may need; this one makes system calls and exits.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _raise_and_report(resources: WallResources, writer: int) -> NoReturn:
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        refused = [wall.name for wall in _SHARED if not _is_raised(wall, resources)]
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        refused += [_LANDLOCK.name] if not _is_raised(_LANDLOCK, resources) else []
        refused += [_PROCESSES.name] if not _is_raised(_PROCESSES, resources) or breaches.forks(resources) else []
        os.write(writer, f"{' '.join(refused)}\n".encode())
        if not _is_raised(_FILTER, resources):
            os.write(writer, _FILTER.name.encode())
    finally:
        os._exit(0)


def _is_raised(wall: Wall, resources: WallResources) -> bool:
    try:
        wall.apply(resources)
    except OSError:
        return False
    return True
