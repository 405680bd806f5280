"""The execution of a tool pack, from the fields of its file: programs that exist, and checked templates."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import singledispatch
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from winnow.server.tools.operator_packs.pack_files import UnusableFile, find_closed
from winnow.server.tools.operator_packs.records import PackProgram, PackRequest
from winnow.server.tools.operator_packs.specification import CliField, HttpField, NodeField, PythonField
from winnow.server.tools.operator_packs.templates import (
    TemplateRefused,
    check_json_template,
    check_template,
    is_literal,
)

PROGRAM_PATH = "/usr/local/bin:/usr/bin:/bin"
# These read an argument as a program, and what follows the file of a script as its arguments.
_INTERPRETERS = re.compile(
    r"(ba|da|z|k|mk|c|tc|fi|a)?sh|"
    r"(python|pypy|perl|ruby|node|deno|bun|php|lua|awk|gawk|mawk|sed|tclsh|expect|pwsh|julia|Rscript)[0-9.]*t?"
)
# These start what their arguments name, or read any argument as a program.
_STARTERS = re.compile(
    r"env|xargs|timeout|nice|ionice|nohup|setsid|stdbuf|chrt|taskset|time|strace|ltrace|busybox|toybox|parallel|"
    r"sudo|doas|su|runuser|chroot|unshare|nsenter|setpriv|systemd-run|flock|watch|script|ssh|"
    r"make|gdb|vi|vim|nvim|ed|ex|emacs|sqlite3|duckdb|psql|mysql|mariadb"
)
_ORIGIN = re.compile(r"^(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?(?=[/?]|$)")
# They decide how a request is read, or are sent anyway.
_RESERVED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "expect", "upgrade", "te"}
)
# Variables that change what a program loads, and those of this server.
_RESERVED_VARIABLES = re.compile(
    r"^(LD_|DYLD_|PYTHON|NODE_|WINNOW_|BASH_|GIT_SSH|GCONV_|PERL5|RUBY)|^(ENV|IFS|PATH|HOME|TMPDIR)$"
)
_LARGEST_PORT = 65_535
# An argument or an input that is an object or a list of JSON, also as the value of an option ("--data={").
_JSON = re.compile(r'(?:[^\s"={}\[]*=)?\s*(?:(?:\[\s*)*\{\s*"|(?:\[\s*)+")')
_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})

Locate = Callable[[str], Path]


@singledispatch
def build_execution(field: object, find: Locate, variables: Collection[str]) -> PackProgram | PackRequest:
    """Build an execution from its field. ``find`` locates a file of the pack; ``variables`` are those it may name.

    Raises ``UnusableFile`` and ``TemplateRefused``.
    """
    raise TypeError(field)


@build_execution.register
def _(field: CliField, find: Locate, variables: Collection[str]) -> PackProgram:
    name, *arguments = field.cmd
    if not is_literal(name):
        raise UnusableFile("execution.cmd: the program is no template")
    program = _find_program(name, find)
    for place, text in enumerate(arguments, 1):
        _check(text, f"execution.cmd.{place}", variables, is_json=bool(_JSON.match(text)))
    arguments = [str(find(text)) if text.startswith("./") and is_literal(text) else text for text in arguments]
    _check(field.stdin, "execution.stdin", variables, is_json=bool(_JSON.match(field.stdin)))
    if any(not is_literal(text) for text in (*arguments, field.stdin)):
        _check_starter(program)
        _check_interpreter(program, arguments)
    return PackProgram("cli", program, tuple(arguments), field.stdin)


def _check_starter(program: Path) -> None:
    if _STARTERS.fullmatch(program.name):
        raise UnusableFile(
            f"execution.cmd: {program.name} would start, or run, what an input says; name the program itself (its "
            "time and its sizes are limited anyway), or a script of your own"
        )


def _check_interpreter(program: Path, arguments: Sequence[str]) -> None:
    """An input must not become a part of a program: of an interpreter, only what follows a script may insert."""
    first = arguments[0] if arguments else "-"
    # By its own name as well: "/opt/run" may be a link to a shell.
    if not any(_INTERPRETERS.fullmatch(path.name) for path in (program, program.resolve())):
        return
    if is_literal(first) and not first.startswith("-") and Path(first).suffix:
        return
    raise UnusableFile(
        f"execution.cmd: {program.name} would read the input as a program; name a script first, as in "
        f"[{program.name}, ./script.sh, ...], or make the script executable and name it alone: [./script.sh, ...]"
    )


@build_execution.register
def _(field: PythonField, find: Locate, variables: Collection[str]) -> PackProgram:
    if bool(field.script) == bool(field.module):
        raise UnusableFile("execution: name either script or module")
    program = _find_program(field.python, find) if field.python else _own_python(find)
    if field.script:
        return PackProgram("python", program, script=find(field.script))
    module, _, function = field.module.partition(":")
    path = module.replace(".", "/")
    try:
        find(f"{path}.py")
    except UnusableFile:
        find(f"{path}/__init__.py")
    return PackProgram("python", program, module=module, function=function)


@build_execution.register
def _(field: NodeField, find: Locate, variables: Collection[str]) -> PackProgram:
    return PackProgram("node", _find_program(field.nodeBinary or "node", find), script=find(field.node))


@build_execution.register
def _(field: HttpField, find: Locate, variables: Collection[str]) -> PackRequest:
    origin = _ORIGIN.match(field.url)
    if origin is None:
        raise UnusableFile("execution.url: it begins with http:// or https:// and a literal host, without a user")
    if int((origin[3] or ":0")[1:]) > _LARGEST_PORT:
        raise UnusableFile(f"execution.url: a port is at most {_LARGEST_PORT:,}")
    path = field.url[origin.end() :] or "/"
    _check(path, "execution.url", variables, in_url=True)
    for name, text in field.headers.items():
        if name.lower() in _RESERVED_HEADERS:
            raise UnusableFile(f"execution.headers.{name}: winnow sends this header itself")
        _check(text, f"execution.headers.{name}", variables)
    _check(field.body, "execution.body", variables, is_json=True)
    if field.body and field.method == "GET":
        raise UnusableFile("execution.body: a GET has none")
    return PackRequest(field.method, origin[0], path, tuple(field.headers.items()), field.body)


def _own_python(find: Locate) -> Path:
    """The interpreter of this server, or that of the system where it is in root's home: others cannot read it."""
    own = Path(sys.executable)
    is_roots = sys.platform != "win32" and os.geteuid() == 0 and find_closed(own) is not None
    return _find_program("python3", find) if is_roots else own


