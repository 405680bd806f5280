"""Finds damaged files of a store and renames them, so that an ingest makes them again.

Everything but the catalogue is derived from the catalogue, and the documents in that from the files that were
ingested; the settings of projects are not (``server.backends.salvage``).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from winnow.server.storage.files import seal
from winnow.server.storage.files.seal import SealFlaw
from winnow.server.storage.files.store_folder import FILES
from winnow.server.storage.sqlite import check_integrity

_SUFFIX = ".damaged"
_LOG_SUFFIXES = ("-wal", "-shm")


def find_flaws(store: Path) -> Iterator[SealFlaw]:
    """Every file of the databases and the embedded vectors that is not as it was written. Reads all files."""
    flaws = seal.find_flaws(store)
    yield from flaws
    flawed = {flaw.file for flaw in flaws}
    for name in FILES:
        if name not in flawed and (store / name).exists() and (message := check_integrity(store / name)):
            yield SealFlaw(name, message)
    for folder in vector_folders(store):
        yield from (SealFlaw(f"{folder.name}/{flaw.file}", flaw.why) for flaw in seal.find_flaws(folder))


def vector_folders(store: Path) -> list[Path]:
    """The folders of embedded vectors."""
    return sorted(path for path in store.glob("vectors*") if path.is_dir())


def is_store_sealed(store: Path) -> bool:
    """Whether an ingest has sealed the databases and all vectors."""
    return seal.is_sealed(store) and all(map(seal.is_sealed, vector_folders(store)))


def is_intact(folder: Path) -> bool:
    """Whether the vectors in this folder are sealed and as they were written."""
    return seal.is_sealed(folder) and not seal.find_flaws(folder)


def rename_damaged(store: Path) -> list[Path]:
    """Rename damaged databases; returns the new names. None replaces a file that was renamed before.

    The caller is the store's only holder and writer.
    """
    damaged = {flaw.file for flaw in find_flaws(store)} & set(FILES)
    seal.unseal(store)
    return [_rename(store / name) for name in FILES if name in damaged and (store / name).exists()]


def remove_vectors(store: Path) -> None:
    """Remove the vectors of a catalogue that is lost."""
    for folder in vector_folders(store):
        shutil.rmtree(folder)


def _rename(path: Path) -> Path:
    names = chain([path.name + _SUFFIX], (f"{path.name}{_SUFFIX}-{number}" for number in count(2)))
    target = next(path.with_name(name) for name in names if not os.path.lexists(path.with_name(name)))
    os.rename(path, target)
    for suffix in _LOG_SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return target
