"""The fork server: a lean, walled process that forks one locked child per script, or per file to read.

Theory of operation. The parent (runners/launch.py) executes this with a literal environment and one descriptor, a
sequenced-packet socket. It imports the program of its children and all that they may need, applies the walls that
all children share, and forks in two: the outer process only waits and exits with its parent or the inner one; the
inner process serves.

    parent -> inner   {"spawn": ID, "memory_bytes": N, "cpu_seconds": N} + the child's end of a socket pair,
                      and the file that it reads, if it reads one
    inner -> parent   {"hello": {...}}                       the results of the self-tests of the walls
                      {"spawned": ID} + a pidfd              the child is locked, or will be in a moment
                      {"gone": ID, "signal": N, ...}         reaped: signal or 0, CPU time, peak memory

Requests are in protocol/jobs.py, answers in protocol/answers.py. The fork server holds no index, no settings, no
secret, and never runs a script or reads a file itself. Closing the socket ends it, and with it every child.
"""

from __future__ import annotations

import gc
import importlib
import json
import mmap
import os
import select
import signal
import socket
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, cast

from winnow.sandbox.protocol.answers import (
    ChildReaped,
    ChildSpawned,
    ForkServerAnswer,
    ForkServerReady,
    WallResult,
)
from winnow.sandbox.protocol.jobs import SpawnRequest
from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.walls import breaches, kernel, seccomp, wall_table
from winnow.sandbox.walls.profiles import PROFILES
from winnow.sandbox.walls.wall_resources import WallResources
from winnow.sandbox.walls.wall_table import CHILD_WALLS, EMPTY_ROOT, FORK_SERVER_WALLS, PID_NAMESPACE, Wall

MESSAGE_BYTES = 64 * 1024
_BREACHED, _REFUSED, _NOT_APPLIED = 10, 11, 12  # exit codes of a self-test


_IDLE_SECONDS = 5.0  # until threads of libraries wait


class ChildProgram(Protocol):
    """Protocol of the module that the children of a fork server run. The parent names the module.

    Both functions are called with the options that the parent gave.
    """

    def warm_up(self, **options: Any) -> None:
        """Import what a child may need. Runs once, in the fork server, before the walls are up."""

    def prepare(self, **options: Any) -> Callable[[], None]:
        """In a new child, with its descriptors in place: do the work that the walls forbid; return the rest."""


def main(
    control_descriptor: int,
    parent: int,
    *,
    program: str,
    options: Mapping[str, Any],
    profile: str,
    limits: Mapping[str, Any],
    walled: bool,
) -> NoReturn:
    """Serve until the parent is gone. ``limits`` are those of the children, for the self-tests."""
    control = socket.socket(fileno=control_descriptor)
    parent_handle = os.pidfd_open(parent)
    if os.getppid() != parent:
        os._exit(0)  # the parent died before
    module = cast("ChildProgram", importlib.import_module(program))
    module.warm_up(**options)
    _leave_threads(parent_handle, control)
    _clear_start_state()
    resources = _gather_resources(Limits(**limits), profile)
    report = WallTests()
    if walled:
        for wall in FORK_SERVER_WALLS:
            report.apply_and_test(wall, resources)
    children = ForkedChildren(resources, lambda: module.prepare(**options), is_walled=walled)
    _fork_inner(parent_handle, control, children, report)
    if walled:
        report.apply_and_test(EMPTY_ROOT, resources)
        wall_table.drop_bounding_capabilities()
        children.test_walls(report)
    gc.collect()
    gc.freeze()
    _send(control, ForkServerReady(tuple(report.walls), tuple(report.breaches)))
    children.serve(control)


def _leave_threads(parent: int, control: socket.socket) -> None:
    """Continue in a fork if the warm-up started threads: a process with threads cannot enter a user namespace."""
    until = time.monotonic() + _IDLE_SECONDS
    while _other_threads() - {"S"} and time.monotonic() < until:
        time.sleep(0.001)  # a thread that is forked away while it holds a lock would hold it for ever
    if _other_threads():
        _fork_behind(parent, control)


def _other_threads() -> set[str]:
    """The states of the other threads of this process; "S" is that of a waiting thread."""
    states = set()
    for number in os.listdir("/proc/self/task"):
        if int(number) != os.getpid():
            with open(f"/proc/self/task/{number}/stat") as file:
                states.add(file.read().rpartition(")")[2].split()[0])
    return states


