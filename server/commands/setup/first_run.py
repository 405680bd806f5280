"""The first run of setup, before there is an index: a folder is indexed, if someone at a terminal names one."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from winnow.sandbox.walls.tiers import NO_TIER
from winnow.server.backends.models.embedders import install_model
from winnow.server.commands.ingest.by_engine import run_ingest
from winnow.server.commands.ingest.report import print_report
from winnow.server.commands.terminal.output import print_lines, print_to_stderr
from winnow.server.commands.terminal.stores import store_option
from winnow.server.errors import WinnowError
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.settings.settings import Settings

_ATTEMPTS = 3
_WEAKER = (
    "PDF, office files, books and mail of this folder were not read: the walls that they are parsed behind are "
    "missing here (winnow doctor says how to get them).",
    "Without walls they are read in a process that limits only its memory and time: a harmful file could then "
    "read, change and send all that you can. Say yes for files whose origin you trust.",
)
_USUAL_PROJECT = Settings.model_fields["project"].default


def is_at_terminal() -> bool:
    """Whether someone can answer questions."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def describe_two_commands(settings: Settings) -> list[str]:
    """The lines that say how to make an index without a terminal."""
    project = "" if settings.project == _USUAL_PROJECT else f" --project {settings.project}"
    return [
        f"No documents are indexed in {settings.store} yet. Index a folder of yours:",
        "  winnow model install",
        f"  winnow ingest FOLDER{project}{store_option(settings.store)}",
        f'  winnow quote "QUESTION"{project}{store_option(settings.store)}',
        "Where the report says that walls around readers are missing, PDF and office files are read with",
        "--allow-weaker-reader alone; winnow ingest --help says what that risks.",
    ]


def offer_index(settings: Settings) -> bool:
    """Ask for a folder, install the model and index the folder; whether it was done.

    Without the model search goes by words alone, which is said, and the index is made all the same.
    """
    print_lines(f"No documents are indexed in {settings.store} yet, so an agent would find nothing.")
    folder = _ask_for_folder()
    if folder is None:
        print_lines(*describe_two_commands(settings), "")
        return False
    if settings.embedding != "off":
        _install_model(settings)
    request = IngestRequest(paths=(folder,))
    report = run_ingest(settings, request)
    print_report(report, settings, as_json=False)
    if report.reader_tier == NO_TIER and not settings.allow_weaker_reader and _accepts_weaker_reader():
        weaker = settings.model_copy(update={"allow_weaker_reader": True})
        print_report(run_ingest(weaker, request), weaker, as_json=False)
    print_lines("")
    return True


def _accepts_weaker_reader() -> bool:
    print_lines("", *_WEAKER)
    return typer.confirm("Read them without walls?", default=False)


def _install_model(settings: Settings) -> None:
    try:
        install_model(settings, print_to_stderr)
    except WinnowError as error:
        print_to_stderr(f"winnow: {error.message}", "winnow: going on without it: search goes by words alone")


def _ask_for_folder() -> Path | None:
    for _ in range(_ATTEMPTS):
        given = typer.prompt("A folder with documents to index (Enter: none)", default="", show_default=False)
        if not given.strip():
            return None
        folder = Path(given.strip()).expanduser()
        if folder.exists():
            return folder.absolute()
        print_lines(f"there is no {folder}")
    return None


def ask_for_question() -> str:
    """A question of the user's; "" for none."""
    given: str = typer.prompt(
        "A question that your documents answer (Enter: none)", default="", show_default=False
    )
    return given.strip()