def _check(
    text: str, place: str, variables: Collection[str], *, in_url: bool = False, is_json: bool = False
) -> None:
    try:
        check_template(text, variables=variables, in_url=in_url)
        if is_json:
            check_json_template(text)
    except TemplateRefused as error:
        raise UnusableFile(f"{place}: {error}") from None


def _find_program(name: str, find: Locate) -> Path:
    """The program of this name: in the pack's folder ("./x"), at an absolute path, or in the usual folders."""
    if name.startswith("."):
        path = find(name)
    else:
        found = shutil.which(name, path=PROGRAM_PATH)
        if found is None or not Path(found).is_absolute():
            raise UnusableFile(f"execution: the program {name!r} is not installed; looked in {PROGRAM_PATH}")
        path = Path(found)
    if not os.access(path, os.X_OK):
        raise UnusableFile(f"execution: {path} is not executable; run: chmod +x {path}")
    return path


def check_variables(names: Sequence[str]) -> None:
    """Raise ``UnusableFile`` for a variable that no pack gets, or that this server does not have."""
    for name in names:
        if _RESERVED_VARIABLES.match(name):
            raise UnusableFile(f"env.passthrough: {name} is never passed on")
        if name not in os.environ:
            raise UnusableFile(f"env.passthrough: the variable {name} is not set for this server")


def ports_of(declared: Sequence[str | int]) -> tuple[int, ...] | Literal["any"]:
    """The TCP ports of what ``caps.network`` declares."""
    if "any" in declared:
        return "any"
    return tuple(sorted({_PORTS[each] if isinstance(each, str) else each for each in declared}))


def check_declared(execution: PackProgram | PackRequest, declared: Sequence[str | int]) -> None:
    """Raise ``UnusableFile`` for a request to an address that ``caps.network`` does not declare."""
    ports = ports_of(declared)
    if isinstance(execution, PackProgram) or ports == "any":
        return
    scheme, _, rest = execution.origin.partition("://")
    port = rest.rpartition(":")[2]
    used = int(port) if port.isdigit() and not rest.endswith("]") else _PORTS[scheme]
    if used not in ports:
        name = next((name for name, number in _PORTS.items() if number == used), str(used))
        raise UnusableFile(f"caps.network: this address needs [{name}]")
