"""Figures of an open store and of the use of its embedding model, as plain data for operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ProjectSize:
    """Documents and passages of one project; ``changed`` is when they last changed (ISO 8601, UTC), or ""."""

    name: str
    documents: int
    passages: int
    changed: str


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The embedding model: its state, the seconds its loading took (0 before), and what it embedded so far."""

    state: str
    load_seconds: float
    batches: int
    texts: int


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """``projects``: those that were asked about. ``vectors`` are those of all projects of the store."""

    projects: tuple[ProjectSize, ...]
    vectors: int
    model: ModelFigures


def store_figures_from_json(fields: Mapping[str, Any]) -> StoreFigures:
    """The inverse of ``asdict``."""
    projects = tuple(ProjectSize(**project) for project in fields["projects"])
    return StoreFigures(projects, fields["vectors"], ModelFigures(**fields["model"]))
