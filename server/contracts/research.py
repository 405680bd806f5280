"""The research tools: projects, their passages and what the index holds of them.

Names and shapes of fields are those of an earlier system for people who write with sources, so that its clients
work with this server (docs/decisions/0017-projects-and-libraries.md).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from server.contracts.base import LISTED, Arguments, Meta, Payload

MAX_PROJECTS = 100

ProjectId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
_Collection = Annotated[str, StringConstraints(max_length=100)]
_Model = Annotated[str, StringConstraints(max_length=300)]


class ListProjects(Arguments):
    """Arguments of ``list_projects``."""

    prefix: Annotated[str, StringConstraints(max_length=64)] | None = Field(
        default=None, description="only projects whose id begins with this", json_schema_extra=LISTED
    )


class ProjectRow(Payload):
    """A project and what it can be searched by. ``dense_model`` is null where no model made its vectors."""

    id: ProjectId
    collection: _Collection
    dense_model: _Model | None
    sparse_model: _Model | None
    hybrid_enabled: bool


class ProjectsAnswer(Payload):
    """Answer of ``list_projects``."""

    projects: list[ProjectRow] = Field(max_length=MAX_PROJECTS)
    count: int = Field(ge=0, le=MAX_PROJECTS)
    meta: Meta
