"""Hashes and stamps that decide whether a document or a file changed since the last ingest."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from server.backends.base import IndexedDocument, payload_of
from server.ids import document_id
from server.ingest.documents import DefaultLabels, RawDocument
from server.ingest.file_discovery import File
from server.models import Document
from server.retrieval.lexical import has_same_stemmer
from server.text.languages import language_of

# Increased when chunks or vectors of the same document differ from an earlier version's: everything is rewritten.
INDEX_VERSION = 1
# Increased when readers make another document of the same file: everything is read again, and rewritten where it
# differs.
READERS_VERSION = 5


def document_of(project: str, source: str, raw: RawDocument) -> Document:
    """The record of a document, with the hash of its content."""
    return Document(
        id=document_id(project, raw.uri),
        project=project,
        uri=raw.uri,
        source=source,
        title=raw.title,
        type=raw.type,
        content_hash=_content_hash(raw),
        vendor=raw.vendor,
        doc_tag=raw.doc_tag,
        tags=raw.tags,
        created=raw.created,
        metadata=raw.metadata,
        environment=raw.environment,
        repository=raw.repository,
        language="" if raw.type == "code" else language_of(raw.text),
    )


def indexed_document_of(document: Document, origin: str, fingerprint: str) -> IndexedDocument:
    """The state to compare with the catalogue's: a document whose state is equal is unchanged."""
    return IndexedDocument(
        id=document.id,
        uri=document.uri,
        source=document.source,
        origin=origin,
        content_hash=document.content_hash,
        context_hash=_context_hash(document),
        embedding=fingerprint,
    )


def stamp_of(file: File, labels: DefaultLabels) -> str:
    """The stamp of a file: a file whose stamp is equal need not be read."""
    return f"{INDEX_VERSION}.{READERS_VERSION}:{file.size}:{file.modified_ns}:{_hash(asdict(labels))}"


def _content_hash(raw: RawDocument) -> str:
    # Environment and repository count in the context hash. Here they would make every document of an older index
    # a changed one.
    facts = {key: value for key, value in asdict(raw).items() if key not in ("environment", "repository")}
    return _hash(INDEX_VERSION, facts)


def _context_hash(document: Document) -> str:
    # Languages that are stemmed as English are left out: an index from before language detection keeps its points.
    language = () if has_same_stemmer(document.language, "en") else (document.language,)
    return _hash(INDEX_VERSION, document.title, payload_of(document), *language)


def _hash(*values: Any) -> str:
    data = json.dumps(values, ensure_ascii=False, sort_keys=True).encode()
    return blake2b(data, digest_size=16).hexdigest()
