"""All that one document says, before it is known what the other documents say. Pure.

Theory of operation. What a document contributes depends on others in two ways only: whether a candidate is a name
elsewhere too, and which page a link means. So the work is done in two steps::

    mine(document, text, chunks, gazetteer) -> Mined     everything that takes time; of this document alone
    resolve(mined, known) -> DocumentGraph               look-ups

``DocumentExtraction`` says which names and pages it depends on (``wants``): an ingest finds by them the documents
that a change elsewhere concerns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from server.graph.extraction import front_matter_fields
from server.graph.extraction.code import CodeFacts, read_code
from server.graph.extraction.gazetteer import Gazetteer, GazetteerMatch
from server.graph.extraction.links import STEM_PREFIX, LinkTarget, link_target_of, path_target_of
from server.graph.extraction.name_candidates import NameCandidate, find_candidates, find_expansions, name_parts
from server.graph.extraction.names import entity_key, page_key, page_stem
from server.graph.extraction.prose import Prose, ProseLink, parse_prose
from server.graph.extraction.rules import CONFIDENCE, Rule
from server.graph.extraction.structure import (
    ChunkPlaces,
    Outline,
    build_outline,
    build_structure,
    clean_title,
    heading_node_id,
)
from server.graph.records import MAX_EVIDENCE, Edge, EdgeType, Node, entity_type_order
from server.ids import entity_id
from server.models import Chunk, Document


@dataclass(frozen=True, slots=True)
class Mention:
    """``source`` names something: by which edge, under which key and title, how often, as far as ``rule`` goes.

    ``is_firm`` names need nobody else to say them.
    """

    source: str
    type: EdgeType
    key: str
    title: str
    entity_type: str
    rule: Rule
    count: int
    evidence: tuple[str, ...]
    is_firm: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """``source`` points somewhere: by which edge, by which ways, how often."""

    source: str
    type: EdgeType
    title: str
    way: LinkTarget
    count: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """One entity relates to another, both by key: ALIAS_OF, EXPANDS_TO, IMPORTS, CALLS."""

    source: str
    target: str
    type: EdgeType
    rule: Rule
    count: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageIdentity:
    """What others need to know of a document in order to point at it.

    ``keys`` are the page keys it answers to, ``name`` is its title ("" where nobody gave it one), ``anchors`` are
    section ids by fragment.
    """

    id: str
    uri: str
    name: str
    keys: tuple[str, ...]
    anchors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DocumentExtraction:
    """A document's own part of the graph, and what it says that only others can make sense of.

    ``votes`` are the names it says: two documents make an entity of one. ``wants`` are the names and page keys
    that its graph depends on. ``entities`` are titles and types by key. ``warnings`` are for people.
    """

    page: PageIdentity
    project: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    entities: Mapping[str, tuple[str, str]]
    namings: tuple[Mention, ...]
    relations: tuple[Relation, ...]
    references: tuple[Reference, ...]
    votes: frozenset[str]
    wants: frozenset[str]
    warnings: tuple[str, ...] = ()


def name_dependency(name: str) -> str:
    """How ``wants`` says that a name matters."""
    return f"name:{name}"


def page_dependency(key: str) -> str:
    """How ``wants`` says that a page key matters."""
    return f"page:{key}"


def extract_document(
    document: Document, text: str, chunks: Sequence[Chunk], gazetteer: Gazetteer
) -> DocumentExtraction:
    """All that the document says. ``text`` and ``chunks`` are as the chunker made them."""
    digger = _ExtractionBuilder(document, chunks)
    if document.type == "code":
        found = build_outline(document, ())
        digger.code(read_code(document.uri, text))
    else:
        prose = parse_prose(text)
        found = build_outline(document, prose.headings)
        digger.prose(prose, found)
    digger.front_matter()
    slow = digger.gazetteer(gazetteer, text)
    return digger.mined(found, slow)


@dataclass(slots=True)
class _ChunkMention:
    """One name in one chunk so far: its best rule and title, how often, where last."""

    title: str
    entity_type: str
    rule: Rule
    count: int
    at: int


@dataclass(slots=True)
class _ExtractionBuilder:
    """Collects while a document is read, in an order that is the same each time."""

    document: Document
    chunks: Sequence[Chunk]
    places: ChunkPlaces = field(init=False)
    mentions: dict[tuple[str, str], _ChunkMention] = field(default_factory=dict)
    entities: dict[str, tuple[str, str]] = field(default_factory=dict)
    namings: list[Mention] = field(default_factory=list)
    relations: dict[tuple[str, str, EdgeType], Relation] = field(default_factory=dict)
    references: dict[tuple[str, EdgeType, LinkTarget], Reference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = ChunkPlaces(self.chunks)

    # --- prose

    def prose(self, prose: Prose, found: Outline) -> None:
        for one in find_candidates(prose):
            self._mention(one)
        for link in prose.links:
            self._link(link, found)
        for expansion in find_expansions(prose.text):
            self._expansion(expansion.short, expansion.long, expansion.start, expansion.end)
        for heading in prose.headings:
            if (key := entity_key(heading.title)) and (path := found.path_at(heading.start)):
                evidence = tuple(self.places.at(heading.start, heading.start)[:1])
                section = heading_node_id(self.document, path)
                self._naming(section, "DEFINES", key, heading.title, "term", "heading", evidence)

    def _mention(self, one: NameCandidate, *, is_firm: bool = False) -> None:
        if is_firm:
            self._entity(one.key, one.title, one.type)
        for chunk in self.places.at(one.start, one.end):
            seen = self.mentions.get((chunk, one.key))
            if seen is None:
                self.mentions[chunk, one.key] = _ChunkMention(one.title, one.type, one.rule, 1, one.start)
                continue
            if seen.at != one.start and one.rule != "term":  # two rules often find the same words
                seen.count, seen.at = seen.count + 1, one.start
            if CONFIDENCE[one.rule] > CONFIDENCE[seen.rule]:
                seen.title, seen.entity_type, seen.rule = one.title, one.type, one.rule

    def _link(self, link: ProseLink, found: Outline) -> None:
        way = link_target_of(link, self.document.uri)
        if link.kind != "role" and link.text and (key := entity_key(link.text)) and way and not way.is_here:
            self._mention(NameCandidate(key, link.text, "term", "link text", link.start, link.start))
        if way is None:
            return
        if link.kind == "role" and way.name:
            title = link.target.removesuffix("()")
            self._mention(NameCandidate(way.name, title, "identifier", "role", link.start, link.end))
            return
        path = found.path_at(link.start)
        evidence = tuple(self.places.at(link.start, link.end))
        if way.is_here:
            self._own_anchor(path, way, found, evidence)
        else:
            self._reference(heading_node_id(self.document, path), "LINKS_TO", link.target, way, evidence)

    def _own_anchor(
        self, path: tuple[str, ...], way: LinkTarget, found: Outline, evidence: tuple[str, ...]
    ) -> None:
        target = found.anchors.get(way.anchor)
        if target and target != path:
            here = LinkTarget((page_key(self.document.uri),), self.document.uri, anchor=way.anchor, rule=way.rule)
            self._reference(heading_node_id(self.document, path), "LINKS_TO", "", here, evidence)

    def _expansion(self, short: str, long: str, start: int, end: int) -> None:
        keys = entity_key(short), entity_key(long)
        if not all(keys) or keys[0] == keys[1]:
            return
        self._mention(NameCandidate(keys[0], short, "acronym", "expansion", start, end), is_firm=True)
        self._mention(NameCandidate(keys[1], long, "term", "expansion", start, end), is_firm=True)
        self._relation(*keys, "EXPANDS_TO", "expansion", tuple(self.places.at(start, end)))

    # --- code

    def code(self, code: CodeFacts) -> None:
        for one in code.definitions:
            if not (key := entity_key(one.name)):
                continue
            self._entity(key, one.name, one.type)
            chunks = tuple(self.places.at(one.start, one.start))
            source = self.document.id if one.name == code.module else next(iter(chunks), self.document.id)
            self._naming(source, "DEFINES", key, one.name, one.type, one.rule, chunks[:1], is_firm=True)
            if one.short and (short := entity_key(one.short)) and short != key:
                self._entity(short, one.short, one.type)
                self._relation(short, key, "ALIAS_OF", "short name", chunks[:1])
        for use in code.uses:
            source, target = entity_key(use.source), entity_key(use.target)
            if source and target and source != target:
                self._entity(target, use.target, use.type)
                self._entity(source, use.source, "module" if use.source == code.module else "function")
                rule: Rule = "parsed code" if use.kind == "IMPORTS" else "call"
                self._relation(source, target, use.kind, rule, tuple(self.places.at(use.start, use.start)))

    # --- the document as a whole

    def front_matter(self) -> None:
        document, first = self.document, self.places.first
        key = entity_key(document.title) if _has_given_title(document) else ""
        if key:
            type = "module" if document.type == "code" else "term"
            self._naming(document.id, "DEFINES", key, document.title, type, "title", first, is_firm=True)
        for fact in front_matter_fields.read_tags(document):
            self._fact(fact, "TAGGED", first)
        for fact in front_matter_fields.read_subjects(document):
            self._fact(fact, "ABOUT", first)
        for alias in front_matter_fields.read_aliases(document):
            if key and (other := entity_key(alias)) and other != key:
                self._entity(other, alias, "term")
                self._relation(other, key, "ALIAS_OF", "alias", first)
        for value in front_matter_fields.read_relations(document):
            self._related(value.removeprefix("[[").removesuffix("]]").partition("|")[0], first)

    def _fact(self, fact: front_matter_fields.FieldValue, type: EdgeType, evidence: tuple[str, ...]) -> None:
        if key := entity_key(fact.value):
            self._naming(
                self.document.id, type, key, fact.value, fact.type, "front matter", evidence, is_firm=True
            )

    def _related(self, value: str, evidence: tuple[str, ...]) -> None:
        by_path = path_target_of(value, self.document.uri)
        name = "" if "/" in value else entity_key(value)
        keys = (*(by_path.keys if by_path else ()), STEM_PREFIX + page_stem(value))
        way = LinkTarget(
            keys, by_path.uri if by_path else "", name, by_path.anchor if by_path else "", rule="relation"
        )
        self._reference(self.document.id, "RELATED_TO", value, way, evidence)

    def gazetteer(self, gazetteer: Gazetteer, text: str) -> list[str]:
        """Note what the user's gazetteer finds; the patterns that took too long."""
        found, slow = gazetteer.find(text)
        for one in sorted(found, key=lambda one: (one.start, one.end, one.entry.name)):
            self._own_name(one)
        return slow

    def _own_name(self, found: GazetteerMatch) -> None:
        entry = found.entry
        if not (key := entity_key(entry.name)):
            return
        rule: Rule = "pattern" if found.is_pattern else "gazetteer"
        self._mention(NameCandidate(key, entry.name, entry.type, rule, found.start, found.end), is_firm=True)
        if entry.alias and (alias := entity_key(entry.alias)) and alias != key:
            self._entity(alias, entry.alias, entry.type)
            self._relation(alias, key, "ALIAS_OF", "alias", tuple(self.places.at(found.start, found.end)))

    # --- records

    def _naming(
        self,
        source: str,
        type: EdgeType,
        key: str,
        title: str,
        entity_type: str,
        rule: Rule,
        evidence: tuple[str, ...],
        *,
        is_firm: bool = False,
    ) -> None:
        if is_firm:
            self._entity(key, title, entity_type)
        self.namings.append(
            Mention(source, type, key, title, entity_type, rule, 1, evidence[:MAX_EVIDENCE], is_firm)
        )

    def _entity(self, key: str, title: str, type: str) -> None:
        """A firm name: the first title that this document gives it, and the most telling type."""
        first, other = self.entities.get(key, (title, type))
        self.entities[key] = first, min(type, other, key=entity_type_order)

    def _relation(self, source: str, target: str, type: EdgeType, rule: Rule, evidence: Iterable[str]) -> None:
        former = self.relations.get((source, target, type))
        count, shown_by = (former.count + 1, former.evidence) if former else (1, ())
        merged = tuple(dict.fromkeys((*shown_by, *evidence)))[:MAX_EVIDENCE]
        self.relations[source, target, type] = Relation(source, target, type, rule, count, merged)

    def _reference(
        self, source: str, type: EdgeType, title: str, way: LinkTarget, evidence: Iterable[str]
    ) -> None:
        former = self.references.get((source, type, way))
        count, shown_by = (former.count + 1, former.evidence) if former else (1, ())
        merged = tuple(dict.fromkeys((*shown_by, *evidence)))[:MAX_EVIDENCE]
        self.references[source, type, way] = Reference(source, type, title, way, count, merged)

    def mined(self, found: Outline, slow: Sequence[str]) -> DocumentExtraction:
        document, uri = self.document, clean_title(self.document.uri)
        nodes, edges = build_structure(document, self.chunks, found)
        for (chunk, key), seen in self.mentions.items():
            how = seen.title, seen.entity_type, seen.rule, seen.count
            self.namings.append(Mention(chunk, "MENTIONS", key, *how, (chunk,), is_firm=key in self.entities))
        return DocumentExtraction(
            page=self._page(found),
            project=document.project,
            nodes=tuple(nodes),
            edges=tuple(edges),
            entities=self.entities,
            namings=tuple(self.namings),
            relations=tuple(self.relations.values()),
            references=tuple(self.references.values()),
            votes=frozenset(self.entities) | {one.key for one in self.namings if one.rule != "heading"},
            wants=frozenset(self._wants()),
            warnings=tuple(
                f"{uri}: the pattern {pattern!r} of entities.toml took too long and was left out"
                for pattern in slow
            ),
        )

    def _page(self, found: Outline) -> PageIdentity:
        document = self.document
        anchors = {name: heading_node_id(document, path) for name, path in found.anchors.items() if path}
        keys = tuple(dict.fromkeys((page_key(document.uri), STEM_PREFIX + page_stem(document.uri))))
        name = clean_title(document.title) if _has_given_title(document) else ""
        return PageIdentity(document.id, document.uri, name, tuple(key for key in keys if key), anchors)

    def _wants(self) -> Iterator[str]:
        yield from map(name_dependency, self.entities)
        for naming in self.namings:
            yield name_dependency(naming.key)
            if naming.type == "MENTIONS" and not naming.is_firm:
                yield from (name_dependency(key) for key, _ in name_parts(naming.title))
        for reference in self.references.values():
            yield from map(page_dependency, reference.way.keys)
            if reference.way.name:
                yield name_dependency(reference.way.name)


def _has_given_title(document: Document) -> bool:
    """Whether somebody gave the document its title: a file name with underscores in it names nothing else."""
    title = document.title
    return not ("_" in title and title.lower() == page_stem(document.uri))


def edge_weight(count: int, rule: Rule) -> float:
    """How strongly: repetition adds (2 for three times where once is 1), and a rule of little trust takes off."""
    return round((1 + math.log(count, 3)) * CONFIDENCE[rule], 3)


def entity_node(project: str, key: str, title: str, type: str) -> Node:
    """The node of an entity."""
    return Node(entity_id(project, key), "Entity", type, clean_title(title) or clean_title(key), 0, 0, "", "", "")
