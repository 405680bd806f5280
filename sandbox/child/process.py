"""The life of a forked child: apply the walls, receive one script, run it, report how it ended, exit.

Nothing of the script is read before the walls are up. After that, descriptor 3 is all that the child can use.
"""

from __future__ import annotations

import importlib
import os
import random
import socket
import sys
from dataclasses import replace
from typing import NoReturn

from sandbox.language.guards import script_builtins
from sandbox.protocol.jobs import ScriptJob
from sandbox.walls.seccomp import RPC
from sandbox.walls.wall_table import Wall, WallResources

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
    *(("_pylong",) if sys.version_info >= (3, 12) else ()),  # for division of integers of many digits
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


def run_locked_child(resources: WallResources, raised: tuple[Wall, ...], *, fence: bool) -> NoReturn:
    """Become a locked child, run one script, and wait to be killed. No finaliser runs, no exit hook."""
    try:
        os.dup2(resources.rpc, RPC)
        alarm.install()
        end = socket.socket(fileno=RPC)  # created before the walls, which forbid asking for its type
        for wall in raised:
            wall.apply(replace(resources, rpc=RPC))
        random.seed(os.urandom(32))  # no two children draw the same numbers
        script_builtins.reseed_identities()
        channel = ChildChannel(end, _exit)
        script.rehearse()
        channel.send_body(script.run(ScriptJob.decode(channel.receive()), channel, fence=fence))
        channel.receive()  # nothing comes: the parent measures this process and kills it
    finally:
        os._exit(0)


def _exit() -> NoReturn:
    """Exit without finalisers."""
    os._exit(0)
