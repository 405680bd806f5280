"""``help`` in a script: by name, by object, and with bounded length."""

from __future__ import annotations

from typing import Any

import pytest

from winnow.sandbox.child.diagnosis import hints
from winnow.sandbox.child.diagnosis.help_text import help_on
from winnow.server.tools.reference import sdk

pytestmark = pytest.mark.walls


def test_help_prints_the_docstring_of_an_sdk_name_with_its_parameters(bench: Any) -> None:
    code = "help(rerank)\nhelp('rerank')\nimport winnow\nhelp(winnow.rerank)"
    printed = bench.run(code).stdout
    assert printed == f"{help_on('rerank')}\n" * 3
    parameters = "query, rows, top_k=5, threshold=0.0, *, missing='raise', scope=None"
    assert printed.startswith(f"rerank({parameters})\n\nThe best")
    assert bench.run("help(kb.search)").stdout.startswith("kb.search(query, *, top_k=5")


def test_help_of_nothing_lists_every_name_with_a_line(bench: Any) -> None:
    lines = bench.run("help()").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(hints.SDK)
    assert "graph.paths: The paths between nodes" in bench.run("help(graph)").stdout


def test_help_of_what_a_script_made_is_what_that_says_and_is_cut(bench: Any) -> None:
    code = "def f():\n    '''Finds\n    it.'''\nhelp(f)\nhelp(3)\nf.__doc__ = 'x' * 9_000\nhelp(f)\nhelp('rernak')"
    printed = bench.run(code).stdout
    assert printed.startswith("Finds\nit.\n")
    assert ("[... cut here" in printed, len(printed) < 6_000) == (True, True)
    assert printed.endswith("no 'rernak' in the SDK; did you mean 'rerank'?\n")


@pytest.mark.parametrize("name", hints.SDK)
def test_help_inside_a_script_and_the_reference_say_the_same(name: str) -> None:
    """One source: the reference only adds Markdown around the examples."""
    first, _, rest = help_on(name).partition("\n\n")
    assert f"`{first}`" in sdk.explain(name)
    lines = [line.strip() for line in sdk.explain(name).splitlines()]
    assert [
        line for line in rest.replace("``", "`").splitlines() if line.strip() and line.strip() not in lines
    ] == []