def _fork_behind(parent: int, control: socket.socket) -> None:
    """Fork, and return in the new process; the old process waits until the new one or the parent ends."""
    inner = os.fork()
    if inner != 0:
        control.close()
        _wait_for_end(parent, os.pidfd_open(inner))
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _send(control: socket.socket, answer: ForkServerAnswer, descriptors: Sequence[int] = ()) -> None:
    socket.send_fds(control, [json.dumps(answer.encode()).encode()], descriptors)


def _clear_start_state() -> None:
    """Remove arguments, main module and environment, which children must not see."""
    sys.argv[:] = sys.orig_argv[:] = [""]
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.environ.clear()


def _gather_resources(limits: Limits, profile: str) -> WallResources:
    """Open and read what needs /proc and /dev while they exist."""
    kernel.use_one_malloc_arena()
    return WallResources(
        limits=limits,
        profile=PROFILES[profile],
        null=wall_table.open_null_device(),
        ruleset=wall_table.create_landlock_ruleset(),
        filter=seccomp.build_program(PROFILES[profile]) if seccomp.is_supported() else b"",
        address_space=_address_space(),
        host_namespaces={name: os.readlink(f"/proc/self/ns/{name}") for name in ("user", "ipc", "uts")},
    )


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _fork_inner(parent: int, control: socket.socket, children: ForkedChildren, report: WallTests) -> None:
    """Fork into a waiting process and a serving process; return in the serving process."""
    if children.is_walled:
        report.apply_and_test(PID_NAMESPACE, children.resources, test=False)
    _fork_behind(parent, control)
    os.close(parent)
    children.keep_namespace(report)


def _wait_for_end(parent: int, inner: int) -> NoReturn:
    """Wait until the parent or the inner process is gone; then kill the inner process and exit."""
    poll = select.poll()
    poll.register(parent, select.POLLIN)
    poll.register(inner, select.POLLIN)
    poll.poll()
    signal.pidfd_send_signal(inner, signal.SIGKILL)
    os.waitpid(-1, 0)
    os._exit(0)


class WallTests:
    """The results of the self-tests: one for each wall, and the attempts that broke through all of them."""

    def __init__(self) -> None:
        self.walls: list[WallResult] = []
        self.breaches: list[str] = []

    def record(self, wall: Wall, *, stands: bool, detail: str) -> None:
        """Record the result for a wall, in place of an earlier one."""
        self.walls = [result for result in self.walls if result.name != wall.name]
        self.walls.append(WallResult(wall.name, stands, detail))

    def judge(self, wall: Wall, control: bool, breached: bool) -> None:
        """Record a wall by what its attempt did: ``control`` without the wall, ``breached`` behind it."""
        if breached:
            self.record(wall, stands=False, detail="what it forbids still works")
        elif control:
            self.record(wall, stands=True, detail="what it forbids was tried and refused; without it, it works")
        else:
            self.record(wall, stands=True, detail="what it forbids is refused here even without it")

    def apply_and_test(self, wall: Wall, resources: WallResources, *, test: bool = True) -> None:
        """Apply a wall to this process and test it."""
        try:
            control = wall.is_breached(resources) if test else True
            wall.apply(resources)
            self.judge(wall, control, breached=test and wall.is_breached(resources))
        except OSError as error:
            self.record(wall, stands=False, detail=str(error))

    def is_standing(self, name: str) -> bool:
        """Whether this wall passed its test."""
        return any(result.name == name and result.stands for result in self.walls)


