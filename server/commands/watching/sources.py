"""``winnow sources``: add, list and remove the folders that are watched, and confirm deletions."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.ingest import check_labels
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    complete,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.reading_options import (
    Collections,
    DataFolder,
    DocTag,
    EnvironmentLabel,
    ForceLabels,
    Hidden,
    Libraries,
    NoApi,
    NoIgnore,
    Ocr,
    ReferencesOption,
    Repository,
    Tags,
    ZoteroApi,
)
from winnow.server.commands.terminal.stores import settings_of_store
from winnow.server.commands.zotero import make_choice
from winnow.server.errors import WinnowError, own_words
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.bibliographies.zotero.choice import ZoteroChoice
    from winnow.server.ingest.selection.request import IngestRequest
    from winnow.server.jobs.watching.sources import WatchedSource
    from winnow.server.jobs.watching.status import PathStatus, WatcherStatus

app = command(
    no_args_is_help=True,
    help="Add, list and remove the folders that are watched, and confirm deletions.",
    epilog=examples("winnow sources add docs/", "winnow sources list", "winnow sources remove docs"),
)

_CONFIRM_SECONDS, _POLL_SECONDS = 60.0, 0.1
_EPILOG = """
A source is folders and files with a project, labels and patterns. It is stored with the index, and watched by
winnow watch and winnow serve --watch. Patterns are those of .gitignore, below each path. Labels are for documents
that state none; with --force-labels they are for all.

--zotero keeps libraries of Zotero in step instead: all, or those of --library, --collection and --tag, as winnow
zotero ingest takes them.

""" + examples(
    "winnow sources add docs/",
    "winnow sources add ~/notes ~/papers --id mine --project private",
    "winnow sources add runbooks/ --environment prod --include '*.md' --exclude drafts/",
    "winnow sources add --zotero --collection Thesis --project thesis",
)
SourceArgument = Annotated[str, typer.Argument(metavar="ID", help="a source, by its id or one of its paths")]


@app.command(epilog=_EPILOG)
def add(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="folders and files to watch", show_default=False),
    ] = None,
    zotero: Annotated[bool, typer.Option("--zotero", help="watch libraries of Zotero in place of paths")] = False,
    library: Libraries = None,
    collection: Collections = None,
    tag: Tags = None,
    data_folder: DataFolder = None,
    api: ZoteroApi = None,
    no_api: NoApi = False,
    name: Annotated[
        str, typer.Option("--id", metavar="ID", help="name of the source; default: from its first path")
    ] = "",
    project: ProjectOption = None,
    doc_tag: DocTag = "",
    environment: EnvironmentLabel = None,
    repository: Repository = "",
    force_labels: ForceLabels = False,
    include: Annotated[
        list[str] | None, typer.Option("--include", metavar="GLOB", help="watch only files that match; may repeat")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="GLOB", help="leave out what matches; may repeat")
    ] = None,
    hidden: Hidden = "drop",
    ocr: Ocr = False,
    references: ReferencesOption = None,
    no_ignore: NoIgnore = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Add folders and files to watch."""
    from winnow.server.ingest.file_discovery import check_paths
    from winnow.server.jobs.watching.sources import change_sources

    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        check_paths([references] if references else [])
        choice = make_choice(library or (), collection or (), tag or (), data_folder, api, no_api=no_api)
        fields = {
            **check_labels(doc_tag, environment, repository, forced=force_labels),
            "include": tuple(include or ()),
            "exclude": tuple(exclude or ()),
            "ignore_files": not no_ignore,
            "keeps_hidden": hidden == "keep",
            "uses_ocr": ocr,
            "references": references and references.resolve(),
        }
        if zotero:
            made = _make_zotero_source(settings, paths or [], choice, name, fields)
        elif choice != make_choice((), (), (), None, None, no_api=False):
            raise WinnowError("INVALID_REQUEST", "--library, --collection, --tag and the like need --zotero")
        else:
            made = make_source(settings, paths or [], name, fields)

        def append(before: Sequence[WatchedSource]) -> list[WatchedSource]:
            if name and any(one.id == name for one in before):
                raise WinnowError(
                    "INVALID_REQUEST",
                    f"there is a source {name!r} already; choose another --id, or see: winnow sources list",
                )
            return [*before, with_free_id(made, before)]

        added = change_sources(settings.store, append)[-1]
        if not _has_project(settings):
            print_to_stderr(
                f"project {added.project!r} does not exist yet; it is created when the source is watched"
            )
    _print_sources(settings, [added], as_json=as_json)


