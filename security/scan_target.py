"""A small store to scan, for the attacks of the family ``scanning``."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winnow.security.surface import ALONE, winnow

STORE = ("--store", "store", "--project", "p")
# A walk ends after ten seconds; the rest is for starting the command on a busy machine.
_SECONDS = 45.0
_ENVIRONMENT = {**ALONE, "WINNOW_GRAPH": "off"}


def ingest(files: Mapping[str, str]) -> None:
    """Write these files and ingest them. Raises where that fails."""
    folder = Path("documents")
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    done = winnow("ingest", "documents", *STORE, environment=_ENVIRONMENT)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())


def scan(pattern: str, *options: str, environment: Mapping[str, str] = _ENVIRONMENT) -> dict[str, Any]:
    """The answer to a scan, or its error."""
    done = winnow("scan", *STORE, "--json", *options, "--", pattern, environment=environment)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def stalls(pattern: str, *options: str) -> bool:
    """Whether a scan takes longer than a walk may, however it ends."""
    started = time.monotonic()
    scan(pattern, *options)
    return time.monotonic() - started > _SECONDS


def confined_to(environment: str) -> dict[str, str]:
    """The settings of a server that shows only documents of this environment."""
    return {**_ENVIRONMENT, "WINNOW_ENVIRONMENT": environment}
