"""How one set of vectors takes another's place: which folder they are made in, and what becomes of the former.

Each set lies in a folder of its own below the store (``vectors``, ``vectors-1f0c...``), or in a collection whose
name ends alike; the catalogue says which one counts. A set that is being made is written down beside it before its
first point::

    reindexing.json    which folder, for which model, from which state of the documents

Killed at any time, the former set still counts, and the next run goes on in the folder that is written down if
model and documents are as they were. A folder that neither counts nor is written down is left over.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from server.backends.catalogue import Binding, Catalogue
from server.backends.files.temporary_folders import CREATING, remove_abandoned

_FILE = "reindexing.json"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is being made, and from what: ``generations`` is that of each project."""

    vectors: str
    dimension: int
    fingerprint: str
    generations: dict[str, int]


def folder_name(dimension: int) -> str:
    """The folder for the first vectors of another dimension than the default's."""
    return f"vectors-{dimension}"


def plan_reindex(store: Path, catalogue: Catalogue, fingerprint: str, dimension: int) -> Binding:
    """Where to make all vectors of the catalogue anew: where an interrupted run began to, or somewhere empty.

    The caller is the catalogue's only writer.
    """
    generations = {each.name: each.generation for each in catalogue.projects()}
    begun = _begun(store)
    plan = _Plan(f"vectors-{secrets.token_hex(4)}", dimension, fingerprint, generations)
    if begun and (begun.dimension, begun.fingerprint, begun.generations) == (dimension, fingerprint, generations):
        plan = begun
    else:
        _write_down(store, plan)
    return Binding(plan.vectors, plan.dimension)


def finish_reindex(store: Path, catalogue: Catalogue, binding: Binding, fingerprint: str) -> None:
    """Let these vectors take the place of those that counted so far."""
    catalogue.rebind(binding, fingerprint)
    (store / _FILE).unlink()


def remove_leftovers(store: Path, catalogue: Catalogue) -> None:
    """Remove what is left over. The caller holds the store, so that nobody else has it open."""
    # In this order: a folder is written down before it is made, and counts before it is no longer written down.
    folders = [path for path in store.glob("vectors*") if path.is_dir()]
    begun = _begun(store)
    kept = {catalogue.binding.vectors, begun.vectors if begun else ""}
    for path in folders:
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)
    remove_abandoned(store, CREATING)


def _begun(store: Path) -> _Plan | None:
    try:
        return _Plan(**json.loads((store / _FILE).read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _write_down(store: Path, plan: _Plan) -> None:
    whole = store / f".{_FILE}"
    whole.write_text(json.dumps(asdict(plan)), encoding="utf-8")
    os.replace(whole, store / _FILE)
