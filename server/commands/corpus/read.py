"""``winnow read``: a document of the index, whole or in pieces."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from winnow.server.commands.terminal.operation import knowledge_of, run_operation
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_text,
    print_to_stderr,
    report_errors,
)
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

app = command()
# Fields of a piece that say where it is.
_PLACE = frozenset({"page_span", "page_labels", "locator", "link"})


@app.command(
    epilog=examples(
        "winnow read guide/backups.md",
        "winnow read guide/backups.md --all > backups.md",
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
            help="only this page, slide, sheet or chapter: its number in the file, from 1, a range, or what is "
            'printed on it: "p. iv"',
            show_default=False,
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", help="length of the piece, 8 to 800")] = 800,
    whole: Annotated[
        bool, typer.Option("--all", help="the text alone, from --start or of --page, up to its end")
    ] = False,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Read a document of the index piece by piece, or one page or several of it: kb_read on the shell."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        arguments = {"document": document, "start": start, "max_tokens": max_tokens, "page": page}
        if whole:
            asyncio.run(_print_all(settings, arguments, as_json=as_json))
            return
        from winnow.server.operations.corpus.reading import render_piece

        run_operation(settings, "kb.read", arguments, render_piece, as_json=as_json)


async def _print_all(settings: Settings, arguments: dict[str, Any], *, as_json: bool) -> None:
    """Print a document up to its end, or pages up to theirs, from as large pieces as scripts may read."""
    from winnow.server.contracts.corpus.reading import MAX_READ_TOKENS
    from winnow.server.operations.knowledge import SCRIPT

    pieces: list[dict[str, Any]] = []
    warnings: dict[str, None] = {}
    async with knowledge_of(settings) as kb:
        caller = kb.caller("shell", SCRIPT)
        asked = {**arguments, "max_tokens": MAX_READ_TOKENS}
        while True:
            answer = await kb.call("kb.read", asked, caller)
            pieces.append(answer.payload)
            warnings |= dict.fromkeys(answer.warnings)
            if not as_json:
                print_text(answer.payload["text"])
            if answer.payload["next"] is None or arguments["page"] is not None:
                break
            asked["start"] = answer.payload["next"]
    if as_json:
        print_json({**_join(pieces), "warnings": list(warnings)})
        return
    print_text("\n")
    print_to_stderr(*(f"warning: {warning}" for warning in warnings))


def _join(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """One piece of several that follow each other."""
    first, last = pieces[0], pieces[-1]
    if first is last:
        return first
    known = {name: value for name, value in first.items() if name not in _PLACE}
    return known | {
        "text": "".join(piece["text"] for piece in pieces),
        "tokens": sum(piece["tokens"] for piece in pieces),
        "end": last["end"],
        "next": last["next"],
    }
