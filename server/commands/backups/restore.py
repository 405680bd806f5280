"""``winnow restore``: what ``winnow backup`` wrote, back into a store."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from winnow.server.commands.terminal.stores import store_option
from winnow.server.errors import WinnowError
from winnow.server.projects.backup.reading_options import OPTIONS
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line

if TYPE_CHECKING:
    from winnow.server.projects.backup.restoring import Backup

app = command()

_FORGOTTEN = (
    "labels, passwords and --no-ignore of earlier ingests are not remembered: add to the commands "
    "those that you gave"
)
_WEAKER = (
    "the commands have --allow-weaker-reader because walls around readers are missing here: a harmful file could "
    "then read, change and send all that you can; leave it out for files whose origin you do not trust"
)
_EPILOG = """
The whole file is checked before anything is written; one that is damaged, or of a later version of winnow, is
refused. Where the store has other settings, sources, keys, jobs or claims than the file, nothing is restored,
and they are named; with --replace they are replaced, and kept under another name (...replaced-TIME). After an
interruption run the same command again. End the store's servers first (and: winnow engine stop).

A key that the store has revoked or removed stays revoked, whatever the backup says, and a secret that was rotated
since stays. The report names such keys, and those that are active again because the store had lost its keys.

Restored quotes count as unchecked until the next ingest or winnow claims check. Documents, passages and vectors
are not in the file: the last lines name what to ingest again, with --references, --ocr and --hidden keep where the
documents had them. Where walls around readers are missing here, they have --allow-weaker-reader for sources with
PDF, office files and the like; winnow ingest --help says what that risks. Labels and passwords are not remembered.

""" + examples("winnow restore winnow-2026-11.backup", "winnow restore winnow.backup --store ~/team --replace")


@app.command(epilog=_EPILOG)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="what winnow backup wrote")],
    replace: Annotated[
        bool, typer.Option("--replace", help="replace what the store has; it is kept under another name")
    ] = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Bring a backup back into a store, which is made if it is missing."""
    from winnow.server.projects.backup.restoring import find_conflicts, hold_store, read_backup
    from winnow.server.projects.backup.restoring import restore as write

    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        try:
            with file.open("rb") as opened:
                backup = read_backup(opened, str(file))
                _refuse_running_servers(settings.store)
                with hold_store(settings.store):
                    conflicts = find_conflicts(settings.store, backup)
                    if conflicts and not replace:
                        raise WinnowError(
                            "INVALID_REQUEST",
                            f"nothing was changed: {settings.store} has other {', '.join(conflicts)} than {file}; "
                            "restore into another --store, or add --replace (what is there is kept under another "
                            "name)",
                        )
                    report = write(settings.store, backup)
        except OSError as error:
            raise WinnowError("NOT_FOUND", f"{file} cannot be read: {error.strerror or error}") from None
    where = store_option(settings.store)
    is_weaker = _needs_weaker_reader(backup, settings)
    steps = _next_steps(backup, where, weaker=is_weaker)
    notes = [_FORGOTTEN, *([_WEAKER] if is_weaker else [])] if steps else []
    if as_json:
        kept = [str(path) for path in report.kept]
        made_at = backup.archive.manifest.made_at
        print_json(
            {
                "store": str(settings.store),
                "made_at": made_at,
                **asdict(report),
                "kept": kept,
                "next": steps,
                "notes": notes,
            }
        )
        return
    print_lines(
        f"restored into {settings.store}, as of {backup.archive.manifest.made_at}: {describe_counts(report)}",
        *(f"what was there before: {path}" for path in report.kept),
        *(f"key {name} is active in the backup, and stays revoked as in the store" for name in report.revoked),
        *(
            f"key {name} is active again; revoke it if it was revoked since: winnow key revoke {name}{where}"
            for name in report.reactivated
        ),
        NOT_IN_IT,
        *notes,
        *(f"next: {step}" for step in steps),
    )


def _refuse_running_servers(store: Path) -> None:
    from winnow.server.commands.entry.statistics import ask_servers

    if store.is_dir() and (servers := ask_servers(store)):
        pids = ", ".join(str(server.get("pid")) for server in servers)
        raise WinnowError(
            "INDEX_HELD", f"nothing was changed: {store} is served (process {pids}); end its servers first"
        )


def _needs_weaker_reader(backup: Backup, settings: Settings) -> bool:
    """Whether files that the backup's documents came from are read here only where a command allows it."""
    from winnow.server.ingest.children.parser import try_walls

    has_formats = any(backup.read_with.values())
    return has_formats and not settings.allow_weaker_reader and not try_walls().tier


def _next_steps(backup: Backup, where: str, *, weaker: bool) -> list[str]:
    """The commands that make the documents again. Sources that are watched are read by their watcher.

    ``weaker``: walls around readers are missing here, so that files of other formats than text need an option.
    """
    steps = list[str]()
    for project, sources in sorted(backup.ingested_from.items()):
        references = backup.references[project]
        watched = {
            path
            for one in backup.sources
            if one.project == project
            for path in (*one.paths, str(one.request.references))
        }
        rest = [source for source in sources if source not in watched]
        named = {references[source] for source in rest if references.get(source, source) != source}
        known = sorted(source for source, reference in references.items() if reference == source)
        unnamed = (source for source in rest if source not in named)
        for source in unnamed:
            command, note = _step_of(source, project, references.get(source), known)
            facts = backup.read_with[project].get(source, ()) if command.startswith("ingest") else ()
            options = "".join(f" {OPTIONS[fact]}" for fact in facts if fact != "formats" or weaker)
            steps += [f"winnow {command}{options}{where}{note}"] if command else []
    return [*steps, *([f"winnow watch{where}"] if backup.sources else [])]


def _step_of(source: str, project: str, references: str | None, known: Sequence[str]) -> tuple[str, str]:
    """The command that reads a source again, "" for none, and a note.

    ``references`` is the bibliography of the source: itself where it is one, "" an unknown one, perhaps one of
    those that are ``known``, None for none.
    """
    from winnow.server.ingest.file_discovery import IMPORTED
    from winnow.server.jobs.watching.sources import ZOTERO

    path = _quote(source)
    if source.startswith(IMPORTED):
        return f"project import FILE --name {project}", f" (of {one_line(source)})"
    if source.startswith(ZOTERO):
        return f"zotero ingest --project {project}", f" (of {one_line(source)})"
    if not Path(source).is_absolute():
        return "", ""
    if references is None:
        return f"ingest {path} --project {project}", ""
    if not references:
        which = f", perhaps {' or '.join(map(_quote, known))}" if known else ""
        note = f" (FILE: the bibliography of these documents{which})"
        return f"ingest {path} --references FILE --project {project}", note
    what = f"--references {_quote(references)}"
    return f"ingest {what if references == source else f'{path} {what}'} --project {project}", ""


def _quote(path: str) -> str:
    return shlex.quote(one_line(path))
