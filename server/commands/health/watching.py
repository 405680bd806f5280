"""The check of ``winnow doctor``: whether the sources are watched, and what waits for the user."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.server.commands.terminal.findings import Finding
from winnow.server.jobs.watching.sources import WatchedSource, read_sources
from winnow.server.jobs.watching.status import PathStatus, WatcherStatus, read_status
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of

_GROUP = "sources"
_RAISE_LIMIT = "run: sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"


def check_watching(settings: Settings) -> Iterator[Finding]:
    """A finding for the watcher and one for each path of a source; none without sources."""
    sources = read_sources(settings.store)
    if not sources:
        return
    status = read_status(settings.store)
    rows = {(row.source, row.path): row for row in status.paths}
    detail = f"watched by {status.holder}" if status.holder else "nothing watches them now"
    advice = "" if status.holder else "run: winnow watch, or winnow serve --watch"
    yield Finding(_GROUP, "watcher", status.holder is not None, detail, advice, essential=False)
    for source in sources:
        for path in source.paths:
            yield _check_path(source, path, rows.get((source.id, path)), status)


def _check_path(source: WatchedSource, path: str, row: PathStatus | None, status: WatcherStatus) -> Finding:
    detail, advice = f"{path}: not scanned yet", ""
    if row is not None:
        detail, advice = _describe(row, is_watched=status.holder is not None)
    return Finding(_GROUP, source.id, not advice, detail, advice, essential=False)


def _describe(row: PathStatus, *, is_watched: bool) -> tuple[str, str]:
    """The finding about a path, and advice; "" if nothing."""
    if row.held:
        detail = f"{row.path}: {count_of(row.held, 'document is', 'documents are')} gone and kept"
        return detail, f"to delete them: winnow sources confirm {row.source}"
    if not is_watched:
        return f"{row.path}: {count_of(row.files, 'file')} at the last scan", ""
    match row.state:
        case "polling":
            return f"{row.path}: polled, because {row.why}", _RAISE_LIMIT if "limit" in row.why else ""
        case "away":
            return f"{row.path}: {row.why}", f"mount it, or run: winnow sources remove {row.source}"
        case "failed":
            return f"{row.path}: {row.why}", "do what the message says; it is tried again"
    return f"{row.path}: {count_of(row.files, 'file')} at the last scan", ""
