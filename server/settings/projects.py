"""The combination of the settings ``project`` and ``projects`` of several sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from winnow.server.settings.sources import SourcedValue
from winnow.server.settings.value_types import split_names

Given = dict[str, SourcedValue]  # by setting


def narrow_projects(given: Given) -> tuple[Given, tuple[str, ...]]:
    """Drop ``projects`` if a nearer source names one ``project``: then only that one may be searched.

    Returns the values, and the projects that were dropped.
    """
    project, projects = given.get("project"), given.get("projects")
    if project is None or projects is None or project.rank >= projects.rank:
        return given, ()
    return {name: value for name, value in given.items() if name != "projects"}, tuple(split_names(projects.value))


def with_first_project(given: Given, projects: Sequence[str]) -> Given:
    """The values, with the first of ``projects`` as the ``project`` where no source sets one.

    Otherwise calls without a scope would search the project "default", which may be out of reach.
    """
    if "project" in given or not projects:
        return given
    return {**given, "project": replace(given["projects"], name="project", value=projects[0])}
