"""``python -m distribution [FOLDER]``: build everything that is published, into ``dist/`` by default."""

from __future__ import annotations

import sys
from pathlib import Path

from distribution.building import build_all
from distribution.facts import ROOT, read_facts


def main(arguments: list[str]) -> None:
    """Build, and print the files with their sizes."""
    for path in build_all(Path(arguments[0]) if arguments else ROOT / "dist"):
        sys.stdout.write(f"{path.stat().st_size:>10,}  {path.name}\n")
    if (facts := read_facts()).has_example_name:
        sys.stderr.write(f"{facts.registry_name}: a namespace of an example; docs/releasing.md has what to do\n")


if __name__ == "__main__":
    main(sys.argv[1:])
