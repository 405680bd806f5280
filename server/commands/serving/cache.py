"""``winnow cache``: forget kept answers and rankings of a store, in every process that serves it."""

from __future__ import annotations

from winnow.server.commands.projects.common import open_catalogue
from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.text.sizes import count_of

app = command(
    no_args_is_help=True,
    help="Forget the rankings and answers that servers of a store keep.",
    epilog=examples("winnow cache clear"),
)


@app.callback()
def _have_subcommands() -> None:
    """With a callback, one command stays a subcommand."""


@app.command(epilog=examples("winnow cache clear", "winnow cache clear --store notes --json"))
def clear(store: StoreOption = None, as_json: Json = False) -> None:
    """Have every server of the store rank and answer anew. Cursors of pages that are being read end."""
    with report_errors(as_json=as_json), open_catalogue(store) as opened:
        projects = opened.catalogue.renew_generations()
    if as_json:
        print_json({"store": str(opened.settings.store), "projects": list(projects)})
        return
    print_lines(f"what servers kept of {count_of(len(projects), 'project')} is not used any more")
