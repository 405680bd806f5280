"""The runner of the smaller language, Monty: an interpreter in a process with limits, where there are no walls.

The interpreter itself is the first layer: it offers no files, sockets or processes. That is weaker than this
project's boundary, so an operator chooses it by name. Around it are the limits that the system offers, and on
Linux the kernel walls that need no preparation of the host.

``GAPS`` lists the everyday Python that does not run there, as measured with the language tests.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from winnow import SEARCH_PATH
from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.protocol.outcome import SandboxUnavailable

from . import child_process
from .child_process import ClaimedWall, Program, Spawner

INSTALL = "pip install 'winnow-mcp[monty]'"
NOT_INSTALLED = f"the interpreter Monty is not installed: {INSTALL}"
MEASURED_FOR = "1.4.0"

_LINUX = sys.platform == "linux"
_REPORT = "please report this host: the interpreter allowed what it must refuse"
_INTERPRETER = (
    ClaimedWall("interpreter_files", "the language has no files", _REPORT),
    ClaimedWall("interpreter_network", "the language has no sockets", _REPORT),
    ClaimedWall("interpreter_processes", "the language has no processes and no native code", _REPORT),
    ClaimedWall("interpreter_memory", "the interpreter counts its memory", _REPORT),
)
_OTHER_SYSTEM = (
    "only Linux limits a process that runs already; on other systems the parent watches memory and time"
)
_REFUSED = (
    "please report this host: the kernel refused a limit that every Linux grants" if _LINUX else _OTHER_SYSTEM
)
_NOT_COUNTED = (
    "run winnow as an ordinary user (in a container: docker run --user 1000)" if _LINUX else _OTHER_SYSTEM
)
_BOUNDS = (
    ClaimedWall("memory_limit", "address space is bounded", _REFUSED, reinforces=not _LINUX),
    ClaimedWall("cpu_limit", "CPU time is bounded", _REFUSED, reinforces=not _LINUX),
    ClaimedWall("file_limits", "nothing is written or dumped", _REFUSED, reinforces=not _LINUX),
    ClaimedWall("process_limit", "no further process or thread", _NOT_COUNTED, reinforces=not _LINUX),
    ClaimedWall("descriptor_limit", "no further descriptor: no file, no socket", _REFUSED, reinforces=not _LINUX),
)
# Raised where the host allows them; walls/wall_table.py describes each.
_KERNEL_ADVICE = "the host refuses it; the language and the limits stand without it"
_KERNEL = (
    ClaimedWall("not_root", "the interpreter is not root", _KERNEL_ADVICE, reinforces=True),
    ClaimedWall("user_namespace", "capabilities reach nothing outside", _KERNEL_ADVICE, reinforces=True),
    ClaimedWall("network_namespace", "no network interface", _KERNEL_ADVICE, reinforces=True),
    ClaimedWall("ipc_namespace", "no shared memory of others", _KERNEL_ADVICE, reinforces=True),
    ClaimedWall("host_name_namespace", "no host name", _KERNEL_ADVICE, reinforces=True),
    ClaimedWall("capabilities", "no privilege of root", _KERNEL_ADVICE, reinforces=True),
    ClaimedWall("no_new_privileges", "nothing executed gains a privilege", _KERNEL_ADVICE, reinforces=True),
)
CLAIMS = (*_INTERPRETER, *_BOUNDS, *_KERNEL) if _LINUX else (*_INTERPRETER, *_BOUNDS)

# Construct -> what to write instead; measured for MEASURED_FOR by tests/walls/test_monty.py.
GAPS: Mapping[str, str] = MappingProxyType(
    {
        "classes with bases, super()": "classes without bases, functions over dicts",
        "exceptions of your own": "raise ValueError, LookupError or RuntimeError",
        "enumerations, NamedTuple, TypedDict": "strings, dicts, dataclasses, collections.namedtuple",
        "properties, class methods, static methods": "plain methods and functions",
        "comparison, len() and format() of your own objects": "a method with a name",
        "__getattr__ of your own": "a dict and .get()",
        "dataclasses.asdict": "return the object: it becomes a dict",
        "generators, yield": "lists, comprehensions, generator expressions",
        "asyncio.create_task, Semaphore, async with, async for": "asyncio.gather",
        "contextlib": "a class with __enter__ and __exit__",
        "del": "pop() of a list or dict, a new name",
        "functools.wraps": "leave it out",
        "__cause__ of exceptions, except*": "the message of the exception",
        "exceptions with several arguments, SystemExit": "one message; return ends a script",
        "str.maketrans, bytes of a list": "str.replace, str.encode",
        "vars, dir, callable": "dicts",
        "print(file=...), io": "a list of strings and join",
        "from module import *": "import the module",
        "OrderedDict, ChainMap, UserDict": "dict",
        "functions as replacement in re.sub": "re.finditer and join",
        "await of SDK calls": "call them without await: they answer at once",
        "SDKError, MCPClient, pages with fields of their own": "RuntimeError; a page is a plain list of rows",
        "texts that are read as they are reached": "texts(path) of fewer documents: it reads all at once",
        "skills": "write the function into the script",
        "help(name) in a script": "the help tool, by the same name",
    }
)
# Modules of the scripts' allow-list that are missing there.
MISSING_MODULES = (
    "__future__", "abc", "ast", "calendar", "cmath", "collections.abc", "contextlib", "difflib", "enum",
    "fractions", "heapq", "html", "html.parser", "io", "keyword", "logging", "numbers", "operator", "pprint",
    "statistics", "string", "struct", "textwrap", "traceback", "types", "urllib", "urllib.parse", "uuid",
    "warnings", "zlib", "zoneinfo",
)  # fmt: skip


def installed_version() -> str | None:
    """The version of the interpreter on this host, None where it is missing."""
    try:
        return distribution("pydantic-monty").version
    except PackageNotFoundError:
        return None


def find_program() -> Program:
    """The program of a child. SandboxUnavailable where the interpreter is not installed."""
    spec = find_spec("pydantic_monty")
    binary = _find_binary()
    if spec is None or spec.origin is None or binary is None:
        raise SandboxUnavailable(NOT_INSTALLED)
    paths = (SEARCH_PATH, str(Path(spec.origin).resolve().parent.parent))
    return Program("winnow.sandbox.child.monty_child", tuple(dict.fromkeys(paths)), {"binary": str(binary)})


def _find_binary() -> Path | None:
    """The interpreter's executable, as its distribution recorded it: no search, no environment."""
    try:
        runtime: Distribution = distribution("pydantic-monty-runtime")
    except PackageNotFoundError:
        return None
    names = ("monty", "monty.exe")
    paths = [Path(str(runtime.locate_file(file))) for file in runtime.files or () if file.name in names]
    return next((path.resolve() for path in paths if path.is_file()), None)


async def start(limits: Limits) -> Spawner:
    """Try what the language and the limits forbid, and return a runner."""
    program = find_program()
    report = await child_process.run_trial(program, limits)
    return Spawner(program, report, child_process.build_reports(CLAIMS, report["found"]))
