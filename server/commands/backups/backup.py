"""``winnow backup``: one file with all of a store that cannot be made again from documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from winnow.server.commands.backups.counts import NOT_IN_IT, describe_counts
from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.commands.terminal.stores import settings_of_store, store_option
from winnow.server.text.printable import one_line

app = command()

_EPILOG = """
The file has the claims with their history, the settings of projects and the names of what was ingested into them,
the watched sources (folders, bibliographies, libraries of Zotero), the access keys as the store has them, and the
jobs. It has no documents, passages and vectors: those are made again from your files by winnow ingest; winnow
migrate --to DIR copies them. Nor has it your winnow.toml and the audit files. The file is for its owner alone:
keep it so.

Servers and the engine of the store may go on meanwhile, unlike with winnow migrate.

""" + examples(
    "winnow backup winnow-2026-11.backup", "winnow backup /mnt/backup/winnow.backup --store ~/team --json"
)


@app.command(epilog=_EPILOG)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a new file for the backup")],
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Write one file with all of the store that cannot be made again from documents."""
    from winnow.server.projects.backup.making import make_backup

    with report_errors(as_json=as_json):
        settings = settings_of_store(store)
        report = make_backup(settings.store, file)
    if as_json:
        print_json({"file": str(file), **asdict(report)})
        return
    where = store_option(settings.store)
    print_lines(
        f"{one_line(str(file))}: {describe_counts(report)} ({report.bytes:,} bytes)",
        NOT_IN_IT,
        *(
            f"not in it: the documents of project {name}, which were imported; keep their archive, or run: "
            f"winnow project export {name} FILE{where}"
            for name in report.imported
        ),
        *(
            f"not in it: {name}, which cannot be read; winnow job list{where} says more"
            for name in report.damaged_jobs
        ),
    )
