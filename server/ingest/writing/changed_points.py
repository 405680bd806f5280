"""Finds out which points of a changed document must be written, and which are kept.

A point is written again where its vectors may differ: its chunk is new, its front matter or what all points of the
document share has changed. Where only labels have, it keeps its vectors and gets another payload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from winnow.server.ingest.change_detection import SEPARATOR, context_hash_of, has_same_vectors
from winnow.server.ingest.writing.batches import PreparedDocument
from winnow.server.models import Chunk, Document
from winnow.server.storage.base import CatalogueEntry, DocumentStore, IndexedDocument


def prepare(
    catalogue: DocumentStore, entry: CatalogueEntry, now: IndexedDocument, known: IndexedDocument | None
) -> PreparedDocument:
    """The document with what must be written of it; ``known`` is its state in the catalogue, if it is there."""
    project = entry.document.project
    before = catalogue.chunks(known.id, project) if known else []
    former, ids = {each.id for each in before}, {each.id for each in entry.chunks}
    fresh = tuple(entry.chunks)
    is_relabelled = False
    if known is not None and known.embedding == now.embedding and before:
        is_relabelled = _shared_hash(known) != _shared_hash(now)
        if not is_relabelled or _differ_in_labels(catalogue, before[0], known, entry.document):
            fresh = _changed_chunks(entry.chunks, now, before, known)
    written = {each.id for each in fresh}
    kept = sorted(ids & former - written) if is_relabelled else []
    return PreparedDocument(
        entry,
        fresh,
        stale=tuple(sorted(former - ids)),
        relabelled=tuple(kept),
        is_dirty=bool(kept or former & written),
    )


def _differ_in_labels(catalogue: DocumentStore, chunk: Chunk, known: IndexedDocument, document: Document) -> bool:
    """Whether the document differs from the one that the points were made of in labels alone.

    The catalogue's record of it must have the hash that the points were written with: in a store of another
    version, or after an interrupted run, it has not.
    """
    passage = catalogue.passages([chunk.id], document.project).get(chunk.id)
    if passage is None or context_hash_of(passage.document) != known.context_hash:
        return False
    return has_same_vectors(passage.document, document)


def _changed_chunks(
    chunks: Sequence[Chunk], now: IndexedDocument, former: Sequence[Chunk], known: IndexedDocument
) -> tuple[Chunk, ...]:
    """The chunks that are new, or whose front matter changed."""
    before, after = _field_hashes(former, known), _field_hashes(chunks, now)
    return tuple(each for each in chunks if before.get(each.id) != after[each.id])


def _shared_hash(document: IndexedDocument) -> str:
    return document.context_hash.partition(SEPARATOR)[0]


def _field_hashes(chunks: Sequence[Chunk], document: IndexedDocument) -> Mapping[str, str]:
    """For each chunk id, the hash of the front matter that is indexed with it: "" except for the first chunk."""
    hashes = dict.fromkeys((chunk.id for chunk in chunks), "")
    if chunks:
        hashes[chunks[0].id] = document.context_hash.partition(SEPARATOR)[2]
    return hashes
