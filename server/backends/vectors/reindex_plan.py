"""The plan of a reindex: the folder that new vectors are made in, and the switch from the former ones.

Each set of vectors has its own folder below the store (``vectors``, ``vectors-1f0c...``), or a collection with the
same suffix; the catalogue names the current one. Before its first point a new set is recorded in the store::

    reindexing.json    which folder, for which model, from which state of the documents

If the process is killed at any time, the former set stays current, and the next run continues in the recorded
folder if model and documents are unchanged. A folder that is neither current nor recorded is a leftover.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from winnow.server.backends.catalogue import Binding, Catalogue
from winnow.server.storage.files.temporary_folders import CREATING, remove_abandoned

_FILE = "reindexing.json"


@dataclass(frozen=True, slots=True)
class _Plan:
    """A set of vectors that is being made; ``generations``: of each project when it began."""

    vectors: str
    dimension: int
    fingerprint: str
    generations: dict[str, int]


def folder_name(dimension: int) -> str:
    """The folder of the first vectors whose dimension is not the default."""
    return f"vectors-{dimension}"


def plan_reindex(store: Path, catalogue: Catalogue, fingerprint: str, dimension: int) -> Binding:
    """Plan where all vectors of the catalogue are made again: in the folder of an interrupted run, or a new one.

    The caller is the catalogue's only writer.
    """
    generations = {project.name: project.generation for project in catalogue.projects()}
    begun = _read_plan(store)
    plan = _Plan(f"vectors-{secrets.token_hex(4)}", dimension, fingerprint, generations)
    if begun and (begun.dimension, begun.fingerprint, begun.generations) == (dimension, fingerprint, generations):
        plan = begun
    else:
        _write_plan(store, plan)
    return Binding(plan.vectors, plan.dimension)


def finish_reindex(store: Path, catalogue: Catalogue, binding: Binding, fingerprint: str) -> None:
    """Make these vectors the current ones and remove the plan."""
    catalogue.rebind(binding, fingerprint)
    (store / _FILE).unlink()


def remove_leftovers(store: Path, catalogue: Catalogue) -> None:
    """Remove leftover folders. The caller holds the store, so no other process has it open."""
    # In this order: a folder is recorded before it is created, and becomes current before the record is removed.
    folders = [path for path in store.glob("vectors*") if path.is_dir()]
    begun = _read_plan(store)
    kept = {catalogue.binding.vectors, begun.vectors if begun else ""}
    for path in folders:
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)
    remove_abandoned(store, CREATING)


def _read_plan(store: Path) -> _Plan | None:
    try:
        return _Plan(**json.loads((store / _FILE).read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _write_plan(store: Path, plan: _Plan) -> None:
    temporary = store / f".{_FILE}"
    temporary.write_text(json.dumps(asdict(plan)), encoding="utf-8")
    os.replace(temporary, store / _FILE)
