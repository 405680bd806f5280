"""Updates the knowledge graph from the catalogue after an ingest.

Theory of operation. What a document contributes depends on the others (a name needs two documents that use it, a
link needs its page), so graphs are built at the end of a run, when all documents are known::

    while documents are read         extract from each one, and keep that in a file; this runs beside the embedding
    compare catalogue and facts      documents that are new, changed or gone since the last update
    enter them in the ledger         which returns the other documents that the change concerns
    graphs of all these -> store     killed here: some are new, and the facts on disk are old
    derived edges -> store           killed here: the same
    facts -> disk                    one transaction; from here on it is done

Whatever a killed run left, the facts on disk still show what changed since the last complete update, so the next
run builds the same graphs again. A graph is a function of the documents: building it twice has the same result.

In memory are the facts of all documents, at the end of a run, and the extraction of one.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from winnow.server.ingest.kept_extractions import KeptExtractions
from winnow.server.models import Chunk, Document
from winnow.server.readers.extraction.document_extraction import DocumentExtraction, extract_document
from winnow.server.readers.extraction.encoding import decode_facts, encode_facts
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER, Gazetteer
from winnow.server.readers.extraction.resolution import DocumentFacts, Ledger, facts_of, resolve_graph
from winnow.server.retrieval.graph.base import GraphStore
from winnow.server.retrieval.graph.records import DocumentGraph
from winnow.server.storage.base import DocumentStore

# Increased when the same documents make another graph: all graphs are built again.
GRAPH_VERSION = 1
# Limits of one change of the store: documents, and their nodes and edges together.
_BATCH_DOCUMENTS, _BATCH_PARTS = 200, 50_000


class FactStore(Protocol):
    """A stamp and facts for each document, on disk. See ``server.backends.graphs.document_facts``."""

    def stamps(self, project: str) -> dict[str, str]: ...

    def facts(self, project: str) -> Iterator[bytes]: ...

    def apply(
        self, project: str, written: Mapping[str, tuple[str, bytes]], deleted: Sequence[str] = ()
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class GraphTarget:
    """The targets of graphs, the facts stored beside them, the user's own names and a digest of their file.

    ``folder`` has the disk space for extractions during an ingest; None for that of the system's temporary files.
    """

    store: GraphStore
    facts: FactStore
    gazetteer: Gazetteer = NO_GAZETTEER
    digest: str = ""
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class GraphReport:
    """The result of an update: graphs of ``documents`` were written, those of ``deleted`` removed.

    ``nodes`` counts the whole project's nodes by label, ``entities`` by type, ``edges`` by type.
    """

    documents: int
    deleted: int
    nodes: Mapping[str, int]
    entities: Mapping[str, int]
    edges: Mapping[str, int]
    seconds: float
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class GraphUpdate:
    """The update of one project's graph by one ingest."""

    project: str
    catalogue: DocumentStore
    target: GraphTarget
    _kept: KeptExtractions = field(init=False)

    def __post_init__(self) -> None:
        self._kept = KeptExtractions(self.target.folder)

    def extract(self, document: Document, text: str, chunks: Sequence[Chunk]) -> None:
        """Extract from a document, and keep the result for ``update``."""
        extraction = extract_document(document, text, chunks, self.target.gazetteer)
        self._kept.put(self._stamp(document.content_hash), extraction)

    def reset(self) -> None:
        """Have ``update`` build the graphs of all documents again."""
        self.target.facts.apply(self.project, {}, list(self.target.facts.stamps(self.project)))

    def update(self) -> GraphReport | None:
        """Bring the graph in line with the catalogue; None where it was. Raises what the store raises."""
        began = time.monotonic()
        store, fact_store = self.target.store, self.target.facts
        indexed = self.catalogue.indexed_documents(self.project)
        now = {document.id: self._stamp(document.content_hash) for document in indexed}
        before, stored = fact_store.stamps(self.project), store.documents(self.project)
        changed = [id for id, stamp in now.items() if before.get(id) != stamp]
        gone = sorted((before.keys() | stored) - now.keys())
        missing = now.keys() - stored
        if not (changed or gone or missing):
            return None
        reader = _Reader(self.project, self.catalogue, self.target.gazetteer, now, self._kept)
        ledger = _load_ledger(fact_store.facts(self.project))
        if ledger is None:
            self.reset()
            return self.update()
        concerned = set(missing).union(changed, _update_ledger(ledger, gone, changed, reader))
        self._write(sorted(concerned), gone, ledger, reader)
        written = {id: (now[id], encode_facts(ledger.facts[id])) for id in changed}
        fact_store.apply(self.project, written, gone)
        counts = store.counts(self.project)
        return GraphReport(
            len(concerned),
            len(gone),
            counts.labels,
            counts.entity_types,
            counts.edge_types,
            time.monotonic() - began,
            tuple(reader.warnings),
        )

    def _write(self, documents: Sequence[str], gone: Sequence[str], ledger: Ledger, reader: _Reader) -> None:
        store = self.target.store
        if gone:
            store.apply(self.project, deleted=gone)
        batch: list[DocumentGraph] = []
        for id in documents:
            batch.append(resolve_graph(reader.extraction(id), ledger))
            parts = sum(len(graph.nodes) + len(graph.edges) for graph in batch)
            if len(batch) == _BATCH_DOCUMENTS or parts >= _BATCH_PARTS:
                store.apply(self.project, batch)
                batch = []
        if batch:
            store.apply(self.project, batch)
        store.derive(self.project)

    def _stamp(self, content_hash: str) -> str:
        return f"{GRAPH_VERSION}:{self.target.digest}:{content_hash}"


@dataclass(slots=True)
class _Reader:
    """Extractions of documents: those kept from the ingest; others are made from the catalogue, and kept then."""

    project: str
    catalogue: DocumentStore
    gazetteer: Gazetteer
    stamps: Mapping[str, str]
    kept: KeptExtractions
    warnings: dict[str, None] = field(default_factory=dict)
    _documents: dict[str, Document] = field(default_factory=dict)

    def facts(self, id: str) -> DocumentFacts:
        """The facts of the document as the catalogue has it now."""
        return self.kept.facts(id, self.stamps[id]) or facts_of(self.extraction(id))

    def extraction(self, id: str) -> DocumentExtraction:
        """The extraction of the document as the catalogue has it now."""
        extraction = self.kept.extraction(id, self.stamps[id])
        if extraction is None:
            document, text = self._document(id), self.catalogue.text(id, self.project) or ""
            extraction = extract_document(document, text, self.catalogue.chunks(id, self.project), self.gazetteer)
            self.kept.put(self.stamps[id], extraction)
        self.warnings |= dict.fromkeys(extraction.warnings)
        return extraction

    def _document(self, id: str) -> Document:
        if not self._documents:
            self._documents = {document.id: document for document in self.catalogue.documents(self.project)}
        return self._documents[id]


def _load_ledger(rows: Iterator[bytes]) -> Ledger | None:
    """The ledger from the facts on disk; None where a row cannot be decoded, so that all is built again."""
    ledger = Ledger()
    try:
        for facts in rows:
            ledger.put(decode_facts(facts))
    except (zlib.error, ValueError, TypeError):
        return None
    return ledger


def _update_ledger(ledger: Ledger, gone: Sequence[str], changed: Sequence[str], reader: _Reader) -> set[str]:
    """Enter the changes in the ledger; returns the ids of all documents whose graphs they concern."""
    answers: set[str] = set()
    for id in gone:
        answers |= ledger.remove(id)
    for id in changed:
        answers |= ledger.put(reader.facts(id))
    return set(ledger.dependents(answers))
