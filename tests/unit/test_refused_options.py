"""Values that an option does not take are refused in plain words."""

from __future__ import annotations

import importlib

import pytest
from typer.testing import CliRunner

from winnow.server.commands.entry.cli import COMMANDS


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("ingest", ("docs", "--environment")),
        ("ingest", ("docs", "--hidden")),
        ("sources", ("add", "docs", "--environment")),
        ("project", ("create", "notes", "--environment")),
        ("project", ("set", "notes", "--environment")),
        ("graph", ("export", "--format")),
    ],
)
def test_a_word_that_an_option_does_not_take_is_refused_in_the_words_of_its_check(
    command: str, arguments: tuple[str, ...]
) -> None:
    app = importlib.import_module(f"winnow.server.commands.{COMMANDS[command][0]}").app
    refused = CliRunner().invoke(app, [*arguments, "office"])
    assert (refused.exit_code, "office" in refused.stderr, "alue error" in refused.stderr) == (2, True, False)
