"""The project that a client is given: the one that was named, or the only one that has documents."""

from __future__ import annotations

from contextlib import closing

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import Configuration
from winnow.server.settings.settings import Settings

_SHOWN = 10


def projects_with_documents(settings: Settings) -> list[str]:
    """The names of the projects of the store that have documents; none without an index."""
    path = catalogue_path(settings)
    if not path.exists():
        return []
    with closing(Catalogue(path)) as catalogue:
        return [info.name for info in catalogue.projects()]


def choose_project(configuration: Configuration) -> Settings:
    """The settings with the project for clients.

    Raises ``WinnowError("INVALID_PROJECT")`` where several could be meant, or the one that is meant has no
    documents and others have.
    """
    settings = configuration.settings
    filled = projects_with_documents(settings)
    if not filled or settings.project in filled:
        return settings
    named = ", ".join(filled[:_SHOWN]) + (" and more" if len(filled) > _SHOWN else "")
    if "project" in configuration.given:
        raise WinnowError(
            "INVALID_PROJECT",
            f"project {settings.project!r} has no documents; index some: winnow ingest PATH --project "
            f"{settings.project}, or name one of those that have: {named}",
        )
    if len(filled) > 1:
        raise WinnowError("INVALID_PROJECT", f"the store has several projects: {named}; name one with --project")
    return settings.model_copy(update={"project": filled[0]})
