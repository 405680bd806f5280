"""The program of a fork server for scripts: each child receives one script, runs it and reports how it ended.

Nothing of the script is read before the walls are up. After that, descriptor 3 is all that the child can use.
"""

from __future__ import annotations

import importlib
import os
import random
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from winnow.sandbox.child.guards import script_builtins
from winnow.sandbox.protocol.jobs import ScriptJob
from winnow.sandbox.walls.profiles import RPC

from . import script
from .alarm import alarm
from .channel import ChildChannel

# Modules that the standard library imports only when a function runs, for functions that scripts may reach.
LATE_IMPORTS = (
    "_strptime", "stringprep", "unicodedata", "zlib", "struct", "locale", "linecache", "tokenize", "traceback",
    "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.punycode", "encodings.raw_unicode_escape",
    "encodings.unicode_escape", "encodings.utf_16", "encodings.utf_16_be", "encodings.utf_16_le",
    "encodings.utf_32", "encodings.utf_8_sig", "encodings.cp1252", "encodings.cp437", "encodings.iso8859_15",
    "encodings.hex_codec", "encodings.base64_codec", "encodings.rot_13",
    # For division of integers of many digits, and for seeds that are text.
    *(("_pylong", "_sha2") if sys.version_info >= (3, 12) else ()),
)  # fmt: skip
# Modules for scripts without the fence: the attacks of the tests must fail at the walls, not at an import.
_RAW_IMPORTS = (
    "ctypes", "fcntl", "mmap", "multiprocessing.popen_fork", "multiprocessing.synchronize", "os", "pwd",
    "resource", "select", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "pathlib",
    "glob", "urllib.request", "http.client", "pickle", "inspect", "gc", "importlib", "asyncio", "zipfile",
)  # fmt: skip


def warm_up(*, fence: bool) -> None:
    """Import and compile what every child needs. Runs once, in the fork server."""
    for name in LATE_IMPORTS if fence else LATE_IMPORTS + _RAW_IMPORTS:
        importlib.import_module(name)
    script.warm_up()


def prepare(*, fence: bool) -> Callable[[], None]:
    """Do the work that the walls forbid, in a new child; return the function to run behind the walls."""
    alarm.install()
    end = socket.socket(fileno=RPC)  # it asks the kernel for its type, which the walls forbid
    return partial(_run_script, end, fence=fence)


def _run_script(end: socket.socket, *, fence: bool) -> None:
    """Run one script, and wait to be killed."""
    random.seed(os.urandom(32))  # no two children draw the same numbers
    script_builtins.reseed_identities()
    channel = ChildChannel(end, _exit)
    script.prefault()
    channel.send_body(script.run(ScriptJob.decode(channel.receive()), channel, fence=fence))
    channel.receive()  # nothing comes: the parent measures this process and kills it


def _exit() -> NoReturn:
    """Exit without finalisers."""
    os._exit(0)
