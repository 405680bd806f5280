"""``kb.read_excerpt`` and ``kb.expand_excerpt``: the text of a passage, and around it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    Arguments,
    ChunkId,
    Cited,
    Meta,
    Payload,
    Scope,
)
from winnow.server.contracts.kb import PassageId, Title, Uri

MAX_EXCERPT_TOKENS = 800
MAX_EXCERPT_BYTES = 32 * 1024


class ExcerptOptions(Arguments):
    """How an excerpt is shown."""

    format: Literal["text", "bullets"] = Field(
        default="text", description="bullets: one line for each sentence, list item or code block"
    )
    include_citation: bool = Field(default=True, description="say where the excerpt comes from")


class ReadExcerpt(Arguments):
    """Arguments of ``kb.read_excerpt``."""

    passage_id: PassageId = Field(description="id of a passage or of any row", json_schema_extra=DESCRIBED)
    max_tokens: int = Field(default=300, ge=8, le=MAX_EXCERPT_TOKENS, description="length of the excerpt")
    start_char: int = Field(default=0, ge=0, le=10_000_000, description="next_start_char of the last answer")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    options: ExcerptOptions = Field(default_factory=ExcerptOptions, description="how the excerpt is shown")


class ExpandExcerpt(Arguments):
    """Arguments of ``kb.expand_excerpt``."""

    passage_id: PassageId = Field(description="id of a passage or of any row")
    before_tokens: int = Field(default=150, ge=0, le=MAX_EXCERPT_TOKENS, description="how much before the passage")
    after_tokens: int = Field(default=150, ge=0, le=MAX_EXCERPT_TOKENS, description="how much after the passage")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class Citation(Payload):
    """The source of an excerpt."""

    section_id: ChunkId
    doc_tag: Annotated[str, StringConstraints(max_length=200)]
    title: Title
    uri: Uri


class ExcerptAnswer(Cited):
    """Answer of ``kb.read_excerpt`` and ``kb.expand_excerpt``.

    ``start_char`` and ``next_start_char`` count characters from the start of the passage; text before it in the
    document has negative numbers.
    """

    passage_id: PassageId
    excerpt: Annotated[str, StringConstraints(max_length=MAX_EXCERPT_BYTES)]
    start_char: int = Field(ge=-100_000_000, le=100_000_000)
    truncated: bool
    next_start_char: Annotated[int, Field(ge=0, le=100_000_000)] | None
    citation: Citation | None = None
    meta: Meta
