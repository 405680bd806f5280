"""``winnow project delete``, ``restore``, ``purge`` and ``rename``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.server.commands.projects.common import (
    ProjectArgument,
    collect_figures,
    find_project,
    open_catalogue,
    print_project,
)
from winnow.server.commands.terminal.output import (
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
from winnow.server.commands.terminal.progress import INTERRUPTED, show_terminal_steps
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import Backends

app = command()
_UNTIL = "until projects are purged or the store is reindexed"


@app.command(
    epilog="The project is hidden at once from every search, list, tool and script, and its sources are not "
    f"watched. It can be restored {_UNTIL}, which frees its space and its name.\n\n"
    + examples("winnow project delete papers", "winnow project delete team/notes --yes")
)
def delete(
    name: ProjectArgument,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Delete a project; it can be restored for a while."""
    from winnow.server.projects.removal import delete_project
    from winnow.server.storage.keys.key_file import keys_for_only

    with report_errors(as_json=as_json), open_catalogue(store) as opened:
        question = _describe(opened.catalogue, name)
        if not yes:
            _confirm(question)
        keys = keys_for_only(opened.settings.store, name, time.time())
        is_restorable = delete_project(opened.catalogue, name)
        place = str(opened.settings.store)
    advice = f"it can be restored {_UNTIL}: winnow project restore {name}" if is_restorable else "for good"
    if as_json:
        print_json({"deleted": name, "can_be_restored": is_restorable, "keys": list(keys), "store": place})
        return
    print_lines(complete(f"{name} is deleted; {advice}"))
    if keys:
        print_lines(
            f"keys that reach only this project, and would reach the next one of its name: {', '.join(keys)}; "
            "to end one: winnow key revoke NAME"
        )


@app.command(epilog=examples("winnow project restore papers", "winnow project restore team/notes --json"))
def restore(name: ProjectArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """Undo the deletion of a project."""
    from winnow.server.projects.removal import restore_project

    with report_errors(as_json=as_json), open_catalogue(store) as opened:
        restore_project(opened.catalogue, name)
        figures = collect_figures(opened.settings, opened.catalogue, name)
    print_project(figures, as_json=as_json, first="restored")


@app.command(
    epilog="No other process may have the store open: end its servers, and the engine that they share, with "
    "winnow engine stop. After Ctrl-C or a crash the same command resumes.\n\n"
    + examples("winnow project purge", "winnow project purge --yes --json")
)
def purge(
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Remove deleted projects for good, with their claims, and give their space back to the disk."""
    from winnow.server.projects.removal import purge_projects

    with report_errors(as_json=as_json):
        with open_catalogue(store) as opened:
            hidden = [one for one in opened.catalogue.hidden_projects().values() if one.state != "importing"]
        if hidden and not yes:
            names = ", ".join(f"{one.name} ({count_of(one.documents, 'document')})" for one in hidden)
            _confirm(f"remove for good: {names}")
        with _open_backends(store) as (settings, backends):
            removed = purge_projects(settings, backends)
    if as_json:
        print_json({"removed": list(removed), "store": str(settings.store)})
    else:
        print_lines(f"removed: {', '.join(removed)}" if removed else "there are no deleted projects")


@app.command(
    epilog="Its settings, sources and claims move along, and keys that name it get its new name. Ids of its "
    "documents and passages contain the project's name, so all of them change; nothing is embedded again. No "
    "other process may have the store open: end its servers, and the engine that they share, with winnow engine "
    "stop. After Ctrl-C or a crash the same command resumes.\n\n"
    + examples("winnow project rename papers library", "winnow project rename notes team/notes --json")
)
def rename(
    name: ProjectArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help="its new name")],
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Give a project another name."""
    from winnow.server.projects.renaming import rename_project
    from winnow.server.storage.keys.key_file import rename_in_keys

    keys: list[str] = []
    with report_errors(as_json=as_json):
        try:
            with _open_backends(store) as (settings, backends):
                with show_terminal_steps() as on_step:
                    rename_project(
                        settings,
                        backends,
                        name,
                        new,
                        on_step,
                        lambda: keys.extend(rename_in_keys(settings.store, name, new)),
                    )
                figures = collect_figures(settings, backends.catalogue, new)
        except KeyboardInterrupt:
            print_to_stderr("", "stopped; run the same command again to complete it")
            raise typer.Exit(INTERRUPTED) from None
    moved = f"; keys that reach it by its new name: {', '.join(keys)}" if keys else ""
    print_project({**figures, "keys": keys}, as_json=as_json, first=f"renamed; it was {name}{moved}")


def _describe(catalogue: Catalogue, name: str) -> str:
    """The question before a deletion. Raises ``WinnowError("INVALID_PROJECT")`` if there is nothing to delete."""
    if catalogue.project_state(name) == "importing":
        return f"give up the unfinished import of project {name}"
    info = find_project(catalogue, name)
    return f"delete project {name} with {count_of(info.documents, 'document')}"


def _confirm(question: str) -> None:
    """Ask on the terminal. Raises ``WinnowError("INVALID_REQUEST")`` without one, ``typer.Exit`` after a no."""
    if not sys.stdin.isatty():
        raise WinnowError("INVALID_REQUEST", f"{question}: there is no terminal to ask on; add --yes")
    if not typer.confirm(f"{question}?", err=True):
        print_to_stderr("nothing was changed")
        raise typer.Exit(1)


@contextmanager
def _open_backends(store: str | None) -> Iterator[tuple[Settings, Backends]]:
    """The open backends of an existing store, without a model. Raises as ``open_backends`` does."""
    from winnow.server.backends.opening import open_backends
    from winnow.server.commands.terminal.stores import require_index

    settings = load_settings(store=store, embedding="off")
    require_index(settings.store)
    opened = open_backends(settings, wait_for_model=False)
    try:
        yield settings, opened
    finally:
        opened.close()
