"""Resolution: a document's extraction becomes its graph, given the names and pages of the other documents. Pure.

The ``Ledger`` of a project counts the documents that contain each name and knows its pages. It computes which
documents a change affects, so that an ingest resolves only those again and has the same result as a fresh ingest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from winnow.server.ids import entity_id
from winnow.server.models import Chunk, Document
from winnow.server.readers.extraction.document_extraction import (
    DocumentExtraction,
    Mention,
    PageIdentity,
    Reference,
    Relation,
    edge_weight,
    entity_node,
    extract_document,
    name_dependency,
    page_dependency,
)
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER, Gazetteer
from winnow.server.readers.extraction.links import LinkTarget
from winnow.server.readers.extraction.name_candidates import name_parts
from winnow.server.readers.extraction.names import entity_key
from winnow.server.readers.extraction.rules import CONFIDENCE, Rule
from winnow.server.retrieval.graph.records import MAX_EVIDENCE, DocumentGraph, Edge, EdgeType, Node

# A candidate in one document may be a habit of the author; a candidate in two documents is a name.
MIN_VOTES = 2


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """The part of a document's extraction that the ledger keeps, and that is stored with the graph."""

    page: PageIdentity
    votes: frozenset[str]
    dependencies: frozenset[str]


@dataclass(slots=True)
class Ledger:
    """The names and pages of a project, with the documents that depend on each of them."""

    facts: dict[str, DocumentFacts] = field(default_factory=dict)
    _votes: dict[str, int] = field(default_factory=dict)
    _by_name: dict[str, set[str]] = field(default_factory=dict)
    _by_key: dict[str, set[str]] = field(default_factory=dict)
    _dependents: dict[str, set[str]] = field(default_factory=dict)

    def put(self, facts: DocumentFacts) -> frozenset[str]:
        """Add or replace a document; returns the dependencies whose resolution may have changed."""
        return self._change(facts.page.id, facts)

    def remove(self, document_id: str) -> frozenset[str]:
        """Remove a document; returns the dependencies whose resolution may have changed."""
        return self._change(document_id, None)

    def dependents(self, changed: Iterable[str]) -> frozenset[str]:
        """The documents whose graph depends on any of these."""
        return frozenset(id for dependency in changed for id in self._dependents.get(dependency, ()))

    def is_name(self, key: str) -> bool:
        """Whether two documents contain the name, or one has it as its title."""
        return self._votes.get(key, 0) >= MIN_VOTES or key in self._by_name

    def titled(self, key: str) -> list[PageIdentity]:
        """The documents with this title, by uri."""
        return self._pages(self._by_name.get(key, ()))

    def title(self, key: str) -> str:
        """The shortest spelling of this title among the documents that have it, or ""."""
        return min((page.name for page in self.titled(key)), key=lambda name: (len(name), name), default="")

    def pages(self, key: str) -> list[PageIdentity]:
        """The documents with this page key, by uri."""
        return self._pages(self._by_key.get(key, ()))

    def _pages(self, ids: Iterable[str]) -> list[PageIdentity]:
        return sorted((self.facts[id].page for id in ids), key=lambda page: page.uri)

    def _change(self, id: str, facts: DocumentFacts | None) -> frozenset[str]:
        former = self.facts.get(id)
        names = {*(former.votes if former else ()), *(facts.votes if facts else ())}
        names |= {entity_key(version.page.name) for version in (former, facts) if version}
        before = {name for name in names if self.is_name(name)}
        if former:
            self._count_facts(former, -1)
            del self.facts[id]
        if facts:
            self.facts[id] = facts
            self._count_facts(facts, 1)
        changed = {name_dependency(name) for name in names if self.is_name(name) != (name in before)}
        pages = [version.page for version in (former, facts) if version]
        if len(pages) < 2 or pages[0] != pages[1]:
            changed |= {page_dependency(key) for page in pages for key in page.keys}
            changed |= {name_dependency(entity_key(page.name)) for page in pages}
        return frozenset(changed)

    def _count_facts(self, facts: DocumentFacts, step: int) -> None:
        id = facts.page.id
        for name in facts.votes:
            votes = self._votes.get(name, 0) + step
            if votes:
                self._votes[name] = votes
            else:
                del self._votes[name]
        if name := entity_key(facts.page.name):
            _update_index(self._by_name, name, id, step)
        for key in facts.page.keys:
            _update_index(self._by_key, key, id, step)
        for dependency in facts.dependencies:
            _update_index(self._dependents, dependency, id, step)


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """The inputs of extraction beyond one document: the gazetteer, and the ledger of the project."""

    gazetteer: Gazetteer = NO_GAZETTEER
    ledger: Ledger = field(default_factory=Ledger)


def facts_of(extraction: DocumentExtraction) -> DocumentFacts:
    """The facts of an extraction that the ledger keeps."""
    return DocumentFacts(extraction.page, extraction.votes, extraction.dependencies)


