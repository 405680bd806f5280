"""Stores for tests: over a folder of files by words alone, and copies of a store."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.backends.vectors.index_build import _copy_with_holes
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings


def index_by_words(folder: Path, store: Path) -> Settings:
    """Index a folder of files without a model and without a graph; every file must be readable."""
    settings = load_settings(store=store, embedding="off", graph="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        assert ingest_paths(target_of(settings, backends, None), [folder]).failures == ()
    finally:
        backends.close()
    return settings


def copy_store(store: Path, target: Path) -> Path:
    """Copy a store with the holes of its files: with them filled, each copy would take 230 MB instead of 10."""
    return Path(shutil.copytree(store, target, copy_function=_copy_file))


def _copy_file(source: str, target: str) -> None:
    _copy_with_holes(source, target)
    shutil.copystat(source, target)
