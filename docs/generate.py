"""Writes what repeats the code: the functions of the SDK that call operations, the pages of tools, the SDK, the
playbook and the settings, the tables of the README, the manifests by which clients and registries know winnow, and
the agent skills of the plugin.

    python docs/generate.py            write them
    python docs/generate.py --check    exit 1 where one is stale

The texts for agents and clients live in the code; these pages are the same texts, for people. The SDK is written
first. The pages show it as Python imports it, so an interpreter of their own builds them (``pages.py``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from winnow.server.tools.reference.sdk_source import MODULES, build_module, build_monty_module

FOLDER = Path(__file__).resolve().parent
SDK: Mapping[str, Callable[[], str]] = {
    **{f"../client_sdk/{name}.py": partial(build_module, name) for name in MODULES},
    "../sandbox/child/monty_functions.py": build_monty_module,
}


def write_stale(pages: Mapping[str, Callable[[], str]]) -> int:
    """Write the files that differ from what the code says, or with ``--check`` only name them; return how many."""
    is_check, stale = "--check" in sys.argv[1:], 0
    for name, build in pages.items():
        path, text = FOLDER / name, build()
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale += 1
        sys.stdout.write(f"{name}\n")
        if not is_check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    sys.stdout.flush()
    return stale if is_check else 0


def main() -> int:
    """Write or check the SDK, then the pages. Where the SDK is stale, nothing can be said of its page."""
    if write_stale(SDK):
        return 1
    places = (str(FOLDER.parent), *filter(None, sys.path))  # distribution/ is not installed
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    return subprocess.run([sys.executable, FOLDER / "pages.py", *sys.argv[1:]], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
