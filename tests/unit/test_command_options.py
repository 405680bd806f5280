"""Options of commands: one that takes one value is given once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from winnow.server.commands.entry.cli import COMMANDS


def _lines(line: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, line
    for name, below in getattr(line, "commands", {}).items():
        yield from _lines(below, (*path, name))


def _single_options() -> Iterator[Any]:
    for name, (module, _) in COMMANDS.items():
        app = importlib.import_module(f"winnow.server.commands.{module}").app
        for path, line in _lines(get_command(app), ()):
            for option in line.params:
                is_single = option.param_type_name == "option" and not option.multiple and not option.is_flag
                if is_single and not getattr(option, "count", False):
                    yield pytest.param(
                        app, path, max(option.opts, key=len), id=" ".join((name, *path, option.name))
                    )


@pytest.mark.parametrize(("app", "path", "option"), list(_single_options()))
def test_an_option_with_one_value_is_refused_when_it_is_given_twice(
    app: Any, path: tuple[str, ...], option: str
) -> None:
    told = CliRunner().invoke(app, [*path, option, "1", option, "2"])
    assert (told.exit_code, f"{option} takes one value, and is given 2 times" in told.output) == (2, True)


def test_switches_may_be_repeated_and_lists_have_several_values() -> None:
    app = importlib.import_module("winnow.server.commands.doctor").app
    told = CliRunner().invoke(app, ["--audit", "--json", "--json", "--family", "no", "--family", "none"])
    assert "no family 'no'" in told.output
