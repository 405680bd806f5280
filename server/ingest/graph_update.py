"""The graph follows the catalogue: after an ingest it says what the documents say as they are now.

Theory of operation. What a document contributes depends on the others (a name needs two who say it, a link needs
its page), so graphs are drawn at the end of a run, when all of them are known::

    while documents are read         mine each one; this runs beside the embedding
    compare catalogue and ledger     documents that are new, changed or gone since the graph was last brought up
    enter them in the ledger         which says what other documents the change concerns
    graphs of all these -> store     killed here: some are new, and the ledger does not know
    derived edges -> store           killed here: the same
    ledger -> disk                   one transaction; from here on it is done

Whatever a killed run left, the ledger on disk still tells what changed since the graph was whole, so the next run
draws the same graphs again. A graph is a function of the documents: doing it twice has the same result.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from server.backends.base import DocumentStore
from server.graph.base import GraphStore
from server.graph.extraction.document_extraction import DocumentExtraction, PageIdentity, extract_document
from server.graph.extraction.gazetteer import NO_GAZETTEER, Gazetteer
from server.graph.extraction.resolution import DocumentFacts, Ledger, facts_of, resolve_graph
from server.graph.records import DocumentGraph
from server.models import Chunk, Document

# Grows when another graph would be drawn from the same documents: all are drawn again.
GRAPH_VERSION = 1
# Documents in one change of the store, and nodes and edges after which it is made with fewer.
_AT_ONCE, _PARTS_AT_ONCE = 200, 50_000
# Names and places that are kept from reading to drawing, about 100 MB; documents beyond are mined again.
_KEPT = 300_000
_FAST = 1


class FactStore(Protocol):
    """A stamp and facts for each document, on disk. See ``server.backends.graphs.document_facts``."""

    def stamps(self, project: str) -> dict[str, str]: ...

    def facts(self, project: str) -> Iterator[bytes]: ...

    def apply(
        self, project: str, written: Mapping[str, tuple[str, bytes]], deleted: Sequence[str] = ()
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class GraphTarget:
    """Where graphs are written, the facts stored beside them, the user's own names and a digest of their file."""

    store: GraphStore
    facts: FactStore
    gazetteer: Gazetteer = NO_GAZETTEER
    digest: str = ""


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What became of the graph: ``documents`` were drawn, ``deleted`` went.

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
    """One ingest's way with the graph of one project."""

    project: str
    catalogue: DocumentStore
    graphing: GraphTarget
    _kept: dict[str, tuple[str, DocumentExtraction]] = field(default_factory=dict)
    _size: int = 0

    def mine(self, document: Document, text: str, chunks: Sequence[Chunk]) -> None:
        """Take from a document what can be taken before the others are known."""
        if self._size < _KEPT:
            mined = extract_document(document, text, chunks, self.graphing.gazetteer)
            size = len(mined.mentions) + len(mined.references) + len(mined.nodes)
            if self._size + size <= _KEPT:
                self._size += size
                self._kept[document.id] = self._stamp(document.content_hash), mined

    def forget(self) -> None:
        """Have ``update`` draw every document again."""
        self.graphing.facts.apply(self.project, {}, list(self.graphing.facts.stamps(self.project)))

    def update(self) -> GraphReport | None:
        """Make the graph agree with the catalogue; None where it did already. Raises what the store raises."""
        began = time.monotonic()
        store, fact_store = self.graphing.store, self.graphing.facts
        now = {one.id: self._stamp(one.content_hash) for one in self.catalogue.indexed_documents(self.project)}
        before, held = fact_store.stamps(self.project), store.documents(self.project)
        changed = [id for id, stamp in now.items() if before.get(id) != stamp]
        gone = sorted((before.keys() | held) - now.keys())
        missing = now.keys() - held
        if not (changed or gone or missing):
            return None
        reader = _Reader(self.project, self.catalogue, self.graphing.gazetteer, now, self._kept)
        ledger = _entered_before(fact_store.facts(self.project))
        if ledger is None:
            self.forget()
            return self.update()
        concerned = set(missing).union(changed, _entered(ledger, gone, changed, reader))
        self._draw(sorted(concerned), gone, ledger, reader)
        written = {id: (now[id], _encoded(ledger.facts[id])) for id in changed}
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

    def _draw(self, documents: Sequence[str], gone: Sequence[str], ledger: Ledger, reader: _Reader) -> None:
        store = self.graphing.store
        if gone:
            store.apply(self.project, deleted=gone)
        some: list[DocumentGraph] = []
        for id in documents:
            some.append(resolve_graph(reader.mined(id), ledger))
            if len(some) == _AT_ONCE or sum(len(one.nodes) + len(one.edges) for one in some) >= _PARTS_AT_ONCE:
                store.apply(self.project, some)
                some = []
        if some:
            store.apply(self.project, some)
        store.derive(self.project)

    def _stamp(self, content_hash: str) -> str:
        return f"{GRAPH_VERSION}:{self.graphing.digest}:{content_hash}"


@dataclass(slots=True)
class _Reader:
    """Documents mined: those that were kept from reading, the others from the catalogue."""

    project: str
    catalogue: DocumentStore
    gazetteer: Gazetteer
    stamps: Mapping[str, str]
    kept: Mapping[str, tuple[str, DocumentExtraction]]
    warnings: dict[str, None] = field(default_factory=dict)
    _documents: dict[str, Document] = field(default_factory=dict)

    def mined(self, id: str) -> DocumentExtraction:
        """What the document says, as the catalogue has it now."""
        stamp, mined = self.kept.get(id, ("", None))
        if mined is None or stamp != self.stamps[id]:
            document, text = self._document(id), self.catalogue.text(id, self.project) or ""
            mined = extract_document(document, text, self.catalogue.chunks(id, self.project), self.gazetteer)
        self.warnings |= dict.fromkeys(mined.warnings)
        return mined

    def _document(self, id: str) -> Document:
        if not self._documents:
            self._documents = {one.id: one for one in self.catalogue.documents(self.project)}
        return self._documents[id]


def _entered_before(rows: Iterator[bytes]) -> Ledger | None:
    """The ledger as it is on the disk; None where a row of it cannot be read, so that all is drawn again."""
    ledger = Ledger()
    try:
        for facts in rows:
            ledger.put(_decoded(facts))
    except (zlib.error, ValueError, TypeError):
        return None
    return ledger


def _entered(ledger: Ledger, gone: Sequence[str], changed: Sequence[str], reader: _Reader) -> set[str]:
    """Bring the ledger up to date; the documents that are concerned, which are all still there."""
    answers: set[str] = set()
    for id in gone:
        answers |= ledger.remove(id)
    for id in changed:
        answers |= ledger.put(facts_of(reader.mined(id)))
    return set(ledger.dependents(answers))


def _encoded(facts: DocumentFacts) -> bytes:
    page = facts.page
    row = [page.id, page.uri, page.name, page.keys, page.anchors, sorted(facts.votes), sorted(facts.dependencies)]
    return zlib.compress(json.dumps(row, separators=(",", ":")).encode(), _FAST)


def _decoded(data: bytes) -> DocumentFacts:
    id, uri, name, keys, anchors, votes, wants = json.loads(zlib.decompress(data))
    return DocumentFacts(PageIdentity(id, uri, name, tuple(keys), anchors), frozenset(votes), frozenset(wants))
