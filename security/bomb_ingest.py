"""The ingest of a hostile file between two harmless ones, for the attacks of the family ``ingest_bombs``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from winnow.security.surface import winnow

STORE = ("--store", "store", "--project", "p")
_HANGS_SECONDS = 2.0


def breaks_ingest(
    bomb: Callable[[Path], object], name: str, *, documents: int, is_reported: bool, seconds: float = 110.0
) -> bool:
    """Whether the file that ``bomb(path)`` writes harms the ingest of its folder.

    Unharmed, the command ends with 0 after at most ``seconds``, at least so many ``documents`` are in the index,
    and the failures of its report name the file, or do not, as ``is_reported`` says.
    """
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / name)
    answer = winnow("ingest", "documents", *STORE, "--json", seconds=seconds)
    report = json.loads(answer.stdout)
    failures = [row for row in report["failures"] if row["name"].startswith(name)]
    return answer.returncode != 0 or report["documents"] < documents or bool(failures) is not is_reported


def hangs(program: str, *options: str) -> bool:
    """Whether an unprotected reader, a Python program, still runs after two seconds. Raises where it fails."""
    try:
        subprocess.run(
            [sys.executable, *options, "-c", program], timeout=_HANGS_SECONDS, check=True, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return True
    return False


def is_unreadable(path: Path) -> bool:
    """Whether an unprotected reader fails on this file."""
    try:
        path.read_text()
    except OSError:
        return True
    return False
