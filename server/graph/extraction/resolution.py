"""What a document says, in the light of what the others say. Pure.

``Ledger`` is the project's book: which names are said by how many documents, and which pages there are. It tells
which documents a change concerns, so that an ingest resolves those again and no others, and ends where a fresh
ingest of everything would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from server.graph.extraction.document_extraction import (
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
from server.graph.extraction.gazetteer import NO_GAZETTEER, Gazetteer
from server.graph.extraction.links import LinkTarget
from server.graph.extraction.name_candidates import name_parts
from server.graph.extraction.names import entity_key
from server.graph.extraction.rules import CONFIDENCE, Rule
from server.graph.records import MAX_EVIDENCE, DocumentGraph, Edge, EdgeType, Node
from server.ids import entity_id
from server.models import Chunk, Document

# One document's habit is no name; two who do not know of each other agree on one.
MIN_VOTES = 2


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What the project's book needs of one document: what a store keeps beside its graph."""

    page: PageIdentity
    votes: frozenset[str]
    wants: frozenset[str]


@dataclass(slots=True)
class Ledger:
    """Names and pages of a project. ``known`` is a view: it changes with the ledger."""

    facts: dict[str, DocumentFacts] = field(default_factory=dict)
    _votes: dict[str, int] = field(default_factory=dict)
    _by_name: dict[str, set[str]] = field(default_factory=dict)
    _by_key: dict[str, set[str]] = field(default_factory=dict)
    _wanted_by: dict[str, set[str]] = field(default_factory=dict)

    def put(self, facts: DocumentFacts) -> frozenset[str]:
        """Enter a document in the place of what it was; the wants that now have another answer."""
        return self._change(facts.page.id, facts)

    def drop(self, document_id: str) -> frozenset[str]:
        """Take a document out; the wants that now have another answer."""
        return self._change(document_id, None)

    def concerned(self, changed: Iterable[str]) -> frozenset[str]:
        """The documents whose graph depends on any of these wants."""
        return frozenset(id for want in changed for id in self._wanted_by.get(want, ()))

    def is_name(self, key: str) -> bool:
        """Whether two documents say the name, or one is titled so."""
        return self._votes.get(key, 0) >= MIN_VOTES or key in self._by_name

    def titled(self, key: str) -> list[PageIdentity]:
        """The documents of this title, by uri."""
        return self._pages(self._by_name.get(key, ()))

    def title(self, key: str) -> str:
        """How the documents that are titled so write it (the shortest spelling), or ""."""
        return min((page.name for page in self.titled(key)), key=lambda name: (len(name), name), default="")

    def pages(self, key: str) -> list[PageIdentity]:
        """The documents that answer to this page key, by uri."""
        return self._pages(self._by_key.get(key, ()))

    def _pages(self, ids: Iterable[str]) -> list[PageIdentity]:
        return sorted((self.facts[id].page for id in ids), key=lambda page: page.uri)

    def _change(self, id: str, facts: DocumentFacts | None) -> frozenset[str]:
        former = self.facts.get(id)
        names = {*(former.votes if former else ()), *(facts.votes if facts else ())}
        names |= {entity_key(one.page.name) for one in (former, facts) if one}
        before = {name for name in names if self.is_name(name)}
        if former:
            self._count(former, -1)
            del self.facts[id]
        if facts:
            self.facts[id] = facts
            self._count(facts, 1)
        changed = {name_dependency(name) for name in names if self.is_name(name) != (name in before)}
        pages = [one.page for one in (former, facts) if one]
        if len(pages) < 2 or pages[0] != pages[1]:
            changed |= {page_dependency(key) for page in pages for key in page.keys}
            changed |= {name_dependency(entity_key(page.name)) for page in pages}
        return frozenset(changed)

    def _count(self, facts: DocumentFacts, step: int) -> None:
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
        for want in facts.wants:
            _update_index(self._wanted_by, want, id, step)


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """What the project knows beyond one document: the user's names, and the book of the others."""

    gazetteer: Gazetteer = NO_GAZETTEER
    ledger: Ledger = field(default_factory=Ledger)


def facts_of(mined: DocumentExtraction) -> DocumentFacts:
    """What the book needs of a document."""
    return DocumentFacts(mined.page, mined.votes, mined.wants)


def build_document_graph(
    document: Document, text: str, chunks: Sequence[Chunk], known: ProjectFacts
) -> DocumentGraph:
    """The graph of one document, in a project that is known already."""
    return resolve_graph(extract_document(document, text, chunks, known.gazetteer), known.ledger)


