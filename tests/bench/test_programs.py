"""Every benchmark is listed, and its help has examples."""

from __future__ import annotations

import importlib

import pytest
from typer.testing import CliRunner

from tests.bench.__main__ import list_benchmarks

PROGRAMS = dict(list_benchmarks())
# Of several commands, without options, or with argparse.
SCRIPTS = {"exhaustive", "index", "load", "soak", "watching"}


def test_the_list_names_every_program() -> None:
    peers = {"code_mode", "sandbox_peers", "search_peers"}
    assert set(PROGRAMS) == {
        "altered_quotes",
        "citations",
        "csl",
        "claims",
        "code",
        "engine",
        "graph",
        "hostile_http",
        "ingest",
        "kb",
        "notebook",
        "pdf",
        "scale",
        "scan",
        "verbatim",
        "verdict",
        "walks",
        *peers,
        *SCRIPTS,
    }


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - SCRIPTS))
def test_help_has_examples_and_json(name: str) -> None:
    program = importlib.import_module(f"tests.bench.{name}")
    done = CliRunner().invoke(program.app, ["--help"], terminal_width=200)
    assert (done.exit_code, "--json" in done.output, f"python -m tests.bench.{name}" in done.output) == (
        0,
        True,
        True,
    )
