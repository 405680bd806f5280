"""The walls: for each, a function that raises it and a self-test; and the ordered list of them.

The order is part of the design, and each step has a reason to be where it is:

* another user first: afterwards no capability is left to misuse, and the kernel limits processes only for a user
  that is not root;
* namespaces once, in the fork server; each child adds a process namespace of its own;
* the root is emptied before Landlock, which forbids mounting;
* Landlock and seccomp need no_new_privs; the descriptor limit comes after Landlock's descriptor is closed;
* seccomp last, because it forbids raising any of the others.

The self-test ``is_breached`` tries what the wall forbids and returns whether that worked. The fork server runs it
without the wall (the control: it should work) and behind that wall alone (it must not).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from winnow.sandbox.protocol.limits import MIB

from . import breaches, kernel
from .wall_resources import WallResources

DEDICATED_ID = 59_731  # outside every distribution's range; inside the 65,536 ids of a rootless container
_NOBODY = 65_534
_LAST_CAPABILITY = 63
_SECUREBITS_LOCKED = 0b11_1111  # no root magic, no setuid fixup, no keeping of capabilities; each locked
_HOST_NAME = "sandbox"


@dataclass(frozen=True, slots=True)
class Wall:
    """One wall: its purpose, the function that raises it, its self-test, and advice for where it is missing."""

    name: str
    protects: str
    apply: Callable[[WallResources], None]
    is_breached: Callable[[WallResources], bool]
    advice: str


# --- raised once, by the fork server ---------------------------------------------------------------------------


def not_root(resources: WallResources) -> None:
    """Change to a dedicated user where the server runs as root; any other user is not root already."""
    if os.geteuid() != 0:
        return
    os.setgroups([])
    identity = DEDICATED_ID if _is_mapped(DEDICATED_ID) else _NOBODY
    os.setresgid(identity, identity, identity)
    os.setresuid(identity, identity, identity)
    # Changing the user gave /proc/self to root; dumpable gives it back, and the id maps are written there.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def _is_mapped(identity: int) -> bool:
    with open("/proc/self/uid_map") as lines:
        ranges = [tuple(map(int, line.split())) for line in lines]
    return any(inside <= identity < inside + count for inside, _, count in ranges)


def user_namespace(resources: WallResources) -> None:
    """Enter a user namespace: capabilities reach nothing outside it."""
    uid, gid = os.getuid(), os.getgid()
    _enter_namespace(kernel.CLONE_NEWUSER, "user")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _enter_namespace(flag: int, kind: str) -> None:
    """Enter a namespace. At the limit of its kind the error says so; the kernel's own speaks of a disk."""
    try:
        kernel.unshare(flag)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        setting = f"user.max_{kind}_namespaces"
        with open(f"/proc/sys/{setting.replace('.', '/')}") as file:
            is_none = int(file.read()) == 0
        # An outer namespace may have a lower limit, which no file in here shows.
        state = "0" if is_none else "reached"
        raise OSError(f"the limit of {kind} namespaces is {state} here ({setting})") from None


def network_namespace(resources: WallResources) -> None:
    """Enter a network namespace, which has no interface that is up."""
    _enter_namespace(kernel.CLONE_NEWNET, "net")


def ipc_namespace(resources: WallResources) -> None:
    """Enter an IPC namespace: System V shared memory, semaphores and queues of its own."""
    _enter_namespace(kernel.CLONE_NEWIPC, "ipc")


def host_name_namespace(resources: WallResources) -> None:
    """Enter a UTS namespace, with a host name that reveals nothing."""
    _enter_namespace(kernel.CLONE_NEWUTS, "uts")
    socket.sethostname(_HOST_NAME)


def pid_namespace(resources: WallResources) -> None:
    """Give the next forked process a process namespace of its own."""
    _enter_namespace(kernel.CLONE_NEWPID, "pid")


