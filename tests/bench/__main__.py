"""The list of benchmarks: each program of this folder, with the first line of its docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

USAGE = """\
Run one: make bench SUBJECT=kb ARGS="--project notes --json", or python -m tests.bench.kb --project notes --json
Its options and examples: python -m tests.bench.kb --help"""


def list_benchmarks() -> Iterator[tuple[str, str]]:
    """The name and the summary of each benchmark, by name. A program's docstring says how it is run."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        if f"python -m tests.bench.{path.stem}" in text:
            yield path.stem, text.partition("\n")[0]


def main() -> None:
    """Print the list."""
    rows = list(list_benchmarks())
    width = max(len(name) for name, _ in rows)
    print(*(f"{name:<{width}}  {summary}" for name, summary in rows), "", USAGE, sep="\n")


if __name__ == "__main__":
    main()
