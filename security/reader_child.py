"""A program of reader children that runs the file as Python: what a parser does that a file has taken over.

Attacks of the family ``reader_children`` are such files. Nothing but the walls is between them and the host.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any

RPC, DOCUMENT = 3, 4
_HELPERS = (ctypes, fcntl, json, mmap, os, resource, select, signal, socket, struct, subprocess, threading, time)
_LENGTH = struct.Struct(">I")
# The facts of an answer that the parent accepts; server/ingest/children/answers.py checks them.
FACTS = {
    "title": "",
    "places": [],
    "facts": {},
    "reading": {
        "reader": "attack",
        "pages": 1,
        "hidden_runs": 0,
        "hidden_kept": False,
        "needs_ocr": [],
        "ocr_pages": 0,
        "attachments": [],
        "notes": [],
        "hidden_reasons": {},
    },
}


def warm_up(*, tasks: Sequence[str], uses_ocr: bool) -> None:
    """Import the modules of `_HELPERS`: attacks must fail at the walls, not at an import."""


def prepare(*, tasks: Sequence[str], uses_ocr: bool) -> Callable[[], None]:
    """Open the file; returns what runs it."""
    return partial(run, os.fdopen(DOCUMENT, "rb", closefd=False))


def run(document: IO[bytes]) -> None:
    """Receive the request, run the file with it, and answer with the text that it left in ``found``."""
    (length,) = _LENGTH.unpack(os.read(RPC, _LENGTH.size))
    request = b""
    while len(request) < length:
        request += os.read(RPC, length - len(request))
    document.seek(0)
    names: dict[str, Any] = {"__name__": "__main__", **{module.__name__: module for module in _HELPERS}}
    names |= {"sys": sys, "RPC": RPC, "DOCUMENT": DOCUMENT, "FACTS": FACTS, "send": send, "request": request}
    exec(compile(document.read(), "<file>", "exec"), names)
    send(json.dumps(FACTS).encode())
    send(str(names.get("found", "nothing")).encode())


def send(body: bytes, length: int | None = None) -> None:
    """Send a frame; ``length``: what its head claims."""
    data = _LENGTH.pack(len(body) if length is None else length) + body
    while data:
        data = data[os.write(RPC, data) :]
