"""``winnow project export`` and ``import``: one file for a whole project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winnow.server.commands.projects.common import ProjectArgument, collect_figures, open_catalogue, print_project
from winnow.server.commands.terminal.output import (
    EmbedderOption,
    Json,
    StoreOption,
    command,
    complete,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.progress import INTERRUPTED, show_progress
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

app = command()


@app.command(
    epilog="The file holds the settings, the texts, facts and labels of all documents, and the paths of the "
    "sources. It needs neither the original files nor the model to be imported again.\n\n"
    + examples("winnow project export papers papers.zip", "winnow project export team/notes notes.zip --force")
)
def export(
    name: ProjectArgument,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="the archive to write")],
    force: Annotated[bool, typer.Option("--force", help="replace an existing file")] = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Write a project into one file."""
    from winnow.server.projects.transfer import export_project

    with report_errors(as_json=as_json), open_catalogue(store) as opened:
        if path.exists() and not (force and path.is_file()):
            raise WinnowError("INVALID_REQUEST", f"{path} exists already; choose another file, or add --force")
        documents = export_project(opened.settings, opened.catalogue, name, path)
    size = path.stat().st_size
    if as_json:
        print_json({"exported": name, "documents": documents, "path": str(path), "bytes": size})
    else:
        print_lines(f"{name}: {count_of(documents, 'document')} written to {path} ({size:,} bytes)")


@app.command(
    name="import",
    epilog="The whole file is checked before anything is written, and the project is seen only when it is "
    "complete. A project without documents, such as one that was restored, is filled and keeps its settings. "
    "After Ctrl-C or a crash the same command resumes. Sources are not added: the report names them. No "
    "other process may have the store open: end its servers, and the engine that they share, with winnow engine "
    "stop.\n\n"
    + examples("winnow project import papers.zip", "winnow project import papers.zip --name library/papers"),
)
def import_(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="what winnow project export wrote")],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="name of the project; default: that in the file")
    ] = "",
    embedder: EmbedderOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Create a project from an exported file."""
    from winnow.server.backends.opening import open_backends
    from winnow.server.projects.archive import ProjectArchive
    from winnow.server.projects.transfer import import_project

    with report_errors(as_json=as_json):
        settings = load_settings(store=store, embedder=embedder)
        try:
            with path.open("rb") as file:
                archive = ProjectArchive(file, path.name)
                chosen = name or archive.manifest.project
                opened = open_backends(settings, wait_for_model=True)
                try:
                    with show_progress("importing") as on_progress:
                        report = import_project(settings, opened, archive, chosen, on_progress)
                    figures = collect_figures(settings, opened.catalogue, chosen)
                finally:
                    opened.close()
        except OSError as error:
            raise WinnowError("INVALID_REQUEST", f"{path} cannot be read: {error.strerror}") from None
        except KeyboardInterrupt:
            print_to_stderr("", "stopped; finished documents are kept, run the same command again to resume")
            raise typer.Exit(INTERRUPTED) from None
    sources = [one.model_dump() for one in archive.project.sources]
    if as_json:
        print_json({**figures, "archived_sources": sources, "warnings": list(report.warnings)})
        return
    print_project(figures, as_json=False, first="imported")
    paths = [one_line(path) for source in archive.project.sources for path in source.paths]
    print_lines(
        *(complete(f"  it was watched from {path}; to watch that here: winnow sources add") for path in paths)
    )
    print_lines(*map(complete, report.warnings))
