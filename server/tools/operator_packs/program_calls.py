"""The call of a program: its arguments, its environment, its files, from a pack and an input.

Each argument is filled in by itself and stays one argument: there is no shell. An argument that begins with "-"
could be read as an option, so an input cannot make one: the template itself must begin with "-", or stand behind
an argument "--".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from winnow.sandbox.runners.programs import ProgramCall
from winnow.server.settings.settings import default_store
from winnow.server.tools.operator_packs.execution import PROGRAM_PATH
from winnow.server.tools.operator_packs.records import PackProgram, ToolPack
from winnow.server.tools.operator_packs.templates import TemplateRefused, is_literal, render

_SCRATCH = "/dev/shm"  # of the program's own, mounted for each call
_ENVIRONMENT = "pyvenv.cfg"  # the file that makes a folder an environment of Python
_MIB = 1024 * 1024
_END_OF_OPTIONS = "--"
_PRIVATE_VARIABLES = ("WINNOW_STORE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
_ARGUMENT_BYTES = 100_000  # the kernel takes 128 KiB
_RUN_SCRIPT = (
    "import runpy, sys; sys.argv.pop(0); sys.path.insert(0, sys.argv.pop(0)); "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
# What the function prints goes to standard error: the answer alone is standard output.
_CALL_FUNCTION = """\
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
answers, sys.stdout = sys.stdout, sys.stderr
given = json.loads(sys.stdin.readline())["input"]
json.dump(getattr(importlib.import_module(sys.argv[2]), sys.argv[3])(given), answers)
answers.flush()
"""


def template_values(pack: ToolPack, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values that templates of a pack may insert."""
    variables = {name: os.environ.get(name, "") for name in pack.environment}
    return {"input": given, "env": variables, "id": pack.id, "version": pack.version}


def build_call(
    pack: ToolPack, program: PackProgram, given: Mapping[str, Any], stdin: bytes, store: Path
) -> ProgramCall:
    """The call of a pack's program with this input; ``stdin`` is the input as a line of JSON.

    ``store``: the folder of the server's store, which no program reads. Raises ``TemplateRefused`` for an input
    that does not fit.
    """
    variables = template_values(pack, given)["env"]
    return ProgramCall(
        tuple(_arguments(pack, program, given)),
        {
            "PATH": PROGRAM_PATH,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HOME": _SCRATCH,
            "TMPDIR": _SCRATCH,
            **variables,
        },
        _stdin(pack, program, given) if program.stdin else stdin,
        readable=tuple(map(str, _readable(pack, program, store))),
        ports=None if pack.network == "any" else pack.network,
        wall_seconds=pack.bounds.seconds,
        memory_bytes=pack.bounds.memory_bytes,
        processes=pack.bounds.processes,
        output_bytes=pack.bounds.output_bytes,
        bounds_address_space=program.kind != "node",  # it reserves gigabytes and uses little of them
    )


def _arguments(pack: ToolPack, program: PackProgram, given: Mapping[str, Any]) -> Iterator[str]:
    yield str(program.program)
    if program.kind == "cli":
        yield from _fill_in(pack, program, given)
    elif program.kind == "node":
        yield f"--max-old-space-size={pack.bounds.memory_bytes // _MIB}"
        yield str(program.script)
    elif program.script:
        yield from ("-I", "-B", "-c", _RUN_SCRIPT, str(pack.folder), str(program.script))
    else:
        yield from ("-I", "-B", "-c", _CALL_FUNCTION, str(pack.folder), program.module, program.function)


def _fill_in(pack: ToolPack, program: PackProgram, given: Mapping[str, Any]) -> Iterator[str]:
    values = template_values(pack, given)
    options_ended = False
    for template in program.arguments:
        text = template if is_literal(template) else render(template, values)
        if "\0" in text or len(text.encode("utf-8", "surrogatepass")) > _ARGUMENT_BYTES:
            raise TemplateRefused(f"an argument has a NUL, or more than {_ARGUMENT_BYTES:,} bytes")
        if text.startswith("-") and not template.startswith("-") and not options_ended:
            raise TemplateRefused("a value that begins with '-' would be read as an option; begin it otherwise")
        options_ended = options_ended or template == _END_OF_OPTIONS
        yield text


def _stdin(pack: ToolPack, program: PackProgram, given: Mapping[str, Any]) -> bytes:
    return render(program.stdin, template_values(pack, given)).encode("utf-8", "surrogatepass")


def _readable(pack: ToolPack, program: PackProgram, store: Path) -> Iterator[Path]:
    """The files of the pack and of its interpreter. Links are followed by the kernel, so both ends are named."""
    yield from pack.readable
    yield program.program
    yield program.program.resolve()
    if program.script:
        yield program.script
    for folder in (pack.folder, *_prefixes(program)):
        yield from (part for part in _parts(folder, store) if not _holds_private_files(part, store))


def _parts(folder: Path, store: Path) -> Sequence[Path]:
    """The folder, or what a program needs of an environment in which somebody put a store."""
    marker, libraries = folder / _ENVIRONMENT, folder / "lib"
    is_shared = _holds_private_files(folder, store) and marker.is_file() and libraries.is_dir()
    return (marker, libraries) if is_shared else (folder,)


def _prefixes(program: PackProgram) -> Iterator[Path]:
    """The folders of an interpreter: its own, and that of an environment that it belongs to."""
    if program.program == Path(sys.executable):
        yield from map(Path, dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix)))
    elif program.kind != "cli":
        # "/opt/python3.13" for "/opt/python3.13/bin/python".
        own, environment = program.program.resolve().parents[1], program.program.parent.parent
        yield own
        if (environment / _ENVIRONMENT).is_file():
            yield environment


def _holds_private_files(folder: Path, store: Path) -> bool:
    """Whether a folder holds the home, a store, or a folder of settings, data or caches: never for a program.

    A pack can lie in the home itself. An interpreter in "~/bin" has the home as its prefix, one in "~/.local/bin"
    the folder of the default store. ``caps.read`` names what such a program needs.
    """
    home = Path.home()
    private = (
        home,
        store,
        default_store(),
        *(home / name for name in (".config", ".cache", ".local/share", ".ssh")),
    )
    named = (os.environ.get(name, "") for name in _PRIVATE_VARIABLES)
    real = folder.resolve()
    return any(path.resolve().is_relative_to(real) for path in (*private, *map(Path, filter(None, named))))
