"""Starts of winnow by the tests, as forks of a template (``template.py``) in place of new interpreters.

An interpreter needs one second to import what a command uses, and the tests start some thousand. ``install``
replaces what `subprocess` calls to fork and execute: where the program is one of `_PROGRAMS` and nothing about the
start is unusual, a template forks; everything else is started as ever. The new process is a child of this one
either way, so that waiting, signals and exit codes are the system's own.

A test of starting itself has the mark ``real_starts``. Each command has one (tests/flow/test_real_starts.py).
"""

from __future__ import annotations

import os
import re
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.starts import forking, requests

_ROOT = Path(__file__).parents[2]
_TEMPLATE = """
import sys
sys.path.insert(0, {root!r})
from tests.starts import template
template.main({number})
"""
_WINNOW = Path(sys.executable).with_name("winnow")
_SURFACE = _ROOT / "winnow" / "security" / "surface.py"
# The programs of ``python -c`` that are winnow.
_SOURCES = frozenset(
    {
        "import winnow.server.cli; winnow.server.cli.main()",
        "from winnow.server.cli import main; main()",
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from winnow.server.cli import main; main()",
    }
)
_LOCALES = (b"LC_ALL", b"LC_CTYPE", b"LANG")
_UTF8 = b"C.UTF-8"
# Variables that the interpreter or a library reads while it starts. A start with other values is a real one.
_EARLY = re.compile(
    rb"PYTHON(?!DONTWRITEBYTECODE)|LANG|LC_|TYPER_|_TYPER_|PYDANTIC_|OTEL_|OPENBLAS_|OMP_|NUMPY_|LD_"
)
_ISOLATED = ("-I", "-B")


@dataclass(frozen=True, slots=True)
class Kind:
    """The options of the interpreter."""

    isolated: bool

    @property
    def options(self) -> tuple[str, ...]:
        return _ISOLATED if self.isolated else ()


@dataclass(frozen=True, slots=True)
class Program:
    """What an interpreter is asked to run; ``name`` is its path, or ``-c``."""

    kind: Kind
    name: str
    source: str
    arguments: tuple[str, ...]
    starts_others: bool = False


def find_program(arguments: Sequence[str], sources: Collection[str] = _SOURCES) -> Program | None:
    """The program of winnow that this command line runs; None for any other."""
    if arguments[0] == str(_WINNOW):
        return Program(Kind(isolated=False), arguments[0], _WINNOW.read_text("utf-8"), (*arguments[1:],))
    if arguments[0] != sys.executable:
        return None
    isolated = (*arguments[1:3],) == _ISOLATED
    name, *rest = arguments[3 if isolated else 1 :] or [""]
    if name == "-c" and rest and rest[0] in sources:
        return Program(Kind(isolated), name, rest[0], (*rest[1:],))
    if name == str(_SURFACE):
        return Program(Kind(isolated), name, _SURFACE.read_text("utf-8"), (*rest,), starts_others=True)
    return None


def complete_environment(environment: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The environment after a start: Python sets an encoding of UTF-8 where there is none."""
    if find_locale(environment) == _UTF8 and not any(environment.get(name) == _UTF8 for name in _LOCALES):
        return {**environment, b"LC_CTYPE": _UTF8}
    return dict(environment)


def find_locale(environment: Mapping[bytes, bytes]) -> bytes:
    """The locale of characters."""
    asked = next((environment[name] for name in _LOCALES if environment.get(name)), b"C")
    return _UTF8 if asked in (b"C", b"POSIX") and not environment.get(b"LC_ALL") else asked


def find_early(environment: Mapping[bytes, bytes], kind: Kind) -> dict[bytes, bytes]:
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
    kind: Kind
    early: Mapping[bytes, bytes]
    process: subprocess.Popen[bytes] | None = None
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
        if self.process is not None:
            self.process.wait()


# The arguments of `subprocess._fork_exec` that are of interest, by place; the others must be as these.
_COMMAND, _CLOSES, _KEPT, _FOLDER, _ENVIRONMENT = 0, 2, 3, 4, 5
_INPUT, _OUTPUT, _ERRORS, _ERROR_PIPE, _OWN_SESSION, _GROUP = 6, 9, 11, 13, 15, 16
_USUAL = {_CLOSES: True, 14: True, 17: None, 18: None, 19: None, 20: -1, 21: None}


@dataclass(slots=True)
class Starter:
    """Forks and executes, in the place of `subprocess._fork_exec`."""

    execute: Callable[..., int]
    templates: dict[Kind, Template] = field(default_factory=dict)
    makes_templates: bool = False
    is_on: bool = True
    sources: Collection[str] = _SOURCES

    def __call__(self, *given: Any) -> int:
        command = [os.fsdecode(each) for each in given[_COMMAND]]
        program = find_program(command, self.sources) if self.is_on else None
        if program is None or any(given[place] != value for place, value in _USUAL.items()):
            return self.execute(*given)
        environment = _read_environment(given[_ENVIRONMENT])
        template = self._find_template(program.kind)
        folder = os.getcwdb() if given[_FOLDER] is None else os.fsencode(given[_FOLDER])
        if template is None or not template.fits(environment) or not os.access(folder, os.X_OK):
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

    def _find_template(self, kind: Kind) -> Template | None:
        if kind not in self.templates and self.makes_templates:
            self.templates[kind] = start_template(kind)
        return self.templates.get(kind)


def _read_environment(variables: Sequence[bytes] | None) -> dict[bytes, bytes]:
    if variables is None:
        return dict(os.environb)
    return {name: value for name, _, value in (each.partition(b"=") for each in variables)}


def install(template: Template) -> None:
    """Let this template fork from now on."""
    replaced: Any = subprocess
    replaced._fork_exec = Starter(replaced._fork_exec, {template.kind: template})


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


def start_template(kind: Kind) -> Template:
    """Start a template. It ends with this process."""
    ours, theirs = socket.socketpair()
    with theirs:
        source = _TEMPLATE.format(root=str(_ROOT), number=theirs.fileno())
        command = [sys.executable, *kind.options, "-c", source]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    requests.read(ours, 1)
    return Template(ours, kind, find_early(os.environb, kind), process)
