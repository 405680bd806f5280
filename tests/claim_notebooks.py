"""A store with two documents and no model, and servers over it that list the tools of claims."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.ingesting import ingest_paths
from tests.notebooks import application_over
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.entry.app import Application
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

QUOTE = "Backups are kept for ninety days."
OTHER_QUOTE = "Old backups are deleted on Sundays."
Opened = tuple[Settings, Backends]


@contextmanager
def open_store(home: Path) -> Iterator[Opened]:
    """The settings and the open backends of a store with two documents in the project ``mine``."""
    (home / "docs").mkdir()
    (home / "docs/backups.md").write_text(f"# Backups\n\n{QUOTE}\n", "utf-8")
    (home / "docs/old.md").write_text(f"# Old backups\n\n{OTHER_QUOTE}\n", "utf-8")
    changed: dict[str, Any] = {"tools": "all,claims", "enable_writes": True, "embedding": "off", "daemon": "off"}
    settings = load_settings(store=home / "store", project="mine", projects=("mine", "theirs"), **changed)
    backends = open_backends(settings, wait_for_model=True)
    try:
        ingest_paths(target_of(settings, backends, None), [home / "docs"])
        yield settings, backends
    finally:
        backends.close()


@asynccontextmanager
async def serving(opened: Opened, **changed: Any) -> AsyncIterator[Application]:
    """A server over the store with these settings changed."""
    async with application_over(opened[0].model_copy(update=changed), opened[1]) as (application, _):
        yield application
