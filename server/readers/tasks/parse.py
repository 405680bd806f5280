"""Parses markup: a page of HTML, reStructuredText or a manual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO, get_args

from winnow.server.models import DocumentType
from winnow.server.readers import markup
from winnow.server.readers.documents import RawDocument
from winnow.server.readers.reading import parse
from winnow.server.readers.tasks.table import ReaderAnswer


def warm_up(*, uses_ocr: bool) -> None:
    """Import what docutils imports on demand."""
    markup.warm_up()


def serve(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
    """The title and the text as Markdown."""
    kind: DocumentType = request["kind"]
    assert kind in get_args(DocumentType)
    (raw,) = parse(kind, str(request["text"]), str(request["uri"]))
    assert isinstance(raw, RawDocument)
    return {"title": raw.title}, raw.text
