"""``winnow claims``: list, show, check, approve, export, import, back up and report what agents wrote."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_json_line,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.stores import require_store, settings_of_store
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line, shorten
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.claims.life_cycle import ChangedStatus
    from winnow.server.claims.records import Entry
    from winnow.server.claims.sqlite_store import SqliteClaimStore
    from winnow.server.claims.store import Notebook
    from winnow.server.commands.claims.report import Contradiction

app = command(
    no_args_is_help=True,
    help="The claims that agents wrote: list, show, check, approve, export, import and back up.",
    epilog=examples(
        "winnow claims list",
        "winnow claims check",
        "winnow claims report > claims.md",
        "winnow claims export > claims.jsonl",
        "winnow claims backup claims.sqlite3",
    ),
)

KeyOption = Annotated[
    str,
    typer.Option(
        "--key", metavar="ID", help="the notebook of this access key (id or name); default: of clients without"
    ),
]
TopicOption = Annotated[str, typer.Option("--topic", metavar="PREFIX", help="only this topic and those below")]
EntryName = Annotated[str, typer.Argument(metavar="ENTRY", help="id of an entry")]
_MOST = 100_000
_MOST_NAMED = 10
_QUOTE_CHARS = 80
_NOTHING = "no agent wrote claims in {store} (they do with: winnow serve --tools all,claims --enable-writes)"
_NO_STATUSES = "the file does not say which status its entries had; here: winnow claims list"
_ELSEWHERE = (
    "the notebooks are on {url}: list and show work from here without --key; run the others there, or unset "
    "notebook_url for what is in this store"
)


@app.command(name="list", epilog=examples("winnow claims list", "winnow claims list --topic memory --json"))
def list_entries(
    project: ProjectOption = None,
    key: KeyOption = "",
    topic: TopicOption = "",
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """List the entries of a notebook by their last change, those that wait for approval included."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        others: list[str] = []
        if settings.notebook_url is not None and not key:
            from winnow.server.commands.claims.remote_notebook import list_remote_entries

            rows = [_far_row(entry) for entry in list_remote_entries(settings, topic)]
        else:
            rows = []
            with _opened_if_written(store, project) as (_, claims):
                if claims is not None:
                    notebook = _notebook(settings, claims, key, may_be_empty=True)
                    key = notebook.owner
                    rows = [_row(entry) for entry in _entries(claims, notebook, topic)]
                    others = [_name(each) for each in claims.notebooks() if each != notebook]
    if as_json:
        print_json({"project": settings.project, "key": key, "entries": rows, "others": others})
        return
    print_lines(*(_line(row) for row in rows))
    is_empty = not rows and not others and settings.notebook_url is None
    print_lines(
        _NOTHING.format(store=settings.store)
        if is_empty and not topic
        else f"{count_of(len(rows), 'entry', 'entries')} in the notebook of {settings.project}"
    )
    for other in others:
        print_lines(f"another notebook: {other}")


@app.command(epilog=examples("winnow claims show 0123456789ab", "winnow claims show 0123456789ab --json"))
def show(name: EntryName, store: StoreOption = None, as_json: Json = False) -> None:
    """Show an entry with its claims, their quotes and its history."""
    from winnow.server.commands.claims.report import report_lines

    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        if settings.notebook_url is not None:
            from winnow.server.commands.claims.remote_notebook import show_remote_entry

            show_remote_entry(settings, name, as_json=as_json)
            return
    with report_errors(as_json=as_json), _opened(store, None) as (_, claims):
        notebook, entry = _find(claims, name)
        contradictions = _contradictions(claims, notebook, [entry])
        history = [
            {"sequence": change.sequence, "kind": change.kind, "at": change.at}
            for change in claims.history(notebook, entry.id)
        ]
    if as_json:
        print_json({**entry.model_dump(mode="json"), "history": history})
        return
    print_lines(*report_lines(notebook, [entry], contradictions), "")
    print_lines(*entry.content.splitlines())
    print_lines(*(f"change {each['sequence']}: {each['kind']}" for each in history))


@app.command(epilog=examples("winnow claims check", "winnow claims check --json"))
def check(project: ProjectOption = None, store: StoreOption = None, as_json: Json = False) -> None:
    """Look for every quote of every notebook again, and check that no change was altered or removed.

    With --project only the notebooks of that project are checked.

    Names the quotes that do not stand in their documents now, and entries of another status with the reason. Exits
    with 1 where a change was altered or removed.
    """
    with report_errors(as_json=as_json), _opened_if_written(store, project) as (settings, claims):
        rows = [] if claims is None else _check_all(settings, claims, project)
    if as_json:
        print_json({"notebooks": rows})
    elif rows:
        print_lines(*(line for row in rows for line in _check_lines(row)))
    else:
        print_lines(_NOTHING.format(store=settings.store))
    if any(row["altered_at"] is not None for row in rows):
        raise typer.Exit(1)


