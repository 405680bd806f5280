"""The examples of docstrings, run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("client_sdk", "sandbox", "security", "server")
PROGRAMS = ("security/attacks/", "server/data/")  # programs for the sandbox, not modules
WITH_EXAMPLES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text("utf-8") and not path.relative_to(ROOT).as_posix().startswith(PROGRAMS)
)


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_the_examples_of_docstrings_are_true(path: str) -> None:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    results = doctest.testmod(importlib.import_module(f"winnow.{name}"))
    assert (results.failed, results.attempted > 0) == (0, True)
