"""A settings file in the working folder, for the attacks of the family ``configuration`` that stop a command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from winnow.security.surface import winnow

_READ = "import tomllib; settings = tomllib.load(open('winnow.toml', 'rb'))"
_READ_SECONDS = 5.0
_COMMAND_SECONDS = 40.0


def stops_unprotected_reader(place: Callable[[], object], *, before: str = "pass", after: str = "pass") -> bool:
    """Whether a program that reads the ``winnow.toml`` of ``place()`` fails, or has not ended after five seconds.

    ``before`` and ``after`` are its further statements; ``after`` may use ``settings``.
    """
    place()
    program = "\n".join((before, _READ, after))
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=_READ_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def stops_winnow(place: Callable[[], object]) -> bool:
    """Whether a `winnow` command fails in the folder of the ``winnow.toml`` of ``place()``."""
    place()
    return winnow("config", "--json", seconds=_COMMAND_SECONDS).returncode != 0
