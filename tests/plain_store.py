"""A store over a folder of files, by words alone: for tests of what needs no model."""

from __future__ import annotations

from pathlib import Path

from server.ingest.pipeline import ingest_paths
from server.ingest.target import target_of
from server.opening import open_backends
from server.settings import Settings, load_settings


def index_by_words(folder: Path, store: Path) -> Settings:
    """Index a folder of files without a model and without a graph; every file must be readable."""
    settings = load_settings(store=store, embedding="off", graph="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        assert ingest_paths(target_of(settings, backends, None), [folder]).failures == ()
    finally:
        backends.close()
    return settings
