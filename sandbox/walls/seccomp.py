"""The system-call filter of a child: tables of system calls, and the BPF program built from them.

A locked child computes, and reads and writes one descriptor. That takes under thirty calls; any other fails with
EPERM, which turns a late import into an ordinary ImportError. A child that reads a file has five more, on that
file's descriptor and on its own memory (``Profile``). Calls that no honest script makes kill the process
at once, so that the parent sees SIGSYS and can tell an attack from a mistake. A call for another architecture is
fatal as well: its numbers mean other calls.

A program of the operator may be any, so no list of allowed calls would be right. It is refused those calls that
change a wall, reach another process or a rarely used part of the kernel; they fail, because runtimes try some of
them and do without.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from .kernel import MACHINE
from .profiles import DOCUMENT, RPC, Profile

# name -> (x86_64, aarch64); None where the architecture has no such call. Order matters for speed only.
FREE: dict[str, tuple[int | None, int | None]] = {
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "rt_sigreturn": (15, 139),
    "restart_syscall": (219, 128),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "getrandom": (318, 278),
    "sched_yield": (24, 124),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "sigaltstack": (131, 132),
}

# Allowed for some arguments only; see `_check_arguments`.
CHECKED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "recvfrom": (45, 207),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "mmap": (9, 222),
    "mprotect": (10, 226),
}
# In a child that reads a file; see `_reader_checks`.
READER_CHECKED: dict[str, tuple[int | None, int | None]] = {
    "lseek": (8, 62),
    "pread64": (17, 67),
    "futex": (202, 98),
}

# Refused with an error of its own. glibc falls back from clone3 to clone only on ENOSYS; clone itself must fail
# softly, because that turns starting a thread into a RuntimeError.
ANSWERED: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435),
    "clone": (56, 220),
}
# In a child that reads a file, these fail softly as well: allocators name their memory, and a library that aborts
# signals itself before it traps.
READER_ANSWERED: dict[str, tuple[int | None, int | None]] = {"prctl": (157, 167), "tgkill": (234, 131)}
_ANSWERS = {"clone3": errno.ENOSYS}

# Kill the process: no honest script makes these.
FATAL: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    # sockets
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "recvmsg": (47, 212),
    "recvmmsg": (299, 243),
    "shutdown": (48, 210),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "setsockopt": (54, 208),
    "getsockopt": (55, 209),
    # programs and processes
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # the large and fast-moving parts of the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_setup": (206, 0),
    "io_submit": (209, 2),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # the machine
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "ioperm": (173, None),
    "iopl": (172, None),
    # this process's own walls
    "prctl": (157, 167),
    "arch_prctl": (158, None),
    "seccomp": (317, 277),
    "personality": (135, 92),
    "modify_ldt": (154, None),
    "capset": (126, 91),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setgroups": (116, 159),
    "setfsuid": (122, 151),
    "setfsgid": (123, 152),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
    # scheduling and memory placement
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "mlockall": (151, 230),
    # shared memory, semaphores, queues
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # new kinds of descriptors
    "ioctl": (16, 29),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "timer_create": (222, 107),
    "signalfd": (282, None),
    "signalfd4": (289, 74),
    "eventfd": (284, None),
    "eventfd2": (290, 19),
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    "splice": (275, 76),
    "tee": (276, 77),
    "vmsplice": (278, 75),
}

# Fatal for a script, usual for a program: its own processes, sockets that it got (it may not make any), its user.
_USUAL_IN_PROGRAMS = frozenset(
    {
        *("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open", "pidfd_send_signal"),
        *(
            "connect",
            "accept",
            "accept4",
            "bind",
            "listen",
            "sendto",
            "sendmsg",
            "sendmmsg",
            "recvmsg",
        ),
        *("recvmmsg", "shutdown", "getsockname", "getpeername", "setsockopt", "getsockopt"),
        *("execve", "execveat", "fork", "vfork", "prctl", "arch_prctl", "seccomp", "setrlimit", "prlimit64"),
        *(
            "setuid",
            "setgid",
            "setreuid",
            "setregid",
            "setresuid",
            "setresgid",
            "setgroups",
            "setfsuid",
            "setfsgid",
        ),
        *("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "capset"),
        *("setpriority", "sched_setscheduler", "sched_setattr", "mbind", "set_mempolicy", "mlockall"),
        *("ioctl", "mknod", "mknodat", "timer_create"),
        *("signalfd", "signalfd4", "eventfd", "eventfd2", "epoll_create", "epoll_create1"),
        *("splice", "tee", "vmsplice"),
    }
)
# Checked for a program, or answered as by a kernel without the call: runtimes have another way then.
_OTHERWISE_IN_PROGRAMS = frozenset({"socket", "socketpair", "memfd_create"})
DENIED_TO_PROGRAMS: Mapping[str, tuple[int | None, int | None]] = MappingProxyType(
    {name: numbers for name, numbers in FATAL.items() if name not in _USUAL_IN_PROGRAMS | _OTHERWISE_IN_PROGRAMS}
)
# Read by a path alone, which Landlock does not know; answered as by a file system without them.
ATTRIBUTES: dict[str, tuple[int | None, int | None]] = {
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
}
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes
# Families of sockets: internet, and the kernel's list of this host's addresses, which name lookups need. By other
# protocols of that family the kernel lists all sockets of the host, and events of its devices.
_INET, _INET6, _NETLINK, _NETLINK_ROUTE = 2, 10, 16, 0
# Pairs of sockets that stay connected to each other. One of datagrams can send to any path of the host, which no
# namespace and no Landlock hides.
_STREAM, _PACKETS = 1, 5
_SOCKET_TYPE = 0xF  # of the argument's bits; the others are flags

_COLUMN = {"x86_64": 0, "aarch64": 1}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

# The newest call that was looked at for programs, by its number on every architecture: fchmodat2 (Linux 6.6). Some
# later ones list the host's mounts; runtimes do without them, as they must on earlier kernels.
_NEWEST_FOR_PROGRAMS = 452

_CLOCKS = 16  # the kernel numbers no more clocks
_PROT_EXEC, _MAP_SHARED, _MAP_ANONYMOUS, _MSG_DONTWAIT = 4, 0x01, 0x20, 0x40
# Of a process's own memory only: FUTEX_PRIVATE_FLAG with wait, wake, and both by bit set.
_FUTEX_PRIVATE = (128, 129, 137, 138)
_FUTEX_CLOCK_REALTIME = 256

# Offsets into struct seccomp_data; both architectures are little-endian, so the low half of an argument is first.
_NR, _ARCH = 0, 4
_ARGUMENT = [16 + 8 * index for index in range(6)]

_LOAD, _AND, _JUMP_EQ, _JUMP_GE, _JUMP_SET, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _fail_with(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)


_PASS, _REFUSE, _DIE = _op(_RETURN, _ALLOW), _fail_with(errno.EPERM), _op(_RETURN, _KILL)


def _allow_only(argument: int, values: Sequence[int], bits: int = 0xFFFFFFFF) -> bytes:
    """Allow the call if these bits of this argument are one of the values, and refuse it otherwise."""
    tests = b"".join(_op(_JUMP_EQ, value, 0, 1) + _PASS for value in values)
    return _op(_LOAD, _ARGUMENT[argument]) + _op(_AND, bits) + tests + _REFUSE


def _refuse_both(argument: int, one: int, other: int) -> bytes:
    """Refuse the call if this argument has both bits, and allow it otherwise."""
    has_both = _op(_JUMP_SET, one, 0, 2) + _op(_JUMP_SET, other, 0, 1) + _REFUSE
    return _op(_LOAD, _ARGUMENT[argument]) + has_both + _PASS


def _check_arguments(name: str, profile: Profile) -> bytes:
    """The instructions after a match of the call's number: load an argument and decide."""
    if name in ("read", "write"):
        return _allow_only(0, profile.readable if name == "read" else profile.writable)
    if name in ("lseek", "pread64"):
        return _allow_only(0, (DOCUMENT,))
    if name == "futex":
        return _allow_only(1, (*_FUTEX_PRIVATE, *(_FUTEX_CLOCK_REALTIME | value for value in _FUTEX_PRIVATE)))
    if name == "recvfrom":  # reads without waiting only
        if_not_waiting = _op(_LOAD, _ARGUMENT[3]) + _op(_JUMP_EQ, _MSG_DONTWAIT, 0, 1) + _PASS + _REFUSE
        return _op(_LOAD, _ARGUMENT[0]) + _op(_JUMP_EQ, RPC, 1, 0) + _REFUSE + if_not_waiting
    if name.startswith("clock_"):  # the system's clocks and its own; higher numbers are clocks of other processes
        return _op(_LOAD, _ARGUMENT[0]) + _op(_JUMP_GE, _CLOCKS, 0, 1) + _REFUSE + _PASS
    no_exec = _op(_LOAD, _ARGUMENT[2]) + _op(_JUMP_SET, _PROT_EXEC, 0, 1) + _DIE
    if name == "mprotect":
        return no_exec + _PASS
    # Shared pages are those of an object, not of the process. Where one of them stays mapped, all stay in memory,
    # and no limit of the process counts them.
    own = _op(_JUMP_SET, _MAP_SHARED, 1, 0) + _op(_JUMP_SET, _MAP_ANONYMOUS, 1, 0) + _REFUSE + _PASS
    return no_exec + _op(_LOAD, _ARGUMENT[3]) + own


