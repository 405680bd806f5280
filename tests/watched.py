"""A watched store for tests: real files, real events, and a comparison with a fresh ingest of the same files."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ingesting import ingest_paths
from tests.patience import LIMIT
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.jobs.target import target_of
from winnow.server.jobs.watching.sources import WatchedSource, change_sources
from winnow.server.jobs.watching.status import PathStatus, read_status
from winnow.server.jobs.watching.store_watcher import watcher_of
from winnow.server.jobs.watching.watcher import Watcher
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

# Between two looks, and in times of a look: what is waited for needs the processor, too.
_POLL_SECONDS, _POLL_TIMES = 0.05, 3
# What an index is: its documents, its chunks and the ids of its vectors.
Index = tuple[list[tuple[str, str]], list[str], list[str]]


def settings_of(store: Path, **others: Any) -> Settings:
    return load_settings(store=store, project="p", embedding="off", graph="off", **others)


def wait_for(what: Callable[[], Any], seconds: float = LIMIT) -> Any:
    """What the function returns once that is true; fails after so many seconds."""
    until = time.monotonic() + seconds
    began = time.monotonic()
    while not (found := what()):
        looked = time.monotonic()
        assert looked < until, f"waited for {seconds:.0f} s"
        time.sleep(max(_POLL_SECONDS, _POLL_TIMES * (looked - began)))
        began = time.monotonic()
    return found


def index_of(backends: Backends) -> Index:
    documents = [(document.uri, document.content_hash) for document in backends.catalogue.documents("p")]
    return documents, backends.catalogue.chunk_ids("p"), sorted(backends.store.ids("p"))


def fresh_index(folder: Path, source: WatchedSource | None = None) -> Index:
    """The index of a fresh ingest of the folder under its present path."""
    with tempfile.TemporaryDirectory() as store:
        settings = settings_of(Path(store, "fresh"))
        backends = open_backends(settings, wait_for_model=False)
        try:
            rules = {"rules": source.request.rules, "labels": source.request.labels} if source else {}
            ingest_paths(target_of(settings, backends, None), [folder], **rules)  # type: ignore[arg-type]
            return index_of(backends)
        finally:
            backends.close()


def wait_until_fresh(backends: Backends, folder: Path, source: WatchedSource | None = None) -> None:
    """Wait until the index is that of a fresh ingest of the folder, in which nothing changes meanwhile."""
    expected = fresh_index(folder, source)
    wait_for(lambda: index_of(backends) == expected)


def add_source(store: Path, *paths: Path, **fields: Any) -> WatchedSource:
    own = {"id": paths[0].name, "paths": tuple(str(path.resolve()) for path in paths), "project": "p"}
    source = WatchedSource(**{**own, **fields})
    change_sources(store, lambda before: [*(one for one in before if one.id != source.id), source])
    return source


def status_of(store: Path, path: Path) -> PathStatus | None:
    return next((status for status in read_status(store).paths if status.path == str(path)), None)


@contextmanager
def watched(settings: Settings) -> Iterator[tuple[Backends, Watcher]]:
    """Open backends whose store is watched."""
    backends = open_backends(settings, wait_for_model=False)
    watcher = watcher_of(settings, lambda: backends)
    try:
        watcher.start()
        yield backends, watcher
    finally:
        watcher.stop()
        backends.close()
