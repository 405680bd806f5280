"""Programs that another interpreter runs, for what is installed there and not here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any


def figures_of(python: str, program: str, job: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What ``program`` prints last, as JSON, when ``python`` runs it with ``job`` on its standard input.

    Where there are no figures within so many seconds, ``missing`` says why.
    """
    try:
        done = subprocess.run(
            [python, "-c", program],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        return {"missing": f"{python}: {error.strerror}"}
    except subprocess.TimeoutExpired:
        return {"missing": f"no figures within {seconds:.0f} s"}
    if done.returncode != 0:
        return {"missing": done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"}
    figures: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return figures
