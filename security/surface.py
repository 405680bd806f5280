"""Runs one attack on a surface outside the sandbox; security/suite.py says how such an attack is written.

Executed by path, in a process, a session and a folder of its own, with the program on standard input and the name
of the function to call as its argument. The program drives the product as its users do: `winnow` runs the command
line, and anything else of the product may be imported.
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

BREACHED, HELD = "BREACHED", "HELD"
FUNCTIONS = ("control", "surface")
_ROOT = str(Path(__file__).parents[1])
_WINNOW = "import sys; sys.path.insert(0, sys.argv.pop(1)); from server.cli import main; main()"
_SECONDS = 120.0
# No process stays behind a command, and none waits for a model.
ALONE = MappingProxyType({"WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off"})


def winnow(
    *arguments: str, environment: Mapping[str, str] = ALONE, given: bytes = b"", seconds: float = _SECONDS
) -> subprocess.CompletedProcess[bytes]:
    """Run `winnow` in the working folder, with what it says caught.

    Homes and caches lie in that folder. ``environment`` takes the place of `ALONE`, ``given`` is standard input::

        answer = winnow("ingest", "documents", "--store", "store")
    """
    here = os.getcwd()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
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
    """Say whether the attack got what it wanted."""
    program = sys.stdin.buffer.read()
    sys.path.insert(0, _ROOT)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, "<attack>", "exec"), names)
    print(BREACHED if names[function]() else HELD, flush=True)
    os.killpg(0, signal.SIGKILL)  # what the attack left running goes with this process


if __name__ == "__main__":
    if sys.argv[1] not in FUNCTIONS:
        sys.exit(f"one of {', '.join(FUNCTIONS)}")
    main(sys.argv[1])