def build_document_graph(
    document: Document, text: str, chunks: Sequence[Chunk], known: ProjectFacts
) -> DocumentGraph:
    """Build the graph of one document in a project whose ledger is complete."""
    return resolve_graph(extract_document(document, text, chunks, known.gazetteer), known.ledger)


def resolve_graph(extraction: DocumentExtraction, ledger: Ledger) -> DocumentGraph:
    """Build the graph of a document from its extraction and the ledger."""
    builder = _GraphBuilder(extraction, ledger)
    for mention in extraction.mentions:
        builder.add_mention(mention)
    for relation in extraction.relations:
        builder.add_relation(relation)
    for reference in extraction.references:
        builder.add_reference(reference)
    return builder.build()


@dataclass(slots=True)
class _GraphBuilder:
    """Collects edges, one for each (source, target, type), and the entities that they touch."""

    extraction: DocumentExtraction
    ledger: Ledger
    edges: dict[tuple[str, str, EdgeType], Edge] = field(default_factory=dict)
    entities: dict[str, Node] = field(default_factory=dict)

    def add_mention(self, mention: Mention) -> None:
        if mention.is_firm or self.ledger.is_name(mention.key):
            target = self._add_entity(mention.key, mention.title, mention.entity_type)
            self._add_edge(mention.source, target, mention.type, mention.rule, mention.count, mention.evidence)
        elif mention.type == "MENTIONS":
            for key, title in self._known_parts(mention.title):
                target = self._add_entity(key, title, "term")
                rule: Rule = "part of a span" if " " in title or self.ledger.titled(key) else "word of a span"
                self._add_edge(mention.source, target, "MENTIONS", rule, mention.count, mention.evidence)

    def add_relation(self, relation: Relation) -> None:
        source, target = (
            self._add_entity(key, *self.extraction.entities[key]) for key in (relation.source, relation.target)
        )
        self._add_edge(source, target, relation.type, relation.rule, relation.count, relation.evidence)

    def add_reference(self, reference: Reference) -> None:
        """Add an edge to the page, its section, or the entity of the link's name."""
        page, rule = self._find_page(reference.link)
        if page is not None:
            target = page.anchors.get(reference.link.anchor, page.id)
        elif reference.link.name and entity_key(self.extraction.page.name) != reference.link.name:
            target = self._add_entity(reference.link.name, reference.title.partition("#")[0], "term")
        else:
            return
        if target != reference.source:
            self._add_edge(reference.source, target, reference.type, rule, reference.count, reference.evidence)

    def build(self) -> DocumentGraph:
        touched = {end for edge in self.edges.values() for end in (edge.source, edge.target)}
        entities = [node for id, node in sorted(self.entities.items()) if id in touched]
        return DocumentGraph(
            self.extraction.page.id,
            (*self.extraction.nodes, *entities),
            (*self.extraction.edges, *self.edges.values()),
        )

    def _known_parts(self, title: str) -> Iterator[tuple[str, str]]:
        """The known names within a span, the longest first, without overlaps."""
        rest = f" {title} "
        for key, part in name_parts(title):
            if f" {part} " in rest and self.ledger.is_name(key):
                rest = rest.replace(f" {part} ", " \0 ")
                yield key, part

    def _find_page(self, target: LinkTarget) -> tuple[PageIdentity | None, Rule]:
        for index, key in enumerate(target.keys):
            if page := _select_page(self.ledger.pages(key), target.uri):
                return page, "near link" if index or not target.is_exact else target.rule
        return (_select_page(self.ledger.titled(target.name), "") if target.name else None), target.rule

    def _add_entity(self, key: str, title: str, type: str) -> str:
        """Add an entity; returns its id. Firm titles and types of this document take precedence.

        The spelling of a page's title takes precedence over both.
        """
        id = entity_id(self.extraction.project, key)
        if id not in self.entities:
            title, type = self.extraction.entities.get(key, (title, type))
            self.entities[id] = entity_node(self.extraction.project, key, self.ledger.title(key) or title, type)
        return id

    def _add_edge(
        self, source: str, target: str, type: EdgeType, rule: Rule, count: int, evidence: tuple[str, ...]
    ) -> None:
        if source == target:
            return
        confidence, strength = CONFIDENCE[rule], edge_weight(count, rule)
        if former := self.edges.get((source, target, type)):
            confidence, strength = max(confidence, former.confidence), max(strength, former.weight)
            evidence = tuple(dict.fromkeys((*former.evidence, *evidence)))[:MAX_EVIDENCE]
        edge = Edge(source, target, type, strength, confidence, evidence, self.extraction.page.id)
        self.edges[source, target, type] = edge


def _select_page(pages: Sequence[PageIdentity], uri: str) -> PageIdentity | None:
    """The only page, or the page with exactly this uri."""
    return pages[0] if len(pages) == 1 else next((page for page in pages if page.uri == uri), None)


def _update_index(index: dict[str, set[str]], key: str, id: str, step: int) -> None:
    if step > 0:
        index.setdefault(key, set()).add(id)
    else:
        index[key].discard(id)
        if not index[key]:
            del index[key]
