"""``winnow man``: the manual page of all commands."""

from __future__ import annotations

from winnow import __version__
from winnow.server.commands.shell.command_tree import read_tree
from winnow.server.commands.shell.man_page import man_page
from winnow.server.commands.terminal.output import (
    Json,
    command,
    examples,
    print_json,
    print_text,
)

app = command()


@app.command(epilog=examples("winnow man > ~/.local/share/man/man1/winnow.1", "winnow man --json"))
def man(as_json: Json = False) -> None:
    """Print the manual page winnow(1), for man to show: the help of all commands in one page."""
    page = man_page(read_tree(), __version__)
    if as_json:
        print_json({"name": "winnow.1", "page": page})
    else:
        print_text(page)
