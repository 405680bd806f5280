"""The program of a child that parses documents: markup, long texts, and files of the formats in the table.

It also draws pages of a PDF.

Behind walls (``walled_children.py``) a child is forked for each document: the request and the answer travel over
one descriptor, the file is another. Without walls (``confined_process.py``) one process serves requests on its
standard input, opens files by their path, and sets its own limits: memory for the whole process at its start,
processor and wall-clock time for each request that it has read. The kernel ends a process that exceeds its time; a
request that needs more memory is answered with an error.
After a file of a format in the table it says that it is spent, and ends.
"""

from __future__ import annotations

import ctypes
import encodings
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from winnow.server.readers import frames
from winnow.server.readers.bounded_files import open_file
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.failures import TOO_LARGE
from winnow.server.readers.formats.parsed_file import NotForThisReader
from winnow.server.readers.late_imports import LATE_IMPORTS, LateImports
from winnow.server.readers.tasks.table import TASKS, ReaderAnswer, Task

if sys.platform != "win32":
    import resource

MEMORY_BYTES = 1024 * 1024 * 1024
_DESCRIPTORS = 64
_RPC, _DOCUMENT = 3, 4  # of a walled child; see sandbox/walls/profiles.py
_TASKS = "winnow.server.readers.tasks"
# Modules of the standard library that others, and libraries, import at a first use.
_IMPORTED_LATE = (
    "contextvars",
    "decimal",
    "email.parser",
    "hashlib",
    "heapq",
    "importlib.metadata",
    "pickle",
    "pprint",
    "statistics",
    "subprocess",
    "xml.dom.minidom",
    "zipfile",
    "zoneinfo",
)


class TaskModule(Protocol):
    """Protocol of the modules in ``tasks/``."""

    def warm_up(self, *, uses_ocr: bool) -> None:
        """Load what the task opens files for at its first use."""

    def serve(self, request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
        """The answer to a request."""


def _module_of(task: Task) -> TaskModule:
    return cast("TaskModule", importlib.import_module(f"{_TASKS}.{task}"))


# --- behind walls


def warm_up(*, tasks: Sequence[Task], uses_ocr: bool) -> None:
    """Import every codec, and all that these tasks need: a child cannot open their files any more."""
    # Callbacks of native libraries need executable memory. ctypes keeps what it has, and the child gets no more.
    ctypes.CFUNCTYPE(None)(_set_process_limits)
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name not in ("mbcs", "oem"):  # of Windows
            importlib.import_module(f"encodings.{module.name}")
    for name in _IMPORTED_LATE:
        importlib.import_module(name)
    for task in tasks:
        _module_of(task).warm_up(uses_ocr=uses_ocr)


def prepare(*, tasks: Sequence[Task], uses_ocr: bool) -> Callable[[], None]:
    """Open the streams over the descriptors, which the walls forbid; return the function for one request."""
    requests, answers = os.fdopen(_RPC, "rb", closefd=False), os.fdopen(_RPC, "wb", closefd=False)
    return partial(_serve_one, requests, answers, os.fdopen(_DOCUMENT, "rb", closefd=False))


def _serve_one(requests: BinaryIO, answers: BinaryIO, document: BinaryIO) -> None:
    request = frames.load(frames.receive(requests, frames.MAX_REQUEST_BYTES))
    late = LateImports()
    late.watch()
    facts, content = _serve(request, lambda: document)[0]
    _send(answers, ({**facts, LATE_IMPORTS: late.names} if late.names else facts, content))


def _send(stream: BinaryIO, answer: ReaderAnswer) -> None:
    facts, content = answer
    body = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    frames.send(stream, frames.dump(facts), body)


# --- without walls


def main() -> None:
    """Serve requests until standard input ends."""
    requests, answers = _open_streams()
    _set_process_limits()
    while True:
        try:
            request = frames.load(frames.receive(requests, frames.MAX_REQUEST_BYTES))
        except EOFError:
            return
        _set_time_limits(float(request["seconds"]))
        answer, is_spent = _serve(request, partial(_open_document, request))
        _clear_alarm()
        _send(answers, answer)
        frames.send(answers, frames.SPENT if is_spent else b"")
        if is_spent:
            return


def _open_document(request: dict[str, Any]) -> BinaryIO:
    return open_file(Path(request["path"]))


def _open_streams() -> tuple[BinaryIO, BinaryIO]:
    """The request and answer streams, duplicated so that output of a library cannot reach them."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    return requests, answers


def _set_process_limits() -> None:
    if sys.platform == "win32":
        return
    limits = [
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
    ]
    for limit, most in limits:
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))


def _set_time_limits(seconds: float) -> None:
    """Limit the next request to this processor time, and to 4 times as much wall-clock time."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    signal.setitimer(signal.ITIMER_REAL, 4 * seconds)


def _clear_alarm() -> None:
    """Stop the alarm, so that the limit of a request does not end the process while it waits for the next one."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, 0)


# --- requests


def _serve(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> tuple[ReaderAnswer, bool]:
    """The answer, and whether the process must end before another request.

    "flaw" is the reason why the file cannot be read; "failure" is what happened to its reader, and another reader
    may read it.
    """
    task: Task = request["do"]
    assert task in TASKS
    try:
        return _module_of(task).serve(request, open_document), TASKS[task]
    except UnreadableFile as error:
        return ({"flaw": str(error)}, ""), False
    except NotForThisReader as error:
        return ({"failure": str(error)}, ""), False
    except MemoryError:
        return ({"failure": TOO_LARGE}, ""), True
    except RecursionError:
        return ({"failure": "nested too deeply"}, ""), True
    except (
        BaseException
    ) as error:  # of a parser or library, which may still hold memory; a panic is a BaseException
        return ({"failure": f"its parser failed ({type(error).__name__})"}, ""), True
