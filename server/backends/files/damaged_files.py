"""What is wrong with the files of a store, and how they are put aside so that an ingest makes them anew.

Everything but the catalogue is derived from it, and the catalogue from the files that were ingested.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from server.backends.files import seal
from server.backends.files.seal import SealFlaw
from server.backends.files.store_folder import CATALOGUE, FILES
from server.backends.sqlite import check_integrity

_ASIDE = ".damaged"
_LOGS = ("-wal", "-shm")


def find_flaws(store: Path) -> Iterator[SealFlaw]:
    """Every file of the databases and the embedded vectors that is not as it was written. Reads all of them."""
    found = seal.find_flaws(store)
    yield from found
    named = {flaw.file for flaw in found}
    for name in FILES:
        if name not in named and (store / name).exists() and (said := check_integrity(store / name)):
            yield SealFlaw(name, said)
    for folder in vector_folders(store):
        yield from (SealFlaw(f"{folder.name}/{flaw.file}", flaw.why) for flaw in seal.find_flaws(folder))


def vector_folders(store: Path) -> list[Path]:
    """The folders of embedded vectors."""
    return sorted(path for path in store.glob("vectors*") if path.is_dir())


def is_store_sealed(store: Path) -> bool:
    """Whether an ingest has sealed the databases and all vectors."""
    return seal.is_sealed(store) and all(map(seal.is_sealed, vector_folders(store)))


def is_intact(folder: Path) -> bool:
    """Whether these vectors are known to be as they were written."""
    return seal.is_sealed(folder) and not seal.find_flaws(folder)


def rename_damaged(store: Path) -> list[Path]:
    """Rename the databases that are damaged; where the catalogue is, remove the vectors. Says what is renamed.

    The caller is the store's only holder and writer.
    """
    bad = {flaw.file for flaw in find_flaws(store)} & set(FILES)
    seal.unseal(store)
    aside = [_renamed(store / name) for name in FILES if name in bad and (store / name).exists()]
    if CATALOGUE in bad:
        for folder in vector_folders(store):
            shutil.rmtree(folder)
    return aside


def _renamed(path: Path) -> Path:
    kept = path.with_name(path.name + _ASIDE)
    os.replace(path, kept)
    for end in _LOGS:
        path.with_name(path.name + end).unlink(missing_ok=True)
    return kept
