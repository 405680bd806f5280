"""The kernel's side of the sandbox: one function per wall, and the ordered list of them.

The order is part of the design, and each step has a reason to be where it is:

* another user first: afterwards no capability is left to misuse, and the process limit counts only for a
  non-zero user;
* namespaces once, in the fork server; each child adds a process namespace of its own;
* the root is emptied before Landlock, which forbids mounting;
* Landlock and seccomp need no_new_privs; the descriptor limit comes after Landlock's descriptor is closed;
* seccomp last, because it forbids raising any of the others.

Every wall carries its self-test, ``breach``: it tries what the wall forbids and says whether that worked. The
fork server runs it before the wall is up (the control: it should work) and behind that wall alone (it must not).
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import resource
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sandbox.protocol.limits import MIB, Limits

from . import kernel
from .seccomp import RPC

DEDICATED_ID = 59_731  # of no distribution's range; inside the 65,536 ids of a rootless container
_NOBODY = 65_534
_LAST_CAPABILITY = 63
_SECUREBITS_LOCKED = 0b11_1111  # no root magic, no setuid fixup, no keeping of capabilities; each locked
_HOST_NAME = "sandbox"


@dataclass(slots=True)
class WallResources:
    """What the walls stand on: descriptors and numbers, gathered by the fork server before /proc is gone."""

    limits: Limits
    rpc: int = RPC
    null: int = -1
    ruleset: int = -1
    filter: bytes = b""
    address_space: int = 0  # bytes the warm fork server itself has mapped
    host_namespaces: dict[str, str] = field(default_factory=dict)

    def with_rpc(self, rpc: int, limits: Limits) -> WallResources:
        """The same ground for one child."""
        return replace(self, rpc=rpc, limits=limits)


@dataclass(frozen=True, slots=True)
class Wall:
    """One wall: what it protects, how it is raised, and the thing it must stop."""

    name: str
    protects: str
    apply: Callable[[WallResources], None]
    is_breached: Callable[[WallResources], bool]
    advice: str


# --- raised once, by the fork server ---------------------------------------------------------------------------


def other_user(ground: WallResources) -> None:
    """A server that runs as root gives its sandbox a user of its own; any other server's user is not root."""
    if os.geteuid() != 0:
        return
    os.setgroups([])
    identity = DEDICATED_ID if _mapped(DEDICATED_ID) else _NOBODY
    os.setresgid(identity, identity, identity)
    os.setresuid(identity, identity, identity)
    # Changing user made /proc/self root's; the id maps are written there.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def _mapped(identity: int) -> bool:
    with open("/proc/self/uid_map") as lines:
        ranges = [tuple(map(int, line.split())) for line in lines]
    return any(inside <= identity < inside + count for inside, _, count in ranges)


def user_namespace(ground: WallResources) -> None:
    """Capabilities from here on reach nothing outside."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def network_namespace(ground: WallResources) -> None:
    """A network without any interface that is up."""
    kernel.unshare(kernel.CLONE_NEWNET)


def ipc_namespace(ground: WallResources) -> None:
    """System V shared memory, semaphores and queues of nobody else."""
    kernel.unshare(kernel.CLONE_NEWIPC)


def host_name_namespace(ground: WallResources) -> None:
    """A host name that says nothing."""
    kernel.unshare(kernel.CLONE_NEWUTS)
    socket.sethostname(_HOST_NAME)


def new_processes(ground: WallResources) -> None:
    """The next process forked is the first of a namespace of its own."""
    kernel.unshare(kernel.CLONE_NEWPID)


def empty_root(ground: WallResources) -> None:
    """An empty, read-only file tree: no /proc, no /dev, nothing."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, b"/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    # /proc is the one directory that surely exists here; the mount is ours alone and becomes the root.
    inert = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount(b"tmpfs", b"/proc", b"tmpfs", inert, b"size=4k,nr_inodes=2,mode=555")
    os.chdir("/proc")
    kernel.pivot_root_here()
    kernel.mount(None, b"/", None, kernel.MS_REMOUNT | kernel.MS_RDONLY | inert)


