"""Hashes and stamps that decide whether a document or a file changed since the last ingest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from server.backends.base import CatalogueEntry, IndexedDocument, payload_of
from server.ids import document_id
from server.ingest.documents import LabelSteps, RawDocument
from server.ingest.file_discovery import File
from server.ingest.formats.format_table import format_of
from server.ingest.formats.parsed_file import ReadOptions
from server.ingest.indexed_text import searchable_fields
from server.models import Chunk, Document
from server.retrieval.lexical import has_same_stemmer
from server.text.languages import language_of
from server.text.markup.captions import may_have_captioned_table
from server.text.markup.markdown_signs import is_markdown
from server.text.markup.template_code import has_template_code

# Increased when chunks or vectors of the same document differ from an earlier version's: everything is rewritten.
INDEX_VERSION = 1
# Increased when readers make another document of the same file: everything is read again, and rewritten where it
# differs.
READERS_VERSION = 14
# Increased when the documents that ``_splitting`` selects have other chunks or headings: they are split again.
SPLITTING_VERSION = 1
# The same for documents that have a table and a caption, beside the version above.
CAPTIONS_VERSION = 2
# In a context hash: what all points of the document share, then what only the first one has.
_SEPARATOR = "."


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
        language=raw.language or ("" if raw.type == "code" else language_of(raw.text[raw.body_start :])),
        body_start=raw.body_start,
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


def changed_chunks(
    chunks: Sequence[Chunk], now: IndexedDocument, former: Sequence[Chunk], known: IndexedDocument | None
) -> tuple[Chunk, ...]:
    """The chunks whose points must be written: all if what they share changed, else those that are new or changed.

    ``former`` are the document's chunks in the catalogue, ``known`` its state there.
    """
    if known is None or known.embedding != now.embedding or _shared_hash(known) != _shared_hash(now):
        return tuple(chunks)
    before, after = _field_hashes(former, known), _field_hashes(chunks, now)
    return tuple(each for each in chunks if before.get(each.id) != after[each.id])


def _shared_hash(document: IndexedDocument) -> str:
    return document.context_hash.partition(_SEPARATOR)[0]


def _field_hashes(chunks: Sequence[Chunk], document: IndexedDocument) -> Mapping[str, str]:
    """For each chunk id, the hash of the front matter that is indexed with it: "" except for the first chunk."""
    hashes = dict.fromkeys((chunk.id for chunk in chunks), "")
    if chunks:
        hashes[chunks[0].id] = document.context_hash.partition(_SEPARATOR)[2]
    return hashes


def stamp_of(file: File, labels: LabelSteps, options: ReadOptions) -> str:
    """The stamp of a file: a file whose stamp is equal need not be read.

    Options count for files whose text they change: not for images, which are read in one way. Passwords do not: a
    file that was read needs no other one.
    """
    form = format_of(file.path.name)
    chosen = (options.keeps_hidden, options.uses_ocr) if form and not form.needs_ocr else ()
    stamp = f"{INDEX_VERSION}.{READERS_VERSION}:{file.size}:{file.modified_ns}"
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


def _context_hash(document: Document) -> str:
    # Languages that are stemmed as English are left out: an index from before language detection keeps its points.
    language = () if has_same_stemmer(document.language, "en") else (document.language,)
    shared = _hash(INDEX_VERSION, document.title, payload_of(document), *language)
    fields = searchable_fields(document)
    return f"{shared}{_SEPARATOR}{_hash(fields)}" if fields else shared


def _hash(*values: Any) -> str:
    data = json.dumps(values, ensure_ascii=False, sort_keys=True).encode()
    return blake2b(data, digest_size=16).hexdigest()