def _check_all(settings: Settings, claims: SqliteClaimStore, project: str | None) -> list[dict[str, Any]]:
    """The findings of a check of each notebook; of a project only those of its own.

    Raises ``WinnowError("NOT_FOUND")`` for a project in whose notebooks nobody wrote.
    """
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.claims.life_cycle import check_notebook
    from winnow.server.claims.store import Notebook
    from winnow.server.claims.verifying import CurrentIndex
    from winnow.server.models import Filters

    notebooks = claims.notebooks()
    wanted = [each for each in notebooks if project is None or each.project == project]
    if not wanted:
        raise _unwritten(Notebook(settings.project), notebooks)
    rows = []
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        for notebook in wanted:
            index = CurrentIndex(catalogue, Filters(notebook.project))
            report = check_notebook(claims, notebook, index, time.time())
            rows.append(
                {
                    "notebook": _name(notebook),
                    "entries": report.entries,
                    "changed": report.changed,
                    "evidence": dict(report.evidence),
                    "lost": [asdict(quote) for quote in report.lost],
                    "standings": [_status_row(each) for each in report.changes],
                    "altered_at": claims.first_flaw(notebook),
                }
            )
    return rows


@app.command(epilog=examples("winnow claims approve 0123456789ab", "winnow claims approve 0123456789ab --json"))
def approve(name: EntryName, store: StoreOption = None, as_json: Json = False) -> None:
    """Let others see an entry that waits for approval (setting review_claims)."""
    from winnow.server.claims.life_cycle import update_friction

    with report_errors(as_json=as_json), _opened(store, None) as (_, claims):
        notebook, entry = _find(claims, name)
        if entry.needs_review:
            claims.revise(notebook, entry.model_copy(update={"needs_review": False}), "approved")
            update_friction(claims, [entry.id])
    if as_json:
        print_json({"entry_id": entry.id, "approved": entry.needs_review})
        return
    print_lines(f"{entry.id} is {'approved' if entry.needs_review else 'no entry that waits for approval'}")


@app.command(
    epilog=examples("winnow claims export > claims.jsonl", "winnow claims export --project team --key 1f0c9a2b")
)
def export(project: ProjectOption = None, key: KeyOption = "", store: StoreOption = None) -> None:
    """Write the history of a notebook to stdout as JSON Lines, whole: winnow claims import reads it."""
    from winnow.server.claims.exchange import export_lines

    with report_errors(as_json=False), _opened_if_written(store, project) as (settings, claims):
        if claims is None:
            print_to_stderr(_NOTHING.format(store=settings.store))
            return
        for line in export_lines(claims, _notebook(settings, claims, key)):
            print_json_line(json.loads(line))


@app.command(
    name="import", epilog=examples("winnow claims import claims.jsonl", "winnow claims import claims.jsonl --json")
)
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a file that winnow claims export wrote")],
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="project; default: the file's", show_default=False),
    ] = None,
    key: KeyOption = "",
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Append a notebook from a file. What the notebook has is left out, and all quotes are checked anew.

    Names the entries whose status is another than where the file was written, with the reason.
    """
    from winnow.server.claims.exchange import MAX_LINE_BYTES, import_lines
    from winnow.server.claims.life_cycle import differing_statuses
    from winnow.server.claims.store import Notebook

    with report_errors(as_json=as_json), _opened(store, None, imported=file) as (settings, claims):
        with _open_to_read(file) as lines:
            bounded = iter(lambda: lines.readline(MAX_LINE_BYTES + 1), b"")
            report = import_lines(claims, bounded, Notebook(project, key) if project else None)
        _check_imported(settings, claims, report.notebook)
        known = report.statuses is not None
        standings = [_status_row(each) for each in differing_statuses(claims, report.statuses or {})]
    if as_json:
        print_json(
            {
                "appended": report.appended,
                "known": report.known,
                "refused": list(report.refused),
                "standings": standings if known else None,
            }
        )
        return
    print_lines(f"{report.appended:,} changes appended, {report.known:,} left out")
    for entry_id in report.refused:
        print_lines(f"not imported: entry {entry_id} went on differently here")
    print_lines(f"{len(standings):,} with another status here" if known else _NO_STATUSES)
    print_lines(*map(_status_line, standings))


@contextmanager
def _open_to_read(file: Path) -> Iterator[BinaryIO]:
    try:
        with file.open("rb") as lines:
            yield lines
    except OSError as error:
        raise WinnowError("NOT_FOUND", f"{file} cannot be read: {error.strerror or error}") from None


def _check_imported(settings: Settings, claims: SqliteClaimStore, notebook: Notebook) -> None:
    """Look for the quotes of a notebook in the documents of its project, if the store has any."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.claims.life_cycle import check_notebook
    from winnow.server.claims.verifying import CurrentIndex
    from winnow.server.models import Filters

    if catalogue_path(settings).exists():
        with closing(Catalogue(catalogue_path(settings))) as catalogue:
            check_notebook(claims, notebook, CurrentIndex(catalogue, Filters(notebook.project)), time.time())


