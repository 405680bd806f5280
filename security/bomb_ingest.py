"""Hostile files and their ingest between two harmless ones, for the attacks of the family ``ingest_bombs``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
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


def pdf_of(objects: Iterable[bytes]) -> bytes:
    """A PDF of these objects, which are numbered from 1 as they come; the first is its catalogue."""
    body, starts = b"%PDF-1.5\n", []
    for number, entries in enumerate(objects, 1):
        starts.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, entries)
    rows = b"".join(b"%010d 00000 n \n" % start for start in starts)
    trailer = b"trailer\n<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(starts) + 1, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(starts) + 1, rows, trailer)


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
