"""A process that has imported winnow and waits; each of its forks becomes one process of winnow.

A fork is a child of the process that asked for it, as if that one had started an interpreter: it has the session,
descriptors, folder, environment and arguments of such a start, runs the program as ``__main__`` and ends as an
interpreter does. What differs: all modules are imported, the models of what is asked and answered are built, the
hashes of texts are those of the template, the system shows the template's command line, and modules are not freed.

The template has one thread, no descriptor but its standard streams and its socket, no store and no model.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from tests.starts import client, forking, requests
from winnow.server.commands.entry.cli import COMMANDS
from winnow.server.contracts.schema import flat_schema
from winnow.server.operations.table import OPERATIONS
from winnow.server.text.words import tokens

_ROOT = str(Path(__file__).parents[2])
# A library of numpy starts threads when it is imported, unless this is 1.
_THREADS = "OPENBLAS_NUM_THREADS"
# Beside the commands: what they import when they run.
_MODULES = (
    "mcp",
    "qdrant_edge",
    "snowballstemmer",
    "typer._adapters",
    "typer._click._textwrap",
    "typer._click.decorators",
    "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.h11_impl",
    "winnow.sandbox.runners.fork_server",
    "winnow.sandbox.walls.trial",
    "winnow.security.surface",
    "winnow.server.backends.models.installed.loading",
    "winnow.server.backends.opening",
    "winnow.server.backends.vectors.edge",
    "winnow.server.commands.entry.app",
    "winnow.server.engine.client",
    "winnow.server.engine.process",
    "winnow.server.engine.service",
    "winnow.server.ingest.pipeline",
    "winnow.server.jobs.ingesting",
    "winnow.server.jobs.target",
    "winnow.server.jobs.watching.store_watcher",
    "winnow.server.projects.archive",
    "winnow.server.projects.backup.restoring",
    "winnow.server.projects.rebuilding",
    "winnow.server.projects.transfer",
    "winnow.server.tools.table",
    "winnow.server.transports.http",
    "winnow.server.transports.protocol",
    "winnow.server.transports.stdio",
)


def main(number: int, shared: tuple[Any, ...] | None) -> None:
    """Import winnow, and fork for each request on this socket. Returns in forks alone, at their end.

    ``shared``: a template for the fork servers that forks start.
    """
    channel = socket.socket(fileno=number)
    early = client.find_early(os.environb, _kind())
    os.environ[_THREADS] = "1"
    for name in (*(f"winnow.server.commands.{module}" for module, _ in COMMANDS.values()), *_MODULES):
        importlib.import_module(name)
    del os.environ[_THREADS]
    tokens.encoding_name()  # reads the vocabulary, a table
    _build_models()
    sys.path.remove(_ROOT)  # where the command line has put it
    if (threads := len(os.listdir("/proc/self/task"))) != 1:
        raise RuntimeError(f"a fork would leave {threads - 1} threads behind")
    gc.collect()
    gc.freeze()  # what is never looked at again stays shared
    channel.sendall(os.getpid().to_bytes(4, "little"))
    _end(_run(_serve(channel, early, [client.SharedTemplate.unpack(shared)] if shared else [])))


def _build_models() -> None:
    """Build what pydantic makes of a model when that is used first, and the schemas of arguments."""
    for operation in OPERATIONS.values():
        flat_schema(operation.arguments)
    for model in _find_models(BaseModel):
        if model.__module__.startswith("winnow."):
            model.model_rebuild()


def _find_models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _find_models(each)


def _kind() -> client.Kind:
    return client.Kind(isolated=bool(sys.flags.isolated))


def _serve(
    channel: socket.socket, early: Mapping[bytes, bytes], shared: Sequence[client.SharedTemplate]
) -> requests.Request:
    while (received := requests.receive(channel)) is not None:
        request, descriptors = received
        pid = forking.fork_for_parent()
        if pid == 0:
            forking.arrange_descriptors(request.numbers, descriptors)
            channel.detach()
            forking.take_place(request.folder, has_own_session=request.has_own_session, group=request.group)
            inner = _leave_template(early, shared) if request.starts_others else None
            if inner is None:
                if shared and not request.starts_others:
                    client.install(*shared)
                _dress(request)
                return request
            channel = inner
            continue
        channel.sendall(pid.to_bytes(4, "little"))
        for each in descriptors:
            os.close(each)
    os._exit(0)


def _leave_template(early: Mapping[bytes, bytes], shared: Sequence[client.SharedTemplate]) -> socket.socket | None:
    """Leave a fork as the template of what this process will start. The fork's channel there; None here."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid != 0:
        theirs.close()
        client.install(client.Template(ours, _kind(), early), *shared)
        return None
    ours.close()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.closerange(3, theirs.fileno())
    os.closerange(theirs.fileno() + 1, forking.HIGH)
    return theirs


def _dress(request: requests.Request) -> None:
    """Set what an interpreter sets before it runs the program."""
    os.environ.clear()
    os.environb.update(client.complete_environment(request.environment))
    time.tzset()
    tempfile.tempdir = None
    sys.dont_write_bytecode = "-B" in sys.orig_argv or bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.argv = [request.name, *request.arguments]
    program = ["-c", request.source] if request.name == "-c" else [request.name]
    sys.orig_argv = [*sys.orig_argv[:-2], *program, *request.arguments]
    if not sys.flags.isolated:
        sys.path[0] = str(Path(request.name).resolve().parent) if request.name != "-c" else ""
    system: Any = sys
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _open_stream(number, getattr(sys, f"__{name}__"))
        setattr(system, name, stream)
        setattr(system, f"__{name}__", stream)


def _open_stream(number: int, like: Any) -> Any:
    """A standard stream on this descriptor, with the encoding of the one that the template has."""
    is_direct = like.write_through and number != 0
    mode: Literal["rb", "wb"] = "rb" if number == 0 else "wb"
    raw: Any = open(number, mode, 0 if is_direct else -1, closefd=False)  # noqa: SIM115
    is_lines = not like.write_through and (number == 2 or os.isatty(number))
    stream: Any = io.TextIOWrapper(
        raw, like.encoding, like.errors, newline="\n", line_buffering=is_lines, write_through=like.write_through
    )
    stream.mode = "r" if number == 0 else "w"
    (raw if is_direct else raw.raw).name = like.name
    return stream


def _run(request: requests.Request) -> SystemExit:
    """Run the program as ``__main__``, of which nothing else is left. How it ends."""
    names = vars(sys.modules["__main__"])
    for name in [name for name in names if not name.startswith("__")]:
        del names[name]
    if request.name != "-c":
        names["__file__"] = request.name
    try:
        exec(compile(request.source, "<string>" if request.name == "-c" else request.name, "exec"), names)
    except SystemExit as asked:
        return SystemExit(asked.code)
    return SystemExit(0)


def _end(asked: SystemExit) -> None:
    """End as the interpreter does, but free of all objects only those of the program.

    Most of a short command's time would be copies of shared pages, only to write in them that they are free.
    """
    threading._shutdown()  # waits for the threads of the program
    atexit._run_exitfuncs()
    vars(sys.modules["__main__"]).clear()
    if not isinstance(asked.code, int | None):
        raise asked  # a message
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            raise asked from None  # it says so
    os._exit((asked.code or 0) & 0xFF)