@app.command(
    epilog=examples("winnow claims backup claims-2026-11.sqlite3", "winnow claims backup copy.sqlite3 --json")
)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a new file for the copy")],
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Copy all notebooks of the store to a new file, while servers may go on writing."""
    from winnow.server.claims.exchange import back_up

    with report_errors(as_json=as_json), _opened(store, None) as (_, claims):
        back_up(claims, file)
        path = claims.database.path
    if as_json:
        print_json({"file": str(file)})
        return
    print_lines(f"{file} is a copy of {path}")


@app.command(epilog=examples("winnow claims adopt", "winnow claims adopt --json"))
def adopt(store: StoreOption = None, as_json: Json = False) -> None:
    """Go on with the claims that there are, after a loss that cannot be undone.

    An empty file of claims is removed, and what the file lacks is no longer missed.
    """
    from winnow.server.claims.adopting import adopt_claims
    from winnow.server.claims.sqlite_store import claims_path

    with report_errors(as_json=as_json):
        folder = settings_of_store(store).store
        path, changes = claims_path(folder), adopt_claims(folder)
    if as_json:
        print_json({"changes": changes})
        return
    print_lines(f"{path} goes on with {changes:,} changes")


@app.command(epilog=examples("winnow claims report > claims.md", "winnow claims report --topic memory --json"))
def report(
    project: ProjectOption = None,
    key: KeyOption = "",
    topic: TopicOption = "",
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Print a notebook as Markdown: each claim with its quotes, their pages, and whether they were found."""
    from winnow.server.commands.claims.report import report_lines

    lines: list[str] = []
    with report_errors(as_json=as_json), _opened_if_written(store, project) as (settings, claims):
        if claims is None:
            lines = [_NOTHING.format(store=settings.store)]
        else:
            notebook = _notebook(settings, claims, key)
            entries = _entries(claims, notebook, topic)
            lines = list(report_lines(notebook, entries, _contradictions(claims, notebook, entries)))
    if as_json:
        print_json({"project": settings.project, "markdown": "\n".join(lines)})
        return
    print_lines(*lines)


@contextmanager
def _opened(
    store: str | None, project: str | None, *, imported: Path | None = None
) -> Iterator[tuple[Settings, SqliteClaimStore]]:
    """The claims of a store; one that is missing is made for a file that is ``imported``, if that can be read."""
    from winnow.server.claims.notebook_heads import were_written
    from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path

    settings = load_settings(store=store, project=project)
    if settings.notebook_url is not None:
        raise WinnowError("UNSUPPORTED", _ELSEWHERE.format(url=settings.notebook_url))
    path = claims_path(settings.store)
    if imported is not None:
        from winnow.server.storage.files.store_folder import prepare_store

        with _open_to_read(imported):
            prepare_store(settings.store)
    elif not were_written(path):
        raise WinnowError("NOT_FOUND", _NOTHING.format(store=settings.store))
    with closing(SqliteClaimStore(path)) as claims:
        yield settings, claims


@contextmanager
def _opened_if_written(
    store: str | None, project: str | None
) -> Iterator[tuple[Settings, SqliteClaimStore | None]]:
    """The claims of a store, None where the store is there and nothing was ever written into a notebook."""
    from winnow.server.claims.notebook_heads import were_written
    from winnow.server.claims.sqlite_store import claims_path

    settings = load_settings(store=store, project=project)
    if settings.notebook_url is None and not were_written(claims_path(settings.store)):
        require_store(settings.store)
        yield settings, None
        return
    with _opened(store, project) as (_, claims):
        yield settings, claims if claims.notebooks() else None