def resolve_graph(mined: DocumentExtraction, ledger: Ledger) -> DocumentGraph:
    """The graph of a document: what it says of itself, and of what others say that is known."""
    drawing = _GraphBuilder(mined, ledger)
    for naming in mined.namings:
        drawing.name(naming)
    for relation in mined.relations:
        drawing.relate(relation)
    for reference in mined.references:
        drawing.refer(reference)
    return drawing.graph()


@dataclass(slots=True)
class _GraphBuilder:
    """The edges so far, one for each (source, target, type), and the entities that they touch."""

    mined: DocumentExtraction
    ledger: Ledger
    edges: dict[tuple[str, str, EdgeType], Edge] = field(default_factory=dict)
    entities: dict[str, Node] = field(default_factory=dict)

    def name(self, naming: Mention) -> None:
        if naming.is_firm or self.ledger.is_name(naming.key):
            target = self._entity(naming.key, naming.title, naming.entity_type)
            self._draw(naming.source, target, naming.type, naming.rule, naming.count, naming.evidence)
        elif naming.type == "MENTIONS":
            for key, title in self._inner(naming.title):
                target = self._entity(key, title, "term")
                rule: Rule = "part of a span" if " " in title or self.ledger.titled(key) else "word of a span"
                self._draw(naming.source, target, "MENTIONS", rule, naming.count, naming.evidence)

    def relate(self, one: Relation) -> None:
        source, target = (self._entity(key, *self.mined.entities[key]) for key in (one.source, one.target))
        self._draw(source, target, one.type, one.rule, one.count, one.evidence)

    def refer(self, one: Reference) -> None:
        """Point at the page, its section, or what is called so."""
        page, rule = self._page(one.way)
        if page is not None:
            target = page.anchors.get(one.way.anchor, page.id)
        elif one.way.name and entity_key(self.mined.page.name) != one.way.name:
            target = self._entity(one.way.name, one.title.partition("#")[0], "term")
        else:
            return
        if target != one.source:
            self._draw(one.source, target, one.type, rule, one.count, one.evidence)

    def graph(self) -> DocumentGraph:
        touched = {end for edge in self.edges.values() for end in (edge.source, edge.target)}
        entities = [node for id, node in sorted(self.entities.items()) if id in touched]
        return DocumentGraph(
            self.mined.page.id, (*self.mined.nodes, *entities), (*self.mined.edges, *self.edges.values())
        )

    def _inner(self, title: str) -> Iterator[tuple[str, str]]:
        """The known names within a span, the longest first, none within another."""
        taken = f" {title} "
        for key, part in name_parts(title):
            if f" {part} " in taken and self.ledger.is_name(key):
                taken = taken.replace(f" {part} ", " \0 ")
                yield key, part

    def _page(self, way: LinkTarget) -> tuple[PageIdentity | None, Rule]:
        for at, key in enumerate(way.keys):
            if page := _select_page(self.ledger.pages(key), way.uri):
                return page, "near link" if at or not way.is_exact else way.rule
        return (_select_page(self.ledger.titled(way.name), "") if way.name else None), way.rule

    def _entity(self, key: str, title: str, type: str) -> str:
        """The node's id. Where this document gives a name several titles or types, the firm ones stand.

        A page that is titled so knows best how the name is written.
        """
        id = entity_id(self.mined.project, key)
        if id not in self.entities:
            title, type = self.mined.entities.get(key, (title, type))
            self.entities[id] = entity_node(self.mined.project, key, self.ledger.title(key) or title, type)
        return id

    def _draw(
        self, source: str, target: str, type: EdgeType, rule: Rule, count: int, evidence: tuple[str, ...]
    ) -> None:
        if source == target:
            return
        confidence, strength = CONFIDENCE[rule], edge_weight(count, rule)
        if former := self.edges.get((source, target, type)):
            confidence, strength = max(confidence, former.confidence), max(strength, former.weight)
            evidence = tuple(dict.fromkeys((*former.evidence, *evidence)))[:MAX_EVIDENCE]
        edge = Edge(source, target, type, strength, confidence, evidence, self.mined.page.id)
        self.edges[source, target, type] = edge


def _select_page(pages: Sequence[PageIdentity], uri: str) -> PageIdentity | None:
    """The page meant: the only one, or the one of exactly this uri."""
    return pages[0] if len(pages) == 1 else next((page for page in pages if page.uri == uri), None)


def _update_index(index: dict[str, set[str]], key: str, id: str, step: int) -> None:
    if step > 0:
        index.setdefault(key, set()).add(id)
    else:
        index[key].discard(id)
        if not index[key]:
            del index[key]
