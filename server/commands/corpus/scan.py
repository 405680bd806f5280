"""``winnow scan``: every match of a pattern in all text, on the shell."""

from __future__ import annotations

from typing import Annotated

import typer

from winnow.server.commands.corpus.narrowing import WhereOption, parse_where
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    report_errors,
)
from winnow.server.settings.loading import load_settings

app = command()


@app.command(
    epilog=examples(
        "winnow scan PodDisruptionBudget --literal",
        "winnow scan 'The router reboots every Sunday at four.' --literal",
        "winnow scan --group-by document -- '--dry-run\\b'",
        "winnow scan '(?i)defaults? to (\\S+)' --group-by 1 --json",
        "winnow scan retry --word --ignore-case --count",
    ),
)
def scan(
    pattern: Annotated[
        str,
        typer.Argument(
            help="a regular expression (RE2), or plain text with --literal; write -- before one that begins with -"
        ),
    ],
    literal: Annotated[bool, typer.Option("--literal", help="the pattern is plain text")] = False,
    word: Annotated[bool, typer.Option("--word", help="whole words only")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", help="case does not matter")] = False,
    path: Annotated[
        str | None, typer.Option("--path", help="only this glob or prefix of the path", show_default=False)
    ] = None,
    where: WhereOption = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            help="count by document, folder, section, match, or a group's name or number",
            show_default=False,
        ),
    ] = None,
    context: Annotated[int, typer.Option("--context", help="characters on each side of a match, 0 to 500")] = 80,
    max_match: Annotated[
        int | None,
        typer.Option(
            "--max-match",
            help="so many characters of a match and of each group, 1 to 200,000",
            show_default="all",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", help="how many rows to show, 1 to 10,000; all are counted")
    ] = 100,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="next_cursor of the last answer", show_default=False)
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="only how many matches there are")] = False,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """List every match of a pattern in all documents, with how many there are: kb_scan on the shell.

    A scan that takes several calls is followed to its end. Ctrl-C ends it with what it has found so far.
    """
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        options = {"literal": literal, "word": word, "case": not ignore_case}
        patterned = {"pattern": pattern, **options, "path": path, "where": parse_where(where or ())}
        from winnow.server.commands.corpus.run_scan import print_counts, print_matches, run_scan

        if count:
            print_counts(run_scan(settings, {**patterned, "context": 0, "limit": 1}), as_json=as_json)
            return
        shown = {"context": context, "max_match": max_match}
        more = {"group_by": group_by, **shown, "limit": limit, "cursor": cursor}
        print_matches(run_scan(settings, {**patterned, **more}), as_json=as_json)