def _match(number: int | None, body: bytes) -> bytes:
    """Run ``body`` for the call with this number; skip it for others. Empty where there is no such call."""
    if number is None:
        return b""
    return _op(_JUMP_EQ, number, 0, len(body) // 8) + body


def _load_number() -> list[bytes]:
    """Load the number of the call, if it is one of this architecture."""
    parts = [
        _op(_LOAD, _ARCH),
        _op(_JUMP_EQ, _AUDIT_ARCH[MACHINE], 1, 0),
        _DIE,
        _op(_LOAD, _NR),
    ]
    return parts + ([_op(_JUMP_GE, _X32_BIT, 0, 1), _DIE] if MACHINE == "x86_64" else [])


def _program_checks(profile: Profile, column: int) -> list[bytes]:
    """The checks that refuse system calls to a program of the operator."""
    no_namespace = _op(_LOAD, _ARGUMENT[0]) + _op(_JUMP_SET, _NEW_NAMESPACES, 0, 1) + _REFUSE + _PASS
    routes = _allow_only(2, (_NETLINK_ROUTE,))
    is_netlink = _op(_LOAD, _ARGUMENT[0]) + _op(_JUMP_EQ, _NETLINK, 0, len(routes) // 8)
    sockets = is_netlink + routes + _allow_only(0, (_INET, _INET6)) if profile.is_online else _REFUSE
    return [
        _op(_JUMP_GE, _NEWEST_FOR_PROGRAMS + 1, 0, 1) + _fail_with(errno.ENOSYS),
        _match(ANSWERED["clone3"][column], _fail_with(errno.ENOSYS)),
        _match(ANSWERED["clone"][column], no_namespace),
        _match(FATAL["socket"][column], sockets),
        _match(FATAL["socketpair"][column], _allow_only(1, (_STREAM, _PACKETS), _SOCKET_TYPE)),
        # Both are memory that no limit of a process counts: files, and pages that stay when they are not mapped.
        _match(FATAL["memfd_create"][column], _fail_with(errno.ENOSYS)),
        _match(CHECKED["mmap"][column], _refuse_both(3, _MAP_SHARED, _MAP_ANONYMOUS)),
        *(_match(numbers[column], _fail_with(errno.ENOTSUP)) for numbers in ATTRIBUTES.values()),
        *(_match(numbers[column], _REFUSE) for numbers in DENIED_TO_PROGRAMS.values()),
    ]


def is_supported() -> bool:
    """Whether the tables cover this machine."""
    return MACHINE in _COLUMN


def build_program(profile: Profile) -> bytes:
    """Build the BPF program of a profile for this machine. KeyError where the tables do not cover it."""
    column = _COLUMN[MACHINE]
    parts = _load_number()
    if profile.executes:
        return b"".join([*parts, *_program_checks(profile, column), _PASS])
    checked = CHECKED | (READER_CHECKED if profile.reads_file else {})
    answered = ANSWERED | (READER_ANSWERED if profile.reads_file else {})
    parts += [_match(numbers[column], _check_arguments(name, profile)) for name, numbers in checked.items()]
    parts += [_match(numbers[column], _PASS) for numbers in FREE.values()]
    parts += [
        _match(numbers[column], _fail_with(_ANSWERS.get(name, errno.EPERM))) for name, numbers in answered.items()
    ]
    parts += [_match(numbers[column], _DIE) for numbers in FATAL.values()]
    return b"".join([*parts, _REFUSE])
