"""``kb.show``: a cited page as a picture, or the cited lines of a text, with the quote marked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from winnow.server.contracts.base import DESCRIBED, Arguments, Cited, Meta, Payload, Scope
from winnow.server.contracts.kb import PassageId

MAX_QUOTE_CHARS = 2_000
MAX_SHOWN_CHARS = 16_000


def _as_text(value: Any) -> Any:
    return str(value) if type(value) is int else value


# Whether the quote stands there word for word, with other words, or not at all; "passage": no quote was given, and
# the passage itself is marked; "none": nothing was to be marked.
MarkKind = Literal["exact", "closest", "absent", "passage", "none"]
# A number or a text: pages are numbered, or named by what is printed on them.
PageName = Annotated[str, BeforeValidator(_as_text), StringConstraints(min_length=1, max_length=300)]
_Offset = Annotated[int, Field(ge=0, le=MAX_SHOWN_CHARS)]


class ShowPage(Arguments):
    """Arguments of ``kb.show``."""

    passage_id: PassageId | None = Field(
        default=None, description="id of a passage or of any row", json_schema_extra=DESCRIBED
    )
    document: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = Field(
        default=None, description="in its place: document_id, path or title", json_schema_extra=DESCRIBED
    )
    page: PageName | None = Field(
        default=None,
        description='of a document: its number in page_span, or "p. iv" as printed',
        json_schema_extra=DESCRIBED,
    )
    quote: Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUOTE_CHARS)] | None = Field(
        default=None, description="words to mark", json_schema_extra=DESCRIBED
    )
    image: bool = Field(
        default=True,
        description="false: the text of a PDF page in place of its picture",
        json_schema_extra=DESCRIBED,
    )
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class ImageFacts(Payload):
    """The image beside an answer: its size in pixels and bytes."""

    mime_type: Annotated[str, StringConstraints(max_length=40)]
    width: int = Field(ge=1, le=100_000)
    height: int = Field(ge=1, le=100_000)
    bytes: int = Field(ge=1, le=100_000_000)


class ShowAnswer(Cited):
    """Answer of ``kb.show``.

    ``text`` are the lines around the mark, which has its characters ``marked``; it is "" beside an image.
    ``first_line`` is the number of its first line in a document without pages. ``url`` is the address of the file,
    for clients on the server's machine.
    """

    document_id: Annotated[str, StringConstraints(max_length=64)]
    file: Annotated[str, StringConstraints(max_length=1000)]
    title: Annotated[str, StringConstraints(max_length=500)]
    type: Annotated[str, StringConstraints(max_length=40)]
    mark: MarkKind
    text: Annotated[str, StringConstraints(max_length=MAX_SHOWN_CHARS)]
    marked: list[_Offset] | None = Field(default=None, min_length=2, max_length=2)
    first_line: Annotated[int, Field(ge=1, le=10**9)] | None = None
    image: ImageFacts | None = None
    url: Annotated[str, StringConstraints(max_length=12_000)] | None = None
    meta: Meta
