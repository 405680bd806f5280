"""``kb.fields``: what a document states about itself, nested as its front matter is.

The index has the same facts flat (``stages.stage`` for a list of mappings), which searches filter by. Here the
front matter is read again from the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from winnow.server.contracts.corpus.texts import MAX_TEXT_BYTES, ReadFields
from winnow.server.errors import WinnowError
from winnow.server.models import Document
from winnow.server.operations.answers import text_charges
from winnow.server.operations.answers.budget import dumps
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.corpus.documents import list_fields
from winnow.server.operations.corpus.reading import find_document
from winnow.server.operations.declaration import Operation
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.markup.front_matter import FrontMatterRefused, NotFrontMatter, read_front_matter
from winnow.server.text.printable import one_line, printable
from winnow.server.text.words.tokens import count_tokens

# Aliases of YAML make many values of few: what is handed over is counted.
_MOST_VALUES, _DEEPEST = 10_000, 32
_TOO_LARGE = "fields: the front matter of {file} is too large or too deep; text(document) begins with it"


def read_fields(context: RequestContext, request: ReadFields) -> Answer:
    """Answer with the front matter as it is nested, or with the flat facts of a file that has none."""
    filters = filters_of(context, request.scope)
    document = find_document(context, filters, request.document)
    head = ""
    if document.body_start:
        head = (context.index.catalogue.text(document.id, filters.project) or "")[: document.body_start]
    fields = _read_nested(document, head) if head else list_fields(document.metadata)
    payload = {
        "document_id": document.id,
        "file": one_line(document.uri, 1_000),
        "title": one_line(document.title or document.uri),
        "fields": fields,
    }
    written = dumps(fields)
    return Answer(
        payload, "metadata", 1, count_tokens(written), charged_text=text_charges.piece(document.id, written)
    )


def _read_nested(document: Document, head: str) -> dict[str, Any]:
    try:
        facts, _ = read_front_matter(head)
    except (NotFrontMatter, FrontMatterRefused):
        return list_fields(document.metadata)
    try:
        return _Plain().convert_mapping(facts, 0)
    except _TooLargeError:
        raise WinnowError("INVALID_REQUEST", _TOO_LARGE.format(file=one_line(document.uri, 200))) from None


class _TooLargeError(Exception):
    """More values, characters or levels than an answer holds."""


class _Plain:
    """Facts as JSON has them: dates are ISO text, sets are sorted lists, text is printable."""

    def __init__(self) -> None:
        self._values, self._bytes = _MOST_VALUES, MAX_TEXT_BYTES

    def convert_mapping(self, facts: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        return {self._text(str(key)): self._convert(value, depth + 1) for key, value in facts.items()}

    def _convert(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if depth > _DEEPEST or self._values < 0:
            raise _TooLargeError
        match value:
            case None | bool() | float():
                return value
            case Mapping():
                return self.convert_mapping(value, depth)
            case list() | tuple():
                return [self._convert(item, depth + 1) for item in value]
            case set():
                return sorted(self._text(str(item)) for item in value)
            case date():
                return value.isoformat()
            case int() if value.bit_length() <= 64:
                return value
            case _:
                return self._text(value if isinstance(value, str) else str(value))

    def _text(self, text: str) -> str:
        self._bytes -= len(text.encode("utf-8", "replace"))
        if self._bytes < 0:
            raise _TooLargeError
        return printable(text)


KB_FIELDS = Operation("kb.fields", ReadFields, read_fields)
