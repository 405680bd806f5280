"""``winnow zotero``: the libraries of Zotero on this machine, and their ingest. Zotero is only read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.ingest.by_engine import run_ingest
from winnow.server.commands.ingest.report import print_report
from winnow.server.commands.terminal.output import (
    FAILED,
    EmbedderOption,
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.progress import INTERRUPTED
from winnow.server.commands.terminal.reading_options import (
    Collections,
    DataFolder,
    Hidden,
    Libraries,
    NoApi,
    Ocr,
    Tags,
    ZoteroApi,
)
from winnow.server.commands.zotero.listing import describe_library, format_row
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings

if TYPE_CHECKING:
    from winnow.server.bibliographies.zotero.choice import ZoteroChoice

app = command(
    no_args_is_help=True,
    help="List the libraries of Zotero on this machine, and put them into the index.",
    epilog=examples("winnow zotero libraries", "winnow zotero ingest --library 'My Library' --collection Thesis"),
)

_EPILOG = """
Reads works with their facts, files, notes and annotations, from a running Zotero (its local API) or from its
database. Zotero is never changed. Run it again at any time: only what changed is read, what left Zotero leaves the
index, and after Ctrl-C it resumes.

Each library is a source of its own: one that is not read keeps its documents. With --collection or --tag only such
works are read and brought in line; the rest of the library stays as it is in the index. A collection is named by
its whole path and has its subcollections in it.

When 25 or more documents and a quarter of a library are gone at once, they are kept; --allow-deletions deletes
them. Linked files are read in your own library, not in those of groups.

Exit code: 0 when something is in the index, even if some files failed (they are listed); 1 when nothing could be
read; 2 for usage; 4 when the index is held by another process or cannot be opened.

""" + examples(
    "winnow zotero ingest",
    'winnow zotero ingest --library "Our group" --project team',
    'winnow zotero ingest --collection "Thesis/Chapter 2" --tag current --json',
    "winnow zotero ingest --data-folder ~/Zotero --no-api --ocr",
)


@app.command(epilog=examples("winnow zotero libraries", "winnow zotero libraries --data-folder ~/Zotero --json"))
def libraries(
    data_folder: DataFolder = None,
    api: ZoteroApi = None,
    no_api: NoApi = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """List the libraries: their works, and which of their files are on this machine."""
    from winnow.server.ingest.zotero.reading import read_libraries

    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        found = read_libraries(make_choice((), (), (), data_folder, api, no_api=no_api), settings.store)
    rows = [describe_library(library) for library in found.libraries]
    failures = [{"library": each.name, "reason": each.reason} for each in found.failures]
    if as_json:
        print_json({"by": found.by, "note": found.note, "libraries": rows, "failures": failures})
        return
    transports = {"api": "read from the running Zotero", "database": "read from Zotero's database"}
    print_lines(transports[found.by], *([found.note] if found.note else []))
    print_lines(*(line for row in rows for line in format_row(row)))
    print_lines(*(f"{each['library']}: {each['reason']}" for each in failures))


@app.command(epilog=_EPILOG)
def ingest(
    library: Libraries = None,
    collection: Collections = None,
    tag: Tags = None,
    data_folder: DataFolder = None,
    api: ZoteroApi = None,
    no_api: NoApi = False,
    project: ProjectOption = None,
    ocr: Ocr = False,
    hidden: Hidden = "drop",
    allow_deletions: Annotated[
        bool, typer.Option("--allow-deletions", help="delete what is gone, however much that is")
    ] = False,
    embedder: EmbedderOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Put libraries of Zotero into the index."""
    from winnow.server.ingest.selection.request import IngestRequest

    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project, embedder=embedder)
        choice = make_choice(library or (), collection or (), tag or (), data_folder, api, no_api=no_api)
        try:
            request = IngestRequest(
                zotero=choice, keeps_hidden=hidden == "keep", uses_ocr=ocr, allow_deletions=allow_deletions
            )
            report = run_ingest(settings, request)
        except KeyboardInterrupt:
            print_to_stderr("", "stopped; finished documents are kept, run the same command again to resume")
            raise typer.Exit(INTERRUPTED) from None
        print_report(report, settings, as_json=as_json)
    if report.failures and not report.documents + report.unchanged:
        raise typer.Exit(FAILED)


def make_choice(
    names: Any, collections: Any, tags: Any, data_folder: Path | None, api: str | None, *, no_api: bool
) -> ZoteroChoice:
    """The choice of Zotero's libraries. Raises ``WinnowError`` for a name that Zotero cannot have."""
    from pydantic import ValidationError

    from winnow.server.bibliographies.zotero.choice import ZoteroChoice

    if api and no_api:
        raise WinnowError("INVALID_REQUEST", "--api and --no-api exclude each other; give one of them")
    try:
        return ZoteroChoice(
            libraries=tuple(names),
            collections=tuple(collections),
            tags=tuple(tags),
            data_folder=str(data_folder.expanduser().absolute()) if data_folder else "",
            api=api or "",
            uses_api=not no_api,
        )
    except ValidationError as error:
        place = error.errors()[0]
        raise WinnowError(
            "INVALID_REQUEST", f"{'.'.join(map(str, place['loc']))}: {place['msg']}; see winnow zotero libraries"
        ) from None
