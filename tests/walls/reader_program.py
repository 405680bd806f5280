"""The program of reader children with readers that fail in every way, for test_reader_children.py."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import BinaryIO

from winnow.server.models import Place, Reading
from winnow.server.readers import child
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.tasks import read
from winnow.server.readers.tasks.table import Task

prepare = child.prepare
_READ: list[bytes] = []


def warm_up(*, tasks: Sequence[Task], uses_ocr: bool) -> None:
    """Start a thread, as libraries do, and register the readers."""
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    read.READERS |= {name.removeprefix("_read_"): read for name, read in globals().items() if "_read_" in name}
    child.warm_up(tasks=tasks, uses_ocr=uses_ocr)


def _parsed(text: str) -> ParsedFile:
    return ParsedFile(text, Reading("test", pages=1), places=(Place(0, "page", 1, "i"),), facts={"author": "A"})


def _read_whole(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    return _parsed(file.read().decode())


def _read_options(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    return _parsed(f"{options.keeps_hidden} {options.passwords} {options.uses_ocr}")


def _read_count(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """How many files this process has read."""
    _READ.append(file.read())
    return _parsed(str(len(_READ)))


def _read_lines(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    return ParsedFile("one\r\ntwo\r\n", Reading("test"), places=(Place(0, "page", 1), Place(5, "page", 2)))


def _read_nothing(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    return ParsedFile(" \n", Reading("test", pages=3, needs_ocr=(1, 2)))


def _read_crash(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    # A signal to oneself is refused behind walls; a wrong address is not.
    import ctypes

    return _parsed(str(ctypes.string_at(0)))


def _read_panic(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    raise BaseException("panicked")


def _read_flaw(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    raise UnreadableFile("encrypted")


def _read_memory(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    return _parsed("x" * (2 << 30))


def _read_loop(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    while True:
        time.monotonic()


def _read_sleep(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    time.sleep(3600)
    return _parsed("late")


def _read_exit(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    os._exit(0)


def _read_signal(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    os.kill(os.getpid(), signal.SIGTERM)
    return _parsed("alive")


def _read_long(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    return _parsed("x" * (17 << 20))


def _read_places(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    return ParsedFile("x", Reading("test"), places=(Place(2, "page", 1),))


def _read_late(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Go on without a module that no child has, as libraries do."""
    with contextlib.suppress(ImportError):
        import tabnanny  # noqa: F401
    return _parsed("less")


def _read_optional(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Go on without a module that is not installed."""
    with contextlib.suppress(ImportError):
        import no_such_module_anywhere  # type: ignore[import-not-found] # noqa: F401
    return _parsed("whole")
