"""Starts of winnow by the tests, as forks of a template (``template.py``) in place of new interpreters.

An interpreter needs one second to import what a command uses, and the tests start some thousand. ``install``
replaces what `subprocess` calls to fork and execute: where the program is one of winnow's (``find_program``) and
nothing about the start is unusual, a template forks; everything else is started as ever. The new process is a
child of this one either way, so that waiting, signals and exit codes are the system's own.

A fork server that this process starts (sandbox/runners/launch.py) is a fork, too, of a template of its kind
(``fork_servers.py``): its warm-up is done, and it raises and tests its walls as a start does.

A test of starting itself has the mark ``real_starts``. Each command has one (tests/flow/test_real_starts.py).
"""

from __future__ import annotations

import ast
import ctypes
import os
import re
import resource
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.starts import adoption, forking, requests
from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.runners import launch
from winnow.server.ingest.children.walled_children import program_of_readers
from winnow.server.readers.tasks.table import TASKS

_ROOT = Path(__file__).parents[2]
_TEMPLATE = """
import sys
sys.path.insert(0, {root!r})
from tests.starts import template
template.main({number}, {shared!r})
"""
_WINNOW = Path(sys.executable).with_name("winnow")
# The programs that are started by their path -> whether they start further processes of winnow.
_PROGRAMS = {
    str(_ROOT / "winnow" / "security" / "surface.py"): True,
    str(_ROOT / "tests" / "walls" / "lesser_hosts.py"): False,  # what it starts is to be behind its filter
}
# The programs of ``python -c`` that are winnow.
_SOURCES = frozenset(
    {
        "import winnow.server.commands.entry.cli; winnow.server.commands.entry.cli.main()",
        "from winnow.server.commands.entry.cli import main; main()",
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from winnow.server.commands.entry.cli import main; main()",
    }
)
# How an engine is started (server/engine/launch.py), and what runs the same with ``-c``.
_ENGINE = ["-m", "winnow.server.engine.process"]
_ENGINE_SOURCE = "from winnow.server.engine.process import main; main()"
_LOCALES = (b"LC_ALL", b"LC_CTYPE", b"LANG")
_UTF8 = b"C.UTF-8"
_PR_SET_CHILD_SUBREAPER = 36
# Variables that the interpreter or a library reads while it starts. A start with other values is a real one.
_EARLY = re.compile(
    rb"PYTHON(?!DONTWRITEBYTECODE)|LANG|LC_|TYPER_|_TYPER_|PYDANTIC_|OTEL_|OPENBLAS_|OMP_|NUMPY_|LD_"
)
_ISOLATED = ("-I", "-B")
# A fork server (sandbox/runners/launch.py): its options, and the parts of its program.
_FORK_SERVER = ("-P", "-s", "-S", "-B", "-X", "utf8", "-c")
# The ends of pipes whose closing ends the shared templates.
_LIVES: list[int] = []
_SERVING = re.compile(
    r"(?P<paths>import sys; sys\.path\[:0\] = .+\n)"
    r"(?P<source>from winnow\.sandbox\.child\.zygote import main\n"
    r"main\(\d+, \d+, program='(?P<program>[\w.]+)', options=(?P<options>\{[^{}]*\}), profile=.+\))"
)
_SERVERS_TEMPLATE = """{paths}from tests.starts.fork_servers import main
main({number}, {program!r}, {options})
"""
_SHARED_TEMPLATE = """{paths}from tests.starts.fork_servers import main_shared
main_shared({number}, {life}, {program!r}, {options})
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """The options of the interpreter."""

    isolated: bool

    @property
    def options(self) -> tuple[str, ...]:
        return _ISOLATED if self.isolated else ()


@dataclass(frozen=True, slots=True)
class ServerKind:
    """What fork servers have in common before they raise walls: all but the source of ``main``'s call."""

    paths: str
    program: str
    options: str
    environment: tuple[tuple[bytes, bytes], ...]
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """What an interpreter is asked to run; ``name`` is its path, or ``-c``."""

    kind: Kind | ServerKind
    name: str
    source: str
    arguments: tuple[str, ...]
    starts_others: bool = False


def find_program(
    arguments: Sequence[str], environment: Mapping[bytes, bytes], sources: Collection[str] = _SOURCES
) -> Program | None:
    """The program of winnow that this command line runs; None for any other."""
    if arguments[0] == str(_WINNOW):
        return Program(Kind(isolated=False), arguments[0], _WINNOW.read_text("utf-8"), (*arguments[1:],))
    if arguments[0] != sys.executable:
        return None
    if (*arguments[1:-1],) == _FORK_SERVER:
        return _find_fork_server(arguments[-1], environment)
    isolated = (*arguments[1:3],) == _ISOLATED
    name, *rest = arguments[3 if isolated else 1 :] or [""]
    if name == "-c" and rest and rest[0] in sources:
        return Program(Kind(isolated), name, rest[0], (*rest[1:],))
    if [name, *rest] == _ENGINE:
        return Program(Kind(isolated), "-c", _ENGINE_SOURCE, ())
    if name in _PROGRAMS:
        source = Path(name).read_text("utf-8")
        return Program(Kind(isolated), name, source, (*rest,), starts_others=_PROGRAMS[name])
    return None