# --- raised by every child -------------------------------------------------------------------------------------


def own_session(ground: WallResources) -> None:
    """No terminal, and no process group to signal."""
    os.setsid()


def descriptors(ground: WallResources) -> None:
    """One descriptor to speak on, /dev/null for the rest."""
    if ground.rpc != RPC:
        os.dup2(ground.rpc, RPC)
    for standard in (0, 1, 2):
        os.dup2(ground.null, standard)
    if ground.ruleset > RPC:
        kernel.close_from(RPC + 1, ground.ruleset - 1)
    kernel.close_from(max(RPC, ground.ruleset) + 1)


def drop_bounding_capabilities() -> None:
    """In the fork server, for all its children: what `capabilities` gives up cannot be had back."""
    # Without CAP_SETPCAP there is nothing to drop from; no_new_privs keeps it so.
    with contextlib.suppress(PermissionError):
        kernel.prctl(kernel.PR_SET_SECUREBITS, _SECUREBITS_LOCKED)
        for capability in range(_LAST_CAPABILITY + 1):
            try:
                kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
            except OSError as error:
                if isinstance(error, PermissionError):
                    raise
                break  # past the kernel's last one


def capabilities(ground: WallResources) -> None:
    """None left."""
    kernel.prctl(kernel.PR_CAP_AMBIENT, kernel.PR_CAP_AMBIENT_CLEAR_ALL)
    kernel.clear_capabilities()


def dies_with_parent(ground: WallResources) -> None:
    """The kernel kills this process when the one that started it is gone."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def no_new_privileges(ground: WallResources) -> None:
    """Nothing executed from here on gains anything."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def not_dumpable(ground: WallResources) -> None:
    """Nobody but root reads or traces this process, and it leaves no core."""
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def landlock(ground: WallResources) -> None:
    """No file, no TCP port, no signal, no abstract socket, as far as this kernel's Landlock goes."""
    if ground.ruleset < 0:
        raise OSError("this kernel has no Landlock")
    kernel.landlock_restrict(ground.ruleset)
    os.close(ground.ruleset)


_LANDLOCK_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # ABI -> how many rights over files it knows
_LANDLOCK_NETWORK, _LANDLOCK_SCOPE = 0b11, 0b11  # bind and connect; abstract sockets and signals
# Out of the way of 0-3, so that placing those closes nothing; low, for hosts that allow few open files.
_FIRST_MOVED = 16


def open_null_device() -> int:
    """A descriptor of /dev/null."""
    return _moved(os.open(os.devnull, os.O_RDWR))


def _moved(descriptor: int) -> int:
    """The first number from there on that is free: one that is fixed may be another file's already."""
    to = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_MOVED)
    os.close(descriptor)
    return to


def create_landlock_ruleset() -> int:
    """A descriptor of the ruleset that forbids all this kernel can forbid; -1 where there is no Landlock."""
    version = kernel.landlock_version()
    if version == 0:
        return -1
    files = (1 << _LANDLOCK_FILES[min(version, 5)]) - 1
    fields = [files] + [_LANDLOCK_NETWORK] * (version >= 4) + [_LANDLOCK_SCOPE] * (version >= 6)
    return _moved(kernel.landlock_ruleset(fields))


def _cap(kind: int, value: int) -> None:
    """Lower a limit to ``value``, soft and hard; one that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def memory_limit(ground: WallResources) -> None:
    """Address space: what the warm interpreter has mapped, and the script's budget."""
    _cap(resource.RLIMIT_AS, ground.address_space + ground.limits.memory_bytes)


def cpu_limit(ground: WallResources) -> None:
    """Soft and hard at once: the kernel's SIGKILL, which no handler sees."""
    _cap(resource.RLIMIT_CPU, ground.limits.cpu_seconds)


def file_limits(ground: WallResources) -> None:
    """Nothing written, dumped, locked or queued; a stack of 8 MiB."""
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        _cap(kind, 0)
    for kind in (resource.RLIMIT_NICE, resource.RLIMIT_RTPRIO):
        _cap(kind, 0)
    _cap(resource.RLIMIT_STACK, 8 * MIB)


