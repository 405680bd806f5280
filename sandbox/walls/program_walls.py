"""The walls around a program of the operator: it may execute files, fork, write a scratch folder, and little else.

The program and its libraries are the operator's, so they may be any; its input is hostile, and may take it over.
Its walls keep it from what it was not given:

* files: what the system's programs and libraries consist of and what its pack names may be read, one empty folder
  in memory may be written, nothing else may be opened, and no mode, owner, time or attribute of another file is
  changed;
* network: none, or connections to the ports that its pack declares;
* processes: a namespace of their own, whose first process is ours. When that ends, the kernel kills all others, so
  no grandchild outlives its call;
* the kernel: no system call that changes a wall, or that reaches another process or a rarely used part of it.

The order is that of wall_table.py: the user, the namespaces, the mount, and in the program's own process the rest,
with the filter last.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from winnow.sandbox.protocol.limits import MIB

from . import kernel, seccomp, wall_table
from .profiles import ONLINE_PROGRAM, PROGRAM
from .wall_resources import WallResources
from .wall_table import CHILD_WALLS, FORK_SERVER_WALLS, Wall

# Every Linux has this folder for memory files; in the program's own mount namespace it is empty and its own.
SCRATCH = "/dev/shm"
_SCRATCH_BYTES = 64 * MIB
_SCRATCH_FILES = 4_096
_OPEN_FILES = 256
# What programs, libraries and name services read. A path that is not there is left out.
_SYSTEM_FILES = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"),
    *("/etc/localtime", "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/crypto-policies", "/etc/mime.types"),
    *("/dev/zero", "/dev/random", "/dev/urandom"),
)
_NAME_SERVICE_FILES = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"),
    *("/etc/services", "/etc/protocols"),
)
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_MAKE_DEVICES = 1 << 6 | 1 << 11
_FILE_ONLY = _EXECUTE | _WRITE | _READ
_CONNECT = 2
_ALL_PORTS: None = None


@dataclass(slots=True)
class ProgramResources(WallResources):
    """The resources that raising the walls of one program needs.

    ``readable`` are files and folders beside those of the system. ``ports`` are the TCP ports that it may connect
    to: None for all, empty for no network at all.
    """

    readable: Sequence[str] = ()
    ports: Sequence[int] | None = ()
    processes: int = 1
    bounds_address_space: bool = True
    control: int = field(default=-1)

    @property
    def is_online(self) -> bool:
        """Whether it may use the network."""
        return self.ports is None or bool(self.ports)


def collect(resources: ProgramResources) -> None:
    """Open and build what the walls need, while everything can be opened."""
    resources.profile = ONLINE_PROGRAM if resources.is_online else PROGRAM
    resources.null = wall_table.open_null_device()
    resources.filter = seccomp.build_program(resources.profile) if seccomp.is_supported() else b""
    resources.host_namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("user", "ipc", "uts")}


def read_only_files(resources: WallResources) -> None:
    """Make all files read-only in a mount namespace of the program's own.

    Landlock knows neither modes nor owners, times and attributes, which are changed by a path alone.
    """
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, b"/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.make_read_only(b"/")


def scratch(resources: WallResources) -> None:
    """Mount an empty folder in memory that only this program sees, of bounded size."""
    options = f"size={_SCRATCH_BYTES},nr_inodes={_SCRATCH_FILES},mode=700".encode()
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount(b"tmpfs", SCRATCH.encode(), b"tmpfs", flags, options)


def landlock(resources: WallResources) -> None:
    """Allow reading the files of the system and of the pack, writing the scratch folder, and declared ports."""
    assert isinstance(resources, ProgramResources)
    ruleset = wall_table.create_landlock_ruleset(handles_ports=resources.ports is not _ALL_PORTS)
    if ruleset < 0:
        raise OSError("this kernel has no Landlock")
    names = (*_SYSTEM_FILES, *(_NAME_SERVICE_FILES if resources.is_online else ()), *resources.readable)
    for name in names:
        _allow(ruleset, name, _EXECUTE | _READ | _LIST)
    _allow(ruleset, os.devnull, _READ | _WRITE)
    _allow(ruleset, SCRATCH, wall_table.landlock_file_rights() & ~_MAKE_DEVICES)
    if kernel.landlock_version() >= 4:
        for port in resources.ports or ():
            kernel.allow_landlock_port(ruleset, _CONNECT, port)
    kernel.landlock_restrict(ruleset)
    os.close(ruleset)


def _allow(ruleset: int, name: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):
        descriptor = os.open(name, os.O_PATH | os.O_CLOEXEC)
        try:
            is_folder = os.path.isdir(name)
            kernel.allow_landlock_path(ruleset, rights if is_folder else rights & _FILE_ONLY, descriptor)
        finally:
            os.close(descriptor)


def _cap(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def memory_limit(resources: WallResources) -> None:
    """Limit the data of each process, and its address space unless its runtime reserves more than it uses."""
    assert isinstance(resources, ProgramResources)
    _cap(resource.RLIMIT_DATA, resources.limits.memory_bytes)
    if resources.bounds_address_space:
        _cap(resource.RLIMIT_AS, resources.limits.memory_bytes)


def file_limits(resources: WallResources) -> None:
    """Limit the size of files; forbid core dumps, locked memory, message queues and higher priorities."""
    _cap(resource.RLIMIT_FSIZE, _SCRATCH_BYTES)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        _cap(kind, 0)
    for kind in (resource.RLIMIT_NICE, resource.RLIMIT_RTPRIO):
        _cap(kind, 0)


def process_limit(resources: WallResources) -> None:
    """Limit the processes and threads of the program. The kernel counts them within its user namespace."""
    assert isinstance(resources, ProgramResources)
    _cap(resource.RLIMIT_NPROC, resources.processes + _OURS)


def descriptor_limit(resources: WallResources) -> None:
    """Limit the open files of each process."""
    _cap(resource.RLIMIT_NOFILE, _OPEN_FILES)


_OURS = 2  # processes of the namespace that wait for the program

# --- self-tests ------------------------------------------------------------------------------------------------


def _changes_files(resources: WallResources) -> bool:
    mounts = ("/", "/usr", "/tmp", "/home", "/var", "/dev", os.getcwd())
    return not all(os.statvfs(name).f_flag & os.ST_RDONLY for name in mounts if os.path.exists(name))


def _has_no_scratch(resources: WallResources) -> bool:
    statistics = os.statvfs(SCRATCH)
    return statistics.f_blocks * statistics.f_frsize > _SCRATCH_BYTES or bool(os.listdir(SCRATCH))


def _opens_elsewhere(resources: WallResources) -> bool:
    for name, flags in (("/", os.O_RDONLY), ("/etc/passwd", os.O_RDONLY), ("/var/tmp", os.O_RDONLY)):
        with contextlib.suppress(OSError):
            os.close(os.open(name, flags))
            return True
    return False


def _is_unlimited(kind: int) -> bool:
    return resource.getrlimit(kind)[1] == resource.RLIM_INFINITY


def _in_old_processes(resources: WallResources) -> bool:
    return os.getpid() > _OURS + 1


def _breaks_filter(resources: WallResources) -> bool:
    with contextlib.suppress(OSError):
        kernel.unshare(kernel.CLONE_NEWUSER)
        return True
    with contextlib.suppress(OSError):
        socket.socket(socket.AF_UNIX).close()
        return True
    with contextlib.suppress(OSError):
        for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
            end.close()
        return True
    with contextlib.suppress(OSError):
        os.close(os.memfd_create("memory"))
        return True
    return False


# --- the lists -------------------------------------------------------------------------------------------------

_SHARED: Mapping[str, Wall] = {
    wall.name: wall for wall in (*FORK_SERVER_WALLS, *CHILD_WALLS, wall_table.PID_NAMESPACE)
}


def _ours(
    name: str, protects: str, apply: Callable[[WallResources], None], is_breached: Callable[[WallResources], bool]
) -> Wall:
    """A wall of the table with another action, and with the same advice."""
    return Wall(name, protects, apply, is_breached, _SHARED[name].advice)


SCRATCH_WALL = Wall(
    "scratch", "one folder in memory may be written, of bounded size", scratch, _has_no_scratch,
    _SHARED["user_namespace"].advice,
)  # fmt: skip
READ_ONLY_WALL = Wall(
    "read_only_files", "no file is changed, nor its mode, owner, times and attributes", read_only_files,
    _changes_files,
    f"{_SHARED['user_namespace'].advice}, and mount_setattr, as that of winnow doctor --seccomp does",
)  # fmt: skip
PID_WALL = _ours(
    "pid_namespace", "no process outlives the call", _SHARED["pid_namespace"].apply, _in_old_processes
)

# Raised after the namespaces, in this order: the folder in memory is above what is read-only.
MOUNT_WALLS: tuple[Wall, ...] = (READ_ONLY_WALL, SCRATCH_WALL)

# Raised in the process of the program itself, in this order.
PROGRAM_WALLS: tuple[Wall, ...] = (
    _SHARED["own_session"],
    _SHARED["capabilities"],
    _SHARED["no_new_privileges"],
    _ours("landlock", "no files but those of the pack and the system", landlock, _opens_elsewhere),
    _ours("memory_limit", "memory is bounded", memory_limit, lambda _: _is_unlimited(resource.RLIMIT_DATA)),
    _SHARED["cpu_limit"],
    _ours("file_limits", "files have a size limit", file_limits, lambda _: _is_unlimited(resource.RLIMIT_FSIZE)),
    _ours("process_limit", "processes are counted", process_limit, lambda _: _is_unlimited(resource.RLIMIT_NPROC)),
    _ours("descriptor_limit", "open files are counted", descriptor_limit,
          lambda _: _is_unlimited(resource.RLIMIT_NOFILE)),
    _ours("seccomp", "no system call that changes a wall", wall_table.seccomp, _breaks_filter),
)  # fmt: skip


def namespace_walls(resources: ProgramResources) -> tuple[Wall, ...]:
    """The walls of the first process: the user and the namespaces, without the network's where it is declared."""
    return tuple(wall for wall in FORK_SERVER_WALLS if not resources.is_online or wall.name != "network_namespace")


def all_walls(resources: ProgramResources) -> tuple[Wall, ...]:
    """All walls of a program, in the order in which they are raised."""
    return (*namespace_walls(resources), *MOUNT_WALLS, PID_WALL, *PROGRAM_WALLS)