def empty_root(resources: WallResources) -> None:
    """Change to an empty, read-only root: no /proc, no /dev."""
    _enter_namespace(kernel.CLONE_NEWNS, "mnt")
    kernel.mount(None, b"/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    # /proc is the one directory that certainly exists; the mount is private to this namespace and becomes the
    # root.
    inert = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount(b"tmpfs", b"/proc", b"tmpfs", inert, b"size=4k,nr_inodes=2,mode=555")
    os.chdir("/proc")
    kernel.pivot_root_here()
    kernel.mount(None, b"/", None, kernel.MS_REMOUNT | kernel.MS_RDONLY | inert)


# --- raised by every child -------------------------------------------------------------------------------------


def own_session(resources: WallResources) -> None:
    """Start a session: no terminal, and no process group to signal."""
    os.setsid()


def descriptors(resources: WallResources) -> None:
    """Keep the descriptors of the profile, with /dev/null as the standard streams."""
    resources.place_descriptors()
    for standard in (0, 1, 2):
        os.dup2(resources.null, standard)
    last = resources.profile.last_descriptor
    if resources.ruleset > last:
        kernel.close_from(last + 1, resources.ruleset - 1)
    kernel.close_from(max(last, resources.ruleset) + 1)


def drop_bounding_capabilities() -> None:
    """In the fork server, for all its children: make what `capabilities` drops impossible to regain."""
    # Without CAP_SETPCAP there is nothing to drop; no_new_privs keeps it so.
    with contextlib.suppress(PermissionError):
        kernel.prctl(kernel.PR_SET_SECUREBITS, _SECUREBITS_LOCKED)
        for capability in range(_LAST_CAPABILITY + 1):
            try:
                kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
            except OSError as error:
                if isinstance(error, PermissionError):
                    raise
                break  # past the kernel's last capability


def capabilities(resources: WallResources) -> None:
    """Drop every capability."""
    kernel.prctl(kernel.PR_CAP_AMBIENT, kernel.PR_CAP_AMBIENT_CLEAR_ALL)
    kernel.clear_capabilities()


def dies_with_parent(resources: WallResources) -> None:
    """Let the kernel kill this process when its parent dies."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def no_new_privileges(resources: WallResources) -> None:
    """Keep executed programs from gaining privileges."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def not_dumpable(resources: WallResources) -> None:
    """Let only root read or trace this process; it leaves no core dump."""
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def landlock(resources: WallResources) -> None:
    """Forbid files, TCP ports, signals and abstract sockets, as far as this kernel's Landlock can."""
    if resources.ruleset < 0:
        raise OSError("this kernel has no Landlock")
    kernel.landlock_restrict(resources.ruleset)
    os.close(resources.ruleset)


_LANDLOCK_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # ABI -> how many rights over files it knows
_LANDLOCK_NETWORK, _LANDLOCK_SCOPE = 0b11, 0b11  # bind and connect; abstract sockets and signals
# Above 0-3, so that placing those closes nothing; low, for systems that allow few open files.
_FIRST_MOVED = 16


def open_null_device() -> int:
    """Open /dev/null, at a number from `_FIRST_MOVED` on."""
    return _move(os.open(os.devnull, os.O_RDWR))


def _move(descriptor: int) -> int:
    """Move a descriptor to the first free number from `_FIRST_MOVED` on; a fixed number may be in use."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_MOVED)
    os.close(descriptor)
    return moved


def landlock_file_rights() -> int:
    """The rights over files that this kernel's Landlock knows, as bits."""
    return (1 << _LANDLOCK_FILES[min(kernel.landlock_version(), 5)]) - 1


def create_landlock_ruleset(*, handles_ports: bool = True) -> int:
    """Create the ruleset that forbids everything this kernel's Landlock can; -1 where there is no Landlock.

    ``handles_ports``: TCP ports are part of everything.
    """
    version = kernel.landlock_version()
    if version == 0:
        return -1
    ports = _LANDLOCK_NETWORK if handles_ports else 0
    fields = [landlock_file_rights()] + [ports] * (version >= 4) + [_LANDLOCK_SCOPE] * (version >= 6)
    return _move(kernel.create_landlock_ruleset(fields))


def _cap(kind: int, value: int) -> None:
    """Lower a limit to ``value``, soft and hard; a lower limit stays."""
    _, hard = resource.getrlimit(kind)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def memory_limit(resources: WallResources) -> None:
    """Limit the address space: what the warm interpreter has mapped, plus the script's memory."""
    _cap(resource.RLIMIT_AS, resources.address_space + resources.limits.memory_bytes)


def cpu_limit(resources: WallResources) -> None:
    """Limit CPU time, soft and hard at once: the kernel sends SIGKILL, which no handler catches."""
    _cap(resource.RLIMIT_CPU, resources.limits.cpu_seconds)


def file_limits(resources: WallResources) -> None:
    """Forbid writing files, core dumps, locked memory and message queues; limit the stack to 8 MiB."""
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        _cap(kind, 0)
    for kind in (resource.RLIMIT_NICE, resource.RLIMIT_RTPRIO):
        _cap(kind, 0)
    _cap(resource.RLIMIT_STACK, 8 * MIB)


def process_limit(resources: WallResources) -> None:
    """Forbid further processes and threads. The kernel does not count those of root: see `not_root`."""
    _cap(resource.RLIMIT_NPROC, 0)


def descriptor_limit(resources: WallResources) -> None:
    """Forbid further descriptors of any kind."""
    _cap(resource.RLIMIT_NOFILE, resources.profile.last_descriptor + 1)


def seccomp(resources: WallResources) -> None:
    """Allow the few system calls of the profile, and reading and writing on its descriptors only."""
    if not resources.filter:
        raise OSError(f"no table of system calls for {kernel.MACHINE}")
    kernel.seccomp(resources.filter)


# --- the list --------------------------------------------------------------------------------------------------

_GRANT_NAMESPACES = (
    "allow unprivileged user namespaces (sysctl user.max_user_namespaces; on Ubuntu also "
    "kernel.apparmor_restrict_unprivileged_userns=0 or a profile with 'userns,'); in a container, use a seccomp "
    "profile that lets unshare, setns, mount and pivot_root pass"
)
_RAISE_KERNEL = "use Linux 5.13 or newer with landlock in the kernel's lsm= list"
_NEED_SECCOMP = "use a Linux kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64"
_ANOTHER_USER = (
    "run the server as an ordinary user (in a container: docker run --user 1000), or as root that may change its "
    "user (CAP_SETUID)"
)
_NEVER_MISSING = "please report this host: the kernel refused a limit that every Linux grants"

FORK_SERVER_WALLS: tuple[Wall, ...] = (
    Wall("not_root", "not root; another user than the server's only where the server is root and may change it",
         not_root, breaches.is_root, _ANOTHER_USER),
    Wall("user_namespace", "capabilities reach nothing outside", user_namespace, breaches.same_namespace("user"),
         _GRANT_NAMESPACES),
    Wall("network_namespace", "no network interface", network_namespace, breaches.reaches_network,
         _GRANT_NAMESPACES),
    Wall("ipc_namespace", "no shared memory of others", ipc_namespace, breaches.same_namespace("ipc"),
         _GRANT_NAMESPACES),
    Wall("host_name_namespace", "no host name", host_name_namespace, breaches.same_namespace("uts"),
         _GRANT_NAMESPACES),
)  # fmt: skip

# Raised around each fork, and around the fork of the fork server itself; see child/zygote.py.
PID_NAMESPACE = Wall("pid_namespace", "no other process can be seen or signalled", pid_namespace,
                     breaches.sees_parent, _GRANT_NAMESPACES)  # fmt: skip

EMPTY_ROOT = Wall("empty_root", "no files: an empty, read-only tree without /proc", empty_root,
                  breaches.sees_files, _GRANT_NAMESPACES)  # fmt: skip

CHILD_WALLS: tuple[Wall, ...] = (
    Wall("own_session", "no terminal, no process group", own_session, breaches.in_old_session, _NEVER_MISSING),
    Wall("descriptors", "one descriptor to speak on", descriptors, breaches.holds_descriptors, _NEVER_MISSING),
    Wall("capabilities", "no privilege of root", capabilities, breaches.names_host, _NEVER_MISSING),
    Wall("dies_with_parent", "no script outlives the server", dies_with_parent, breaches.outlives_parent,
         _NEVER_MISSING),
    Wall("no_new_privileges", "nothing executed gains a privilege", no_new_privileges, breaches.may_gain,
         _NEVER_MISSING),
    Wall("not_dumpable", "other processes cannot trace the child", not_dumpable, breaches.may_be_traced,
         _NEVER_MISSING),
    Wall("landlock", "no files, TCP ports or signals", landlock, breaches.opens_directory, _RAISE_KERNEL),
    Wall("memory_limit", "address space is bounded", memory_limit, breaches.takes_memory, _NEVER_MISSING),
    Wall("cpu_limit", "CPU time is bounded", cpu_limit, breaches.keeps_cpu, _NEVER_MISSING),
    Wall("file_limits", "nothing is written, dumped or locked", file_limits, breaches.writes_files,
         _NEVER_MISSING),
    Wall("process_limit", "no further process or thread", process_limit, breaches.forks, _ANOTHER_USER),
    Wall("descriptor_limit", "no further descriptor of any kind", descriptor_limit,
         breaches.opens_descriptor, _NEVER_MISSING),
    Wall("seccomp", "under thirty system calls, no other", seccomp, breaches.reaches_kernel, _NEED_SECCOMP),
)  # fmt: skip

ALL_WALLS: tuple[Wall, ...] = (*FORK_SERVER_WALLS, PID_NAMESPACE, EMPTY_ROOT, *CHILD_WALLS)
