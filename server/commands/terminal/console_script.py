"""The path of the ``winnow`` command of this installation."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from winnow.server.errors import WinnowError


def find_console_script() -> Path:
    """The ``winnow`` command of this installation: beside this interpreter, or the one that is running."""
    beside = Path(sys.executable).parent / ("winnow.exe" if os.name == "nt" else "winnow")
    running = Path(sys.argv[0]).absolute()
    for candidate in (beside, running):
        if candidate.stem == "winnow" and os.access(candidate, os.X_OK) and candidate.is_file():
            return candidate
    raise WinnowError("NOT_FOUND", f"no winnow command beside {sys.executable}; reinstall: pip install winnow-mcp")
