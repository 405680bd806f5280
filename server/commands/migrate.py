"""``winnow migrate``: copy an index to another store; the source is not changed."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path, check_counts, open_vectors, require_vectors
from winnow.server.backends.vectors import migration
from winnow.server.commands.engine import engine_warnings
from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    complete,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.commands.terminal.progress import show_steps
from winnow.server.commands.terminal.stores import require_index
from winnow.server.errors import WinnowError
from winnow.server.jobs.watching.sources import change_sources, read_sources
from winnow.server.settings.addresses import Address, show_address
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.seal import find_flaws
from winnow.server.storage.sqlite import damage_error, seal_databases
from winnow.server.text.sizes import count_of

app = command()

_LEFT = (
    "not moved: {what}, which the former folder has; run: winnow backup FILE, then "
    "winnow restore FILE --store {target}"
)
_KEEPS_INDEX = "keeps the former index; to use the new one: winnow engine stop"


@app.command(
    epilog=examples(
        "winnow migrate --to /srv/winnow",
        "winnow migrate --to http://localhost:6333",
        "WINNOW_QDRANT_URL=http://localhost:6333 winnow migrate --to ~/.local/share/winnow",
    )
)
def migrate(
    to: Annotated[str, typer.Option("--to", metavar="URL|DIR", help="a Qdrant server, or the folder of a store")],
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Copy the index of this store to another one, compare both, and only then let it be used.

    A folder gets documents, settings, graph, vectors and watched sources; a backup takes claims, keys and jobs
    there. A server gets only vectors; the folder keeps the rest. An interrupted run can be resumed; run again
    after an ingest, it updates the target.

    The store must not be in use: end its servers, and run winnow engine stop. winnow backup works while they run.
    """
    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        target = _resolve_target(settings, to)
        with show_steps() as step:
            moved = _copy_index(settings, target, step)
        left = [] if _is_same_folder(settings, target) else _left_behind(settings.store)
    warnings = tuple(map(complete, engine_warnings(settings.store, _KEEPS_INDEX)))
    if left:
        warnings = (*warnings, _LEFT.format(what=", ".join(left), target=show_address(to)))
    if as_json:
        print_json({"to": show_address(to), **asdict(moved), "warnings": warnings})
    else:
        print_lines(
            f"{moved.points:,} points in {show_address(to)}, {moved.streamed:,} of them by this run; "
            f"{moved.identical} of {moved.compared} rankings equal, the rest but for ties.",
            f"Use it with: {_serve_command(target)}",
            *warnings,
        )


def _is_same_folder(source: Settings, target: Settings) -> bool:
    return target.store.resolve() == source.store.resolve()


def _left_behind(store: Path) -> list[str]:
    """The numbers of notebooks, keys and jobs of a store, in words."""
    from winnow.server.claims.notebook_heads import were_written
    from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
    from winnow.server.jobs.job_files import JobFiles
    from winnow.server.storage.keys.key_file import read_keys

    notebooks = 0
    if were_written(claims_path(store)):
        with closing(SqliteClaimStore(claims_path(store))) as claims:
            notebooks = len(claims.notebooks())
    keys, jobs = len(read_keys(store)), len(JobFiles(store).list_jobs().jobs)
    found = {
        count_of(notebooks, "notebook of claims", "notebooks of claims"): notebooks,
        count_of(keys, "key"): keys,
        count_of(jobs, "job"): jobs,
    }
    return [name for name, count in found.items() if count]


def _resolve_target(source: Settings, to: str) -> Settings:
    """The settings of the target store.

    Raises:
        WinnowError: INVALID_REQUEST where it is the source, or a folder that holds another index.
    """
    if "://" in to:
        same_server = source.qdrant_url is not None and source.qdrant_url.server == Address(to).server
        # A key belongs to the server that it was set with; set without a server, it belongs to the target.
        key = source.qdrant_api_key if same_server or source.qdrant_url is None else None
        target = source.model_copy(update={"qdrant_url": Address(to), "qdrant_api_key": key})
    else:
        target = source.model_copy(update={"store": Path(to).expanduser(), "qdrant_url": None})
    if _location_of(target) == _location_of(source):
        raise WinnowError(
            "INVALID_REQUEST", f"--to {show_address(to)} is where the index is; give another folder or URL"
        )
    require_index(source.store)
    is_other = target.store.resolve() != source.store.resolve() and catalogue_path(target).exists()
    if is_other and not migration.read_mark(target.store, ""):
        raise WinnowError("INVALID_REQUEST", f"{show_address(to)} has an index already; give an empty folder")
    return target


def _location_of(settings: Settings) -> tuple[Path, str]:
    return settings.store.resolve(), settings.qdrant_url.whole if settings.qdrant_url else ""


def _copy_index(source: Settings, target: Settings, step: migration.OnStep) -> migration.MoveReport:
    migration.check_finished(source.store, str(source.qdrant_url or ""))
    for flaw in find_flaws(source.store):
        raise damage_error(source.store / flaw.file, flaw.why)
    with ExitStack() as opened:
        catalogue = opened.enter_context(closing(Catalogue(catalogue_path(source))))
        opened.enter_context(catalogue.only_writer())
        require_vectors(source, catalogue, catalogue.binding)
        vectors = opened.enter_context(closing(open_vectors(source, catalogue)))
        check_counts(source.store, catalogue, vectors)
        mark = migration.begin(target.store, str(target.qdrant_url or ""), _state_of(catalogue))
        if target.store.resolve() != source.store.resolve():
            migration.copy_files(source.store, target.store, step)
            change_sources(target.store, lambda _: read_sources(source.store))
            seal_databases(target.store)
        with closing(open_vectors(target, catalogue)) as others:
            moved = migration.move_vectors(vectors, others, target.store, mark, step)
        migration.finish(target.store, mark)
    return moved


def _state_of(catalogue: Catalogue) -> str:
    generations = [f"{info.name}@{info.generation}" for info in catalogue.projects()]
    return " ".join([catalogue.identity, *generations])


def _serve_command(target: Settings) -> str:
    where = f"--store {target.store}"
    return (
        f"winnow serve {where} --qdrant-url {target.qdrant_url}" if target.qdrant_url else f"winnow serve {where}"
    )
