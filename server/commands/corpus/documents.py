"""``winnow documents``: every document of the index, or how many there are of each kind."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from winnow.server.commands.corpus.narrowing import WhereOption, parse_where
from winnow.server.commands.terminal.operation import run_operation
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    report_errors,
)
from winnow.server.settings.loading import load_settings
from winnow.server.text.sizes import count_of

app = command()


@app.command(
    epilog=examples(
        "winnow documents",
        "winnow documents 'tasks_*' --sort -tokens",
        "winnow documents --where content_type=task --json",
        "winnow documents --group-by type",
    ),
)
def documents(
    path: Annotated[
        str | None,
        typer.Argument(
            help='a glob ("*" crosses "/") or the beginning of the path; default: all', show_default=False
        ),
    ] = None,
    where: WhereOption = None,
    sort: Annotated[
        str, typer.Option("--sort", help="path, title, created, updated or tokens; - before it: descending")
    ] = "path",
    group_by: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            help="count by type, folder, language, a label or a front-matter field",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="how many rows, 1 to 1,000")] = 200,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="next_cursor of the last answer", show_default=False)
    ] = None,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """List the documents of the index, or count them: kb_documents on the shell."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        arguments = {
            "path": path,
            "where": parse_where(where or ()),
            "sort": sort,
            "group_by": group_by,
            "limit": limit,
            "cursor": cursor,
        }
        run_operation(settings, "kb.documents", arguments, _format_table, as_json=as_json)


def _format_table(payload: dict[str, Any]) -> list[str]:
    total = payload["total"]
    lines = [f"{count_of(total['documents'], 'document')} with {count_of(total['passages'], 'passage')}"]
    for row in payload["results"]:
        if "key" in row:
            lines.append(f"{row['documents']:>9,} {row['passages']:>9,}  {row['key'] or '(none)'}")
        else:
            lines.append(f"{row['tokens']:>9,} {row['passages']:>6,}  {row['file']}  {row['title']}")
    if payload["results"]:
        is_counted = "key" in payload["results"][0]
        head = (
            f"{'documents':>9} {'passages':>9}  key" if is_counted else f"{'tokens':>9} {'parts':>6}  path  title"
        )
        lines.insert(1, head)
    if payload["next_cursor"]:
        lines.append(f"there are more: --cursor {payload['next_cursor']}")
    return lines
