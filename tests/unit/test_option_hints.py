"""An option that a command does not have is refused with a hint at one that it has."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from winnow.server.commands import audit, config, search
from winnow.server.commands.serving import keys


@pytest.mark.parametrize(
    ("app", "arguments", "hint"),
    [
        (search.app, ["backups", "--limit", "5"], "No such option: --limit; did you mean --top-k?"),
        (search.app, ["backups", "--projct", "a"], "No such option: --projct; did you mean --project?"),
        (config.app, ["--store", "x"], "No such option: --store; WINNOW_STORE sets it; the options are: --json"),
        (audit.app, ["--limit", "5"], "No such option: --limit; did you mean --last?"),
        (keys.app, ["list", "--projects", "a"], "the options are: --json, --store"),
    ],
)
def test_an_unknown_option_is_refused_with_one_that_there_is(app: object, arguments: list[str], hint: str) -> None:
    done = CliRunner().invoke(app, arguments)  # type: ignore[arg-type]
    assert (done.exit_code, hint in " ".join(done.output.split())) == (2, True), done.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["backups", "--top-k"], "Option '--top-k' requires an argument."),
        (["backups", "--json=3"], "Option '--json' does not take a value."),
    ],
)
def test_an_option_of_the_command_that_is_used_wrongly_is_not_called_unknown(
    arguments: list[str], told: str
) -> None:
    done = CliRunner().invoke(search.app, arguments)
    shown = " ".join(done.output.split())
    assert (done.exit_code, told in shown, "No such option" in shown) == (2, True, False), done.output