def _notebook(settings: Settings, claims: SqliteClaimStore, key: str, *, may_be_empty: bool = False) -> Notebook:
    """The notebook of the project and of the key with this id or name. NOT_FOUND for one in which nobody wrote."""
    from winnow.server.claims.store import Notebook
    from winnow.server.storage.keys.key_file import read_keys

    notebooks = claims.notebooks()
    named = [each.id for each in read_keys(settings.store) if each.name == key] if key else []
    wanted = [Notebook(settings.project, owner) for owner in (key, *named)]
    if written := next((each for each in wanted if each in notebooks), None):
        return written
    if may_be_empty:
        return wanted[0]
    raise _unwritten(wanted[0], notebooks)


def _unwritten(notebook: Notebook, others: Sequence[Notebook]) -> WinnowError:
    there = "; ".join(map(_name, others[:_MOST_NAMED])) or "none"
    return WinnowError("NOT_FOUND", f"nobody wrote in the notebook {_name(notebook)}; there are: {there}")


def _contradictions(
    claims: SqliteClaimStore, notebook: Notebook, entries: Sequence[Entry]
) -> dict[str, list[Contradiction]]:
    """The contradictions of each claim of these entries by the latest verdicts, by claim."""
    from winnow.server.claims.records import entry_of
    from winnow.server.claims.store import View
    from winnow.server.commands.claims.report import contradictions_of

    verdicts = claims.verdicts([entry.id for entry in entries])
    both = {entry_of(id) for each in verdicts for id in (each.claim_id, each.other_id)}
    known = claims.read(View(notebook, sees_all=True), sorted(both))
    return contradictions_of(verdicts, known.values())


def _entries(claims: SqliteClaimStore, notebook: Notebook, topic: str) -> list[Entry]:
    from winnow.server.claims.store import View

    return claims.listing(View(notebook, sees_all=True, topic_prefix=topic), 0, _MOST)


def _find(claims: SqliteClaimStore, name: str) -> tuple[Notebook, Entry]:
    from winnow.server.claims.store import View

    for notebook in claims.notebooks():
        if entry := claims.read(View(notebook, sees_all=True), [name]).get(name):
            return notebook, entry
    raise WinnowError("NOT_FOUND", f"there is no entry {name[:80]!r}; winnow claims list shows them")


def _name(notebook: Notebook) -> str:
    return f"{notebook.project} --key {notebook.owner}" if notebook.owner else notebook.project


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "entry_id": entry.id,
        "topic": entry.topic,
        "claims": [claim.text for claim in entry.claims],
        "integration_status": entry.integration_status,
        "friction": entry.friction,
        "author": entry.author,
        "revised_by": entry.revised_by,
        "needs_review": entry.needs_review,
        "revision": entry.revision,
    }


def _far_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of another server, which does not tell the revision."""
    return {
        "entry_id": row["entry_id"],
        "topic": row["topic"],
        "claims": [claim["text"] for claim in row["claims"]],
        "integration_status": row["integration_status"],
        "friction": row["max_friction"],
        "author": row.get("author", ""),
        "revised_by": row.get("revised_by"),
        "needs_review": row.get("needs_review", False),
        "revision": None,
    }


def _line(row: dict[str, Any]) -> str:
    waits = ", waits for approval" if row["needs_review"] else ""
    first = next(iter(row["claims"]), "no claim")
    return f"{row['entry_id']} {row['topic']}: {row['integration_status']}{waits}: {first}"


def _status_row(change: ChangedStatus) -> dict[str, Any]:
    return {
        "entry_id": change.entry_id,
        "was": change.was,
        "now": change.now.status,
        "friction": change.now.friction,
        "why": change.now.why,
    }


def _status_line(row: dict[str, Any]) -> str:
    before = f"was {row['was']}, is now" if row["was"] != row["now"] else "still"
    return f"  {row['entry_id']}: {before} {row['now']}, friction {row['friction']:.2f}: {row['why']}"


def _check_lines(row: dict[str, Any]) -> Iterator[str]:
    evidence = ", ".join(f"{count:,} {status}" for status, count in sorted(row["evidence"].items())) or "no quotes"
    chain = "" if row["altered_at"] is None else f"; change {row['altered_at']} was altered or removed"
    yield (
        f"{row['notebook']}: {count_of(row['entries'], 'entry', 'entries')}, "
        f"{row['changed']:,} of them changed by this check; "
        f"{evidence}{chain}"
    )
    yield from map(_status_line, row["standings"])
    for quote in row["lost"]:
        text = shorten(one_line(quote["quote"]), _QUOTE_CHARS)
        yield f'  {quote["claim_id"]}: {quote["status"]} in {one_line(quote["document"])}: "{text}"'
