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
