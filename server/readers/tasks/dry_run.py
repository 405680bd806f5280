"""Splits a document and extracts its entities as the ingest will, to show that both end within the limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from winnow.server.ids import document_id
from winnow.server.models import Document, Place
from winnow.server.readers.chunking import chunk, measure
from winnow.server.readers.extraction.document_extraction import extract_document
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER
from winnow.server.readers.tasks.table import ReaderAnswer


def warm_up(*, uses_ocr: bool) -> None:
    """Load the vocabulary of tokens."""
    measure("")


def serve(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
    """The number of chunks."""
    uri, metadata = str(request["uri"]), request["metadata"]
    document = Document(
        document_id("p", uri),
        "p",
        uri,
        "",
        request["title"],
        request["kind"],
        "",
        metadata=metadata,
        body_start=request["body_start"],
    )
    chunks = chunk(document, request["text"], [Place(*place) for place in request["places"]])
    extract_document(document, request["text"], chunks, NO_GAZETTEER)
    return {"chunks": len(chunks)}, ""
