"""``kb.text`` and ``kb.fields``: whole documents, and their front matter as it is nested. For scripts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import Arguments, Scope
from winnow.server.contracts.corpus.reading import AskedPages

MAX_TEXTS = 50  # documents of one call
# Printable text of one answer, in UTF-8. As JSON it is at most three times as long: below an answer's 900 KiB.
MAX_TEXT_BYTES = 256 * 1024

_Document = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class ReadTexts(Arguments):
    """Arguments of ``kb.text``."""

    documents: list[_Document] = Field(min_length=1, max_length=MAX_TEXTS, description="ids, paths or titles")
    start: int = Field(default=0, ge=0, le=10**9, description="next of the last piece; for one document")
    page: AskedPages | None = Field(default=None, description="only this page, slide, sheet, chapter, ...")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class ReadFields(Arguments):
    """Arguments of ``kb.fields``."""

    document: _Document = Field(description="document_id, path (file) or title")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