def process_limit(ground: WallResources) -> None:
    """No process and no thread more. The kernel does not count for its own root: see `other_user`."""
    _cap(resource.RLIMIT_NPROC, 0)


def descriptor_limit(ground: WallResources) -> None:
    """Not one descriptor more, of whatever kind."""
    _cap(resource.RLIMIT_NOFILE, RPC + 1)


def seccomp(ground: WallResources) -> None:
    """Under thirty system calls, and reading and writing on one descriptor only."""
    if not ground.filter:
        raise OSError(f"no table of system calls for {kernel.MACHINE}")
    kernel.seccomp(ground.filter)


# --- what each must stop ---------------------------------------------------------------------------------------


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, MemoryError, OverflowError):
        return False
    return True


def _is_root(ground: WallResources) -> bool:
    return 0 in os.getresuid()


def _same_namespace(name: str) -> Callable[[WallResources], bool]:
    return lambda ground: os.readlink(f"/proc/self/ns/{name}") == ground.host_namespaces[name]


def _reaches_network(ground: WallResources) -> bool:
    def connect() -> None:
        # A datagram socket sends nothing when it connects; loopback is simply not there behind the wall.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("127.0.0.1", 9))

    return _works(connect)


def _sees_files(ground: WallResources) -> bool:
    return bool(os.listdir("/"))


def _sees_parent(ground: WallResources) -> bool:
    return os.getppid() != 0


def _in_old_session(ground: WallResources) -> bool:
    return os.getsid(0) != os.getpid()


def _holds_descriptors(ground: WallResources) -> bool:
    others = (number for number in range(RPC + 1, 1024) if number != ground.ruleset)
    return any(_works(lambda number=number: os.fstat(number)) for number in others)  # type: ignore[misc]


def _names_host(ground: WallResources) -> bool:
    return _works(lambda: socket.sethostname(_HOST_NAME))


def _outlives_parent(ground: WallResources) -> bool:
    return False  # PR_SET_PDEATHSIG raises when it fails; the tests kill a server to see it work


def _may_gain(ground: WallResources) -> bool:
    return kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) == 0


def _may_be_traced(ground: WallResources) -> bool:
    return kernel.prctl(kernel.PR_GET_DUMPABLE) != 0


def _opens_directory(ground: WallResources) -> bool:
    return _works(lambda: os.open("/", os.O_RDONLY | os.O_DIRECTORY))


def _takes_memory(ground: WallResources) -> bool:
    # Mapped, never touched: costs nothing.
    return _works(lambda: mmap.mmap(-1, ground.limits.memory_bytes + 256 * MIB, flags=mmap.MAP_PRIVATE | 0x20))


def _keeps_cpu(ground: WallResources) -> bool:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    return hard == resource.RLIM_INFINITY or hard > ground.limits.cpu_seconds


def _writes_files(ground: WallResources) -> bool:
    return resource.getrlimit(resource.RLIMIT_FSIZE) != (0, 0)


def _forks(ground: WallResources) -> bool:
    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return _works(fork)


def _opens_descriptor(ground: WallResources) -> bool:
    return _works(lambda: os.dup(RPC))


def _reaches_kernel(ground: WallResources) -> bool:
    # Neither Landlock nor a namespace minds stat.
    return _works(lambda: os.stat("/"))


def _executes_memory(ground: WallResources) -> bool:
    return _works(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC))


def _opens_unix_socket(ground: WallResources) -> bool:
    return _works(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))


def _leaves_walls(ground: WallResources) -> bool:
    return _works(lambda: kernel.unshare(kernel.CLONE_NEWUSER))


def _signals_parent(ground: WallResources) -> bool:
    return _works(lambda: os.kill(os.getppid() or 1, 0))


