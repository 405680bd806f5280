"""``help``: arguments and answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import DESCRIBED, Arguments, Meta, Payload

Topic = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class Help(Arguments):
    """Arguments of ``help``."""

    topic: Topic = Field(
        default="playbook",
        description="playbook, sdk, recipes, skills, topics, a tool or an SDK function",
        json_schema_extra=DESCRIBED,
    )
    start_char: int = Field(
        default=0, ge=0, le=1_000_000, description="where to begin; to go on, next_start_char of the last answer"
    )


class HelpAnswer(Payload):
    """Answer of ``help``. ``text`` is Markdown; ``topics``, in "playbook" and "topics" only, are all there are."""

    topic: Topic
    text: Annotated[str, StringConstraints(max_length=20_000)]
    topics: list[Topic] | None = Field(default=None, max_length=200)
    truncated: bool
    next_start_char: int | None = Field(default=None, ge=0, le=1_000_000)
    meta: Meta
