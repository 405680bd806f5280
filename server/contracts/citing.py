"""``kb.cite``: citations of the works that rows are from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import Arguments, Scope
from winnow.server.models import CitationStyle

MOST_CITED = 1_000
_Number = Annotated[int, Field(ge=0, le=10**9)]


class CitedRow(Arguments):
    """A row to cite: the id of a passage, chunk or document, and its first and last page where they are known."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
    page_span: list[_Number] | None = Field(default=None, min_length=2, max_length=2)


class Cite(Arguments):
    """Arguments of the SDK's ``cite`` with a style; without one, the style of the project."""

    rows: list[CitedRow] = Field(min_length=1, max_length=MOST_CITED)
    style: CitationStyle | None = None
    scope: Scope | None = None
