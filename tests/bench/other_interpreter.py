"""Benchmark programs for another interpreter, which has packages that this one lacks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any


def run_program(python: str, program: str, job: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The last line that ``program`` prints, parsed as JSON; ``job`` is its standard input.

    Where it fails or takes longer than ``seconds``, the result is ``{"missing": reason}``.
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
