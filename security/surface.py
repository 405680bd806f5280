"""Runs one attack on a surface outside the sandbox; security/suite.py documents the format of such an attack.

Executed by path, in a process, a session and a folder of its own, with the program on standard input and the name
of the function to call as its argument. The program drives the product as its users do: `winnow` runs the command
line, and any module of the product may be imported.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

_ROOT = str(Path(__file__).parents[2])
BREACHED, HELD = "BREACHED", "HELD"
FUNCTIONS = ("control", "surface")
_WINNOW = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from winnow.server.commands.entry.cli import main; main()"
)
_SECONDS = 240.0
# So that a command leaves no process behind and does not wait for a model.
ALONE = MappingProxyType({"WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off"})


def winnow(
    *arguments: str, environment: Mapping[str, str] = ALONE, given: bytes = b"", seconds: float = _SECONDS
) -> subprocess.CompletedProcess[bytes]:
    """Run `winnow` in the working folder, and capture its output.

    Homes and caches are in that folder, models where ``WINNOW_MODELS`` says. ``environment`` replaces `ALONE`,
    ``given`` is the standard input::

        answer = winnow("ingest", "documents", "--store", "store")
    """
    here = os.getcwd()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "WINNOW_MODELS") if name in os.environ}
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), here)
    return subprocess.run(
        [sys.executable, "-I", "-B", "-c", _WINNOW, _ROOT, *arguments],
        input=given,
        capture_output=True,
        env={**kept, **homes, **environment},
        timeout=seconds,
        check=False,
    )


def main(function: str) -> None:
    """Call the function, and print whether the attack achieved its goal."""
    program = sys.stdin.buffer.read()
    sys.path.insert(0, _ROOT)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, "<attack>", "exec"), names)
    print(BREACHED if names[function]() else HELD, flush=True)
    os.killpg(0, signal.SIGKILL)  # kills this process and everything that the attack left running


if __name__ == "__main__":
    if sys.argv[1] not in FUNCTIONS:
        sys.exit(f"one of {', '.join(FUNCTIONS)}")
    main(sys.argv[1])
