"""Emulated hosts that lack some walls: a seccomp filter answers as such a host would.

Run as a program, which puts itself behind the filter of HOST and then does one thing, told as JSON:

    lesser_hosts.py HOST start [WALL ...]     start the sandbox, accepting that these walls are missing; run 1 + 1
    lesser_hosts.py HOST attack [WALL ...]    the same, and attack it
    lesser_hosts.py HOST outlook [WALL ...]   tell whether scripts look possible, and which walls a trial misses
    lesser_hosts.py HOST smaller              start the smaller language, accepting nothing
    lesser_hosts.py HOST layers               try each remaining layer alone
    lesser_hosts.py HOST readers              start the children that read files, and parse a page
    lesser_hosts.py HOST attack_readers [NAME ...]   attack those children, by all programs or those named
    lesser_hosts.py HOST command WORD ...     run a command there, in place of this program; winnow in this process
    lesser_hosts.py HOST programs             try the walls of programs, and call one
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.starts.client import warm_starts
from winnow.sandbox import Sandbox, SandboxUnavailable, looks_possible
from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.walls import kernel, seccomp, wall_table
from winnow.sandbox.walls.profiles import SCRIPT
from winnow.sandbox.walls.seccomp import RPC
from winnow.sandbox.walls.trial import find_refused_walls
from winnow.sandbox.walls.wall_resources import WallResources
from winnow.sandbox.walls.wall_table import CHILD_WALLS, Wall
from winnow.server.commands.entry import cli

_WINNOW = str(Path(sys.executable).with_name("winnow"))
_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes
_SECCOMP_BY_PRCTL = 22

# What a container's root keeps (Docker's default list): chown, dac_override, fowner, fsetid, kill, setgid, setuid,
# setpcap, net_bind_service, net_raw, sys_chroot, mknod, audit_write, setfcap.
_CAPABILITIES_OF_CONTAINERS = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31})


@dataclass(frozen=True, slots=True)
class Host:
    """``refused``: call -> the error it answers."""

    refused: Mapping[str, int]
    user_namespace_passes: bool = False


_AWAY = dict.fromkeys(("unshare", "setns", "mount", "umount2", "pivot_root", "sethostname", "move_mount",
                       "mount_setattr", "fsmount", "open_tree", "fsopen", "keyctl", "add_key", "bpf",
                       "perf_event_open"),
                      errno.EPERM)  # fmt: skip
_LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")

HOSTS: Mapping[str, Host] = {
    # Docker's default profile without CAP_SYS_ADMIN; before Landlock was added to it, Landlock is refused as well.
    "docker": Host(_AWAY),
    "old_docker": Host(_AWAY | dict.fromkeys(_LANDLOCK, errno.EPERM)),
    # Linux before 5.13, or landlock not in lsm=.
    "no_landlock": Host(dict.fromkeys(_LANDLOCK, errno.ENOSYS)),
    # A kernel, or an outer sandbox, that takes no filter.
    "no_seccomp": Host({"seccomp": errno.EINVAL, "prctl": errno.EINVAL}),
    # user.max_user_namespaces=0, for a user who is not root.
    "no_user_namespaces": Host(dict.fromkeys(("unshare", "setns", "mount", "sethostname"), errno.EPERM)),
    # The same in a container whose root may not change its user, which the limit of processes needs.
    "bare_root": Host(
        {
            "unshare": errno.ENOSPC,
            **dict.fromkeys(("setns", "mount", "sethostname"), errno.EPERM),
            **dict.fromkeys(("setgroups", "setresuid", "setresgid"), errno.EPERM),
        }
    ),
    # Ubuntu: a user namespace is given, and no capability in it.
    "apparmor": Host(
        {"unshare": errno.EPERM, "setns": errno.EPERM, "mount": errno.EACCES, "sethostname": errno.EPERM},
        user_namespace_passes=True,
    ),
}


# --- the filter ------------------------------------------------------------------------------------------------

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_PASS, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
_COLUMN = ("x86_64", "aarch64").index(kernel.MACHINE)
_OUR_ARCHITECTURE = (0xC000003E, 0xC00000B7)[_COLUMN]


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)


def _number(call: str) -> int:
    tables = (seccomp.FATAL, seccomp.ANSWERED)
    found = next(table[call][_COLUMN] for table in tables if call in table)
    assert found is not None
    return found


def _when(call: str, body: bytes) -> bytes:
    return _op(_EQUAL, _number(call), 0, len(body) // 8) + body


def _program(host: Host) -> bytes:
    passes = _op(_RETURN, _PASS)
    parts = [_op(_LOAD, _ARCHITECTURE), _op(_EQUAL, _OUR_ARCHITECTURE, 1, 0), passes, _op(_LOAD, _NUMBER)]
    for call, number in host.refused.items():
        refuse = _op(_RETURN, _ERROR | number)
        if call == "prctl":  # but for the one thing
            refuse = _op(_LOAD, _FIRST) + _op(_EQUAL, _SECCOMP_BY_PRCTL, 0, 1) + refuse + passes
        elif call == "unshare" and host.user_namespace_passes:
            refuse = _op(_LOAD, _FIRST) + _op(_EQUAL, kernel.CLONE_NEWUSER, 0, 1) + passes + refuse
        parts.append(_when(call, refuse))
    if "unshare" in host.refused:
        no_namespaces = _op(_LOAD, _FIRST) + _op(_ANY_BIT, _NAMESPACES, 0, 1) + _op(_RETURN, _ERROR | 1)
        parts.append(_when("clone3", _op(_RETURN, _ERROR | errno.ENOSYS)))
        parts.append(_when("clone", no_namespaces + passes))
    return b"".join([*parts, passes])


def become(name: str) -> None:
    """Put this process and its children behind the filter of that host."""
    host = HOSTS[name]
    if os.geteuid() != 0:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)  # without it no filter is taken from an ordinary user
    kernel.seccomp(_program(host))
    if "unshare" in host.refused:
        _keep_only(_CAPABILITIES_OF_CONTAINERS)


def _keep_only(kept: frozenset[int]) -> None:
    if os.geteuid() != 0:
        return
    for capability in range(41):
        if capability not in kept:
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
    low = sum(1 << capability for capability in kept)
    header = struct.pack("Ii", 0x20080522, 0)
    kernel._syscall(kernel._CAPSET[kernel.MACHINE], "capset", header, struct.pack("6I", low, low, 0, 0, 0, 0))


# --- what is done there ----------------------------------------------------------------------------------------


async def _start(accepted: Sequence[str], runner: str = "auto") -> dict[str, Any]:
    try:
        async with Sandbox(runner=runner, accept_missing=tuple(accepted)) as sandbox:
            outcome = await sandbox.run("return 1 + 1")
            return {"result": outcome.result, "missing": outcome.walls.missing, "stood": outcome.walls.stood}
    except SandboxUnavailable as error:
        return {"refused": str(error), "missing": error.missing}


def _look(accepted: Sequence[str]) -> dict[str, Any]:
    return {"possible": looks_possible("auto", accepted), "refused": sorted(find_refused_walls() or ())}


_FAMILIES = ("files", "network", "processes", "kernel", "signals", "descriptors")


async def _attack(accepted: Sequence[str]) -> dict[str, Any]:
    from winnow.security import audit, suite

    logging.getLogger("sandbox").setLevel(logging.ERROR)  # that scripts are killed is the point
    asked = [attack for attack in suite.read_attacks() if attack.family in _FAMILIES]
    with (
        warm_starts()
    ):  # a fork server is replaced after each fault of a script; templates start behind the filter
        report = await audit.run(asked, modes=("walls", "both"), accept_missing=tuple(accepted))
    families = sorted({trial.attack.split("/")[0] for trial in report.trials})
    told = [f"{trial.mode} {trial.attack}: {trial.violation}" for trial in report.violations()]
    return {"families": families, "trials": len(report.trials), "violations": told}


def _opens(resources: WallResources) -> None:
    os.close(os.open("/etc/passwd", os.O_RDONLY))


def _connects(resources: WallResources) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream:
        stream.settimeout(1)
        stream.connect(("127.0.0.1", 9))


def _forks(resources: WallResources) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


_ASSETS: Mapping[str, Callable[[WallResources], None]] = {
    "files": _opens,
    "network": _connects,
    "processes": _forks,
}


def _layers() -> dict[str, Any]:
    """Asset -> the layers that protect it alone, each tested in its own process, with a control without them."""
    known = {wall.name: wall for wall in CHILD_WALLS}
    if os.geteuid() == 0:
        with contextlib.suppress(PermissionError):  # a root that may not stays root, and its layers are tried so
            wall_table.not_root(WallResources(Limits()))
    held: dict[str, list[str]] = {}
    for asset, attempt in _ASSETS.items():
        assert not _is_held((), attempt), f"{asset} is closed here anyway"
        alone = ("landlock", "process_limit", "descriptor_limit", "seccomp")
        held[asset] = [name for name in alone if _is_held((known[name],), attempt)]
    return held


def _is_held(raised: Sequence[Wall], attempt: Callable[[WallResources], None]) -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(_exit_code(raised, attempt))
    _, status = os.waitpid(pid, 0)
    # A kill by the filter counts as held. A refused connection does not: the socket could be used.
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 1


def _exit_code(raised: Sequence[Wall], attempt: Callable[[WallResources], None]) -> int:
    ruleset = wall_table.create_landlock_ruleset()
    resources = WallResources(Limits(), ruleset=ruleset, filter=seccomp.build_program(SCRIPT))
    try:
        os.dup2(0, RPC)  # a child's own place for it is taken, too
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        for wall in raised:
            wall.apply(resources)
    except OSError:
        return 2
    try:
        attempt(resources)
    except ConnectionRefusedError:
        return 0
    except OSError:
        return 1
    return 0


def _read() -> dict[str, Any]:
    """What is missing around readers of files, whether they are behind the walls that are left, and a page."""
    from winnow.server.ingest.children.parser import ParserProcess

    with ParserProcess() as readers:
        (page,) = readers.parse("html", "<p>Words.</p>", "a.html")
        started = readers._walled
        assert started is not None
        return {
            "missing": started.missing,
            "tier": started.tier,
            "walled": started.children is not None,
            "text": getattr(page, "text", ""),
        }


def _attack_readers(names: Sequence[str]) -> dict[str, Any]:
    from winnow.security import audit, suite

    family = [attack for attack in suite.read_attacks() if attack.family == "reader_children"]
    asked = [attack for attack in family if not names or attack.name in names]
    with warm_starts():  # the template is started here, behind the filter of the host
        report = asyncio.run(audit.run(asked, modes=("both",)))
    told = [f"{trial.attack}: {trial.violation}" for trial in report.violations()]
    not_run = {reason: len(trials) for reason, trials in report.not_run().items()}
    return {"trials": len(report.trials), "violations": told, "not_run": not_run, "clean": report.is_clean}


def _execute() -> dict[str, Any]:
    """The walls of programs that are missing, and what a call of one says."""
    from winnow.sandbox.runners.programs import ProgramCall, run_program, try_program_walls

    missing = [wall.name for wall in try_program_walls(is_online=False) if not wall.stands]
    try:
        said = run_program(ProgramCall(("/bin/echo", "ran"), {}, b"")).stdout.decode()
    except SandboxUnavailable as error:
        said = str(error)
    return {"missing": missing, "said": said}


def _run_command(command: Sequence[str]) -> NoReturn:
    """Become this command. Winnow is imported here already: an interpreter needs a second for that."""
    if command[0] != _WINNOW:
        os.execvp(command[0], command)
    sys.argv[:] = command
    cli.main()
    sys.exit()


def main(name: str, task: str, accepted: Sequence[str]) -> None:
    """Emulate the host, run the task, print the result."""
    become(name)
    if task == "command":
        _run_command(accepted)
    told = {"start": lambda: asyncio.run(_start(accepted)), "attack": lambda: asyncio.run(_attack(accepted)),
            "outlook": lambda: _look(accepted),
            "smaller": lambda: asyncio.run(_start((), "monty")),
            "layers": _layers, "readers": _read, "attack_readers": lambda: _attack_readers(accepted),
            "programs": _execute}[task]()  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