# Tried behind all walls together, each in a child of its own; not one may work.
CANARIES: dict[str, Callable[[WallResources], bool]] = {
    "open a directory": _opens_directory,
    "stat a directory": _reaches_kernel,
    "open a datagram socket": _reaches_network,
    "open a unix socket": _opens_unix_socket,
    "fork": _forks,
    "signal a process": _signals_parent,
    "map executable memory": _executes_memory,
    "make a namespace": _leaves_walls,
    "open a descriptor": _opens_descriptor,
}


# --- the list --------------------------------------------------------------------------------------------------

_GRANT_NAMESPACES = (
    "allow unprivileged user namespaces (sysctl user.max_user_namespaces; on Ubuntu also "
    "kernel.apparmor_restrict_unprivileged_userns=0 or a profile with 'userns,'); in a container, use a seccomp "
    "profile that lets unshare, setns, mount and pivot_root pass"
)
_RAISE_KERNEL = "use Linux 5.13 or newer with landlock in the kernel's lsm= list"
_NEED_SECCOMP = "use a Linux kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64"
_NEVER_MISSING = "please report this host: the kernel refused a limit that every Linux grants"

SERVER_WALLS: tuple[Wall, ...] = (
    Wall("other_user", "the sandbox runs as a user that is not root", other_user, _is_root,
         "run the server as an ordinary user, or as root that may change its user (CAP_SETUID)"),
    Wall("user_namespace", "capabilities reach nothing outside", user_namespace, _same_namespace("user"),
         _GRANT_NAMESPACES),
    Wall("network_namespace", "no network interface", network_namespace, _reaches_network,
         _GRANT_NAMESPACES),
    Wall("ipc_namespace", "no shared memory of others", ipc_namespace, _same_namespace("ipc"),
         _GRANT_NAMESPACES),
    Wall("host_name_namespace", "no host name", host_name_namespace, _same_namespace("uts"),
         _GRANT_NAMESPACES),
)  # fmt: skip

# Raised around each fork, and around that of the fork server itself; see zygote.py.
PID_NAMESPACE = Wall("pid_namespace", "no other process can be seen or signalled", new_processes,
                     _sees_parent, _GRANT_NAMESPACES)  # fmt: skip

EMPTY_ROOT = Wall("empty_root", "no files: an empty, read-only tree without /proc", empty_root,
                  _sees_files, _GRANT_NAMESPACES)  # fmt: skip

CHILD_WALLS: tuple[Wall, ...] = (
    Wall("own_session", "no terminal, no process group", own_session, _in_old_session, _NEVER_MISSING),
    Wall("descriptors", "one descriptor to speak on", descriptors, _holds_descriptors, _NEVER_MISSING),
    Wall("capabilities", "no privilege of root", capabilities, _names_host, _NEVER_MISSING),
    Wall("dies_with_parent", "no script outlives the server", dies_with_parent, _outlives_parent,
         _NEVER_MISSING),
    Wall("no_new_privileges", "nothing executed gains a privilege", no_new_privileges, _may_gain,
         _NEVER_MISSING),
    Wall("not_dumpable", "nobody traces the child", not_dumpable, _may_be_traced, _NEVER_MISSING),
    Wall("landlock", "no files, TCP ports or signals", landlock, _opens_directory, _RAISE_KERNEL),
    Wall("memory_limit", "address space is bounded", memory_limit, _takes_memory, _NEVER_MISSING),
    Wall("cpu_limit", "CPU time is bounded", cpu_limit, _keeps_cpu, _NEVER_MISSING),
    Wall("file_limits", "nothing is written, dumped or locked", file_limits, _writes_files, _NEVER_MISSING),
    Wall("process_limit", "no further process or thread", process_limit, _forks,
         "run the server as an ordinary user: the kernel does not limit processes of root"),
    Wall("descriptor_limit", "no further descriptor of any kind", descriptor_limit,
         _opens_descriptor, _NEVER_MISSING),
    Wall("seccomp", "under thirty system calls, no other", seccomp, _reaches_kernel, _NEED_SECCOMP),
)  # fmt: skip

ALL_WALLS: tuple[Wall, ...] = (*SERVER_WALLS, PID_NAMESPACE, EMPTY_ROOT, *CHILD_WALLS)
