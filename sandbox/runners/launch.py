"""Starts fork servers (child/zygote.py): with a literal environment, and no folder of the caller."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from winnow import SEARCH_PATH
from winnow.sandbox.protocol.answers import ForkServerReady
from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.protocol.outcome import WallReport
from winnow.sandbox.walls import wall_table
from winnow.sandbox.walls.cgroups import MemoryGroup
from winnow.sandbox.walls.profiles import Profile

START_SECONDS = 20.0  # ten times a start on a slow and busy machine

# One hash seed for all children. A random one would identify the fork server that a child came from; with this one
# the same script over the same documents gives the same answer, whatever it hashes.
_ENVIRONMENT: Mapping[str, str] = {"LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"}


@dataclass(frozen=True, slots=True)
class ForkServerProgram:
    """The program of children of a fork server: a module (``zygote.ChildProgram``), and options of its functions.

    ``folders`` are searched for packages, after the folder of this package; ``environment`` is for the libraries
    that it imports. ``is_walled`` is False in tests only.
    """

    module: str
    profile: Profile
    options: Mapping[str, Any] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    is_walled: bool = True


def launch(program: ForkServerProgram, limits: Limits) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Execute a fork server; returns its process, and the socket on which it answers."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            command_of(theirs.fileno(), program, limits),
            env=environment_of(program),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # a Ctrl-C at the terminal is the server's to handle
            cwd="/",
        )
    return process, ours


def end(process: subprocess.Popen[bytes], group: MemoryGroup | None) -> None:
    """Wait for a fork server, which ends when its control socket is closed; it is killed only if it hangs."""
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stderr is not None:
        process.stderr.close()
    if group is not None:
        group.remove()


def report_walls(ready: ForkServerReady) -> tuple[WallReport, ...]:
    """Reports on the walls that a fork server has tested."""
    results = {result.name: result for result in ready.walls}
    return tuple(
        WallReport(
            name=wall.name,
            protects=wall.protects,
            stands=results[wall.name].stands,
            detail=results[wall.name].detail,
            advice="" if results[wall.name].stands else wall.advice,
        )
        for wall in wall_table.ALL_WALLS
        if wall.name in results
    )


def environment_of(program: ForkServerProgram) -> dict[str, str]:
    """The environment of a fork server."""
    return {**_ENVIRONMENT, **program.environment}


def command_of(control: int, program: ForkServerProgram, limits: Limits) -> list[str]:
    """The command line of the fork server: without site, with our paths only.

    Without -I, which would ignore the environment; the child gets no variable of ours.
    """
    paths = list(dict.fromkeys([SEARCH_PATH, *map(str, program.folders)]))
    code = (
        f"import sys; sys.path[:0] = {paths!r}\n"
        "from winnow.sandbox.child.zygote import main\n"
        f"main({control}, {os.getpid()}, program={program.module!r}, options={dict(program.options)!r}, "
        f"profile={program.profile.name!r}, limits={asdict(limits)!r}, walled={program.is_walled})"
    )
    return [sys.executable, "-P", "-s", "-S", "-B", "-X", "utf8", "-c", code]
