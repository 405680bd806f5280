"""Documents as a catalogue holds them, read back as they were ingested, and compared with their digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from winnow.server.errors import WinnowError
from winnow.server.ingest.change_detection import detect_language, document_of
from winnow.server.ingest.file_discovery import IMPORTED
from winnow.server.models import Document, Filters, Reading
from winnow.server.readers.documents import RawDocument
from winnow.server.storage.base import DocumentStore

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class AlteredDocument:
    """A document whose text, facts or passages in the catalogue are not those that were ingested."""

    id: str
    project: str
    uri: str
    source: str


def read_documents(catalogue: DocumentStore, documents: Sequence[Document]) -> Iterator[RawDocument]:
    """These documents of one project, as they were ingested."""
    project = documents[0].project if documents else ""
    readings = {each.uri: each.reading for each in catalogue.readings_within(Filters(project))}
    for document in documents:
        yield _read(catalogue, document, readings.get(document.uri))


def find_altered(catalogue: DocumentStore) -> Iterator[AlteredDocument]:
    """Every document of all projects that is not as it was ingested, by its digest. Reads all texts."""
    for project in sorted({info.name for info in catalogue.existing_projects()} | {*catalogue.hidden_projects()}):
        readings = {each.uri: each.reading for each in catalogue.readings_within(Filters(project))}
        for document in catalogue.documents(project):
            if not _is_as_ingested(catalogue, document, readings.get(document.uri)):
                yield AlteredDocument(document.id, project, document.uri, document.source)


def describe_altered(altered: Sequence[AlteredDocument]) -> str:
    """A warning that names the documents, and how they are read again."""
    sources = sorted({(each.project, each.source) for each in altered})
    names = ", ".join(each.uri for each in altered[:_SHOWN])
    more = f" and {len(altered) - _SHOWN:,} more" if len(altered) > _SHOWN else ""
    commands = "; ".join(_command(project, source) for project, source in sources[:_SHOWN])
    return f"not as they were ingested, so that the store has no checksums: {names}{more}; run: {commands}"


def _command(project: str, source: str) -> str:
    verb = "project import FILE --name" if source.startswith(IMPORTED) else f"ingest {source} --project"
    return f"winnow {verb} {project}"


def _is_as_ingested(catalogue: DocumentStore, document: Document, reading: Reading | None) -> bool:
    try:
        raw = _read(catalogue, document, reading)
        chunks = catalogue.chunks(document.id, document.project)
    except WinnowError:  # it cannot be decoded
        return False
    is_same = document_of(document.project, document.source, raw).content_hash == document.content_hash
    return is_same and all(raw.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def _read(catalogue: DocumentStore, document: Document, reading: Reading | None) -> RawDocument:
    raw = RawDocument(
        uri=document.uri,
        type=document.type,
        title=document.title,
        text=catalogue.text(document.id, document.project) or "",
        vendor=document.vendor,
        doc_tag=document.doc_tag,
        tags=document.tags,
        created=document.created,
        metadata=document.metadata,
        environment=document.environment,
        repository=document.repository,
        body_start=document.body_start,
        places=catalogue.places(document.id),
        reading=reading,
    )
    # A language that the text itself shows was not stated, or need not be.
    is_stated = document.language != detect_language(raw)
    return replace(raw, language=document.language) if is_stated else raw
