"""Runs a file that has taken over its reader, for the attacks of the family ``reader_children``."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

from winnow import SEARCH_PATH
from winnow.security import reader_child
from winnow.server.ingest.children import parser, walled_children
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.ingest.children.reader_pool import ReaderPool
from winnow.server.readers.documents import RawDocument, UnreadableFile
from winnow.server.readers.formats.format_table import Format

BREACHED = "BREACHED"
_PLAIN = (
    "import os, sys; sys.path.insert(0, sys.argv[1]); os.dup2(int(sys.argv[2]), 103); "
    "os.dup2(int(sys.argv[3]), 4); os.dup2(103, 3); "
    "from winnow.security import reader_child; reader_child.prepare(tasks=[], uses_ocr=False)()"
)
_FORMAT = Format("pdf", ("attack",))


def behind_walls(code: str, *more: str, seconds: float = 20.0) -> list[str]:
    """The results of an ingest of files with this code, read in turn: a text, or a reason with "! " before.

    ``seconds``: of processor time for each.
    """
    _set_program(seconds)
    with ParserProcess() as readers:
        return [_read(readers, number, each) for number, each in enumerate((code, *more))]


def behind_walls_in_turn(*codes: str, seconds: float = 20.0) -> list[str]:
    """As ``behind_walls``, but each file is read by an ingest of its own, all with one fork server."""
    _set_program(seconds)
    pool, answers, taken = ReaderPool(), [], []
    for number, code in enumerate(codes):
        with ParserProcess(pool=pool) as readers:
            answers.append(_read(readers, number, code))
            taken.append(readers._walled)
    pool.close()
    if any(each is not taken[0] for each in taken):
        raise RuntimeError("each ingest had a fork server of its own")
    return answers


def _set_program(seconds: float) -> None:
    walled_children.MODULE = reader_child.__name__
    parser._SECONDS = {"read": (seconds, 0.0, seconds)}


def _read(readers: ParserProcess, number: int, code: str) -> str:
    path = Path(f"{number}.attack")
    path.write_text(code)
    try:
        (document,) = readers.read(path, path.name, _FORMAT)
    except UnreadableFile as error:
        if "walls" in str(error):
            raise RuntimeError(str(error)) from None
        return f"! {error}"
    assert isinstance(document, RawDocument)
    return document.text


def breaches(code: str) -> bool:
    """Whether the code leaves BREACHED in ``found`` behind the walls. Raises where it does not even run."""
    ran, answer = behind_walls("found = 'ran'", code)
    if ran != "ran":
        raise RuntimeError(f"a harmless file is not read: {ran}")
    return BREACHED in answer


def breaches_plainly(code: str, seconds: float = 20.0) -> bool:
    """Whether the same code leaves BREACHED in ``found`` in a process without walls."""
    return BREACHED.encode() in answer_plainly(code, seconds)


def answer_plainly(code: str, seconds: float = 20.0) -> bytes:
    """All that the code sends in a process without walls, until it ends or for so many seconds."""
    Path("plain").write_text(code)
    ours, theirs = socket.socketpair()
    with ours, theirs, open("plain", "r+b") as document:
        inherited = [theirs.fileno(), document.fileno()]
        command = [sys.executable, "-B", "-c", _PLAIN, SEARCH_PATH, *map(str, inherited)]
        with subprocess.Popen(command, pass_fds=inherited, stderr=subprocess.DEVNULL) as process:
            theirs.close()
            timer = threading.Timer(seconds, process.kill)
            timer.start()
            ours.sendall(b"\0\0\0\2{}")
            received = bytearray()
            while len(received) < 1 << 28 and (more := _receive(ours)):
                received += more
            process.kill()
            timer.cancel()
    return bytes(received)


def _receive(end: socket.socket) -> bytes:
    try:
        return end.recv(1 << 20)
    except ConnectionError:
        return b""


def peak_mb() -> float:
    """The largest resident memory that this process has had, in MB."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