class ForkedChildren:
    """The children of this fork server: forks, lists and reaps them."""

    def __init__(
        self, resources: WallResources, prepare: Callable[[], Callable[[], None]], *, is_walled: bool
    ) -> None:
        self.resources = resources
        self.is_walled = is_walled
        self._prepare = prepare
        self._walls: tuple[Wall, ...] = CHILD_WALLS
        self._own_namespace = -1
        self._alive: dict[int, tuple[int, int]] = {}  # pidfd -> (id of the request, pid)

    def keep_namespace(self, report: WallTests) -> None:
        """Open the process namespace of the serving process, while /proc exists."""
        if report.is_standing(PID_NAMESPACE.name):
            self._own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)

    def fork(self) -> int:
        """Like os.fork, but the child is the first process of a namespace of its own."""
        if self._own_namespace < 0:
            return os.fork()
        # Each namespace has one first process, so every fork enters a new namespace and returns.
        kernel.unshare(kernel.CLONE_NEWPID)
        pid = os.fork()
        if pid != 0:
            kernel.setns(self._own_namespace, kernel.CLONE_NEWPID)
        return pid

    def test_walls(self, report: WallTests) -> None:
        """Test each wall of a child alone, against a child without any; then all together against every canary."""
        basis = tuple(wall for wall in CHILD_WALLS if wall.name in ("descriptors", "no_new_privileges"))
        if self._own_namespace >= 0:
            report.judge(
                PID_NAMESPACE, control=True, breached=self._try((), PID_NAMESPACE.is_breached) != _REFUSED
            )
        for wall, control in zip(CHILD_WALLS, self._try_without_walls(), strict=True):
            behind = (*(other for other in basis if other is not wall), wall)
            code = self._try(behind, wall.is_breached)
            if code == _NOT_APPLIED:
                report.record(wall, stands=False, detail="the kernel refused to apply it")
            else:
                report.judge(wall, control, code == _BREACHED)
        self._walls = tuple(wall for wall in CHILD_WALLS if report.is_standing(wall.name))
        tried = {name: self._try(self._walls, attempt) for name, attempt in breaches.CANARIES.items()}
        report.breaches = [name for name, code in tried.items() if code != _REFUSED]

    def _try_without_walls(self) -> list[bool]:
        """Whether the attempt at each wall works without walls.

        One child makes all attempts, because they do not affect each other, and because the fork of a warm process
        takes longer than they do: it copies the tables of all pages. If an attempt ends that child, this attempt
        and the later ones are each made in a child of their own.
        """
        with mmap.mmap(-1, len(CHILD_WALLS)) as worked:  # shared with the child, and with no other
            pid = self.fork()
            if pid == 0:
                try:
                    resources = self.resources.with_rpc(self.resources.null, self.resources.limits)
                    for number, wall in enumerate(CHILD_WALLS):
                        worked[number] = _BREACHED if wall.is_breached(resources) else _REFUSED
                finally:
                    os._exit(0)
            os.waitpid(pid, 0)
            tried = worked[:]
        return [
            (code or self._try((), wall.is_breached)) == _BREACHED
            for wall, code in zip(CHILD_WALLS, tried, strict=True)
        ]

    def _try(self, walls: tuple[Wall, ...], attempt: Callable[[WallResources], bool]) -> int:
        """The exit code of a throw-away child that makes an attempt behind some walls."""
        pid = self.fork()
        if pid == 0:
            code = _NOT_APPLIED
            try:
                resources = self.resources.with_rpc(self.resources.null, self.resources.limits)
                for wall in walls:
                    wall.apply(resources)
                code = _BREACHED if attempt(resources) else _REFUSED
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        # An attempt that the filter killed was refused, too.
        return _REFUSED if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def serve(self, control: socket.socket) -> NoReturn:
        """Fork and reap children until the parent closes its end."""
        poll = select.poll()
        poll.register(control, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor != control.fileno():
                    poll.unregister(descriptor)
                    _send(control, self._reap(descriptor))
                    continue
                message, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 2)
                if not message:
                    os._exit(0)
                request = SpawnRequest.decode(json.loads(message))
                poll.register(self._spawn(request, descriptors, control), select.POLLIN)

    def _spawn(self, request: SpawnRequest, descriptors: Sequence[int], control: socket.socket) -> int:
        pid = self.fork()
        if pid == 0:
            limits = Limits(memory_bytes=request.memory_bytes, cpu_seconds=request.cpu_seconds)
            self._run(self.resources.with_rpc(descriptors[0], limits, *descriptors[1:]))
        handle = os.pidfd_open(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        self._alive[handle] = (request.id, pid)
        _send(control, ChildSpawned(request.id), [handle])
        return handle

    def _run(self, resources: WallResources) -> NoReturn:
        """Become a locked child, run the program and exit. No finaliser runs, no exit hook."""
        try:
            resources = resources.place_descriptors()
            run = self._prepare()
            for wall in self._walls_to_apply():
                wall.apply(resources)
            run()
        finally:
            os._exit(0)

    def _walls_to_apply(self) -> tuple[Wall, ...]:
        if self.is_walled:
            return self._walls
        # Needed without walls too: it puts the channel on the descriptor that the child uses.
        return tuple(wall for wall in CHILD_WALLS if wall.name == "descriptors")

    def _reap(self, handle: int) -> ChildReaped:
        name, pid = self._alive.pop(handle)
        os.close(handle)
        _, status, usage = os.wait4(pid, 0)
        return ChildReaped(
            id=name,
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            cpu_ms=(usage.ru_utime + usage.ru_stime) * 1000,
            memory_peak_bytes=usage.ru_maxrss * 1024,
        )
