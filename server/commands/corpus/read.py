"""``winnow read``: a document of the index, whole or in pieces."""

from __future__ import annotations

from typing import Annotated

import typer

from server.commands.terminal.operation import run_operation
from server.commands.terminal.output import Json, Project, Store, command, examples, report_errors
from server.settings_loading import load_settings

app = command()


@app.command(
    epilog=examples(
        "winnow read guide/backups.md",
        'winnow read "Backups handbook" --max-tokens 300',
        "winnow read guide/backups.md --start 2400 --json",
        "winnow read slides.pptx --page 12",
        "winnow read report.pdf --page 12-14",
    ),
)
def read(
    document: Annotated[str, typer.Argument(help="its path, its title or its document_id")],
    start: Annotated[int, typer.Option("--start", help="the character to begin at: next of the last piece")] = 0,
    page: Annotated[
        str | None,
        typer.Option(
            "--page",
            metavar="N[-M]",
            help="only this page, slide, sheet or chapter: its number, from 1, or a range",
            show_default=False,
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", help="length of the piece, 8 to 800")] = 800,
    store: Store = None,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Read a document of the index piece by piece, or one page or several of it: kb_read on the shell."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        arguments = {"document": document, "start": start, "max_tokens": max_tokens, "page": page}
        from server.tools.kb_read import render_piece

        run_operation(settings, "kb.read", arguments, render_piece, as_json=as_json)
