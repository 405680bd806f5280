"""The command line of one benchmark."""

from __future__ import annotations

from collections.abc import Callable

import typer

from winnow.server.commands.terminal.output import command


def command_line(run: Callable[..., None], examples: str) -> typer.Typer:
    """A program of one command, whose signature and docstring are its help."""
    app = command()
    app.command(epilog=examples)(run)
    return app