def _find_fork_server(source: str, environment: Mapping[bytes, bytes]) -> Program | None:
    if (found := _SERVING.fullmatch(source)) is None:
        return None
    options = ast.literal_eval(found["options"])
    if "tasks" in options:  # those of a start may be any; the template has all
        options["tasks"] = list(TASKS)
    kind = ServerKind(found["paths"], found["program"], repr(options), (*sorted(environment.items()),))
    return Program(kind, "-c", found["source"], ())


def complete_environment(environment: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The environment after a start: Python sets an encoding of UTF-8 where there is none."""
    if find_locale(environment) == _UTF8 and not any(environment.get(name) == _UTF8 for name in _LOCALES):
        return {**environment, b"LC_CTYPE": _UTF8}
    return dict(environment)


def find_locale(environment: Mapping[bytes, bytes]) -> bytes:
    """The locale of characters."""
    asked = next((environment[name] for name in _LOCALES if environment.get(name)), b"C")
    return _UTF8 if asked in (b"C", b"POSIX") and not environment.get(b"LC_ALL") else asked


def find_early(environment: Mapping[bytes, bytes], kind: Kind | ServerKind) -> dict[bytes, bytes]:
    """What of the environment was read before a fork."""
    found = {name: value for name, value in environment.items() if _EARLY.match(name)}
    for name in (*_LOCALES, *(name for name in found if kind.isolated and name.startswith(b"PYTHON"))):
        found.pop(name, None)
    return {**found, b"": find_locale(environment)}


def _describe_process() -> tuple[Any, ...]:
    """What a new process takes from this one and a fork of the template from the template."""
    status = Path("/proc/thread-self/status").read_text("ascii")
    names = ("Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "CapBnd", "CapEff", "NoNewPrivs", "Seccomp")
    lines = [line for line in status.splitlines() if line.partition(":")[0] in names]
    limits = [resource.getrlimit(each) for each in range(16)]
    views = [os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "net", "user", "pid")]
    return (*lines, *limits, *views, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))


@dataclass(slots=True, eq=False)
class Template:
    """A process that forks for this one."""

    channel: socket.socket
    kind: Kind | ServerKind
    early: Mapping[bytes, bytes]
    number: int = 0  # of its process, where that is a child of this one
    _owner: int = field(default_factory=os.getpid)
    _process: tuple[Any, ...] = field(default_factory=_describe_process)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fits(self, environment: Mapping[bytes, bytes]) -> bool:
        """Whether a fork would be what a start would be."""
        return (
            os.getpid() == self._owner
            and find_early(environment, self.kind) == self.early
            and _describe_process() == self._process
        )

    def start(self, request: requests.Request, descriptors: Sequence[int]) -> int:
        """The number of the new process, a child of this one."""
        with self._lock:
            requests.send(self.channel, request, descriptors)
            return int.from_bytes(requests.read(self.channel, 4), "little")

    def close(self) -> None:
        """End the template."""
        self.channel.close()
        if self.number:
            os.waitpid(self.number, 0)


@dataclass(frozen=True, slots=True)
class SharedTemplate:
    """A template of fork servers for all that have its address: commands, whose children these are not."""

    address: str
    kind: ServerKind
    process: tuple[Any, ...]

    def fits(self, environment: Mapping[bytes, bytes]) -> bool:
        """Whether a fork would be what a start would be."""
        early = find_early(dict(self.kind.environment), self.kind)
        return find_early(environment, self.kind) == early and _describe_process() == self.process

    def start(self, request: requests.Request, descriptors: Sequence[int]) -> int:
        """The number of the new process, a child of another one."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.connect(self.address)
            requests.send(channel, request, descriptors)
            pid = int.from_bytes(requests.read(channel, 4), "little")
        adoption.adopt(pid)
        return pid

    def pack(self) -> tuple[Any, ...]:
        """The template as literals of Python, from which ``SharedTemplate.unpack`` makes it again."""
        kind = (self.kind.paths, self.kind.program, self.kind.options, self.kind.environment)
        return self.address, kind, self.process

    @classmethod
    def unpack(cls, packed: tuple[Any, ...]) -> SharedTemplate:
        """The template that was packed."""
        address, kind, process = packed
        return cls(address, ServerKind(*kind), process)

    def close(self) -> None:
        """It ends with the process that started it."""


# The arguments of `subprocess._fork_exec` that are of interest, by place; the others must be as these.
_COMMAND, _CLOSES, _KEPT, _FOLDER, _ENVIRONMENT = 0, 2, 3, 4, 5
_INPUT, _OUTPUT, _ERRORS, _ERROR_PIPE, _OWN_SESSION, _GROUP = 6, 9, 11, 13, 15, 16
_USUAL = {_CLOSES: True, 14: True, 17: None, 18: None, 19: None, 20: -1, 21: None}


@dataclass(slots=True)
class Starter:
    """Forks and executes, in the place of `subprocess._fork_exec`."""

    execute: Callable[..., int]
    templates: dict[Kind | ServerKind, Template | SharedTemplate] = field(default_factory=dict)
    shared: SharedTemplate | None = None
    makes_templates: bool = False
    is_on: bool = True
    sources: Collection[str] = _SOURCES

    def __call__(self, *given: Any) -> int:
        if not self.is_on or any(given[place] != value for place, value in _USUAL.items()):
            return self.execute(*given)
        command = [os.fsdecode(each) for each in given[_COMMAND]]
        environment = _read_environment(given[_ENVIRONMENT])
        program = find_program(command, environment, self.sources)
        template = self._find_template(program.kind) if program else None
        folder = os.getcwdb() if given[_FOLDER] is None else os.fsencode(given[_FOLDER])
        if not program or not template or not template.fits(environment) or not os.access(folder, os.X_OK):
            return self.execute(*given)
        kept = [each for each in given[_KEPT] if each != given[_ERROR_PIPE]]
        streams = [given[place] for place in (_INPUT, _OUTPUT, _ERRORS)]
        request = requests.Request(
            program.name,
            program.source,
            program.arguments,
            environment,
            folder,
            (0, 1, 2, *kept),
            bool(given[_OWN_SESSION]),
            given[_GROUP],
            program.starts_others,
        )
        opened = [number if each < 0 else each for number, each in enumerate(streams)]
        return template.start(request, [*opened, *kept])

    def _find_template(self, kind: Kind | ServerKind) -> Template | SharedTemplate | None:
        if kind not in self.templates and self.makes_templates:
            if isinstance(kind, Kind) and self.shared is None:
                self.shared = start_readers()
            self.templates[kind] = start_template(kind, self.shared)
        return self.templates.get(kind)


def _read_environment(variables: Sequence[bytes] | None) -> dict[bytes, bytes]:
    if variables is None:
        return dict(os.environb)
    return {name: value for name, _, value in (each.partition(b"=") for each in variables)}


def install(*templates: Template | SharedTemplate) -> None:
    """Let these templates fork from now on."""
    replaced: Any = subprocess
    replaced._fork_exec = Starter(replaced._fork_exec, {each.kind: each for each in templates})


@contextmanager
def warm_starts() -> Iterator[Starter]:
    """Within, processes of winnow are forks of templates, which start when they are needed."""
    replaced: Any = subprocess
    starter = Starter(replaced._fork_exec, makes_templates=True, is_on=forking.IS_POSSIBLE)
    replaced._fork_exec = starter
    try:
        yield starter
    finally:
        replaced._fork_exec = starter.execute
        for template in starter.templates.values():
            template.close()


def start_readers() -> SharedTemplate:
    """Start a shared template of the fork servers of readers. It ends with this process."""
    program = program_of_readers(TASKS)
    environment = {os.fsencode(name): os.fsencode(value) for name, value in launch.environment_of(program).items()}
    found = find_program(launch.command_of(0, program, Limits()), environment)
    assert found is not None
    assert isinstance(found.kind, ServerKind)
    kind, address = found.kind, f"\0winnow-{secrets.token_hex(16)}"
    life, theirs = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(128)
        source = _SHARED_TEMPLATE.format(
            paths=kind.paths, number=listener.fileno(), life=life, program=kind.program, options=kind.options
        )
        subprocess.Popen(
            [sys.executable, *_FORK_SERVER, source],
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=[listener.fileno(), life],
        ).returncode = 0  # it outlives what asks whether it has ended
    os.close(life)
    _LIVES.append(theirs)
    return SharedTemplate(address, kind, _describe_process())


def start_template(kind: Kind | ServerKind, shared: SharedTemplate | None = None) -> Template:
    """Start a template; ``shared`` is for what it forks. It ends with this process."""
    ours, theirs = socket.socketpair()
    with theirs, _adoption():
        command, environment = _command_of_template(kind, theirs.fileno(), shared)
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()
        number = int.from_bytes(requests.read(ours, 4), "little")
    if number == process.pid:
        process.returncode = 0  # waited for by its number
    else:
        process.wait()
    return Template(ours, kind, find_early(os.environb if environment is None else environment, kind), number)


@contextmanager
def _adoption() -> Iterator[None]:
    """Within, a template whose parent ends becomes a child of this process."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _command_of_template(
    kind: Kind | ServerKind, number: int, shared: SharedTemplate | None
) -> tuple[list[str], dict[bytes, bytes] | None]:
    """The command line and the environment of a template; None for this process's own."""
    if isinstance(kind, Kind):
        source = _TEMPLATE.format(root=str(_ROOT), number=number, shared=shared and shared.pack())
        return [sys.executable, *kind.options, "-c", source], None
    source = _SERVERS_TEMPLATE.format(paths=kind.paths, number=number, program=kind.program, options=kind.options)
    return [sys.executable, *_FORK_SERVER, source], dict(kind.environment)