@app.command(name="list", epilog=examples("winnow sources list", "winnow sources list --json"))
def list_sources(store: StoreOption = None, as_json: Json = False) -> None:
    """List the sources: whether they are watched, what was indexed, and deletions that wait for you."""
    from winnow.server.jobs.watching.sources import read_sources

    with report_errors(as_json=as_json):
        settings = settings_of_store(store)
        sources = read_sources(settings.store)
    _print_sources(settings, sources, as_json=as_json)


@app.command(epilog=examples("winnow sources remove docs", "winnow sources remove ~/notes"))
def remove(name: SourceArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """Watch a source no longer. Its documents stay in the index."""
    from winnow.server.jobs.watching.sources import change_sources, find_source, read_sources

    with report_errors(as_json=as_json):
        settings = settings_of_store(store)
        removed = find_source(read_sources(settings.store), name)
        change_sources(settings.store, lambda before: [one for one in before if one.id != removed.id])
    if as_json:
        print_json({"removed": removed.id, "store": str(settings.store)})
        return
    print_lines(f"{removed.id} is no longer watched; its documents stay in project {removed.project}")


@app.command(epilog=examples("winnow sources confirm docs", "winnow sources confirm ~/notes --json"))
def confirm(name: SourceArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """Make the deletions that a watcher held back because they were many at once."""
    from winnow.server.jobs.watching.sources import find_source, read_sources

    with report_errors(as_json=as_json):
        settings = settings_of_store(store)
        source = find_source(read_sources(settings.store), name)
        held = _held_of(settings.store, source.id)
        if not held:
            raise WinnowError(
                "INVALID_REQUEST", f"no deletions of {source.id} are held back; see winnow sources list"
            )
        is_done = _confirm(settings.store, source.id, held)
    if as_json:
        print_json({"confirmed": source.id, "documents": held, "done": is_done, "store": str(settings.store)})
        return
    later = "" if is_done else "; they are deleted when the store is watched next (winnow watch)"
    print_lines(f"{source.id}: the deletion of {count_of(held, 'document')} is confirmed{later}")


def make_source(settings: Settings, paths: Sequence[Path], name: str, fields: dict[str, Any]) -> WatchedSource:
    """A source of these paths; its id is only suggested unless ``name`` is given. Raises ``WinnowError``."""
    from winnow.server.commands.ingest.addresses import refuse_addresses
    from winnow.server.ingest.file_discovery import check_paths
    from winnow.server.ingest.selection.ignore_files import check_patterns
    from winnow.server.jobs.watching.sources import new_id

    if not paths:
        raise WinnowError("INVALID_REQUEST", "name folders or files to watch: winnow sources add PATH...")
    refuse_addresses(paths)
    check_paths(paths)
    if flaws := check_patterns([*fields.get("include", ()), *fields.get("exclude", ())]):
        raise WinnowError("INVALID_REQUEST", f"{flaws[0][:80]!r} is not a pattern as in .gitignore")
    resolved = [path.resolve() for path in paths]
    if inside := next((path for path in resolved if path.is_relative_to(settings.store.resolve())), None):
        raise WinnowError("INVALID_REQUEST", f"{inside} is in the store of this index, which is never watched")
    return _source_of(
        name or new_id(resolved[0], ()), settings.project, {**fields, "paths": tuple(dict.fromkeys(resolved))}
    )


def _make_zotero_source(
    settings: Settings, paths: Sequence[Path], choice: ZoteroChoice, name: str, fields: dict[str, Any]
) -> WatchedSource:
    """A source of libraries of Zotero. Raises ``WinnowError`` where there is no such library."""
    from winnow.server.ingest.zotero.reading import check_libraries

    if paths or fields["references"] or fields["include"] or fields["exclude"]:
        raise WinnowError(
            "INVALID_REQUEST",
            "--zotero takes neither paths nor --references, --include and --exclude; works are chosen by "
            "--library, --collection and --tag",
        )
    check_libraries(choice)
    return _source_of(name or "zotero", settings.project, {**fields, "zotero": choice})


def _source_of(name: str, project: str, request: dict[str, Any]) -> WatchedSource:
    """The source of this request. Raises ``WinnowError`` for names and patterns that it cannot have."""
    from pydantic import ValidationError

    from winnow.server.ingest.selection.request import IngestRequest
    from winnow.server.jobs.watching.sources import WatchedSource

    try:
        return WatchedSource(id=name, request=IngestRequest(**request), project=project)
    except ValidationError as error:
        place = error.errors()[0]
        where = ".".join(map(str, place["loc"]))
        raise WinnowError("INVALID_REQUEST", f"sources: {where}: {own_words(place['msg'])}") from None


def with_free_id(made: WatchedSource, before: Sequence[WatchedSource]) -> WatchedSource:
    """The source with an id that none of ``before`` has.

    Raises ``WinnowError`` if a path is in a source of the same project already: two sets of labels and patterns
    for one file would replace each other for ever.
    """
    from winnow.server.jobs.watching.sources import new_id

    for one in before:
        for mine, theirs in ((mine, theirs) for mine in made.paths for theirs in one.paths):
            if one.project == made.project and _overlap(Path(mine), Path(theirs)):
                raise WinnowError(
                    "INVALID_REQUEST",
                    f"{mine} overlaps with {theirs} of source {one.id!r}; to change that source: "
                    f"winnow sources remove {one.id}, then winnow sources add with all its paths and options; "
                    "the documents stay in the index meanwhile",
                )
    taken = [one.id for one in before]
    return made if made.id not in taken else made.model_copy(update={"id": new_id(Path(made.id), taken)})


def hidden_names(settings: Settings) -> frozenset[str]:
    """The names of the projects whose sources are not watched, because they were deleted."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path

    if not catalogue_path(settings).exists():
        return frozenset()
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        return frozenset(catalogue.hidden_projects())


def _has_project(settings: Settings) -> bool:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path

    if not catalogue_path(settings).exists():
        return False
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        return catalogue.has_project(settings.project)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _held_of(store: Path, source: str) -> int:
    from winnow.server.jobs.watching.status import read_status

    return max((status.held for status in read_status(store).paths if status.source == source), default=0)


def _confirm(store: Path, source: str, held: int) -> bool:
    """Confirm the deletion of so many documents; whether a watcher has made it. Waits for the watcher."""
    from winnow.server.jobs.watching.sources import change_sources
    from winnow.server.jobs.watching.status import read_status

    now = time.time()
    change_sources(
        store,
        lambda before: [
            one.model_copy(update={"confirmed": held, "confirmed_at": now}) if one.id == source else one
            for one in before
        ],
    )
    until = time.monotonic() + _CONFIRM_SECONDS
    while read_status(store).holder and time.monotonic() < until:
        rows = [status for status in read_status(store).paths if status.source == source]
        if rows and all(status.confirmed_at >= now or status.state == "away" for status in rows):
            return all(not status.held for status in rows)
        time.sleep(_POLL_SECONDS)
    return False


def _print_sources(settings: Settings, sources: Sequence[WatchedSource], *, as_json: bool) -> None:
    from winnow.server.jobs.watching.status import read_status

    if as_json:
        print_json({"store": str(settings.store), **describe_sources(settings.store, sources)})
        return
    status = read_status(settings.store)
    print_lines(*_format_sources(sources, status, hidden_names(settings)))


def describe_sources(store: Path, sources: Sequence[WatchedSource]) -> dict[str, Any]:
    """The sources as JSON data, with the process that watches them and the status of their paths."""
    from winnow.server.jobs.watching.status import read_status

    status = read_status(store)
    return {
        "watched_by": asdict(status.holder) if status.holder else None,
        "sources": [
            {
                **one.model_dump(mode="json", exclude={"confirmed", "confirmed_at"}),
                "status": [asdict(row) for row in status.paths if row.source == one.id],
            }
            for one in sources
        ],
    }


def _format_sources(
    sources: Sequence[WatchedSource], status: WatcherStatus, hidden: Collection[str]
) -> Iterator[str]:
    if not sources:
        yield complete("there are no sources; add one: winnow sources add PATH")
        return
    yield f"watched by {status.holder}" if status.holder else complete("not watched now; run: winnow watch")
    for one in sources:
        rests = ", which was deleted, so it is not watched" if one.project in hidden else ""
        yield f"{one.id}: project {one.project}{rests}{''.join(_format_choices(one.request))}"
        rows = {row.path: row for row in status.paths if row.source == one.id}
        for path in one.paths:
            row = rows.get(path)
            state = format_status(row, is_watched=status.holder is not None) if row else "not scanned yet"
            yield f"  {path}: {state}"
            yield from (f"    {line}" for line in (format_attention(row) if row else ()))


def format_attention(row: PathStatus) -> Iterator[str]:
    """Lines for what needs a person: files that are not read, deletions that wait for a confirmation."""
    yield from (f"not read: {failure}" for failure in row.failures)
    if row.unreadable > len(row.failures):
        more = f"{row.unreadable - len(row.failures):,} more"
        yield f"... and {more}; winnow ingest {row.path} --project {row.project} names all"
    if row.held:
        gone = count_of(row.held, "document is gone and was", "documents are gone and were")
        yield f"{gone} kept; to delete: winnow sources confirm {row.source}"


def _format_choices(source: IngestRequest) -> Iterator[str]:
    for label in ("doc_tag", "environment", "repository"):
        if value := getattr(source, label):
            yield f", {label} {value}{' (forced)' if source.forced else ''}"
    for name in ("include", "exclude"):
        if patterns := getattr(source, name):
            yield f", {name} {' '.join(patterns)}"
    yield ", hidden text is kept" if source.keeps_hidden else ""
    yield ", OCR" if source.uses_ocr else ""
    yield f", references {source.references}" if source.references else ""
    yield "" if source.ignore_files else ", ignore files do not count"


def format_status(row: PathStatus, *, is_watched: bool = True) -> str:
    """One line for the state of a watched path."""
    states = {
        "starting": "starting",
        "events": "watched",
        "polling": f"polled, because {row.why}",
        "away": f"away: {row.why}",
        "failed": f"failed: {row.why}",
    }
    parts = [states[row.state] if is_watched else "not watched now"]
    parts += [f"indexing: {row.indexing}"] if row.indexing else []
    if row.scanned_at:
        parts.append(f"{count_of(row.files, 'file')} when scanned at {_format_time(row.scanned_at)}")
    if row.written or row.moved or row.deleted:
        when = f", last at {_format_time(row.changed_at)}" if row.changed_at else ""
        moved = f"{row.moved:,} moved, " if row.moved else ""
        parts.append(f"{count_of(row.written, 'document')} written, {moved}{row.deleted:,} deleted{when}")
    parts += [f"{row.unreadable:,} not read"] if row.unreadable else []
    return "; ".join(parts)


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
