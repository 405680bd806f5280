"""``winnow completion``: completion scripts for shells."""

from __future__ import annotations

from typing import Annotated

import typer

from winnow.server.commands.shell.command_tree import read_tree
from winnow.server.commands.shell.completion_scripts import SCRIPTS
from winnow.server.commands.terminal.output import (
    Json,
    command,
    examples,
    print_json,
    print_text,
    report_errors,
)
from winnow.server.errors import WinnowError

app = command()


@app.command(
    epilog=examples(
        "winnow completion bash > ~/.local/share/bash-completion/completions/winnow",
        'winnow completion zsh > "${fpath[1]}/_winnow"',
        "winnow completion fish > ~/.config/fish/completions/winnow.fish",
    )
)
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish")],
    as_json: Json = False,
) -> None:
    """Print a script that completes commands, options and their words in a shell.

    It holds them as a table, and starts nothing. Write it again after an upgrade.
    """
    with report_errors(as_json=as_json):
        if shell not in SCRIPTS:
            raise WinnowError("INVALID_REQUEST", f"no script for {shell!r}; there are {', '.join(SCRIPTS)}")
        script = SCRIPTS[shell](read_tree())
        if as_json:
            print_json({"shell": shell, "script": script})
        else:
            print_text(script)
