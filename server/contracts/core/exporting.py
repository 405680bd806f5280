"""``exports.render.markdown``: a title, sections, quotes and their works as Markdown."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import DESCRIBED, Arguments, Label, Meta, Payload, Scope
from winnow.server.contracts.core.citations import MAX_CHECKS, GivenQuote, QuoteStatus

MAX_SECTIONS, MAX_PARAGRAPHS, MAX_SECTION_QUOTES = 50, 100, 20
MAX_EXPORTED_CHARS = 60_000  # of all arguments together
MAX_MARKDOWN_CHARS = 200_000

_Heading = Annotated[str, StringConstraints(min_length=1, max_length=300)]
_Paragraph = Annotated[str, StringConstraints(max_length=2_000)]


class ExportSection(Arguments):
    """A section: its heading, paragraphs of plain text, then quotes."""

    heading: _Heading
    level: int = Field(default=2, ge=2, le=6, description="level of the heading")
    paragraphs: list[_Paragraph] = Field(
        default_factory=list, max_length=MAX_PARAGRAPHS, description="plain text; [@citekey, p. 3] is kept"
    )
    quotes: list[GivenQuote] = Field(
        default_factory=list, max_length=MAX_SECTION_QUOTES, description="quote, source and page of each"
    )


class RenderMarkdown(Arguments):
    """Arguments of ``exports.render.markdown``."""

    title: _Heading = Field(description="title of the document")
    sections: list[ExportSection] = Field(
        min_length=1,
        max_length=MAX_SECTIONS,
        description="heading, level, paragraphs (plain text) and quotes of each",
        json_schema_extra=DESCRIBED,
    )
    style: Literal["pandoc", "apa", "markdown"] = Field(default="pandoc", description="of the citations")
    bibliography: bool = Field(default=True, description="end with the list of the cited works")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class ExportedQuote(Payload):
    """The number of a quote in the order of the document, and what its check found."""

    number: int = Field(ge=1, le=MAX_CHECKS)
    status: QuoteStatus


class RenderedMarkdown(Payload):
    """Answer of ``exports.render.markdown``; ``unverified`` are quotes altered, missing or with text left out."""

    markdown: Annotated[str, StringConstraints(max_length=MAX_MARKDOWN_CHARS)]
    citekeys: list[Label] = Field(max_length=MAX_CHECKS)
    quotes: int = Field(ge=0, le=MAX_CHECKS)
    unverified: list[ExportedQuote] = Field(max_length=MAX_CHECKS)
    meta: Meta
