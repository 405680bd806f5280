"""The processes around a program of the operator: they raise its walls, execute it, and leave nothing behind.

Theory of operation. The parent (runners/programs.py) executes this with the program's standard streams and one
descriptor, its end of a socket pair, and sends one line of JSON. Three processes follow::

    first    raises the namespaces; waits for the second, and ends with it
    second   the first process of the new process namespace: waits for the third or for the end of the parent
    third    raises all other walls, says that it is ready, and executes the program

    parent -> first    {"argv", "environment", "readable", "ports", "limits", ...}
    third -> parent    {"ready": true}, or {"failed": WALL, "detail"} from any of them; in a trial {"walls": [...]}
    second -> parent   {"code": N, "signal": N}

When the second process ends, the kernel kills every process that the program has left behind. The second process
ends when the program ends, and when the parent closes its end or dies.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from collections.abc import Sequence
from typing import Any, NoReturn

from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.walls import kernel, program_walls, wall_table
from winnow.sandbox.walls.program_walls import MOUNT_WALLS, PID_WALL, PROGRAM_WALLS, SCRATCH, ProgramResources
from winnow.sandbox.walls.wall_table import Wall

_MOST_REQUEST = 4 * 1024 * 1024
_CONTROL = 3
_REAP_MS = 200
_NOT_EXECUTED = 127

Tried = list[tuple[str, bool, str]]


def main(descriptor: int) -> NoReturn:
    """Run one program, and exit."""
    control = socket.socket(fileno=descriptor)
    request = _receive(control)
    resources = ProgramResources(
        Limits(**request["limits"]),
        readable=request["readable"],
        ports=request["ports"],
        processes=request["processes"],
        bounds_address_space=request["bounds_address_space"],
    )
    program_walls.collect(resources)
    is_trial = not request["argv"]
    tried: Tried = []
    walls = (*program_walls.namespace_walls(resources), *MOUNT_WALLS)
    _raise(walls, resources, control, tried, is_trial=is_trial)
    wall_table.drop_bounding_capabilities()
    _raise((PID_WALL,), resources, control, tried, is_trial=is_trial, tests=False)
    second = os.fork()
    if second != 0:
        _leave_streams(resources)
        control.close()
        os.waitpid(second, 0)
        os._exit(0)
    _be_first(control, resources, request, tried)


def _receive(control: socket.socket) -> dict[str, Any]:
    data = bytearray()
    while not data.endswith(b"\n") and len(data) < _MOST_REQUEST:
        more = control.recv(1 << 16)
        if not more:
            os._exit(0)
        data += more
    request: dict[str, Any] = json.loads(data)
    return request


def _send(control: socket.socket, **message: Any) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


def _raise(
    walls: Sequence[Wall],
    resources: ProgramResources,
    control: socket.socket,
    tried: Tried,
    *,
    is_trial: bool,
    tests: bool = True,
) -> None:
    """Raise walls. A wall that fails ends this process, except in a trial, which reports all walls that fail."""
    for wall in walls:
        try:
            wall.apply(resources)
        except OSError as error:
            if not is_trial:
                _send(control, failed=wall.name, detail=str(error))
                os._exit(0)
            tried.append((wall.name, False, str(error)))
            continue
        if is_trial and tests:
            tried.append(_test(wall, resources))


def _test(wall: Wall, resources: ProgramResources) -> tuple[str, bool, str]:
    try:
        is_breached = wall.is_breached(resources)
    except OSError as error:
        return wall.name, False, str(error)
    return wall.name, not is_breached, "what it forbids still works" if is_breached else "it was raised and tried"


def _leave_streams(resources: ProgramResources) -> None:
    """Give up the program's standard streams, so that they end for the parent when the program closes them."""
    for standard in (0, 1, 2):
        os.dup2(resources.null, standard)


def _be_first(
    control: socket.socket, resources: ProgramResources, request: dict[str, Any], tried: Tried
) -> NoReturn:
    """Start the program, wait for its end or the parent's, and exit, which ends every process of the namespace."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    third = os.fork()
    if third == 0:
        try:
            _execute(control, resources, request, tried)
        finally:
            os._exit(_NOT_EXECUTED)
    _leave_streams(resources)
    poll = select.poll()
    poll.register(os.pidfd_open(third), select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLRDHUP)
    while True:
        if any(descriptor == control.fileno() for descriptor, _ in poll.poll(_REAP_MS)):
            os._exit(0)
        _reap(control, third)


def _reap(control: socket.socket, third: int) -> None:
    """Reap processes that have ended; when the program has ended, report that and exit."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        if pid == third:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            _send(control, code=os.WEXITSTATUS(status) if not number else -number, signal=number)
            os._exit(0)


def _execute(
    control: socket.socket, resources: ProgramResources, request: dict[str, Any], tried: Tried
) -> NoReturn:
    """Raise the walls of the program and execute it."""
    is_trial = not request["argv"]
    os.chdir(SCRATCH)
    if control.fileno() != _CONTROL:
        os.dup2(control.fileno(), _CONTROL, inheritable=False)
        control = socket.socket(fileno=_CONTROL)
    kernel.close_from(_CONTROL + 1)
    resources.null = -1
    _raise(PROGRAM_WALLS, resources, control, tried, is_trial=is_trial, tests=False)
    if is_trial:
        tried += [
            _test(wall, resources) for wall in (PID_WALL, *PROGRAM_WALLS) if wall.name not in _names_of(tried)
        ]
        _send(control, walls=tried)
        os._exit(0)
    _send(control, ready=True)
    try:
        os.execve(request["argv"][0], request["argv"], request["environment"])
    except OSError as error:
        os.write(2, f"{request['argv'][0]}: {error.strerror}\n".encode())
    os._exit(_NOT_EXECUTED)


def _names_of(tried: Tried) -> frozenset[str]:
    """The names of the walls that already have a result."""
    return frozenset(name for name, _, _ in tried)
