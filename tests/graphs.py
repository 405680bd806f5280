"""Graphs of documents in tests: read, chunked and extracted as in an ingest, with names instead of ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from winnow.server.ids import document_id
from winnow.server.models import Document
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, clean_document
from winnow.server.readers.extraction.document_extraction import DocumentExtraction, extract_document
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER, Gazetteer
from winnow.server.readers.extraction.resolution import Ledger, facts_of, resolve_graph
from winnow.server.readers.reading import READERS, kind_of
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node, validate_graph

PROJECT = "test"


def read(uri: str, text: str) -> tuple[Document, str]:
    """The document that the reader of this kind of file makes of ``text``."""
    (raw,) = READERS[kind_of(PurePosixPath(uri))](text, uri)  # type: ignore[arg-type]
    assert isinstance(raw, RawDocument)
    raw = clean_document(raw)
    id = document_id(PROJECT, uri)
    document = Document(
        id,
        PROJECT,
        uri,
        "/docs",
        raw.title,
        raw.type,
        "",
        raw.vendor,
        tags=raw.tags,
        metadata=raw.metadata,
        body_start=raw.body_start,
    )
    return document, raw.text


def extract(uri: str, text: str, gazetteer: Gazetteer = NO_GAZETTEER) -> DocumentExtraction:
    document, body = read(uri, text)
    return extract_document(document, body, chunk(document, body), gazetteer)


class Corpus:
    """The graphs of some files, resolved against each other."""

    def __init__(self, files: Mapping[str, str], gazetteer: Gazetteer = NO_GAZETTEER) -> None:
        found = [extract(uri, text, gazetteer) for uri, text in sorted(files.items())]
        ledger = Ledger()
        for one in found:
            ledger.put(facts_of(one))
        self.graphs: tuple[DocumentGraph, ...] = tuple(resolve_graph(one, ledger) for one in found)
        self.warnings = [warning for one in found for warning in one.warnings]
        self.nodes: dict[str, Node] = {}
        for graph in self.graphs:
            validate_graph(graph)
            for node in graph.nodes:
                self.nodes.setdefault(node.id, node)

    def edges(self, *types: str) -> list[Edge]:
        return [edge for graph in self.graphs for edge in graph.edges if edge.type in types]

    def edges_by_name(self, *types: str) -> set[tuple[str, str]]:
        """The edges of these types as pairs (source, target) of names."""
        return {(self.name(edge.source), self.name(edge.target)) for edge in self.edges(*types)}

    def targets(self, *types: str) -> set[str]:
        return {self.name(edge.target) for edge in self.edges(*types)}

    def types(self) -> dict[str, str]:
        """The entities by title, with their types."""
        return {node.title: node.type for node in self.nodes.values() if node.label == "Entity"}

    def name(self, id: str) -> str:
        """A document's uri, ``§`` and a section's title, ``¶`` and a chunk's title, an entity's title."""
        node = self.nodes[id]
        signs = {"Document": node.anchor, "Section": f"§{node.title}", "Chunk": f"¶{node.title}"}
        return signs.get(node.label, node.title)
