"""``winnow reindex``: embed every chunk of a store again while the former index goes on answering."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from winnow.server.commands.engine import engine_warnings
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
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.projects.rebuilding import ReindexReport

app = command()

_EPILOG = """
For another embedding model, or where the vectors were lost: every chunk of every project is embedded from the text
that the store keeps, into a second set of vectors; no file is read. The former set answers until the second one is
whole and takes its place in one step. After Ctrl-C or a crash the same command resumes. Projects that were deleted
are removed first, and cannot be restored afterwards.

Servers that run, and the engine that they share, take vectors of their own model with their next search. Those of
another model they leave closed, and go on with the former ones: give them the same --embedder, or set it once in
winnow.toml, and restart them (winnow engine stop).

Exit code: 0 when the store has its vectors; 2 for usage; 4 when another process writes to the store or there is no
model.

""" + examples(
    "winnow reindex",
    "winnow reindex --embedder onnx:models/bge-small --json",
    "winnow reindex --embedder openai:http://localhost:11434/v1#nomic-embed-text",
)


_TAKES = (
    "takes the new vectors with its next search; with another --embedder than this it goes on with the former "
    "ones until: winnow engine stop"
)


@app.command(epilog=_EPILOG)
def reindex(embedder: EmbedderOption = None, store: StoreOption = None, as_json: Json = False) -> None:
    """Embed every chunk in the store again."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, embedder=embedder)
        try:
            done = run_reindex(settings)
        except KeyboardInterrupt:
            print_to_stderr("", "stopped; the former index is unchanged, run the same command again to resume")
            raise typer.Exit(INTERRUPTED) from None
    warnings = tuple(map(complete, engine_warnings(settings.store, _TAKES)))
    facts = asdict(done.report) | {
        "fingerprint": done.fingerprint,
        "dimension": done.dimension,
        "warnings": warnings,
    }
    if as_json:
        print_json(facts | {"seconds": round(done.report.seconds, 3)})
        return
    model = done.fingerprint or "words alone"
    print_lines(
        f"{count_of(done.report.chunks, 'chunk')} embedded with {model} in {done.report.seconds:.1f} s"
        f"{f', {done.report.kept:,} were there' if done.report.kept else ''}",
        *warnings,
    )


def run_reindex(settings: Settings) -> ReindexReport:
    """Embed every chunk of the store again. Raises ``WinnowError`` if the store or the model is missing."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.models.embedders import LazyEmbedder
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.commands.terminal.stores import require_index
    from winnow.server.projects.rebuilding import rebuild_vectors
    from winnow.server.storage.files.store_folder import map_os_errors

    require_index(settings.store)
    source = LazyEmbedder(settings)
    model = source.wait()
    catalogue = Catalogue(catalogue_path(settings))
    try:
        if model is None and not _is_lexical(catalogue):
            raise WinnowError("MODEL_UNAVAILABLE", source.why)
        with map_os_errors(settings.store), show_progress("embedding") as on_progress:
            return rebuild_vectors(settings, catalogue, model, on_progress)
    finally:
        catalogue.close()


def _is_lexical(catalogue: Catalogue) -> bool:
    """Whether there are documents, all indexed by words alone."""
    projects = catalogue.projects()
    return {known.embedding for project in projects for known in catalogue.indexed_documents(project.name)} == {""}
