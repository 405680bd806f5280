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
from server.backends.sqlite import complaint

_ASIDE = ".damaged"
_LOGS = ("-wal", "-shm")


def flaws(store: Path) -> Iterator[SealFlaw]:
    """Every file of the databases and the embedded vectors that is not as it was written. Reads all of them."""
    found = seal.flaws(store)
    yield from found
    named = {flaw.file for flaw in found}
    for name in FILES:
        if name not in named and (store / name).exists() and (said := complaint(store / name)):
            yield SealFlaw(name, said)
    for folder in vectors(store):
        yield from (SealFlaw(f"{folder.name}/{flaw.file}", flaw.why) for flaw in seal.flaws(folder))


def vectors(store: Path) -> list[Path]:
    """The folders of embedded vectors."""
    return sorted(path for path in store.glob("vectors*") if path.is_dir())


def sealed(store: Path) -> bool:
    """Whether an ingest has sealed the databases and all vectors."""
    return seal.is_sealed(store) and all(map(seal.is_sealed, vectors(store)))


def are_whole(folder: Path) -> bool:
    """Whether these vectors are known to be as they were written."""
    return seal.is_sealed(folder) and not seal.flaws(folder)


def put_aside(store: Path) -> list[Path]:
    """Rename the databases that are damaged; where the catalogue is, remove the vectors. Says what is renamed.

    The caller is the store's only holder and writer.
    """
    bad = {flaw.file for flaw in flaws(store)} & set(FILES)
    seal.unseal(store)
    aside = [_renamed(store / name) for name in FILES if name in bad and (store / name).exists()]
    if CATALOGUE in bad:
        for folder in vectors(store):
            shutil.rmtree(folder)
    return aside


def _renamed(path: Path) -> Path:
    kept = path.with_name(path.name + _ASIDE)
    os.replace(path, kept)
    for end in _LOGS:
        path.with_name(path.name + end).unlink(missing_ok=True)
    return kept
