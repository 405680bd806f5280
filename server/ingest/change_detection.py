"""Hashes and stamps that decide whether a document or a file changed since the last ingest."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from winnow.server.ids import document_id
from winnow.server.ingest.file_discovery import File
from winnow.server.ingest.indexed_text import searchable_fields
from winnow.server.ingest.inspection.file_states import state_of
from winnow.server.models import Chunk, Document
from winnow.server.readers.documents import LabelSteps, RawDocument
from winnow.server.readers.formats.format_table import format_of
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.retrieval.lexical import has_same_stemmer
from winnow.server.storage.base import CatalogueEntry, IndexedDocument, payload_of
from winnow.server.text.markup.captions import may_have_captioned_table
from winnow.server.text.markup.markdown_signs import is_markdown
from winnow.server.text.markup.template_code import has_template_code
from winnow.server.text.words.languages import language_of

# Increased when chunks or vectors of the same document differ from an earlier version's: everything is rewritten.
INDEX_VERSION = 1
# Increased when readers make another document of the same file: everything is read again, and rewritten where it
# differs.
READERS_VERSION = 33
# Increased when the documents that ``_splitting`` selects have other chunks or headings: they are split again.
SPLITTING_VERSION = 1
# The same for documents that have a table and a caption, beside the version above.
CAPTIONS_VERSION = 2
# In a context hash: what all points of the document share, then what only the first one has.
SEPARATOR = "."


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
        language=raw.language or detect_language(raw),
        body_start=raw.body_start,
    )


def detect_language(raw: RawDocument) -> str:
    """The language of a document's text, "" for code and where it is unknown."""
    return "" if raw.type == "code" else language_of(raw.text[raw.body_start :])


def indexed_document_of(document: Document, origin: str, fingerprint: str) -> IndexedDocument:
    """The state to compare with the catalogue's: a document whose state is equal is unchanged."""
    return IndexedDocument(
        id=document.id,
        uri=document.uri,
        source=document.source,
        origin=origin,
        content_hash=document.content_hash,
        context_hash=context_hash_of(document),
        embedding=fingerprint,
    )


def entry_of(
    document: Document, raw: RawDocument, chunks: tuple[Chunk, ...], state: IndexedDocument
) -> CatalogueEntry:
    """The document as the catalogue stores it."""
    return CatalogueEntry(
        document,
        raw.text,
        chunks,
        state.origin,
        state.embedding,
        state.context_hash,
        raw.places,
        raw.reading,
    )


def stamp_of(file: File, labels: LabelSteps, options: ReadOptions) -> str:
    """The stamp of a file: a file whose stamp is equal need not be read.

    Options count for files whose text they change: not for images, which are read in one way. Passwords do not: a
    file that was read needs no other one.
    """
    form = format_of(file.path.name)
    chosen = (options.keeps_hidden, options.uses_ocr) if form and not form.needs_ocr else ()
    stamp = f"{INDEX_VERSION}.{READERS_VERSION}:{state_of(file.size, file.modified_ns)}"
    return ":".join(filter(None, (stamp, _hash(*map(asdict, labels), *chosen), file.mark)))


def _content_hash(raw: RawDocument) -> str:
    # Environment and repository count in the context hash. Here they would make every document of an older index
    # a changed one, as would fields that files of text do not have.
    absent = {name for name in ("body_start", "places", "reading", "language") if not getattr(raw, name)}
    left_out = {"environment", "repository"} | absent
    facts = {key: value for key, value in asdict(raw).items() if key not in left_out}
    if raw.reading and not raw.reading.hidden_reasons:
        del facts["reading"]["hidden_reasons"]
    return _hash(INDEX_VERSION, facts, *_splitting(raw))


def _splitting(raw: RawDocument) -> tuple[int, ...]:
    """The versions of the rules by which the document is split, where an earlier version split it differently."""
    if raw.type in ("code", "text"):
        return ()
    captions = (CAPTIONS_VERSION,) if may_have_captioned_table(raw.text) else ()
    if raw.type == "record":
        return (SPLITTING_VERSION, *captions) if is_markdown(raw.text[raw.body_start :]) else ()
    return (SPLITTING_VERSION, *captions) if has_template_code(raw.text) else captions


def context_hash_of(document: Document) -> str:
    """A digest of what points of the document are made of besides their chunks."""
    shared = _hash(INDEX_VERSION, document.title, payload_of(document), *_language(document))
    fields = searchable_fields(document)
    return f"{shared}{SEPARATOR}{_hash(fields)}" if fields else shared


def has_same_vectors(one: Document, other: Document) -> bool:
    """Whether points of both documents have the same vectors, given the same chunks and front matter."""
    return (one.title, _language(one)) == (other.title, _language(other))


def _language(document: Document) -> tuple[str, ...]:
    # Languages that are stemmed as English are left out: an index from before language detection keeps its points.
    return () if has_same_stemmer(document.language, "en") else (document.language,)


def _hash(*values: Any) -> str:
    data = json.dumps(values, ensure_ascii=False, sort_keys=True).encode()
    return blake2b(data, digest_size=16).hexdigest()
